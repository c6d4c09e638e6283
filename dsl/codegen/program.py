"""From instructions to what they ask of the compute unit."""

from __future__ import annotations

import re
from dataclasses import dataclass

from argus.dsl.codegen.isa import LDS_KINDS, VMEM_KINDS, Instruction
from argus.dsl.codegen.steps import (
    Barrier,
    Dependencies,
    Lds,
    Matrix,
    Priority,
    ScalarLoad,
    Slot,
    Step,
    Vector,
    Vmem,
    Wait,
)
from argus.dsl.codegen.workload import Access, Conflicts
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.targets import gfx942

_FARTHEST = max(x.result_clk for x in gfx942.MFMA.values()) // gfx942.ISSUE_CLK
_L2_HIT = ((1.0, gfx942.L2_HIT_CLK),)
_MALL_HIT = ((1.0, gfx942.MALL_HIT_CLK),)


@dataclass(frozen=True, slots=True)
class Busy:
    """Clk of each unit that one wave takes; `lds_port` of its SIMD pair's port, `lds_banks` of the whole LDS."""

    mfma: float = 0.0
    valu: float = 0.0
    lds_port: float = 0.0
    lds_banks: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    fabric: float = 0.0

    def plus(self, other: Busy, times: float = 1.0) -> Busy:
        return Busy(
            self.mfma + times * other.mfma,
            self.valu + times * other.valu,
            self.lds_port + times * other.lds_port,
            self.lds_banks + times * other.lds_banks,
            self.l1 + times * other.l1,
            self.l2 + times * other.l2,
            self.fabric + times * other.fabric,
        )


def translate(
    instructions: tuple[Instruction, ...], access: Access, conflicts: Conflicts, *, repeats: bool
) -> tuple[Step, ...]:
    """One step an instruction; neighbours that keep only their wave busy are one.

    Args:
        instructions: In the order of execution.
        access: What vector memory meets.
        conflicts: LDS bank conflicts.
        repeats: The instructions are a loop's body: the last ones precede the first.

    Raises:
        ToolchainError: If an MFMA has no known timing.
    """
    steps: list[Step] = []
    for i, x in enumerate(instructions):
        step = _step(x, access, conflicts, _depends(instructions, i, repeats))
        if isinstance(step, Slot) and steps and isinstance(steps[-1], Slot):
            steps[-1] = Slot(steps[-1].clk + step.clk)
        else:
            steps.append(step)
    return tuple(steps)


def mfma_flop(instructions: tuple[Instruction, ...]) -> int:
    """Floating-point operations of one wave's MFMAs."""
    return sum(_mfma(x).flop for x in instructions if x.kind == "mfma")


def busy(steps: tuple[Step, ...]) -> Busy:
    """What one wave takes of each unit while it executes the steps once."""
    total = Busy()
    for step in steps:
        match step:
            case Matrix():
                total = total.plus(Busy(mfma=step.clk, valu=step.valu_clk))
            case Vector():
                total = total.plus(Busy(valu=step.clk))
            case Lds():
                total = total.plus(Busy(lds_port=step.port_clk, lds_banks=step.bank_clk))
            case Vmem():
                port, banks = step.lds or (0.0, 0.0)
                memory = Busy(lds_port=port, lds_banks=banks, l1=step.l1_clk, l2=step.l2_clk, fabric=step.fabric_clk)
                total = total.plus(memory)
            case _:
                pass
    return total


def _step(x: Instruction, access: Access, conflicts: Conflicts, depends: Dependencies) -> Step:
    if x.kind == "mfma":
        timing = _mfma(x)
        return Matrix(timing.clk, timing.valu_clk, depends)
    if x.kind in {"valu", "trans"}:
        return Vector(gfx942.TRANS_CLK if x.kind == "trans" else gfx942.VALU_CLK, depends)
    if x.kind in LDS_KINDS:
        return _lds(x, conflicts, depends)
    if x.kind in VMEM_KINDS:
        return _vmem(x, access, depends)
    match x.kind:
        case "smem":
            return ScalarLoad()
        case "waitcnt":
            return Wait(x.vmcnt, x.lgkmcnt)
        case "barrier":
            return Barrier()
        case "branch":
            return Slot(gfx942.BRANCH_CLK)
        case _:
            pass
    if x.mnemonic == "s_setprio":
        return Priority(_number(x))
    if x.mnemonic == "s_nop":
        return Slot(gfx942.ISSUE_CLK * (_number(x) + 1))
    return Slot()


