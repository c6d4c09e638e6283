"""Which techniques apply to which kernel, with which parameters: on the corpus and the GEMM family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from argus.agents.attempt import Attempt
from argus.agents.policy.arms import Catalogue, IllegalStep, eligible, expected, realise, schedule_sha
from argus.agents.policy.learning import learn
from argus.agents.policy.lessons import Arm, belief, carried, lessons, prompt_text, render, success
from argus.agents.policy.parameters import KEEP, Choice, shortlist
from argus.agents.policy.posterior import CARRY_LIMIT, Moments
from argus.agents.policy.reward import reward
from argus.agents.policy.tuner import Trial, Tuner
from argus.dsl.codegen.report import Estimate, MainLoop, Registers, Report
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named
from argus.retrieval.load import load_corpus

PROBLEM = make_problem(task_named("gemm"))
CATALOGUE = Catalogue(load_corpus(), families()["gemm"], PROBLEM)


def report(bound: str = "lds") -> Report:
    times: Any = {"mfma": 105.0, "valu": 20.0, "lds": 400.0, "vmem": 30.0, "hbm": 25.0, "latency": 300.0, "launch": 4.0}
    return Report(
        kernel="gemm",
        target="gfx942",
        registers=Registers(vgpr=100, agpr=0, sgpr=30),
        spills=0,
        scratch_bytes=0,
        lds_bytes=8192,
        occupancy_waves=4,
        main_loop=MainLoop(mfma=4, lds_read=8, lds_write=4),
        estimate=Estimate.model_validate(
            {
                "shape": dict(PROBLEM.shape),
                "time_us": 900.0,
                "lower_bound_us": 109.0,
                "bound": bound,
                "next_bound": "mfma",
                "resources_us": times,
                "model_version": "test",
            }
        ),
    )


def attempt(number: int = 0, **fields: Any) -> Attempt:  # noqa: ANN401 - fields
    full: dict[str, Any] = {
        "id": number,
        "round": 0,
        "status": "valid",
        "time_us": 900.0,
        "schedule": GemmSchedule().model_dump(mode="json"),
        "kernel_sha": f"k{number}",
        "report": report(),
        "bank_conflicts": {"read_way": 8.0, "write_way": 1.0},
    }
    return Attempt(**{**full, **fields})


def in_order(card: str, choices: Sequence[Choice], wanted: int) -> list[Choice]:
    del card
    return list(choices)[:wanted]


def test_every_option_of_every_arm_is_legal_and_within_its_domain() -> None:
    parent = attempt()
    arms = eligible(CATALOGUE, parent, frozenset(), in_order)
    assert len(arms) >= 6
    for arm in arms:
        card = CATALOGUE.cards[arm.card]
        assert card.change is not None
        assert 1 <= len(arm.options) <= KEEP
        assert len((*arm.bundle, arm.card)) <= 3
        for option in arm.options:
            fields = realise(CATALOGUE, parent.schedule, (*arm.bundle, arm.card), {arm.card: option.params})
            assert fields is not None
            CATALOGUE.family.parse_schedule(fields)
            assert all(option.params[name] in p.values for name, p in card.change.params.items())


def test_conditions_decide_and_are_shown_with_their_values() -> None:
    there = {arm.card: arm for arm in eligible(CATALOGUE, attempt(), frozenset(), in_order)}
    assert there["xor-swizzle"].conditions["bank_conflicts.read_way >= 2"] == 8
    assert there["xor-swizzle"].bundle == ("k-permuted-b128-fragments",)
    free = attempt(bank_conflicts={"read_way": 1.0, "write_way": 1.0})
    assert "xor-swizzle" not in {arm.card for arm in eligible(CATALOGUE, free, frozenset(), in_order)}


def test_what_was_tried_is_no_option() -> None:
    parent = attempt()
    before = {arm.card: arm for arm in eligible(CATALOGUE, parent, frozenset(), in_order)}
    option = before["vectorized-b128-access"].options[0]
    fields = realise(CATALOGUE, parent.schedule, ["vectorized-b128-access"], {"vectorized-b128-access": option.params})
    assert fields is not None
    after = eligible(CATALOGUE, parent, frozenset({schedule_sha(fields)}), in_order)
    assert "vectorized-b128-access" not in {arm.card for arm in after}


def test_fields_that_the_closed_form_sees_are_ranked_by_it() -> None:
    tiling = next(
        arm for arm in eligible(CATALOGUE, attempt(), frozenset(), in_order) if arm.card == "tiling-register-blocking"
    )
    assert tiling.basis == "predict"
    gains = [option.gain for option in tiling.options]
    assert gains == sorted(gains, reverse=True)
    regs = expected(CATALOGUE, attempt(), ["agpr-accumulators"], {**attempt().schedule, "regs": "agpr"})  # type: ignore[dict-item]
    assert 0 <= regs < 0.3


def test_free_text_has_no_arms() -> None:
    assert eligible(CATALOGUE, attempt(schedule=None), frozenset(), in_order) == []
    assert realise(CATALOGUE, None, ["agpr-accumulators"], {}) is None


@pytest.mark.parametrize(
    ("techniques", "params", "why"),
    [
        (["nope"], {}, "no card 'nope'"),
        (["xor-swizzle"], {}, "needs k-permuted-b128-fragments as well"),
        (["agpr-accumulators", "agpr-accumulators"], {}, "named twice"),
        (["tiling-register-blocking"], {"tiling-register-blocking": {"rows": 100}}, "rows = 100 is not one of"),
        (["tiling-register-blocking"], {"tiling-register-blocking": {"depth": 3}}, "no parameter 'depth'"),
        (["direct-to-lds", "double-buffer-pipelining", "lds-padding"], {}, "conflicts with"),
    ],
)
def test_illegal_steps_say_what_is_wrong(techniques: list[str], params: Any, why: str) -> None:  # noqa: ANN401
    with pytest.raises(IllegalStep, match=why):
        realise(CATALOGUE, attempt().schedule, techniques, params)


# ------------------------------------------------------------------------------------- parameters


def choices(*gains: float | None) -> list[Choice]:
    return [Choice({"n": i}, gain) for i, gain in enumerate(gains)]


def test_the_best_eight_are_kept() -> None:
    listed = choices(*(i / 10 for i in range(12)))
    assert [c.params["n"] for c in shortlist(listed, never)] == [11, 10, 9, 8, 7, 6, 5, 4]


def never(some: Sequence[Choice], wanted: int) -> list[Choice]:
    raise AssertionError("the closed form tells these apart")


def test_ties_and_unseen_fields_are_left_to_the_sampler() -> None:
    asked: list[int] = []

    def last_first(some: Sequence[Choice], wanted: int) -> list[Choice]:
        asked.append(len(some))
        return list(some)[::-1][:wanted]

    assert [c.params["n"] for c in shortlist(choices(0.1, 0.1, 0.105), last_first)] == [1, 0, 2]
    assert [c.params["n"] for c in shortlist(choices(None, None), last_first)] == [1, 0]
    assert asked == [3, 2]
    assert shortlist(choices(None), never) == choices(None)
    assert shortlist([], never) == []


SPACE: Any = {"card": {"n": tuple(range(6)), "flag": (False, True)}, "other": {"m": (1, 2)}}


def test_the_sampler_asks_for_the_defaults_first_and_each_choice_once() -> None:
    listed = [Choice({"n": n, "flag": f}, None) for n in range(6) for f in (False, True) if n != 3]
    found = Tuner(SPACE, (), seed=1).order("card", listed, 6)
    assert found[0] == listed[0]
    assert len(found) == 6
    assert all(found.count(c) == 1 and c in listed for c in found)
    assert Tuner(SPACE, (), seed=1).order("card", listed, 6) == found
    assert len(Tuner(SPACE, (), seed=1).order("card", listed, 50)) == len(listed)


def test_the_sampler_learns_from_what_was_evaluated() -> None:
    listed = [Choice({"n": n, "flag": f}, None) for n in range(6) for f in (False, True)]
    told = [
        Trial("card", c.params, loss=abs(int(c.params["n"]) - 4) + 2.0 * (not c.params["flag"])) for c in listed * 2
    ]
    told += [Trial("other", {"m": 2}, None), Trial("gone", {}, 1.0)]
    firsts = [Tuner(SPACE, told, seed=s).order("card", listed, 1)[0].params for s in range(12)]
    near = sum(abs(int(p["n"]) - 4) <= 1 for p in firsts)
    assert near >= 8
    assert sum(p["flag"] is True for p in firsts) >= 8


# --------------------------------------------------------------------------------------- learning


def child(number: int, time_us: float | None, *techniques: str, **fields: Any) -> Attempt:  # noqa: ANN401
    status = "valid" if time_us else "refuted"
    return attempt(
        number, parent=0, round=1, techniques=techniques, time_us=time_us, status=status, bottleneck="lds", **fields
    )


def taught(*fresh: Attempt, arms: dict[str, Arm] | None = None) -> dict[str, Arm]:
    known = {0: attempt(), **{a.id: a for a in fresh}}
    return learn(arms or {}, fresh, known, CATALOGUE, reward).arms


def only(arms: dict[str, Arm], technique: str) -> Arm:
    (found,) = (a for a in arms.values() if a.technique == technique)
    return found


def test_the_residual_is_what_was_observed_beyond_the_promise() -> None:
    arm = only(taught(child(1, 450.0, "agpr-accumulators", prior=0.2)), "agpr-accumulators")
    assert arm.key == "agpr-accumulators|lds|gfx942|gemm|estimated"
    assert arm.residuals.mean == pytest.approx(0.6931 - 0.2, abs=1e-3)
    assert (arm.wins, arm.losses, arm.steps) == (1, 0, ("1",))


def test_a_violation_lowers_the_success_rate_and_not_the_gain() -> None:
    arms = taught(child(1, None, "agpr-accumulators", fault="lowering"))
    arm = only(arms, "agpr-accumulators")
    assert (arm.residuals.n, arm.wins, arm.losses) == (0, 0, 1)
    assert success(arms, arm) < success({}, arm)


def test_a_bundle_shares_its_surprise() -> None:
    arms = taught(child(1, 450.0, "k-permuted-b128-fragments", "xor-swizzle", prior=0.3))
    parts = [only(arms, t).residuals.mean for t in ("k-permuted-b128-fragments", "xor-swizzle")]
    assert sum(parts) == pytest.approx(0.6931 - 0.3, abs=1e-3)
    assert min(parts) > 0


def test_estimates_and_measurements_are_different_arms() -> None:
    arms = taught(child(1, 450.0, "s-setprio"))
    measured = [attempt(time_kind="measured"), child(2, 450.0, "s-setprio", time_kind="measured")]
    known = {a.id: a for a in measured}
    both = learn(arms, measured[1:], known, CATALOGUE, reward).arms
    assert {a.time_kind for a in both.values()} == {"estimated", "measured"}
    assert {a.residuals.n for a in both.values()} == {1.0}


def test_another_bottleneck_is_told_half_heartedly() -> None:
    arms: dict[str, Arm] = {}
    for n in range(1, 7):
        arms = taught(child(n, 450.0, "s-setprio"), arms=arms)
    here = only(arms, "s-setprio")
    elsewhere = here.model_copy(update={"bottleneck": "mfma", "residuals": Moments(), "steps": ()})
    assert 0 < belief(arms, elsewhere).mean < belief(arms, here).mean


def test_lessons_need_two_steps_and_hold_no_sizes() -> None:
    once = taught(child(1, 450.0, "s-setprio"))
    assert lessons(once) == ()
    twice = taught(child(2, 460.0, "s-setprio"), arms=once)
    (lesson,) = lessons(twice)
    assert lesson.steps == ("1", "2")
    assert lesson.mean > 0
    assert not any(ch.isdigit() for ch in lesson.note)
    text = render([lesson])
    assert "s-setprio on lds-bound gemm kernels (gfx942)" in text
    assert "4096" not in text
    assert prompt_text("Plan.\n", [lesson]) == f"Plan.\n\n{text}\n"
    assert prompt_text("Plan.\n", []) == "Plan.\n"


def test_arms_carried_to_another_task_count_for_six() -> None:
    arms: dict[str, Arm] = {}
    for n in range(1, 11):
        arms = taught(child(n, 450.0 + n, "s-setprio"), arms=arms)
    old = only(arms, "s-setprio")
    new = only(carried(arms.values()), "s-setprio")
    assert new.residuals.n == CARRY_LIMIT
    assert new.residuals.mean == old.residuals.mean
    assert new.wins == pytest.approx(6)
