"""The static report of a kernel compiled for sm_90a, from what ptxas says, the PTX and the SASS."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from argus.dsl.codegen.listing import Instruction, read_ptx, read_sass
from argus.dsl.diagnostics import ToolchainError

SCHEMA_VERSION = 1
SHOWN_LINES = 4
_PERFORMANCE = re.compile(r"\((C75\d\d)\)\s*(.*)")
_USED = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
# The default scope of a block is right for rings; wider ones flush or invalidate caches in every iteration.
_WIDE = re.compile(
    r"\b(?:membar\.(?:gl|sys)|fence\.(?:acq_rel|sc)\.(?:cluster|gpu|sys)|\S*\.(?:acquire|release)\.(?:cluster|gpu|sys)\S*)"
)
_WIDE_SASS = re.compile(r"\b(?:MEMBAR\.\w+\.(?:GPU|SYS|VC)|CCTL\.IVALL)\b")
_LOCAL_SASS = re.compile(r"\b(?:LDL|STL)\b")
_WGMMA = re.compile(r"\bwgmma\.mma_async\b")
_MEANING = {
    "C7510": "wgmma instructions are serialised",
    "C7519": "wgmma instructions are serialised",
    "C7520": "wgmma instructions are serialised",
}


class CudaRegisters(BaseModel, frozen=True):
    """Registers a thread at launch, before roles divide them."""

    regs: int


class CudaReport(BaseModel, frozen=True):
    """What ptxas says of a kernel, and what is seen in its PTX and, where there is a disassembler, in its SASS.

    Attributes:
        spills: Bytes that ptxas stores and loads for want of registers; `scratch_bytes`: its stack frame.
        lds_bytes: Dynamic shared memory a block.
        occupancy_waves: Warps of the one block that a multiprocessor holds.
        lint: What would make the kernel slow, with the line of the kernel text; empty is good.
        disassembled: Whether SASS was read.
    """

    schema_version: int = SCHEMA_VERSION
    kernel: str
    target: str = "sm_90a"
    registers: CudaRegisters
    spills: int
    scratch_bytes: int
    lds_bytes: int
    occupancy_waves: int
    main_loop: None = None
    estimate: None = None
    lint: tuple[str, ...] = ()
    disassembled: bool = False


@dataclass(frozen=True, slots=True)
class Listings:
    """What the tools say of a kernel.

    Attributes:
        messages: Of `ptxas -v`.
        ptx, sass: With line information; `sass` is empty without a disassembler.
        lines: Line of the kernel text for each line of the CUDA text, 0 where there is none.
    """

    messages: str
    ptx: str
    sass: str = ""
    lines: tuple[int, ...] = ()


def read_report(kernel: str, found: Listings, *, shared_bytes: int, threads: int) -> CudaReport:
    """A report from what the tools say.

    Raises:
        ToolchainError: If ptxas says nothing of registers.
    """
    messages = found.messages
    used, spilled = _USED.search(messages), _SPILLS.search(messages)
    if used is None or spilled is None:
        raise ToolchainError(f"ptxas says nothing of the registers of {kernel}: {messages[:500]}")
    stack, stores, loads = (int(n) for n in spilled.groups())
    return CudaReport(
        kernel=kernel,
        registers=CudaRegisters(regs=int(used[1])),
        spills=stores + loads,
        scratch_bytes=stack,
        lds_bytes=shared_bytes,
        occupancy_waves=threads // 32,
        lint=tuple(_lint(found, stack=stack, spills=stores + loads)),
        disassembled=bool(found.sass),
    )


def _lint(found: Listings, *, stack: int, spills: int) -> list[str]:
    ptx, sass = read_ptx(found.ptx), read_sass(found.sass)
    mma = _lines(found, [i for i in ptx if _WGMMA.search(i.text)])
    out = [
        f"{mma}{code}: {_MEANING.get(code, 'a performance warning')}: {text}"
        for code, text in _PERFORMANCE.findall(found.messages)
    ]
    local = [i for i in sass if _LOCAL_SASS.search(i.text)]
    looped = [i for i in local if i.in_loop]
    where = _lines(found, looped or local)
    when = ", in a loop" if looped else ""
    if spills:
        out.append(f"{where}{spills} bytes are spilled to local memory{when}")
    elif stack:
        out.append(f"{where}{stack} bytes of local memory{when}: an array is indexed by a variable")
    return [*out, *_wide(found, ptx, _WIDE), *_wide(found, sass, _WIDE_SASS)]


def _wide(found: Listings, instructions: Sequence[Instruction], pattern: re.Pattern[str]) -> list[str]:
    """Fences and invalidations beyond the block, where they are in a loop."""
    hits: dict[str, list[Instruction]] = {}
    for i in instructions:
        if i.in_loop and (match := pattern.search(i.text)):
            hits.setdefault(match.group().split()[0], []).append(i)
    return [f"{_lines(found, at)}`{word}` reaches beyond the block, in a loop" for word, at in sorted(hits.items())]


def _lines(found: Listings, instructions: Sequence[Instruction]) -> str:
    """`line 12: ` of the kernel text, the first few; "" where none is known."""
    known = sorted({found.lines[i.line - 1] for i in instructions if 0 < i.line <= len(found.lines)} - {0})
    if not known:
        return ""
    shown = ", ".join(map(str, known[:SHOWN_LINES])) + (", …" if len(known) > SHOWN_LINES else "")
    return f"line{'s' if len(known) > 1 else ''} {shown}: "
