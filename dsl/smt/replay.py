"""Witnesses executed: what the solver found counts only if the interpreter, which shares no table with it, agrees."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.dsl.diagnostics import Access, Counterexample, KernelError
from argus.dsl.interp import POLICIES, Fault, FaultKind, Outcome, Policy
from argus.dsl.interp.grid import block_indices, persistent_blocks
from argus.dsl.interp.program import Program, prepare
from argus.dsl.interp.registers import Nowhere
from argus.dsl.interp.run import OutOfSteps, execute
from argus.dsl.ir import Assign, AtomicAdd, Block, CopyAsync, For, Kernel, Split, TensorParam
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import names
from argus.dsl.layout.affine import Affine, evaluate_affine
from argus.dsl.smt.claims import falsified
from argus.dsl.smt.discharge import Witness
from argus.dsl.smt.effect import EXECUTIONS, without_effect
from argus.dsl.smt.flow import reaches_output, stored_at, unread
from argus.dsl.smt.inputs import integers
from argus.dsl.smt.reference import outputs
from argus.dsl.tags.contract import assumptions
from argus.dsl.tags.obligations import Finding, Kind, Obligation

Floats = npt.NDArray[Any]
Inputs = dict[str, Floats | float]
Blocks = tuple[tuple[int, ...], ...] | None

TOLERANCE = 1e-9  # relative to the largest magnitude; fp64 without dtype rounding
LANES = 64
SMALL_GRID = 6  # blocks
MOST_ELEMENTS = 4_000_000  # of all tensors together
MOST_EXECUTIONS = 40  # of one check; a witness that shows takes one or two
MOST_STEPS = 200_000  # statements in all executions of one check
# Schedules tried for a hazard. Happens-before is tracked under each, so the first mostly tells.
HAZARD_POLICIES = (Policy(), Policy("earliest"), *POLICIES[3:9])

# Faults that show a violation of each kind. Where None stands, a wrong output does as well.
SHOWN_BY: Mapping[Kind, tuple[FaultKind | None, ...]] = {
    "race": ("race", "pending"),
    "wait": ("pending", "race"),
    "init": ("poison", None),
    "bounds": ("bounds",),
    "conformity": (None, "poison"),
    # A store of a sum that is not complete yet shows at least as the second write of what the last store gives.
    "completeness": (None, "poison", "write-set"),
    "epilogue": (None, "poison", "write-set", "bounds"),
    "coverage": ("write-set", None),
    "written": (None, "poison"),
    "divergence": ("divergence", "deadlock"),
    # A phase that counts too few bytes ends before its copies do.
    "deadlock": ("deadlock", "divergence", "pending", "race"),
    "proxy": ("proxy",),
    "register": ("pending",),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """How an execution showed the violation: a fault, or outputs that differ."""

    policy: Policy
    fault: Fault | None = None
    output: str = ""
    element: tuple[int, ...] = ()
    wrong: int = 0
    total: int = 0
    text: str = ""

    def __str__(self) -> str:
        if self.text:
            return f"{self.text} ({self.policy})"
        if self.fault is not None:
            return f"{self.fault.kind}: {self.fault.message} ({self.policy})"
        place = ", ".join(map(str, self.element))
        return f"{self.wrong:,} of {self.total:,} results wrong, the first at {self.output}[{place}] ({self.policy})"


@dataclass(slots=True)
class Replayer:
    """Replays witnesses of one kernel; executions at equal sizes share their tables and results."""

    core: Kernel
    blocks: tuple[tuple[str, Affine], ...]
    seed: int = 0
    executions: int = 0
    steps: int = 0
    unjudged: bool = False  # some output has no reference
    _programs: dict[tuple[tuple[str, int], ...], Program] = field(
        default_factory=dict[tuple[tuple[str, int], ...], Program]
    )
    _given: dict[tuple[object, ...], Inputs | None] = field(default_factory=dict[tuple[object, ...], Inputs | None])
    _outcomes: dict[tuple[object, ...], Outcome] = field(default_factory=dict[tuple[object, ...], Outcome])

    def __call__(self, obligation: Obligation, witness: Witness) -> Counterexample | None:
        """The counterexample, if an execution at the witness's sizes goes wrong in the way the obligation says."""
        program = self._program(witness.model)
        if program is None:
            return None
        indices = [name for name, _ in self.blocks]
        block = tuple(witness.model.get(name, 0) for name in indices)
        # What one block adds to an output is never the whole sum.
        whole = obligation.kind == "coverage" or (
            None in SHOWN_BY.get(obligation.kind, ())
            and any(isinstance(n, AtomicAdd) for n in walk_body(self.core.body))
        )
        chosen = None if whole else self._chosen(program, block)
        shown = self._shown(program, obligation, chosen, witness.model)
        if shown is None and obligation.kind in ("epilogue", "completeness") and self._grid(program) <= SMALL_GRID:
            shown = self._shown(program, obligation, None, witness.model)
        ignored = witness.finding.ignored or unread(self.core)
        if shown is None and ignored and obligation.kind in ("epilogue", "completeness", "conformity"):
            shown = self._ignoring(program, witness, ignored)
        if shown is None and obligation.origin == "written":
            shown = self._claimed(obligation, witness, chosen, program)
        if shown is None and obligation.kind == "completeness" and witness.finding.got == "never":
            shown = self._unreduced(program, witness, stored_at(self.core, obligation.span))
        if shown is None:
            return None
        return counterexample(obligation, witness, shown, dict(zip(indices, block, strict=True)), program.sizes)

    def probe(self, sizes: Mapping[str, int], policy: Policy) -> tuple[Shown, dict[str, int]] | None:
        """How an execution of the whole grid goes wrong, and its sizes; None if it does not, or cannot run."""
        program = self._program(sizes)
        inputs = None if program is None else self._inputs(program, sizes)
        if program is None or inputs is None or self.spent:
            return None
        try:
            outcome = self._run(program, policy, None, inputs)
        except OutOfSteps:
            return None
        if outcome.faults:
            return Shown(policy, outcome.faults[0]), dict(program.sizes)
        shown = self._differs(program, outcome, inputs, policy, None)
        return None if shown is None else (shown, dict(program.sizes))

    @property
    def spent(self) -> bool:
        """Whether nothing more is executed."""
        return self.executions >= MOST_EXECUTIONS or self.steps >= MOST_STEPS

    def must_show(self, obligation: Obligation) -> bool:
        """Whether an execution would show any violation of the obligation.

        An assertion may be false and the outputs right all the same; and where data are changed on their way, it may
        be that nobody here knows what the outputs should be.
        """
        if None not in SHOWN_BY.get(obligation.kind, ()):
            return True
        if obligation.origin == "written" or self.unjudged:
            return False
        return obligation.kind in ("epilogue", "completeness", "coverage") or reaches_output(self.core, obligation.span)

    def _claimed(self, obligation: Obligation, witness: Witness, blocks: Blocks, program: Program) -> Shown | None:
        """Shown if registers hold something else than the assertion says, whether or not an output depends on it."""
        if self.spent:
            return None
        self.executions += 1
        element = witness.finding.element
        point = element[0] if element is not None and len(element) == 1 else None
        text = falsified(self.core, obligation.span, program.sizes, blocks, point)
        return Shown(Policy(), None, text=text) if text else None

    def _unreduced(self, program: Program, witness: Witness, tensor: str | None) -> Shown | None:
        """Shown if the coordinate that is never reduced makes no difference to the output."""
        inputs = self._inputs(program, witness.model)
        axis, element = witness.finding.component, witness.finding.element
        if inputs is None or axis is None or element is None or self._grid(program) > SMALL_GRID:
            return None
        if self.executions + EXECUTIONS > MOST_EXECUTIONS:
            return None
        self.executions += EXECUTIONS
        try:
            ensured = [e for e in self.core.ensures if e.tensor == tensor]
            text = without_effect(ensured, program, inputs, axis, element[0])
        except (ZeroDivisionError, KernelError):
            return None
        return Shown(Policy(), None, text=text) if text else None

    def _chosen(self, program: Program, block: tuple[int, ...]) -> Blocks:
        """What to run for one block: of a persistent grid the block that takes the tile, or all if they are few."""
        loop = next((s for s in self.core.body if isinstance(s, For) and s.kind == "tiles"), None)
        if loop is None:
            return self._with_parts(program, block)
        if self._grid(program) <= SMALL_GRID:
            return None
        counts = [evaluate_affine(count, program.sizes) for _, count in self.blocks]
        order = list(block_indices(counts, loop.order))
        return ((order.index(block) % persistent_blocks(len(order)),),) if block in order else None

    def _with_parts(self, program: Program, block: tuple[int, ...]) -> Blocks:
        """The block with each part of a range that is split."""
        kinds = [s.value for s in self.core.body if isinstance(s, Assign) and isinstance(s.value, Block | Split)]
        split = next((v for v in kinds if isinstance(v, Split)), None)
        if split is None:
            return (block,)
        if not any(isinstance(v, Block) for v in kinds):
            return None  # shares of all tiles: several blocks may work on one
        try:
            parts = range(program.expr(split.parts)(program.sizes))
        except KeyError:
            return None
        return tuple((p, *block) if kinds[0] is split else (*block, p) for p in parts)

    def _grid(self, program: Program) -> int:
        """How many blocks a launch has."""
        counts = [evaluate_affine(count, program.sizes) for _, count in self.blocks]
        return int(np.prod(counts, dtype=np.int64))

    def _ignoring(self, program: Program, witness: Witness, names: Sequence[str]) -> Shown | None:
        """Shown if other values of the tensors that should matter leave all outputs the same, and of others do not."""
        inputs = self._inputs(program, witness.model)
        if inputs is None or self._grid(program) > SMALL_GRID or self.spent:
            return None
        uses = {name for e in self.core.ensures for name in e.uses if name in inputs}
        ignored = set(names)
        first = execute(program, inputs, Policy())
        self.executions += 3
        same, others = (
            execute(program, {n: -2.0 * v if n in changed else v for n, v in inputs.items()}, Policy())
            for changed in (ignored, uses - ignored)
        )
        if not _equal(first, same) or _equal(first, others):
            return None
        return Shown(Policy(), None, text=f"other values of {', '.join(sorted(ignored))} give the same results")

    # --------------------------------------------------------------------------------------- executing

    def _program(self, model: Mapping[str, int]) -> Program | None:
        symbols = {s for p in self.core.params if isinstance(p, TensorParam) for s in _sizes(p)}
        sizes = {name: model.get(name, 1) for name in sorted(symbols)}
        key = tuple(sizes.items())
        if key not in self._programs:
            try:
                self._programs[key] = prepare(self.core, sizes)
            except KernelError:
                return None
        program = self._programs[key]
        return program if sum(map(math.prod, program.shapes.values())) <= MOST_ELEMENTS else None

    def _shown(
        self, program: Program, obligation: Obligation, blocks: Blocks, model: Mapping[str, int]
    ) -> Shown | None:
        wanted = SHOWN_BY.get(obligation.kind, ())
        hazard = None not in wanted
        copies = any(isinstance(n, CopyAsync) for n in walk_body(self.core.body))
        # Where waits name completions, happens-before is much the same in every schedule.
        most = 3 if self.core.target == "sm_90a" else len(HAZARD_POLICIES)
        for policy in HAZARD_POLICIES[:most] if hazard else HAZARD_POLICIES[: 1 + copies]:
            if self.spent:
                return None
            inputs = self._inputs(program, model)
            if inputs is None:
                return None
            try:
                outcome = self._run(program, policy, blocks, inputs)
            except Nowhere as e:
                return None if hazard else Shown(policy, None, text=e.diagnostic.message)
            except (ZeroDivisionError, KernelError, OutOfSteps):
                return None
            faults = sorted((f for f in outcome.faults if f.kind in wanted), key=lambda f: _distance(f, obligation))
            if faults and (hazard or _distance(faults[0], obligation) < _ELSEWHERE):
                return Shown(policy, faults[0])
            if not hazard:
                if (found := self._differs(program, outcome, inputs, policy, blocks)) is not None:
                    return found
                if faults:
                    return Shown(policy, faults[0])
        return None

    def _run(self, program: Program, policy: Policy, blocks: Blocks, inputs: Inputs) -> Outcome:
        chosen = tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in inputs.values() if _is_integer(v))
        key = (tuple(program.sizes.items()), chosen, policy, blocks)
        if key not in self._outcomes:
            self.executions += 1
            left = MOST_STEPS - self.steps
            try:
                self._outcomes[key] = execute(program, inputs, policy, blocks=blocks, budget=left)
            except OutOfSteps:
                self.steps = MOST_STEPS
                raise
            self.steps += self._outcomes[key].steps
        return self._outcomes[key]

    def _inputs(self, program: Program, model: Mapping[str, int]) -> Inputs | None:
        fixed = tuple(sorted((n, v) for n, v in model.items() if "[" in n or n in program.scalars))
        key = (tuple(program.sizes.items()), fixed)
        if key not in self._given:
            self._given[key] = self._made(program, model)
        return self._given[key]

    def _made(self, program: Program, model: Mapping[str, int]) -> Inputs | None:
        """Random numbers; integers as the contract and the witness say, None if there are none."""
        rng = np.random.default_rng(self.seed)
        made = dict[str, "Floats | float"]()
        read = {name: shape for name, shape in program.shapes.items() if name not in program.written}
        whole = {name: shape for name, shape in read.items() if program.tensors[name].dtype == "i32"}
        for name, shape in read.items():
            if name not in whole:
                made[name] = rng.standard_normal(shape)
        for name, param in program.scalars.items():
            made[name] = model.get(name, 1) if param.dtype == "i32" else float(rng.uniform(0.5, 1.5))
        if whole:
            given = program.sizes | {name: v for name, v in made.items() if isinstance(v, int)}
            chosen = integers(assumptions(self.core), whole, given, model, rng)
            if chosen is None:
                return None
            made |= chosen
        return made

    # --------------------------------------------------------------------------------------- comparing

    def _differs(
        self,
        program: Program,
        outcome: Outcome,
        inputs: Inputs,
        policy: Policy,
        blocks: Blocks,
    ) -> Shown | None:
        wanted = outputs(self.core, inputs, program.sizes)
        self.unjudged |= any(e.tensor not in wanted for e in self.core.ensures)
        for name, want in wanted.items():
            if name not in outcome.outputs:
                continue
            if outcome.outputs[name].shape != want.shape:  # one name for axes of two extents: no reference
                self.unjudged = True
                continue
            got, compared = outcome.outputs[name], np.ones(want.shape, np.bool_)
            if blocks is not None:
                compared = outcome.written[name] > 0
            scale = float(np.abs(want).max(initial=0.0)) or 1.0
            with np.errstate(invalid="ignore"):
                bad = compared & ~(np.abs(got - want) <= TOLERANCE * scale)
            if bad.any():
                first = tuple(int(i) for i in np.argwhere(bad)[0])
                return Shown(policy, None, name, first, int(bad.sum()), int(compared.sum()))
        return None


