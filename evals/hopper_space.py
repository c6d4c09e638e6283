"""The sm_90a schedule space that searches are compared in: random draws from all of it, and a part of it whole.

The part is every combination of a few values of each knob: small enough to time on one GPU in minutes, so that every
search in it can be replayed from stored times. Its values are good ones, so random choice does well there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any, Literal

from pydantic import ValidationError

from argus.dsl.kernels.hopper_search import HopperSearchSchedule

# All that techniques can set, no knowledge.
DOMAINS: dict[str, tuple[Any, ...]] = {
    "engine": ("mma", "wgmma"),
    "rows": (64, 128, 256),
    "columns": (64, 96, 128, 160, 192, 224, 256),
    "depth": (32, 64),
    "stages": (2, 3, 4, 5, 6, 7, 8, 10),
    "group_m": (1, 2, 4, 8, 16, 32),
    "leave": ("direct", "tma"),
    "consumers": (1, 2),
    "keep": (0, 1),
    "registers": ("even", "24+240", "40+232", "56+224"),
    "persistent": (False, True),
    "out_buffers": (1, 2),
}
# What schedules of mma.sync have not.
_IDLE: dict[str, Any] = {
    "leave": "direct", "consumers": 1, "keep": 0, "registers": "even", "persistent": False, "out_buffers": 1,
}  # fmt: skip

# Rows, columns and consumers.
TILES: tuple[tuple[int, int, Literal[1, 2]], ...] = (
    (64, 256, 1),
    (128, 128, 1),
    (128, 128, 2),
    (128, 192, 2),
    (128, 256, 2),
    (256, 128, 2),
)
KNOBS: dict[str, tuple[Any, ...]] = {
    "stages": (3, 4),
    "group_m": (1, 8),
    "leave": ("direct", "tma"),
    "persistent": (False, True),
    "keep": (0, 1),
}
# The engine to start from, with fewer knobs.
SYNC_TILES: tuple[tuple[int, int], ...] = ((128, 128), (128, 256))
SYNC_KNOBS: dict[str, tuple[Any, ...]] = {"stages": (3, 4), "group_m": (1, 8)}


def random_schedule(random: Random) -> HopperSearchSchedule:
    """A legal schedule: the engine first, each as likely, then uniform over what the domains spell for it."""
    engine = random.choice(DOMAINS["engine"])
    while True:
        fields = {name: random.choice(values) for name, values in DOMAINS.items()} | {"engine": engine}
        if engine == "mma":
            fields |= _IDLE
        fields["tile"] = (fields.pop("rows"), fields.pop("columns"), fields.pop("depth"))
        try:
            return HopperSearchSchedule.model_validate(fields)
        except ValidationError:
            continue


def distinct(count: int, seed: int) -> list[HopperSearchSchedule]:
    """So many different random schedules, in the order they were drawn."""
    random, found = Random(seed), dict[str, HopperSearchSchedule]()
    while len(found) < count:
        schedule = random_schedule(random)
        found.setdefault(schedule.model_dump_json(), schedule)
    return list(found.values())


def enumerated() -> list[HopperSearchSchedule]:
    """Every legal combination, the start kernel among them."""
    return [*_sync(), *_wgmma()]


def _sync() -> Iterator[HopperSearchSchedule]:
    for (rows, columns), knobs in product(SYNC_TILES, _combinations(SYNC_KNOBS)):
        yield HopperSearchSchedule(tile=(rows, columns, 32), **knobs)


def _wgmma() -> Iterator[HopperSearchSchedule]:
    for (rows, columns, consumers), knobs in product(TILES, _combinations(KNOBS)):
        try:
            yield HopperSearchSchedule(engine="wgmma", tile=(rows, columns, 64), consumers=consumers, **knobs)
        except ValidationError:
            continue  # does not fit shared memory


def _combinations(knobs: dict[str, tuple[Any, ...]]) -> Iterator[dict[str, Any]]:
    for values in product(*knobs.values()):
        yield dict(zip(knobs, values, strict=True))
