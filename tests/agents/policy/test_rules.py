"""Rewards, levels, stopping, priors, calibration: the small rules."""

from __future__ import annotations

import math
from typing import Any

import pytest

from argus.agents.attempt import Attempt
from argus.agents.messages import Belief, ProposalView, ReliefView, SelectionState
from argus.agents.policy import priors
from argus.agents.policy.levels import LEVELS, deepest, open_levels
from argus.agents.policy.reward import VIOLATION, WRONG, log_gain, reward
from argus.agents.policy.sample import START_WEIGHT, TOP_WEIGHT, calibration, choose, combined
from argus.agents.policy.stopping import at_floor, no_promise, stalled


def attempt(**fields: Any) -> Attempt:  # noqa: ANN401 - fields
    return Attempt.model_validate({"id": 1, "round": 1, "status": "valid", "time_us": 100.0, **fields})


PARENT = attempt(id=0, time_us=200.0)


def test_a_valid_kernel_earns_its_log_gain() -> None:
    assert reward(attempt(), PARENT) == pytest.approx(math.log(2))
    assert reward(attempt(time_us=400.0), PARENT) == pytest.approx(-math.log(2))


def test_estimated_and_measured_times_are_never_compared() -> None:
    assert reward(attempt(time_kind="measured"), PARENT) is None
    assert log_gain(attempt(time_kind="measured"), attempt(id=0, time_us=200.0, time_kind="measured")) is not None


@pytest.mark.parametrize("status", ["refuted", "unknown", "rejected", "no_kernel"])
def test_violations_cost(status: str) -> None:
    assert reward(attempt(status=status, fault="lowering", time_us=None), PARENT) == VIOLATION


def test_a_wrong_result_costs_most() -> None:
    assert reward(attempt(status="wrong", fault="lowering", time_us=None), PARENT) == WRONG < VIOLATION < 0


@pytest.mark.parametrize("fault", ["toolchain", "proposal"])
def test_what_lowering_cannot_help_earns_nothing(fault: str) -> None:
    assert reward(attempt(status="broken", fault=fault, time_us=None), PARENT) is None


def test_levels_open_from_above() -> None:
    assert open_levels({"global": 0.5, "tile": 0.5, "instruction": 0.5}) == ("global",)
    assert open_levels({"global": math.log(1.019), "tile": 0.5}) == ("global", "tile")
    assert open_levels({"global": math.log(1.021), "tile": 0.5}) == ("global",)
    assert open_levels({"global": 0.0, "tile": 0.01, "instruction": 0.5}) == LEVELS
    assert open_levels({}) == LEVELS
    assert deepest(["instruction", "global"]) == "instruction"


def test_stopping_rules() -> None:
    assert no_promise([])
    assert no_promise([0.1, 0.05])
    assert not no_promise([0.05, 0.11])
    assert at_floor(104.9, 100.0)
    assert not at_floor(105.1, 100.0)
    assert not at_floor(None, 100.0)
    assert not stalled([9.0, 9.0], all_open=True)


def amdahl(share: float, effect: float) -> float:
    """Log of the old time over the new, of which only the share shrinks."""
    return -math.log((1 - share) + share / effect)


def relief(resource: str = "lds", basis: str = "derived", low: float = 1.5, high: float = 8.0) -> ReliefView:
    return ReliefView(resource=resource, low=low, mid=3.0, high=high, basis=basis)


def test_a_cards_promise_and_spread() -> None:
    times = {"lds": 60.0, "mfma": 40.0}
    assert priors.promised([relief()], times) == pytest.approx(amdahl(0.6, 3.0))
    width = amdahl(0.6, 8.0) - amdahl(0.6, 1.5)
    assert priors.spread([relief()], times) == pytest.approx(width / 2.5631, rel=1e-4)
    assert priors.spread([relief(basis="folklore")], times) == pytest.approx(2 * width / 2.5631, rel=1e-4)
    assert priors.promised([relief("launch")], times) == 0
    assert priors.promised([], times) == 0
    assert priors.promised([relief()], {}) == 0


def test_a_technique_that_grows_a_resource_promises_a_loss() -> None:
    worse = ReliefView(resource="lds", low=0.5, mid=0.8, high=0.9, basis="derived")
    assert priors.promised([worse], {"lds": 1.0, "mfma": 1.0}) < 0


