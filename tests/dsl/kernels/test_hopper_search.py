"""The sm_90a family as a search sees it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from argus.dsl.kernels import families, make_problem, task_named
from argus.dsl.kernels.hopper_search import HopperSearchSchedule, predict
from argus.evals.hopper_space import enumerated

FAMILY = families()["hopper_gemm"]
PROBLEM = make_problem(task_named("gemm"), target="sm_90a")
WGMMA: dict[str, Any] = {"engine": "wgmma", "tile": (128, 128, 64)}


def schedule(**fields: Any) -> HopperSearchSchedule:  # noqa: ANN401
    return HopperSearchSchedule.model_validate({**WGMMA, **fields})


def test_the_search_starts_without_tma() -> None:
    text = FAMILY.text(FAMILY.start(PROBLEM), PROBLEM)
    assert 'via="cp"' in text
    assert "tma" not in text
    assert "role" not in text


def test_every_default_is_the_plainest_choice() -> None:
    """What a person would choose is another model's default; a search has to find it."""
    text = FAMILY.text(schedule(), PROBLEM)
    for word in ("tiles(", "regs=", "groups=", "keep=", "group_m", "commit()"):
        assert word not in text


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"persistent": True}, "tiles("),
        ({"consumers": 2, "registers": "24+240"}, "regs=240"),
        ({"consumers": 2}, "groups=2"),
        ({"keep": 1}, "keep=1"),
        ({"group_m": 4}, "group_m(4)"),
        ({"leave": "tma"}, "commit()"),
        ({"stages": 5}, "ring(5,"),
    ],
)
def test_each_knob_shows_in_the_text(fields: dict[str, Any], word: str) -> None:
    assert word in FAMILY.text(schedule(**fields), PROBLEM)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"engine": "mma", "tile": (128, 128, 32), "keep": 1}, "of the engine wgmma"),
        ({"registers": "40+232"}, "needs no register budget"),
        ({"out_buffers": 2}, "alternate"),
        ({"leave": "tma", "out_buffers": 2}, "alternate"),  # 128 rows a consumer
        ({"tile": (128, 256, 64)}, "does not fit"),
        ({"consumers": 2, "tile": (256, 128, 64), "stages": 8}, "shared memory"),
        ({"tile": (128, 128, 32)}, "64 deep"),
        ({"colour": "red"}, "Extra inputs"),
    ],
)
def test_illegal_schedules_say_why(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        schedule(**fields)


def test_different_schedules_print_different_kernels() -> None:
    found = enumerated()
    assert len({s.model_dump_json() for s in found}) == len(found) == len({FAMILY.text(s, PROBLEM) for s in found})
    assert FAMILY.start(PROBLEM) in found


def test_the_closed_form_knows_turns_and_latency() -> None:
    def us(**fields: Any) -> float:  # noqa: ANN401
        return predict(schedule(consumers=2, **fields), PROBLEM)

    assert us(tile=(128, 256, 64)) < us(tile=(128, 128, 64)) < us(tile=(128, 64, 64))
    assert us(stages=2, persistent=True) > us(stages=4, persistent=True)
    assert FAMILY.predict(FAMILY.start(PROBLEM), PROBLEM) > us(tile=(128, 256, 64))


def test_rows_of_odd_length_start_without_copies_in_the_background() -> None:
    odd = make_problem(task_named("gemm"), shape={"k": 4097}, target="sm_90a")
    text = FAMILY.text(FAMILY.start(odd), odd)
    assert "via=" not in text
    assert "load(" in text
