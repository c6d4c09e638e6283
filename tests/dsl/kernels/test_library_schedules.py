"""Schedules near the examples: what a family accepts is printed well formed, what it refuses has a reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel, ValidationError

from argus.dsl.frontend import parse
from argus.dsl.ir.verify import verify
from argus.dsl.kernels.catalogue import FAMILIES
from argus.dsl.kernels.subject import LibraryFamily
from argus.dsl.transform import to_core

FAMILY = {f.name: f for f in FAMILIES}
# Their schedules are searched, and have tests of their own.
OWN = [f for f in FAMILIES if f.name not in ("gemm", "hopper_gemm")]


def neighbours(schedule: BaseModel) -> Iterator[dict[str, Any]]:
    """Fields with one value changed: the other words of a field, numbers halved, doubled and one more."""
    values, hints = schedule.model_dump(), get_type_hints(type(schedule))
    for name, old in values.items():
        for new in _others(old, hints[name]):
            yield {**values, name: new}


def _others(old: object, hint: object) -> Iterator[object]:
    match old:
        case _ if get_origin(hint) is Literal:
            yield from (word for word in get_args(hint) if word != old)
        case bool():
            yield not old
        case int():
            yield from (old // 2, old * 2, old + 1)
        case tuple():
            for i, n in enumerate(old):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                for m in _others(n, int):  # pyright: ignore[reportUnknownArgumentType]
                    yield (*old[:i], m, *old[i + 1 :])  # pyright: ignore[reportUnknownArgumentType]
        case _:
            pass


@pytest.mark.slow
@pytest.mark.parametrize("family", OWN, ids=lambda f: f.name)
def test_what_a_family_accepts_is_well_formed(family: LibraryFamily) -> None:
    accepted = 0
    for values in neighbours(next(iter(family.examples.values()))):
        try:
            schedule = family.schedule.model_validate(values)
        except ValidationError:
            continue
        verify(to_core(parse(family.text(schedule))))
        accepted += 1
    assert accepted


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("attention", {"tile": (64, 30)}, "64 queries do not split into 4 waves of 32"),
        ("attention", {"tile": (128, 48)}, "48 keys are no multiple of 32"),
        ("attention", {"tile": (512, 64), "waves": 16, "queries": "shared"}, "bytes of LDS"),
        ("hopper_attention", {"keys": 40}, "multiple of 16"),
        ("attention_split", {"part": 100}, "no multiple of a stage"),
        ("attention_combine", {"tile": (4, 3)}, "no multiple of the 512 elements"),
        ("norm", {"rows": "wave", "turns": 2}, "one turn at a wave's row"),
        ("norm", {"dtype": "f32"}, "exceed the 16 bytes"),
        ("reduction", {"op": "max", "parts": 2}, "only sums"),
        ("transpose", {"pad": 4}, "does not keep 8 of them aligned"),
        ("moe_up", {"columns": 40}, "do not split into 2 parts of 16"),
        ("gemm_typed", {"dtype": "f8"}, "no matrix instruction of gfx942 on f8"),
        (
            "gemm_typed",
            {"target": "sm_90a", "atom": "m64n32k16", "grid": (1, 1), "tile": (64, 32, 48)},
            "no swizzle of the hardware",
        ),
        ("gemm_stream_k", {"stages": 2}, "one stage"),
        ("gemm_partials", {"part": 100}, "no multiple of 32"),
        ("gemm_pingpong", {"tile": (64, 64, 128)}, "one to four steps"),
        ("conv2d", {"taps": (0, 3)}, "1 to 11 taps"),
    ],
)
def test_what_a_family_refuses(name: str, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FAMILY[name].schedule.model_validate(fields)