def test_calibration_trusts_planners_whose_numbers_come_true() -> None:
    assert calibration([]) == START_WEIGHT
    exact = calibration([(0.3, 0.3)] * 50)
    wild = calibration([(0.9, -0.5)] * 50)
    assert wild < START_WEIGHT < exact <= TOP_WEIGHT


def test_a_bundles_belief_adds_up() -> None:
    b = combined(0.5, [(0.1, 0.3, 6.0), (-0.2, 0.4, 4.0)], 0.8)
    assert (b.mean, b.scale, b.dof, b.success) == pytest.approx((0.4, 0.5, 4.0, 0.8))


def view(index: int, **fields: Any) -> ProposalView:  # noqa: ANN401 - fields
    sure = Belief(
        mean=fields.pop("mean", 0.3), scale=fields.pop("scale", 1e-6), dof=9, success=fields.pop("success", 1.0)
    )
    full: dict[str, Any] = {
        "techniques": (f"t{index}",),
        "parent": 0,
        "level": "global",
        "open": True,
        "schedule_sha": f"s{index}",
        "score": 0.0,
        "confidence": 0.0,
        "belief": sure,
    }
    return ProposalView(index=index, **{**full, **fields})


def chosen(*proposals: ProposalView, slots: int = 2, seed: int = 0, weight: float = 0.2) -> tuple[int, ...]:
    return choose(SelectionState(seed=seed, round=1, slots=slots, calibration=weight, proposals=proposals))


def test_the_selector_takes_the_best_that_differ() -> None:
    assert chosen(view(0, mean=0.1), view(1, mean=0.3), view(2, mean=0.2)) == (1, 2)
    # The same schedule by another way is no second candidate.
    assert chosen(view(0, mean=0.3), view(1, mean=0.2, schedule_sha="s0"), view(2, mean=0.1)) == (0, 2)
    # Other techniques come before other parameters of the same.
    assert chosen(view(0, mean=0.3), view(1, mean=0.29, techniques=("t0",)), view(2, mean=0.1)) == (0, 2)
    assert chosen(view(0, mean=0.3), view(1, mean=0.29, techniques=("t0",))) == (0, 1)


def test_open_levels_come_first_and_idle_slots_go_to_the_next() -> None:
    deep = view(1, mean=0.9, level="instruction", open=False)
    shallow = view(2, mean=0.5, level="tile", open=False)
    assert chosen(view(0, mean=0.1), deep, shallow, slots=1) == (0,)
    assert chosen(view(0, mean=0.1), deep, shallow, slots=2) == (0, 2)
    assert chosen(view(0, mean=0.1), deep, shallow, slots=3) == (0, 2, 1)


def test_losses_are_not_tried_unless_nothing_else_is_left() -> None:
    assert chosen(view(0, mean=-0.2), view(1, mean=0.2)) == (1,)
    assert chosen(view(0, mean=-0.2), view(1, mean=-0.1)) == (1,)
    assert chosen(slots=2) == ()


def test_what_is_behind_the_best_kernel_has_to_catch_up_first() -> None:
    assert chosen(view(0, mean=0.5, behind=0.4), view(1, mean=0.2), slots=1) == (1,)


def test_failing_techniques_are_worth_less() -> None:
    assert chosen(view(0, mean=0.4, success=0.3), view(1, mean=0.3), slots=1) == (1,)


def test_stated_scores_count_as_far_as_they_are_trusted() -> None:
    boast = view(0, mean=0.1, score=2.0, confidence=1.0)
    assert chosen(boast, view(1, mean=0.3), slots=1, weight=0.0) == (1,)
    assert chosen(boast, view(1, mean=0.3), slots=1, weight=0.5) == (0,)


def test_only_the_seed_and_the_round_decide_between_wide_beliefs() -> None:
    wide = [view(i, mean=0.1, scale=0.5) for i in range(6)]
    picks = {chosen(*wide, slots=1, seed=s) for s in range(30)}
    assert len(picks) > 3
    assert chosen(*wide, seed=5) == chosen(*wide, seed=5)
