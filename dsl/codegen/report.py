"""The static report of a compiled kernel: `argus compile --emit report` prints exactly this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel

SCHEMA_VERSION = 1
Resource = Literal["mfma", "valu", "lds", "vmem", "hbm", "latency", "launch"]


class Registers(BaseModel, frozen=True):
    """Registers a lane; `vgpr` counts architectural ones without the AGPRs."""

    vgpr: int
    agpr: int
    sgpr: int


class Wait(BaseModel, frozen=True):
    """One `s_waitcnt` of the main loop; None where the instruction leaves a counter alone."""

    vmcnt: int | None = None
    lgkmcnt: int | None = None


class MainLoop(BaseModel, frozen=True):
    """Instructions of one wave in one trip of the innermost loop that holds the MFMAs.

    Attributes:
        tiles: k-tiles (language-level iterations of the main loop) that one trip of the emitted loop covers.
    """

    mfma: int = 0
    valu: int = 0
    trans: int = 0
    salu: int = 0
    lds_read: int = 0
    lds_write: int = 0
    vmem_read: int = 0
    vmem_write: int = 0
    barriers: int = 0
    waits: tuple[Wait, ...] = ()
    tiles: int = 1


class Estimate(BaseModel, frozen=True):
    """A time computed from compiled code; never a measurement.

    Attributes:
        lower_bound_us: The floor of any kernel for this problem: the largest of its MFMA, HBM and LDS bounds, plus
            launch.
        bound: The resource that takes most of the time; `next_bound` the second.
        resources_us: What each resource alone would need.
    """

    shape: dict[str, int]
    time_us: float
    lower_bound_us: float
    bound: Resource
    next_bound: Resource
    resources_us: dict[Resource, float]
    model_version: str

    @classmethod
    def of(
        cls,
        shape: dict[str, int],
        *,
        run_us: float,
        launch_us: float,
        busy_us: Mapping[Resource, float],
        lower_bound_us: float,
        model_version: str,
    ) -> Self:
        """The estimate of a run that keeps each unit busy so long; latency is what even the busiest leaves idle."""
        resources: dict[Resource, float] = {**busy_us, "latency": run_us - max(busy_us.values())}
        ranked = sorted(resources, key=lambda x: -resources[x])
        return cls(
            shape=shape,
            time_us=run_us + launch_us,
            lower_bound_us=lower_bound_us,
            bound=ranked[0],
            next_bound=ranked[1],
            resources_us={**resources, "launch": launch_us},
            model_version=model_version,
        )


class Report(BaseModel, frozen=True):
    """What the compiled code says of itself.

    Attributes:
        occupancy_waves: Resident waves a SIMD, from registers, LDS and waves a block.
        lint: What the lints of the emitted assembly found; empty is good.
    """

    schema_version: int = SCHEMA_VERSION
    kernel: str
    target: str
    registers: Registers
    spills: int
    scratch_bytes: int
    lds_bytes: int
    occupancy_waves: int
    main_loop: MainLoop
    estimate: Estimate | None = None
    lint: tuple[str, ...] = ()
