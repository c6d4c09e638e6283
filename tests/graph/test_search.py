"""Whether the search is honest: it follows what it is rewarded for, and uses nothing that it was not given."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph_fakes import FakeToolbox, cards, planted, schedule_of

from argus.agents.attempt import Attempt
from argus.agents.policy.reward import Reward, reward
from argus.dsl.kernels import GemmSchedule
from argus.graph.build import build_graph
from argus.graph.context import Budget, Config, RunContext, Stopwatch
from argus.graph.run import aoptimize
from argus.graph.state import Start, TaskKey, best_of


async def search(
    estimate: Callable[[GemmSchedule], float] = planted,
    *,
    seed: int = 0,
    without: tuple[str, ...] = (),
    rewarded: Reward = reward,
    config: Config | None = None,
    budget: Budget | None = None,
) -> list[Attempt]:
    context = RunContext(
        toolbox=FakeToolbox(estimate),
        cards={name: card for name, card in cards().items() if name not in without},
        config=config or Config(),
        budget=budget or Budget(),
        reward=rewarded,
    )
    start = Start(task=TaskKey(name="gemm", seed=seed))
    state: Any = await build_graph().ainvoke(start, {"recursion_limit": 60}, context=context)  # pyright: ignore[reportUnknownMemberType]
    return state["attempts"]


def best_us(attempts: list[Attempt]) -> float:
    best = best_of(attempts)
    assert best is not None
    assert best.time_us is not None
    return best.time_us


def steps(attempts: list[Attempt]) -> list[tuple[tuple[str, ...], object]]:
    return [(a.techniques, a.params) for a in attempts]


def shallow(s: GemmSchedule) -> float:
    """Another landscape: one stage with prefetch, padded, no AGPRs, small tiles."""
    time = 110.0 * {1: 1.0, 2: 1.6, 3: 2.0, 4: 2.5}[s.stages] * (0.7 if s.prefetch else 1.0)
    time *= 1.4 if s.regs == "agpr" else 1.0
    time *= 1.0 if s.pad else 1.5
    return time * (1 + s.tile[0] * s.tile[1] / 65536)


@pytest.mark.slow
async def test_the_search_follows_a_planted_optimum() -> None:
    here = [best_of(await search(planted, seed=seed)) for seed in range(5)]
    there = [best_of(await search(shallow, seed=seed)) for seed in range(5)]
    deep = [GemmSchedule.model_validate(a.schedule) for a in here if a]
    flat = [GemmSchedule.model_validate(a.schedule) for a in there if a]
    assert statistics.median(planted(s) for s in deep) <= 1.2 * 110
    # The best that these cards reach there is 77 us times the smallest tile's 1.0625.
    assert statistics.median(shallow(s) for s in flat) <= 1.1 * 77 * 1.0625
    assert statistics.median(planted(s) for s in flat) > 2 * statistics.median(planted(s) for s in deep)


@pytest.mark.slow
async def test_more_is_won_than_by_the_start_kernel_and_steps_build_on_each_other() -> None:
    attempts = await search(seed=1)
    by_id = {a.id: a for a in attempts}
    path: list[Attempt] = []
    a = best_of(attempts)
    while a is not None and a.parent is not None:
        path.append(a)
        a = by_id[a.parent]
    assert len(path) >= 2
    assert all((x.reward or 0) > 0 for x in path)


@pytest.mark.slow
async def test_constant_rewards_change_the_choices() -> None:
    budget = Budget(rounds=3, candidates=15)
    honest = await search(seed=3, budget=budget)
    flat = await search(seed=3, budget=budget, rewarded=lambda attempt, parent: 0.1 if attempt.valid else -0.4)
    assert steps(honest) != steps(flat)
    # The first round is chosen before any reward: it must not differ.
    assert steps(honest)[:6] == steps(flat)[:6]


@pytest.mark.slow
@pytest.mark.parametrize("removed", ["swizzle", "tiling", "agpr"])
async def test_a_removed_card_is_never_applied(removed: str) -> None:
    attempts = await search(seed=2, without=(removed,), budget=Budget(rounds=2, candidates=8))
    start = GemmSchedule()
    field = {"swizzle": "swizzle", "tiling": "tile", "agpr": "regs"}[removed]
    assert len(attempts) == 9
    assert not any(removed in a.techniques for a in attempts)
    assert {getattr(schedule_of(a.text), field) for a in attempts if a.text} == {getattr(start, field)}


@pytest.mark.slow
async def test_equal_seeds_give_equal_searches_and_others_do_not() -> None:
    small = Budget(rounds=3, candidates=9)
    first = steps(await search(seed=5, budget=small))
    assert first == steps(await search(seed=5, budget=small))
    assert first != steps(await search(seed=6, budget=small))


async def test_no_kernel_is_tried_twice() -> None:
    attempts = await search(seed=4)
    shas = [a.kernel_sha for a in attempts if a.kernel_sha]
    assert len(set(shas)) == len(shas)


@pytest.mark.slow
async def test_learning_can_be_switched_off() -> None:
    small = Budget(rounds=3, candidates=15)
    learned = await search(seed=7, budget=small)
    fixed = await search(seed=7, budget=small, config=Config(learning=False))
    assert steps(learned) != steps(fixed)
    assert len({a.prompt_sha for a in fixed if a.prompt_sha}) == 1
    assert len({a.prompt_sha for a in learned if a.prompt_sha}) > 1


@pytest.mark.slow
async def test_without_knowledge_cards_are_knobs_without_conditions_or_effects() -> None:
    """Prefetching applies to one stage only, and AGPRs promise 10 %; a bare card says neither."""
    small = Budget(rounds=6, candidates=36)
    told = await search(seed=1, budget=small)
    bare = await search(seed=1, budget=small, config=Config(knowledge=False))
    assert any(a.prior > 0 for a in told if a.techniques == ("agpr",))
    assert all(a.prior == 0 for a in bare if a.techniques == ("agpr",))
    assert steps(told) != steps(bare)


@pytest.mark.slow
async def test_budgets_end_the_search(tmp_path: Path) -> None:
    toolbox = FakeToolbox()
    found = await aoptimize(
        "gemm", toolbox=toolbox, cards=cards(), candidates=4, rounds=9, out=tmp_path / "a", track=False
    )
    assert len(found.attempts) == 5
    assert found.stop_reason == "4 candidates are tried"
    found = await aoptimize("gemm", toolbox=toolbox, cards=cards(), rounds=1, out=tmp_path / "b", track=False)
    assert max(a.round for a in found.attempts) == 1
    assert found.stop_reason == "1 rounds are done"
    found = await aoptimize("gemm", toolbox=toolbox, cards=cards(), minutes=1e-6, out=tmp_path / "c", track=False)
    assert [a.id for a in found.attempts] == [0]
    assert "minutes" in found.stop_reason


async def test_it_stops_at_the_floor() -> None:
    attempts = await search(lambda s: 104.0)
    assert [a.id for a in attempts] == [0]


async def test_it_stops_when_nothing_promises_a_gain() -> None:
    only = tuple(name for name in cards() if name != "priority")
    attempts = await search(without=only)
    # One parameterless card: once tried, nothing is left.
    assert [a.techniques for a in attempts] == [(), ("priority",)]


async def test_time_runs_out_in_the_middle_of_a_round() -> None:
    """What has begun is finished; the rest leaves no attempt and teaches nothing."""
    ticks = iter(range(0, 10_000, 4))
    context = RunContext(
        toolbox=FakeToolbox(),
        cards=cards(),
        config=Config(concurrency=1),
        budget=Budget(rounds=1, candidates=8, minutes=1),
        watch=Stopwatch(clock=lambda: float(next(ticks))),
    )
    start = Start(task=TaskKey(name="gemm"))
    settings: Any = {"recursion_limit": 60, "max_concurrency": 1}
    state: Any = await build_graph().ainvoke(start, settings, context=context)  # pyright: ignore[reportUnknownMemberType]
    tried = [a for a in state["attempts"] if a.parent is not None]
    assert 0 < len(tried) < 8
    assert all(a.valid for a in tried)
    assert state["stop_reason"] in ("1 rounds are done", "1 minutes are over")
