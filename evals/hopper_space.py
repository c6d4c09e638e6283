"""The sm_90a schedule space that random search draws from: every knob, no knowledge."""

from __future__ import annotations

from random import Random
from typing import Any

from pydantic import ValidationError

from argus.dsl.kernels import HopperGemmSchedule
from argus.dsl.kernels.hopper_schedule import WGMMA_DEPTH

DOMAINS: dict[str, tuple[Any, ...]] = {
    "rows": (64, 128, 256),
    "columns": (32, 64, 96, 128, 160, 192, 224, 256),
    "consumers": (1, 2),
    "stages": (2, 3, 4, 5, 6, 7, 8),
    "group_m": (1, 2, 4, 8, 16, 32),
    "keep": (0, 1),
    "registers": (None, (24, 240), (40, 232), (56, 224)),
    "persistent": (False, True),
    "out_buffers": (1, 2),
}


def random_schedule(random: Random) -> HopperGemmSchedule:
    """A legal schedule, uniform over those the domains spell."""
    while True:
        fields = {name: random.choice(values) for name, values in DOMAINS.items()}
        fields["tile"] = (fields.pop("rows"), fields.pop("columns"), WGMMA_DEPTH)
        try:
            return HopperGemmSchedule.model_validate(fields)
        except ValidationError:
            continue


def distinct(count: int, seed: int) -> list[HopperGemmSchedule]:
    """So many random schedules whose kernels differ: some knobs change nothing beside others."""
    random, found = Random(seed), dict[str, HopperGemmSchedule]()
    while len(found) < count:
        schedule = random_schedule(random)
        found.setdefault(schedule.name, schedule)
    return list(found.values())