def _equal(x: Outcome, y: Outcome) -> bool:
    return all(np.array_equal(v, y.outputs[name], equal_nan=True) for name, v in x.outputs.items())


def _is_integer(value: Floats | float) -> bool:
    return value.dtype.kind == "i" if isinstance(value, np.ndarray) else isinstance(value, int)


def _sizes(param: TensorParam) -> frozenset[str]:
    return frozenset[str]().union(*(names(e) for e in param.shape))


_ELSEWHERE = 3


def _distance(fault: Fault, obligation: Obligation) -> int:
    """How near a fault lies to the place of an obligation."""
    spans = [s for s in (fault.span, fault.other_span) if s is not None]
    if obligation.span == fault.span:
        return 0
    if obligation.span in spans:
        return 1
    return 2 if any(s.line == obligation.span.line for s in spans) else _ELSEWHERE


# ------------------------------------------------------------------------------------- counterexamples


def counterexample(
    obligation: Obligation,
    witness: Witness,
    shown: Shown,
    block: Mapping[str, int],
    sizes: Mapping[str, int],
) -> Counterexample:
    """The witness with what its execution showed put in."""
    f, fault = witness.finding, shown.fault
    thread = f.thread
    loops = _loops(f, witness.model)
    element, buffer = f.element, f.buffer
    if fault is not None and fault.wave is not None and obligation.kind in ("race", "wait", "bounds"):
        thread = fault.wave * LANES + (fault.lane or 0)
        loops = dict(fault.loops) or loops
        buffer = fault.buffer or buffer
    consumer = f.consumer
    if fault is not None and fault.kind == "write-set" and obligation.kind == "coverage":
        consumer = fault.span  # the store that came second
    return Counterexample(
        kind=obligation.kind,
        text=f.text,
        sizes=dict(sizes),
        block=dict(block),
        loops=loops,
        thread=thread,
        wave=None if thread is None else thread // LANES,
        lane=None if thread is None else thread % LANES,
        register_slot=f.slot,
        buffer=None if buffer is None else buffer.replace("·", "."),
        stage=f.stage,
        element=element,
        byte=f.byte,
        bank=None if f.byte is None else f.byte // 4 % 32,
        want=_tag(f.component, f.want),
        got=_tag(f.component, f.got),
        component=f.component,
        consumer=consumer,
        producer=f.producer,
        other=_other(f, fault),
        hops=f.hops,
        wrong_count=f.wrong if f.wrong is not None else (shown.wrong or None),
        total_count=f.total if f.wrong is not None else (shown.total or None),
        pattern=f.pattern,
        fix_class=f.fix_class,
        fix=f.fix,
        replayed=str(shown),
    )


def _tag(component: str | None, value: str) -> str:
    return f"{component} = {value}" if component and value else value


def _loops(f: Finding, model: Mapping[str, int]) -> dict[str, int]:
    out = dict[str, int]()
    for name, form in f.loops.items():
        env = {v: model.get(v, 0) for v in form.variables()}
        out[name] = evaluate_affine(form, env)
    return out


def _other(f: Finding, fault: Fault | None) -> Access | None:
    if fault is not None and fault.other_span is not None and fault.other_wave is not None:
        thread = fault.other_wave * LANES + (fault.other_lane or 0)
        action = fault.other_action if fault.other_action in ("reads", "writes", "copies into") else "reads"
        return Access(
            span=fault.other_span, action=action, thread=thread, wave=thread // LANES, lane=thread % LANES,
            loops=dict(fault.other_loops or {}),
        )  # fmt: skip
    if f.other is None:
        return None
    t = f.other.thread
    return Access(span=f.other.span, action=f.other.action, thread=t, wave=t // LANES, lane=t % LANES)


def order_of(blocks: Sequence[str], sizes: Sequence[str]) -> tuple[str, ...]:
    """Symbols in the order in which a witness is made small: blocks, then sizes."""
    return (*blocks, *sizes)
