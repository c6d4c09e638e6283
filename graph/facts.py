"""State turned into the planner's message. Pure: no clock, no file, no draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from argus.agents.attempt import Attempt
from argus.agents.messages import (
    ArmView,
    AttemptView,
    BudgetLeft,
    CardView,
    ParentView,
    PlanningState,
    ReportFacts,
    TaskFacts,
    TechniqueNote,
)
from argus.agents.policy.arms import Catalogue, relief_views
from argus.agents.policy.lessons import lessons
from argus.dsl.codegen.report import Report
from argus.graph.context import Budget
from argus.graph.state import RunState, lower_bound
from argus.graph.survey import Survey, candidates_left, gain_of, seed_of, tokens_left
from argus.retrieval.card import Card, Level

REMEMBERED = 12


def planning_state(
    state: RunState, found: Survey, catalogue: Catalogue, budget: Budget, *, round_number: int, room: int
) -> PlanningState:
    """The planner's whole message for a round with room for so many candidates."""
    attempts = state["attempts"]
    known = {a.id: a for a in attempts}
    p = catalogue.problem
    return PlanningState(
        task=TaskFacts(
            name=p.task.name,
            family=catalogue.family.name,
            target=p.target,
            dtype=p.dtype,
            shape=dict(p.shape),
            contract=p.contract,
            lower_bound_us=lower_bound(attempts),
        ),
        seed=seed_of(state),
        round=round_number,
        wanted=3 * room,
        budget=BudgetLeft(
            rounds=budget.rounds - round_number + 1,
            candidates=candidates_left(attempts, budget),
            tokens=tokens_left(state, budget),
        ),
        parents=tuple(parent_view(a, catalogue) for a in found.parents),
        cards=tuple(card_view(card, found.open) for card in _mentioned(catalogue, found.arms)),
        arms=found.arms,
        pairs=found.pairs,
        lessons=lessons(state["arms"]),
        attempts=tuple(_attempt_view(a, known) for a in attempts[-REMEMBERED:]),
    )


def parent_view(a: Attempt, catalogue: Catalogue) -> ParentView:
    return ParentView(
        attempt=a.id,
        schedule=a.schedule,
        time_us=a.time_us or 0.0,
        time_kind=a.time_kind,
        verdict=str(a.obligations),
        kernel_sha=a.kernel_sha,
        active=catalogue.active(a.schedule),
        report=report_facts(a.report, a.bank_conflicts) if a.report else None,
    )


def report_facts(report: Report, conflicts: Mapping[str, float]) -> ReportFacts:
    e = report.estimate
    return ReportFacts(
        bound=e.bound if e else "unknown",
        next_bound=e.next_bound if e else "unknown",
        resources_us=dict[str, float](e.resources_us.items()) if e else {},
        vgpr=report.registers.vgpr,
        agpr=report.registers.agpr,
        spills=report.spills,
        lds_bytes=report.lds_bytes,
        occupancy_waves=report.occupancy_waves,
        main_loop=report.main_loop.model_dump(exclude={"waits"}),
        bank_conflicts=dict(conflicts),
    )


def card_view(card: Card, opened: Sequence[Level]) -> CardView:
    params = card.change.params if card.change else {}
    return CardView(
        id=card.id,
        title=card.title,
        level=card.level,
        open=card.level in opened,
        relieves=relief_views(card),
        change=card.change.set if card.change else None,
        params={name: (p.default, *(v for v in p.values if v != p.default)) for name, p in params.items()},
        constraints=card.change.constraints if card.change else (),
        requires=card.requires.cards,
        conflicts=card.conflicts,
        invariants=tuple(i.text for i in card.invariants if not i.implied),
    )


def technique_note(card: Card) -> TechniqueNote:
    """What the lowering agent reads of a card."""
    return TechniqueNote(
        id=card.id,
        title=card.title,
        applied_by_schedule=card.change is not None,
        invariants=tuple(i.text for i in card.invariants),
        mistakes=tuple(f"{m.fix_class}: {m.cause}; {m.fix}" for m in card.mistakes),
        how=next((s.text for s in card.sections if s.heading.lower() in ("how", "mechanism")), ""),
    )


def change_text(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """What a step changes, field by field: `stages 1→2, swizzle none→xor(8, unit=8, rows=1)`."""
    if old is None or new is None:
        return "kernel text"
    return ", ".join(f"{k} {_plain(old.get(k))}→{_plain(v)}" for k, v in new.items() if old.get(k) != v)


def _plain(value: object) -> str:
    return "x".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)


def _mentioned(catalogue: Catalogue, arms: Sequence[ArmView]) -> list[Card]:
    """Cards that arms name, and documentation that only a model can apply."""
    names = {name for arm in arms for name in (arm.card, *arm.bundle)}
    written = {card.id for card in catalogue.optimisations() if card.change is None}
    return [catalogue.cards[name] for name in sorted(names | written)]


def _attempt_view(a: Attempt, known: Mapping[int, Attempt]) -> AttemptView:
    return AttemptView(
        id=a.id,
        parent=a.parent,
        techniques=a.techniques,
        params=a.params,
        status=a.status,
        time_us=a.time_us,
        gain=gain_of(a, known),
        note=a.note,
    )
