"""Hopper kernels: the family is proved for all sizes, planted bugs are refuted where they are, each rule is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from argus.dsl.check import check
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.kernels.catalogue import subjects
from argus.evals.hopper_bugs import as_expected
from argus.evals.planted_hopper import BUGS, TURN_BUGS, HopperBug, sources
from argus.evals.race_suite import CASES

SCHEDULES = {
    "128x128, 4 stages": HopperGemmSchedule(tile=(128, 128, 64), stages=4),
    "128x256, 4 stages": HopperGemmSchedule(tile=(128, 256, 64), stages=4),
    "256x128, 3 stages": HopperGemmSchedule(tile=(256, 128, 64), stages=3),
    "one consumer of 64 rows, 6 stages": HopperGemmSchedule(tile=(64, 128, 64), consumers=1, stages=6),
    "128x192, one epilogue buffer": HopperGemmSchedule(tile=(128, 192, 64), stages=5, group_m=2),
    "128x160, odd chunks": HopperGemmSchedule(tile=(128, 160, 64), stages=4),
    "128x64, nothing kept, rows": HopperGemmSchedule(tile=(128, 64, 64), stages=3, keep=0, group_m=1),
    "128x128, 2 stages": HopperGemmSchedule(tile=(128, 128, 64), stages=2),
    "32x128, operands exchanged": HopperGemmSchedule(tile=(32, 128, 64), stages=4, swap=True),
    "stores from registers": HopperGemmSchedule(tile=(128, 128, 64), stages=3, leave="direct"),
    "a block a tile": HopperGemmSchedule(tile=(128, 128, 64), stages=3, persistent=False),
    "two blocks load together": HopperGemmSchedule(tile=(128, 128, 64), stages=3, cluster=2),
    "64x64 in turn": HopperGemmSchedule(tile=(128, 64, 64), stages=2, consumers_take="tiles"),
    "64x256 in turn": HopperGemmSchedule(tile=(128, 256, 64), stages=2, consumers_take="tiles"),
    "128x128 in turn, nothing kept": HopperGemmSchedule(tile=(256, 128, 64), stages=3, keep=0, consumers_take="tiles"),
    "64x32 in turn, operands exchanged": HopperGemmSchedule(
        tile=(32, 128, 64), stages=4, swap=True, consumers_take="tiles"
    ),
    "in turn, stores from registers": HopperGemmSchedule(
        tile=(128, 128, 64), stages=3, leave="direct", consumers_take="tiles"
    ),
    "mma.sync": HopperGemmSchedule(engine="mma", tile=(64, 64, 32), stages=3, grid=(2, 2), leave="direct"),
    "mma.sync through registers": HopperGemmSchedule(
        engine="mma", tile=(64, 64, 32), stages=2, grid=(2, 2), leave="direct", staging="register"
    ),
}
SLOW = {
    "128x256, 4 stages", "256x128, 3 stages", "128x192, one epilogue buffer", "128x160, odd chunks",
    "128x128, 4 stages", "two blocks load together", "64x256 in turn", "128x128 in turn, nothing kept",
    "64x32 in turn, operands exchanged", "in turn, stores from registers",
}  # fmt: skip
QUICK = {
    "stage freed while MMAs read it", "use waits for the completion after", "no proxy fence before the TMA store",
    "bytes of one copy announced", "multiplies out of turn", "block ends while its stores are in flight",
    "last k-step left out",
}  # fmt: skip


def text(schedule: HopperGemmSchedule) -> str:
    return hopper_gemm.text(schedule, make_problem(task_named("gemm"), dtype="bf16", target="sm_90a"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else []) for n in SCHEDULES])
def test_the_family_is_proved(name: str) -> None:
    report = check(text(SCHEDULES[name]))
    assert [o.reason for o in report.obligations if o.verdict != "proved"] == []
    assert report.ok
    assert report.widened == ()


LIBRARY = {s.name: s.text for s in subjects() if s.target == "sm_90a" and s.family != "hopper_gemm"}


@pytest.mark.parametrize("name", sorted(LIBRARY))
@pytest.mark.slow
def test_the_library_is_proved(name: str) -> None:
    report = check(LIBRARY[name])
    assert [o.reason for o in report.obligations if o.verdict != "proved"] == []


def test_barriers_written_out_are_proved() -> None:
    assert check(sources()["by hand"]).ok


# --------------------------------------------------------------------------------------------------- bugs


@pytest.mark.slow
@pytest.mark.parametrize(
    "bug", [pytest.param(b, id=b.name, marks=[] if b.name in QUICK else pytest.mark.slow) for b in (*BUGS, *TURN_BUGS)]
)
def test_bugs_are_refuted_where_they_are(bug: HopperBug) -> None:
    report = check(bug.text, fixes=False)
    refuted = [o for o in report.obligations if o.verdict == "refuted"]
    assert any(as_expected(o, bug) for o in refuted), report.render(bug.text)


def test_arrivals_without_a_wait_are_refuted() -> None:
    """Waves that only arrive may run ahead, and their next arrivals make up for those of slower ones."""
    right = sources()["by hand"]
    fill = "                arrive(full[kt % 3], bytes=24576)\n"
    text = right.replace("full = mbar(1,", "full = mbar(5,").replace(fill, fill + "            arrive(full[kt % 3])\n")
    report = check(text, fixes=False)
    found = [o.counterexample for o in report.obligations if o.verdict == "refuted"]
    assert any(c is not None and c.fix_class == "phase aliasing" and c.consumer.line == 18 for c in found)


def test_a_slot_that_a_barrier_does_not_have_is_refuted() -> None:
    text = next(c.text for c in CASES if c.name == "one tile by TMA: as it should be")
    assert check(text).ok
    report = check(text.replace("await_phase(full, 0)", "await_phase(full[1], 0)"), fixes=False)
    assert "refuted" in {o.verdict for o in report.obligations}


MEETING = "            if g == {}:\n                barrier(waves=8)\n"


@pytest.mark.slow
def test_groups_that_meet_at_different_barriers_have_diverged() -> None:
    right = sources()["ring"]
    text = right.replace("            y = acc", MEETING.format(0) + MEETING.format(1) + "            y = acc")
    report = check(text, fixes=False)
    assert [o.kind for o in report.obligations if o.verdict != "proved"] == ["divergence"]
    assert check(right.replace("            y = acc", "            barrier(waves=8)\n            y = acc")).ok


# ------------------------------------------------------------------------------------------ in turn

TURN = "            barrier(waves=8)\n"
IN_TURN = text(SCHEDULES["64x64 in turn"])
# Both consumers stage their results in the same buffer; each has its store read it before the other's turn.
ONE_BUFFER = (
    IN_TURN.replace("out[1]", "out[0]")
    .replace("out = shared(bf16, 2,", "out = shared(bf16, 1,")
    .replace("                commit()\n", "                commit()\n            wait(0)\n")
)


@pytest.mark.slow
def test_turns_order_what_consumers_share() -> None:
    assert check(ONE_BUFFER).ok
    for without in (TURN, "            wait(0)\n"):
        assert without in ONE_BUFFER
        report = check(ONE_BUFFER.replace(without, ""), fixes=False)
        assert {o.kind for o in report.obligations if o.verdict == "refuted"} & {"race", "wait"}


def test_turns_that_order_nothing_else_may_be_left_out() -> None:
    """They keep the tensor cores to one consumer at a time; results are the same without."""
    assert check(IN_TURN.replace(TURN, "")).ok


@pytest.mark.slow
def test_a_turn_that_too_few_waves_take_is_refuted() -> None:
    first, second = IN_TURN.split('role("pong"')
    report = check(f'{first}role("pong"{second.replace(TURN, "")}', fixes=False)
    assert "deadlock" in {o.kind for o in report.obligations if o.verdict == "refuted"}


@pytest.mark.slow
def test_turns_inside_a_loop_and_outside_are_not_followed() -> None:
    use = "                with r0.use(keep=1) as st:\n"
    assert use in IN_TURN
    report = check(IN_TURN.replace(use, f"    {TURN}{use}").replace(f"mma_wait(0)\n{TURN}", "mma_wait(0)\n", 1))
    assert not report.ok
    assert any("inside a loop with one outside it" in (o.reason or "") for o in report.obligations)


def test_a_barrier_that_more_waves_come_to_than_it_counts_is_unknown() -> None:
    fill = '        with role("load", waves=4, regs=40):\n'
    report = check(IN_TURN.replace(fill, fill + TURN), fixes=False)
    assert not report.ok
    assert any("which no teams make up" in (o.reason or "") for o in report.obligations)


# -------------------------------------------------------------------------------------------------- rules


def always(*_: Any, **__: Any) -> bool:  # noqa: ANN401
    return True


def nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    return None


def none_of_them(*_: Any, **__: Any) -> list[Any]:  # noqa: ANN401
    return []


ROLES = "argus.dsl.tags.roles"
RULES: dict[str, tuple[str, Callable[..., Any], str]] = {
    "accesses are ordered": (f"{ROLES}.order.Order.knows", always, "epilogue buffer free for one wave only"),
    "copies may land at once": (f"{ROLES}.order.Order.may_copy", always, "stage freed while MMAs read it"),
    "the async proxy sees fenced stores": (
        f"{ROLES}.order.Order.visible", always, "no proxy fence before the TMA store",
    ),
    "registers of MMAs in flight": (
        f"{ROLES}.statements.Statements.registers_read", nothing, "epilogue before the last MMAs are complete",
    ),
    "no phase twice while one waits": (
        f"{ROLES}.phases.Slot.unseen", none_of_them, "all waves wait for what one lane fills",
    ),
    "bytes of a phase": (f"{ROLES}.arrivals.Arrivals.count_bytes", nothing, "more bytes announced than copied"),
    "stores leave before the end": (
        f"{ROLES}.copies.Copies.ended", nothing, "block ends while its stores are in flight",
    ),
    "a k-step's place": ("argus.dsl.tags.mma._Mma._check_k", nothing, "next k-tile of one operand"),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
@pytest.mark.slow
def test_each_rule_is_needed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, without, bug = RULES[name]
    wrong = next(b for b in BUGS if b.name == bug)
    wrong_text = wrong.text.replace("                        assert_match(a.k, b.k)\n", "")
    assert not check(wrong_text, fixes=False).ok
    monkeypatch.setattr(rule, without)
    assert check(wrong_text, fixes=False).ok
