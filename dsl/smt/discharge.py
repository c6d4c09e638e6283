"""From goals to verdicts: prove them, or find sizes at which they fail and have them replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from argus.dsl.diagnostics import Counterexample
from argus.dsl.layout.affine import Formula, conjunction, evaluate_affine, ge, negation, var
from argus.dsl.smt.cover import (
    Family,
    NotCountable,
    miscounted,
    output_families,
    output_violated,
    padding_summed,
    reduction_families,
    reduction_violated,
)
from argus.dsl.smt.verdict import Proved, Refuted, Unknown, Verdict
from argus.dsl.smt.z3_door import Door, Model, Undecided
from argus.dsl.tags.obligations import CoversOnce, Finding, Goal, Holds, Obligation, WritesOnce

POINTS = ("x0", "x1", "x2", "x3")
LARGER = (33, 65, 129, 257)
LARGEST_PROBE = 600  # sizes tried by counting, where no formula says how often something is covered


@dataclass(frozen=True, slots=True)
class Witness:
    """Values of symbols at which a goal fails, and what then fails.

    Attributes:
        point: The coordinate that is not covered once, for claims about covering.
    """

    model: Model
    finding: Finding
    point: tuple[int, ...] | None = None


Replay = Callable[[Obligation, Witness], Counterexample | None]


def settle(obligation: Obligation, door: Door, replay: Replay | None, order: Sequence[str]) -> Verdict:
    """The verdict on one obligation.

    Args:
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
                internal = internal or (
                    f"internal: the analysis finds that {witness.finding.text}, "
                    f"which the interpreter does not reproduce at {_sizes(witness, door)}"
                )
        except (Undecided, NotCountable) as e:
            undecided = undecided or str(e)
        if goal.facts or not isinstance(goal.claim, Holds):
            obligation.raise_tier("smt")
    for reason in (internal, *obligation.blocked, undecided):
        if reason:
            return Unknown(obligation.tier, reason)
    return Proved(obligation.tier)


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
        NotCountable: Likewise.
    """
    match goal.claim:
        case Holds(formula):
            yield from _solved(goal, [*goal.facts, negation(formula)], door, order)
        case CoversOnce() as claim:
            try:
                violated = reduction_violated(claim, POINTS[0])
            except NotCountable as e:
                yield from _counted(goal, reduction_families(claim, var(POINTS[0])), door, str(e))
                return
            yield from _solved(goal, [*goal.facts, *violated], door, order, POINTS[:1])
            for padding in padding_summed(claim):
                yield from _solved(goal, [*goal.facts, *padding], door, order)
        case WritesOnce() as claim:
            points = POINTS[: len(claim.extents)]
            try:
                violated = output_violated(claim, points)
            except NotCountable as e:
                yield from _counted(goal, output_families(claim, [var(p) for p in points]), door, str(e))
                return
            yield from _solved(goal, [*goal.facts, *violated], door, order, points)


def _solved(
    goal: Goal, formulas: list[Formula], door: Door, order: Sequence[str], points: Sequence[str] = ()
) -> Iterator[Witness]:
    if door.refuted(formulas):
        return
    finding = goal.finding()
    tried = list[dict[str, int]]()
    # The smallest sizes may hide the mistake in padding: then larger ones are tried.
    ladder = (conjunction(ge(var(size) - least) for size in door.sizes) for least in LARGER)
    for extra in (*finding.matters, conjunction(()), *ladder):
        model = door.smallest([*formulas, extra], (*order, *points))
        if model is None or (sizes := {s: model[s] for s in (*order, *door.sizes) if s in model}) in tried:
            continue
        tried.append(sizes)
        yield Witness(model, finding, tuple(model[p] for p in points) or None)


def _counted(goal: Goal, families: Sequence[Family], door: Door, reason: str) -> Iterator[Witness]:
    """Small sizes at which counting shows a violation; counting proves nothing."""
    claim = goal.claim
    assert isinstance(claim, CoversOnce | WritesOnce)
    extents = (claim.extent,) if isinstance(claim, CoversOnce) else claim.extents
    for least in (1, 33, 65, 129, 257):
        bounds = [ge(var(size) - least) for size in door.sizes]
        model = door.smallest([*goal.facts, *bounds], ())
        if model is None or max(model[s] for s in door.sizes) > LARGEST_PROBE:
            continue
        try:
            point = miscounted(families, model, [evaluate_affine(e, model) for e in extents])
        except KeyError as e:
            raise NotCountable(f"{reason}; {e} is open") from None
        if point is not None:
            yield Witness(model, goal.finding(), point)
    raise NotCountable(reason)
