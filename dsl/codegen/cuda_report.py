"""The static report of a kernel compiled for sm_90a, from what ptxas says and from the PTX."""

from __future__ import annotations

import re

from pydantic import BaseModel

from argus.dsl.diagnostics import ToolchainError

SCHEMA_VERSION = 1
_PERFORMANCE = re.compile(r"\((C75\d\d)\)\s*(.*)")
_USED = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
# The default scope of a block is right for rings; wider ones flush or invalidate caches in every iteration.
_WIDE = re.compile(
    r"\b(?:membar\.(?:gl|sys)|fence\.(?:acq_rel|sc)\.(?:cluster|gpu|sys)|\S*\.(?:acquire|release)\.cluster\S*)"
)
_MEANING = {
    "C7510": "wgmma instructions are serialised",
    "C7519": "wgmma instructions are serialised",
    "C7520": "wgmma instructions are serialised",
}


class CudaRegisters(BaseModel, frozen=True):
    """Registers a thread at launch, before roles divide them."""

    regs: int


class CudaReport(BaseModel, frozen=True):
    """What ptxas says of a kernel; SASS is not read, so there is no main loop and no estimate.

    Attributes:
        spills: Bytes that ptxas stores and loads for want of registers; `scratch_bytes`: its stack frame.
        lds_bytes: Dynamic shared memory a block.
        occupancy_waves: Warps of the one block that a multiprocessor holds.
        lint: What would make the kernel slow; empty is good.
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


def read_report(kernel: str, messages: str, ptx: str, *, shared_bytes: int, threads: int) -> CudaReport:
    """A report from ptxas's `-v` messages and the PTX that it compiled.

    Raises:
        ToolchainError: If ptxas says nothing of registers.
    """
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
        lint=tuple(_lint(messages, ptx, stack=stack, spills=stores + loads)),
    )


def _lint(messages: str, ptx: str, *, stack: int, spills: int) -> list[str]:
    found = [
        f"{code}: {_MEANING.get(code, 'a performance warning')}: {text}"
        for code, text in _PERFORMANCE.findall(messages)
    ]
    if spills:
        found.append(f"{spills} bytes are spilled to local memory")
    elif stack:
        found.append(f"{stack} bytes of local memory: an array is indexed by a variable")
    wide = sorted({m.group().split()[0] for m in _WIDE.finditer(ptx) if "mbarrier_init" not in m.group()})
    return [*found, *(f"`{w}` reaches beyond the block" for w in wide)]
