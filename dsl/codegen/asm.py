"""LLVM's gfx942 assembly text of one kernel: basic blocks and what the metadata say."""

from __future__ import annotations

import re
from dataclasses import dataclass

from argus.dsl.codegen.isa import Instruction, read_instruction
from argus.dsl.diagnostics import ToolchainError

_LABEL = re.compile(r"([\w.$]+):")
_KERNEL = re.compile(r"^\s*\.amdhsa_kernel\s+(\S+)(.*?)\.end_amdhsa_kernel", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"\.amdhsa_(\w+)\s+(\d+)")
_YAML_FIELD = re.compile(r"^ {4}\.(\w+):\s+(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block; `successors` are block numbers, the fall-through first."""

    label: str | None
    instructions: tuple[Instruction, ...]
    successors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the loader is told.

    Attributes:
        vgpr: Architectural vector registers a lane, without the AGPRs.
        allocated_vgprs: What the hardware sets aside: both classes, alignment and a compiler's occupancy cap included.
        spills: Scalar and vector registers spilled.
        scratch_bytes: Private memory a lane.
        workgroup_size: The most threads a block may have.
    """

    vgpr: int
    agpr: int
    sgpr: int
    allocated_vgprs: int
    spills: int
    lds_bytes: int
    scratch_bytes: int
    workgroup_size: int


@dataclass(frozen=True, slots=True)
class AsmKernel:
    """One kernel; block 0 is the entry."""

    name: str
    blocks: tuple[Block, ...]
    metadata: Metadata


def parse_kernel(text: str, name: str | None = None) -> AsmKernel:
    """Read one kernel of an assembly file.

    Args:
        text: The whole file as LLVM prints it; other functions in it are skipped.
        name: Which of several kernels, with or without the `_kernel` that TVM appends.

    Raises:
        ToolchainError: If the file holds no such kernel, or branches to a label that is not there.
    """
    kernels: dict[str, str] = dict(_KERNEL.findall(text))
    wanted = [x for x in kernels if len(kernels) == 1 or x in (name, f"{name}_kernel")]
    if len(wanted) != 1:
        raise ToolchainError(f"the assembly holds kernels {sorted(kernels)}, not exactly one called {name!r}")
    symbol = wanted[0]
    return AsmKernel(symbol, _blocks(text, symbol), _metadata(text, symbol, kernels[symbol]))


def _blocks(text: str, symbol: str) -> tuple[Block, ...]:
    runs = _runs(text, symbol)
    number = {label: i for i, (label, _) in enumerate(runs) if label}
    return tuple(
        Block(label, tuple(run), _successors(run, i, len(runs), number)) for i, (label, run) in enumerate(runs)
    )


def _runs(text: str, symbol: str) -> list[tuple[str | None, list[Instruction]]]:
    """The function's instructions, cut at labels and after branches."""
    runs: list[tuple[str | None, list[Instruction]]] = []
    inside = cut = False
    for line, raw in enumerate(text.splitlines(), 1):
        code = re.split(r";|//", raw, maxsplit=1)[0].strip()
        if label := _LABEL.match(code):
            if label[1] == symbol:
                inside, cut = True, True
                continue
            if inside and label[1].startswith(".Lfunc_end"):
                break
            if inside:
                runs.append((label[1], []))
                cut = False
            code = code[label.end() :].strip()
        if not inside or not code or code.startswith("."):
            continue
        instruction = read_instruction(" ".join(code.split()), line)
        if cut:
            runs.append((None, []))
        runs[-1][1].append(instruction)
        cut = instruction.kind == "branch"
    if not runs:
        raise ToolchainError(f"no instructions of {symbol!r} in the assembly")
    return runs


def _successors(run: list[Instruction], index: int, count: int, number: dict[str, int]) -> tuple[int, ...]:
    last = run[-1] if run else None
    following = (index + 1,) if index + 1 < count else ()
    if last is None or last.kind != "branch":
        return following
    if last.ends_program:
        return ()
    if last.target is None:
        return following  # a call comes back
    if last.target not in number:
        raise ToolchainError(f"assembly line {last.line} branches to {last.target!r}, which is not in the kernel")
    goal = (number[last.target],)
    return goal if last.mnemonic == "s_branch" else following + tuple(x for x in goal if x not in following)


def _metadata(text: str, symbol: str, directives: str) -> Metadata:
    told = {key: int(value) for key, value in _DIRECTIVE.findall(directives)}
    noted = _notes(text, symbol)
    agpr = noted.get("agpr_count", 0)
    total = noted.get("vgpr_count", told.get("next_free_vgpr", 0))
    own = re.search(rf"\.set {re.escape(symbol)}\.num_vgpr, (\d+)", text)
    return Metadata(
        vgpr=int(own[1]) if own else total - agpr,
        agpr=agpr,
        sgpr=noted.get("sgpr_count", told.get("next_free_sgpr", 0)),
        allocated_vgprs=max(total, told.get("next_free_vgpr", 0)),
        spills=noted.get("sgpr_spill_count", 0) + noted.get("vgpr_spill_count", 0),
        lds_bytes=told.get("group_segment_fixed_size", noted.get("group_segment_fixed_size", 0)),
        scratch_bytes=told.get("private_segment_fixed_size", noted.get("private_segment_fixed_size", 0)),
        workgroup_size=noted.get("max_flat_workgroup_size", 1024),
    )


def _notes(text: str, symbol: str) -> dict[str, int]:
    """The kernel's numbers in the code object's notes (`.amdgpu_metadata`); empty where there are none."""
    for entry in re.split(r"^  - ", text.partition(".amdgpu_metadata")[2], flags=re.MULTILINE)[1:]:
        fields = dict(_YAML_FIELD.findall("    " + entry))
        if fields.get("name") == symbol:
            return {key: int(value) for key, value in fields.items() if value.isdigit()}
    return {}