def _lds(x: Instruction, conflicts: Conflicts, depends: Dependencies) -> Lds:
    data = gfx942.LANES * x.lane_bytes
    if x.kind == "lds_read":
        way, through_port = conflicts.read_way, data
    else:
        way, through_port = conflicts.write_way, data + gfx942.LDS_WRITE_ADDRESS_BYTES
    return Lds(through_port / gfx942.LDS_PORT_BYTES_PER_CLK, way * data / gfx942.LDS_BYTES_PER_CLK, depends)


def _vmem(x: Instruction, access: Access, depends: Dependencies) -> Vmem:
    data = gfx942.LANES * x.lane_bytes
    scratch = x.mnemonic.startswith("scratch_")
    flat = x.mnemonic.startswith("flat_")
    l1, l2 = max(gfx942.ISSUE_CLK, data / gfx942.L1_BYTES_PER_CLK), data * access.l2_clk
    if x.kind == "vmem_write" and not scratch:
        fabric = data * access.store_fabric_clk
        return Vmem(l1, l2, fabric, 0.0, _L2_HIT, posted=True, flat=flat, depends=depends)
    if x.kind == "atomic":  # other XCDs must see it: past the L2
        return Vmem(l1, l2, data * access.store_fabric_clk, 0.0, _MALL_HIT, flat=flat, depends=depends)
    if scratch:  # a wave's own: it stays in the L2
        return Vmem(l1, l2, 0.0, 0.0, _L2_HIT, depends=depends)
    # Whole rows of banks: copies to LDS have no conflicts.
    lds = (data / gfx942.LDS_PORT_BYTES_PER_CLK, data / gfx942.LDS_BYTES_PER_CLK) if x.kind == "vmem_lds" else None
    return Vmem(
        l1, l2, data * access.fabric_clk, data * access.hbm_clk, access.load_levels, lds=lds, flat=flat, depends=depends
    )


def _number(x: Instruction) -> int:
    match = re.search(r"\s(0x[0-9a-f]+|\d+)$", x.text)
    return int(match[1], 0) if match else 0


def _mfma(x: Instruction) -> gfx942.Mfma:
    if x.mnemonic not in gfx942.MFMA:
        raise ToolchainError(f"assembly line {x.line}: no timing known for {x.mnemonic}")
    return gfx942.MFMA[x.mnemonic]


def _depends(instructions: tuple[Instruction, ...], index: int, repeats: bool) -> Dependencies:
    """MFMAs shortly before whose result is read or overwritten, other than as the same accumulator."""
    x = instructions[index]
    if x.kind not in {"mfma", "valu", "trans"} and x.kind not in LDS_KINDS and x.kind not in VMEM_KINDS:
        return ()
    found: list[tuple[int, float]] = []
    back = 0
    for distance in range(1, min(_FARTHEST, len(instructions) if repeats else index) + 1):
        producer = instructions[index - distance]
        if producer.kind != "mfma":
            continue
        back += 1
        # Two waits that cover each other: the issue slots in between pass anyway.
        clk = _mfma(producer).result_clk
        if clk > distance * gfx942.ISSUE_CLK and _uses(x, producer):
            found.append((back, clk))
    return tuple(found)


def _uses(x: Instruction, producer: Instruction) -> bool:
    result = producer.operands[0]
    if x.kind == "mfma" and x.operands[0] == x.operands[3] == result:
        return bool(result & (x.operands[1] | x.operands[2]))
    return bool(result & (x.reads | x.writes))
