"""A part of the sm_90a schedule space, whole: every combination of a few values of each knob.

Small enough to time on one GPU in minutes, so that every search in it can be replayed from stored times.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from pydantic import ValidationError

from argus.dsl.kernels.hopper_search import HopperSearchSchedule

# Rows, columns and consumers.
TILES: tuple[tuple[int, int, int], ...] = (
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
