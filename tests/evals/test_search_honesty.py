"""What the search may lean on: the cards' knowledge, not a recipe; a closed form that proposes and never rewards.

That constant rewards change its choices, that it follows a planted optimum and that removed cards are never applied is
shown beside the graph (`tests/graph/test_search.py`).
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from tests.graph.graph_fakes import FakeToolbox, schedule_of

from argus.dsl.check import check
from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.report import Estimate, Resource
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.frontend import parse
from argus.dsl.kernels import GemmSchedule, Problem, families, make_problem, task_named
from argus.dsl.transform import to_core
from argus.graph.build import build_graph
from argus.graph.context import Budget, RunContext
from argus.graph.state import RunState, TaskKey, best_of
from argus.retrieval import change
from argus.retrieval.card import Card
from argus.retrieval.load import load_corpus
from argus.tools.compile import assembly_report
from argus.tools.results import CompileResult

CARDS = load_corpus()
KNOBS = {name: card for name, card in sorted(CARDS.items()) if card.change is not None}


# ------------------------------------------------------------------------------- cards are no recipes


@pytest.mark.parametrize("card", KNOBS.values(), ids=KNOBS)
def test_no_card_names_a_complete_schedule(card: Card) -> None:
    assert card.change is not None
    every = set(GemmSchedule.model_fields)
    fields = {change.field_parts(field)[0] for field in card.change.set}
    assert len(fields) <= len(every) // 3
    for side in (card.example.before, card.example.after) if card.example else ():
        assert not set(side) >= every
    # Nor does its text: a schedule as a model or the family would read it.
    assert not any(all(f'"{field}"' in s.text for field in every) for s in card.sections)


# ---------------------------------------------------------------------------- what the cards know counts


class AsTheCardsSay(FakeToolbox):
    """A world in which every technique relieves its resources by just what its card gives as the middle effect."""

    resources: Mapping[Resource, float] = {
        "mfma": 60.0, "valu": 20.0, "lds": 90.0, "vmem": 40.0, "hbm": 50.0, "latency": 120.0, "launch": 4.0,
    }  # fmt: skip

    async def compile_kernel(self, text: str, problem: Problem, directory: Path) -> CompileResult:
        made = await super().compile_kernel(text, problem, directory)
        schedule = schedule_of(text)
        assert schedule is not None
        left = self.left(schedule)
        first, second = sorted(left, key=lambda r: -left[r])[:2]
        estimate = Estimate(
            shape=dict(problem.shape), time_us=sum(left.values()), lower_bound_us=20.0, bound=first, next_bound=second,
            resources_us=left, model_version="cards",
        )  # fmt: skip
        return made.model_copy(update={"report": made.report.model_copy(update={"estimate": estimate})})

    def left(self, schedule: GemmSchedule) -> dict[Resource, float]:
        """Microseconds of each resource."""
        time = dict(self.resources)
        fields, start = (s.model_dump(mode="json") for s in (schedule, GemmSchedule()))
        for card in KNOBS.values():
            if change.active(card, fields) and not change.active(card, start):
                for relief in card.relieves:
                    time[_shown_as(relief.resource)] /= relief.effect.mid
        return time


def _shown_as(resource: str) -> Resource:
    """The estimate times no occupancy or tail: they show as latency and idle matrix time."""
    shown = {"occupancy": "latency", "tail": "mfma"}.get(resource, resource)
    return next(known for known in AsTheCardsSay.resources if known == shown)


async def best_us(cards: Mapping[str, Card], seed: int) -> float:
    context = RunContext(toolbox=AsTheCardsSay(), cards=cards, budget=Budget(rounds=3, candidates=6))
    state: RunState = await build_graph().ainvoke(  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
        {"task": TaskKey(name="gemm", seed=seed)}, {"recursion_limit": 60}, context=context
    )
    best = best_of(state["attempts"])
    assert best is not None
    assert best.time_us is not None
    return best.time_us


def shuffled(seed: int) -> dict[str, Card]:
    """The same cards, each claiming another one's effects."""
    claims = [card.relieves for card in KNOBS.values()]
    Random(seed).shuffle(claims)
    return {
        **CARDS,
        **{name: KNOBS[name].model_copy(update={"relieves": c}) for name, c in zip(KNOBS, claims, strict=True)},
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("told_schedules")
async def test_shuffled_claims_find_worse_kernels() -> None:
    told = [await best_us(CARDS, seed) for seed in range(20)]
    misled = [await best_us(shuffled(seed), seed) for seed in range(20)]
    assert statistics.median(told) < statistics.median(misled)
    assert sum(t < m for t, m in zip(told, misled, strict=True)) > sum(t > m for t, m in zip(told, misled, strict=True))


# ------------------------------------------------------------------- the closed form is not the estimate


@pytest.mark.slow
def test_the_closed_form_and_the_estimate_disagree_on_kernels(tmp_path: Path) -> None:
    """They rank some pair the other way round, and the closed form is blind to what the estimate sees."""
    problem = make_problem(task_named("gemm"))
    base = {"tile": (128, 128, 32), "stages": 2, "pack": 2, "vector": 16}
    schedules = [
        GemmSchedule.model_validate({**base, **more})
        for more in ({}, {"atom": "16x16x16"}, {"swizzle": "xor(4, unit=8, rows=2)"}, {"pad": 8}, {"regs": "agpr"})
    ]
    family = families()["gemm"]
    proposed = [family.predict(s, problem) for s in schedules]
    with CompilerPool(tmp_path, workers=2) as pool:
        rewarded = [_estimated(pool, family.text(s, problem), problem) for s in schedules]
    gaps = [(p - q, e - f) for (p, e), (q, f) in combinations(list(zip(proposed, rewarded, strict=True)), 2)]
    assert any(by_form * by_code < 0 for by_form, by_code in gaps) or any(f == 0 and abs(e) > 1 for f, e in gaps)
    ratios = [e / p for p, e in zip(proposed, rewarded, strict=True)]
    assert max(ratios) / min(ratios) > 1.05


def _estimated(pool: CompilerPool, text: str, problem: Problem) -> float:
    artifact = pool.compile_now(CompileRequest(text=text, target=problem.target))
    report = assembly_report(artifact.asm_path.read_text("utf-8"), to_core(parse(text)), problem.sizes, check(text))
    assert report.estimate is not None
    return report.estimate.time_us
