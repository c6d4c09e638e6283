"""The schedule space that random search draws from: every knob, no knowledge."""

from __future__ import annotations

from random import Random
from typing import Any

from pydantic import ValidationError

from argus.dsl.kernels import GemmSchedule
from argus.dsl.targets.gfx942 import LDS_BYTES

DOMAINS: dict[str, tuple[Any, ...]] = {
    "rows": (64, 96, 128, 160, 192, 224, 256),
    "columns": (64, 96, 128, 160, 192, 224, 256),
    "depth": (16, 32, 64, 128),
    "grid": ((1, 2), (2, 1), (1, 4), (4, 1), (2, 2), (2, 4), (4, 2)),
    "atom": ("32x32x8", "16x16x16"),
    "pack": (1, 2),
    "vector": (4, 8, 16),
    "staging": ("register", "dma"),
    "stages": (1, 2, 3, 4),
    "prefetch": (False, True),
    "swizzle": (
        "none",
        "xor(2, unit=8, rows=2)",
        "xor(4, unit=8, rows=1)",
        "xor(4, unit=8, rows=2)",
        "xor(8, unit=8, rows=1)",
    ),
    "pad": (0, 8, 16),
    "wait": ("drain", "count"),
    "order": ("rows", "xcd(8)", "group_m(4)", "group_m(8)"),
    "regs": ("vgpr", "agpr"),
    "interleave": (0, 1, 2, 4),
    "priority": (False, True),
    "swap": (False, True),
}


def random_schedule(random: Random) -> GemmSchedule:
    """A legal schedule that fits LDS, uniform over those the domains spell."""
    while True:
        fields = {name: random.choice(values) for name, values in DOMAINS.items()}
        fields["tile"] = (fields.pop("rows"), fields.pop("columns"), fields.pop("depth"))
        try:
            schedule = GemmSchedule.model_validate(fields)
        except ValidationError:
            continue
        if schedule.lds_bytes <= LDS_BYTES:
            return schedule
