"""From goals to verdicts: prove them, or find sizes at which they fail and have them replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Protocol

import numpy as np

from argus.dsl.diagnostics import Counterexample, FixClass
from argus.dsl.layout.affine import (
    TRUE,
    Affine,
    Formula,
    conjunction,
    evaluate_affine,
    ge,
    negation,
    var,
)
from argus.dsl.smt.cover import (
    Family,
    NotCountable,
    beyond_summed,
    output_families,
    output_violated,
    padding_summed,
    reduction_families,
    reduction_violated,
    tally,
    wanted,
)
from argus.dsl.smt.verdict import Proved, Refuted, Unknown, Verdict
from argus.dsl.smt.z3_door import Door, Model, Undecided
from argus.dsl.tags.obligations import POINTS, CoversOnce, Finding, Goal, Holds, Obligation, WritesOnce

LARGER = (33, 65, 129, 257)
GROWTH = (2, 4)
LARGEST_PROBE = 600  # sizes tried by counting, where no formula says how often something is covered


@dataclass(frozen=True, slots=True)
class Witness:
    """Values of symbols at which a goal fails, and what then fails."""

    model: Model
    finding: Finding


class Replay(Protocol):
    """Reproduces witnesses in the interpreter."""

    def __call__(self, obligation: Obligation, witness: Witness) -> Counterexample | None:
        """The counterexample, if an execution goes wrong as the witness says."""
        ...

    @property
    def spent(self) -> bool:
        """Whether the budget of executions is spent, so that nothing more is reproduced."""
        ...

    def must_show(self, obligation: Obligation) -> bool:
        """Whether an execution would show any violation of the obligation."""
        ...


def settle(obligation: Obligation, door: Door, replay: Replay | None, order: Sequence[str]) -> Verdict:
    """The verdict on one obligation.

    Args:
        obligation: With the goals that the analysis left.
        door: A solver with the kernel's preconditions.
        replay: Reproduces a witness in the interpreter; without it a violation stays unknown.
        order: Symbols to be made small first.
    """
    internal = ""
    undecided = ""
    for goal in _distinct(obligation.goals):
        try:
            for witness in _witnesses(goal, door, order):
                if replay is None:
                    return Unknown(obligation.tier, f"violated, not replayed: {witness.finding.text}")
                counterexample = replay(obligation, witness)
                if counterexample is not None:
                    return Refuted(obligation.tier, counterexample)
                sure = witness.finding.sure and replay.must_show(obligation)
                doubt = "internal" if sure else "no output shows it"
                doubt = "the budget of executions is spent" if replay.spent else doubt
                internal = internal or (
                    f"{doubt}: the analysis finds that {witness.finding.text}, "
                    f"which the interpreter does not reproduce at {_sizes(witness, door)}"
                )
        except Undecided as e:
            undecided = undecided or str(e)
        if goal.facts or not isinstance(goal.claim, Holds):
            obligation.raise_tier("smt")
    # Where the analysis did not follow everything, what it finds may be of executions that do not exist.
    for reason in (*obligation.blocked, internal, undecided):
        if reason:
            return Unknown(obligation.tier, reason)
    return Proved(obligation.tier)


def provable(obligation: Obligation, door: Door) -> bool:
    """Whether an obligation is proved; no violation is replayed."""
    return isinstance(settle(obligation, door, None, ()), Proved)


def _distinct(goals: Sequence[Goal]) -> list[Goal]:
    kept = list[Goal]()
    for goal in goals:
        if all(goal.claim != k.claim or goal.facts != k.facts for k in kept):
            kept.append(goal)
    return kept


def _sizes(witness: Witness, door: Door) -> str:
    return ", ".join(f"{name}={witness.model[name]}" for name in door.sizes if name in witness.model)


def _witnesses(goal: Goal, door: Door, order: Sequence[str]) -> Iterator[Witness]:
    """Witnesses of one goal, those that show best in an output first; nothing if it is proved.

    Raises:
        Undecided: If neither a proof nor a witness is found.
    """
    claim = goal.claim
    if isinstance(claim, Holds):
        yield from _solved(goal, [*goal.facts, negation(claim.formula)], door, order)
        return
    points = POINTS[: len(_extents(claim))]
    try:
        violated = _violated(claim)
    except NotCountable as e:
        yield from _counted(goal, door, str(e))
        return
    for model, finding in _models(goal, [*goal.facts, *violated], door, (*order, *points)):
        yield Witness(model, _described(claim, finding, model))
    if isinstance(claim, CoversOnce):
        for beyond in beyond_summed(claim):
            for model, finding in _models(goal, [*goal.facts, *beyond], door, order):
                text = f"{finding.component} at or beyond {claim.extent} is summed as well"
                yield Witness(model, replace(finding, text=text, got=""))
        for padding in padding_summed(claim):
            for model, finding in _models(goal, [*goal.facts, *padding], door, order):
                text = f"padding along {finding.component} is summed, and it is not zero"
                yield Witness(
                    model, replace(finding, text=text, fix_class="bounds guard", fix="pad=0", want="", got="")
                )


def _solved(goal: Goal, formulas: list[Formula], door: Door, order: Sequence[str]) -> Iterator[Witness]:
    for model, finding in _models(goal, formulas, door, order):
        yield Witness(model, finding)


def _models(goal: Goal, formulas: list[Formula], door: Door, order: Sequence[str]) -> Iterator[tuple[Model, Finding]]:
    if door.refuted(formulas):
        return
    finding = goal.finding()
    tried = list[Model]()
    # The smallest sizes may hide the mistake in padding: then larger ones are tried.
    ladder = [conjunction(ge(var(size) - least) for size in door.sizes) for least in LARGER]
    # Or it needs more of one size, where more of all would be too much to execute.
    single = ((size, factor) for factor in GROWTH for size in door.sizes)
    for wish in chain((*finding.matters, TRUE), single, ladder):
        model = door.smallest([*formulas, _larger(*wish, tried) if isinstance(wish, tuple) else wish], order)
        if model is None or (sizes := {s: model[s] for s in (*order, *door.sizes) if s in model}) in tried:
            continue
        tried.append(sizes)
        yield model, finding
    if not tried:
        raise Undecided("the solver finds a violation possible and gives no values for it")


def _larger(size: str, factor: int, tried: Sequence[Model]) -> Formula:
    """A size so many times as large as it was first tried."""
    return ge(var(size) - factor * max(LARGER[0], *(t.get(size, 1) for t in tried[:1])))


# ----------------------------------------------------------------------------------------- covering


def _extents(claim: CoversOnce | WritesOnce) -> tuple[Affine, ...]:
    return (claim.extent, *(e for _, e in claim.across)) if isinstance(claim, CoversOnce) else claim.extents


def _violated(claim: CoversOnce | WritesOnce) -> list[Formula]:
    return reduction_violated(claim) if isinstance(claim, CoversOnce) else output_violated(claim)


def _families(claim: CoversOnce | WritesOnce) -> list[Family]:
    at = [var(p) for p in POINTS]
    return (
        reduction_families(claim, at[0])
        if isinstance(claim, CoversOnce)
        else output_families(claim, at[: len(claim.extents)])
    )


def _counted(goal: Goal, door: Door, reason: str) -> Iterator[Witness]:
    """Small sizes at which counting shows a violation; counting proves nothing.

    Raises:
        Undecided: After the last witness.
    """
    claim = goal.claim
    assert isinstance(claim, CoversOnce | WritesOnce)
    for least in (1, *LARGER):
        model = door.smallest([*goal.facts, *(ge(var(size) - least) for size in door.sizes)], ())
        if model is None or max(model[s] for s in door.sizes) > LARGEST_PROBE:
            continue
        finding = _described(claim, goal.finding(), model)
        if finding.wrong:
            yield Witness(model, finding)
    raise Undecided(reason)


def _described(claim: CoversOnce | WritesOnce, finding: Finding, model: Model) -> Finding:
    """The finding with the first coordinate that is not covered once at these sizes."""
    try:
        extents = [evaluate_affine(e, model) for e in _extents(claim)]
        counts = tally(_families(claim), model, extents)
        if counts is not None and isinstance(claim, CoversOnce) and not claim.once:
            counts = np.minimum(counts, 1)
        wrong = None if counts is None else np.argwhere(counts != wanted(claim.inside, model, extents))
    except KeyError:
        return finding
    if counts is None or wrong is None or not len(wrong):
        return finding
    point = tuple(int(i) for i in wrong[0])
    count = int(counts[point])
    if claim.inside != TRUE or (isinstance(claim, CoversOnce) and claim.across):
        return replace(finding, wrong=len(wrong), total=counts.size, element=point)
    times = "never" if count == 0 else "twice" if count == 2 else f"{count} times"
    done = "never {}" if count == 0 else f"{{}} {times}"
    if isinstance(claim, CoversOnce):
        text = f"{finding.component} = {point[0]} is {done.format('summed')}, not once"
        first, last = int(wrong[0][0]), int(wrong[-1][0])
        whole_run = last - first + 1 == len(wrong)
        run = f"{finding.component} {first} to {last}" if whole_run and len(wrong) > 1 else ""
        fix = "a k-step or a k-tile is taken more than once"
        if count == 0:
            tail = whole_run and last == counts.size - 1 and _without_gaps(claim)
            fix = (
                "the loop ends too early: take every tile, cdiv(...) of them"
                if tail
                else "a k-step or a k-tile is left out"
            )
        return replace(
            finding, text=text, want=f"{point[0]} once", got=times, wrong=len(wrong), total=counts.size, pattern=run,
            element=point, fix=fix,
        )  # fmt: skip
    text = f"element [{', '.join(map(str, point))}] is {done.format('written')}, not once"
    fix_class: FixClass | None = "bounds guard" if count == 0 else None
    fix = "take every tile, cdiv(...) of them along each axis, and store each" if count == 0 else "store each tile once"
    return replace(
        finding, text=text, want="one write", got="none" if count == 0 else f"{count} writes", wrong=len(wrong),
        total=counts.size, element=point, fix_class=fix_class, fix=fix,
    )  # fmt: skip


def _without_gaps(claim: CoversOnce) -> bool:
    """Whether each trip of a loop takes a whole tile, so that what is missing are trips."""
    steps = {abs(t.base.coefficient(d.symbol)) for t in claim.terms for d in t.domains} - {0}
    if len(steps) != 1:
        return False
    step = steps.pop()
    return len({x % step for t in claim.terms if t.domains for a, b, _ in t.runs for x in range(a, b)}) == step
