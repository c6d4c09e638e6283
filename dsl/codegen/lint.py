"""Lints of emitted assembly: what a kernel's author cannot see and an in-order emulator does not notice.

gfx9 has two counters that matter. `vmcnt` counts vector memory operations and `lgkmcnt` LDS and scalar ones. Vector
memory and LDS complete in issue order, so "at most n remain" retires all but the newest n. Scalar loads complete in
any order: while one is outstanding, only `lgkmcnt(0)` retires anything.

The state at a program point joins every path to it, the loop's back edge included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from argus.dsl.codegen.asm import AsmKernel
from argus.dsl.codegen.isa import LDS_KINDS, VMEM_KINDS, Instruction
from argus.dsl.codegen.mainloop import Loop, main_loop
from argus.dsl.targets import gfx942

# No wait tells operations apart that have as many younger ones: they are kept as the oldest, never forgotten.
_OLDEST = gfx942.VMCNT_MAX

Report = Callable[[Instruction, str], None]


@dataclass(slots=True)
class _Queue:
    """Operations of one counter that may be outstanding.

    Attributes:
        registers: Destination → how many operations were at least issued after the load; fewest over all paths.
        reads, writes, copies: Bit i: the operation with i younger ones may be an LDS read, an LDS write, or a copy
            from global memory to LDS.
        unordered: Destinations of scalar loads.
    """

    registers: dict[str, int] = field(default_factory=dict[str, int])
    reads: int = 0
    writes: int = 0
    copies: int = 0
    unordered: frozenset[str] = frozenset()

    def issue(self, x: Instruction) -> None:
        if x.kind == "smem":
            self.unordered |= x.writes
            return
        for name in ("reads", "writes", "copies"):
            setattr(self, name, _age(getattr(self, name)))
        self.registers = {r: min(age + 1, _OLDEST) for r, age in self.registers.items()}
        self.reads |= x.kind == "lds_read"
        self.writes |= x.kind == "lds_write"
        self.copies |= x.kind == "vmem_lds"
        self.registers.update(dict.fromkeys(x.writes & _data_registers(x), 0))

    def wait(self, remaining: int) -> None:
        if remaining and self.unordered:
            return
        newest = (1 << remaining) - 1
        self.reads &= newest
        self.writes &= newest
        self.copies &= newest
        self.registers = {r: age for r, age in self.registers.items() if age < remaining}
        self.unordered = frozenset()

    def join(self, other: _Queue) -> _Queue:
        either = self.registers.keys() | other.registers.keys()
        ages = {r: min(x.registers[r] for x in (self, other) if r in x.registers) for r in either}
        return _Queue(
            ages,
            self.reads | other.reads,
            self.writes | other.writes,
            self.copies | other.copies,
            self.unordered | other.unordered,
        )

    def copy(self) -> _Queue:
        return _Queue(dict(self.registers), self.reads, self.writes, self.copies, self.unordered)


def _age(operations: int) -> int:
    return (operations << 1 | operations & 1 << _OLDEST) & (1 << _OLDEST + 1) - 1


def _data_registers(x: Instruction) -> frozenset[str]:
    """Registers that memory fills: the destination alone, never flags."""
    return x.operands[0] if x.operands else frozenset()


@dataclass(slots=True)
class _State:
    vm: _Queue = field(default_factory=_Queue)
    lgkm: _Queue = field(default_factory=_Queue)

    def join(self, other: _State) -> _State:
        return _State(self.vm.join(other.vm), self.lgkm.join(other.lgkm))

    def copy(self) -> Self:
        return type(self)(self.vm.copy(), self.lgkm.copy())


def lint(kernel: AsmKernel, *, in_flight: int = 0) -> tuple[str, ...]:
    """Everything wrong or costly that the assembly shows, as sentences with assembly line numbers.

    Args:
        kernel: The parsed kernel.
        in_flight: Copies from global memory to LDS that a wave may have outstanding at a barrier. The assembly does
            not say which copies the next phase reads; only the pipeline's depth does.
    """
    found: dict[tuple[int, str], None] = {}

    def report(x: Instruction, text: str) -> None:
        found[x.line, text] = None

    entry = _fixpoint(kernel)
    for index, block in enumerate(kernel.blocks):
        if index in entry:
            _run(entry[index].copy(), block.instructions, in_flight, report)
    if loop := main_loop(kernel):
        _lint_loop(kernel, loop, in_flight, report)
    return tuple(f"line {line}: {text}" for line, text in sorted(found))


def _fixpoint(kernel: AsmKernel) -> dict[int, _State]:
    """The state on entry of each reachable block."""
    entry = {0: _State()}
    work = [0]
    while work:
        index = work.pop()
        block = kernel.blocks[index]
        leaving = _run(entry[index].copy(), block.instructions, 0, lambda _x, _text: None)
        for following in block.successors:
            known = entry.get(following)
            joined = leaving if known is None else known.join(leaving)
            if known is None or joined != known:
                entry[following] = joined.copy()
                work.append(following)
    return entry


def _run(state: _State, instructions: tuple[Instruction, ...], in_flight: int, report: Report) -> _State:
    for x in instructions:
        if x.kind == "waitcnt":
            if x.vmcnt is not None:
                state.vm.wait(x.vmcnt)
            if x.lgkmcnt is not None:
                state.lgkm.wait(x.lgkmcnt)
            continue
        if x.kind == "barrier":
            _check_barrier(state, x, in_flight, report)
        _check_registers(state, x, report)
        if x.mnemonic.startswith(("s_swappc", "s_call")):
            report(x, "calls a function: its waits and registers are not followed")
            state = _State()  # the calling convention waits for everything on entry
        if "vm" in x.counters:
            state.vm.issue(x)
        if "lgkm" in x.counters:
            state.lgkm.issue(x)
    return state


def _check_barrier(state: _State, x: Instruction, in_flight: int, report: Report) -> None:
    if writes := state.lgkm.writes:
        report(x, f"barrier reached with {_many(writes)} LDS writes outstanding; lgkmcnt(0) must come before it")
    if reads := state.lgkm.reads:
        what = "other waves may overwrite what they read"
        report(x, f"barrier reached with {_many(reads)} LDS reads outstanding; {what}")
    if (copies := state.vm.copies).bit_count() > in_flight:
        what = f"{in_flight} may be; vmcnt({in_flight}) must come before it"
        report(x, f"barrier reached with {_many(copies)} copies to LDS outstanding, {what}")


def _many(operations: int) -> str:
    return f"{_OLDEST} or more" if operations >> _OLDEST else f"up to {operations.bit_count()}"


def _check_registers(state: _State, x: Instruction, report: Report) -> None:
    touched = x.reads | x.writes
    for queue, counter, kinds in ((state.vm, "vmcnt", VMEM_KINDS), (state.lgkm, "lgkmcnt", LDS_KINDS)):
        # A younger load of the same ordered kind may overwrite the register: it lands later.
        unsafe = x.reads if x.kind in kinds else touched
        if pending := (unsafe & queue.registers.keys()) | (touched & queue.unordered):
            verb = "reads" if x.reads & pending else "overwrites"
            report(x, f"`{x.mnemonic}` {verb} {_spell(pending)} while a load into it may be outstanding ({counter})")


def _lint_loop(kernel: AsmKernel, loop: Loop, in_flight: int, report: Report) -> None:
    body = [x for i in sorted(loop.blocks) for x in kernel.blocks[i].instructions]
    for x in body:
        if x.kind == "waitcnt" and x.vmcnt == 0 and in_flight:
            report(x, f"vmcnt(0) in the main loop drains the {in_flight} copies that were to stay in flight")
    scratch = [x for x in body if x.mnemonic.startswith("scratch_")]
    moves = [x for x in body if x.mnemonic.startswith("v_accvgpr_")]
    if scratch:
        report(scratch[0], f"the main loop spills: {len(scratch)} scratch accesses a trip, the first here")
    if moves:
        report(moves[0], f"the main loop moves {len(moves)} values between AGPRs and VGPRs a trip, the first here")


def _spell(registers: frozenset[str] | set[str]) -> str:
    return ", ".join(sorted(registers, key=lambda r: (r.rstrip("0123456789"), len(r), r)))
