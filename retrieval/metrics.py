"""What conditions and expectations may speak of: numbers of a schedule, of its compiled code and of its estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

from argus.retrieval.expressions import Path

SCHEDULE = "schedule"
RESOURCES = ("mfma", "valu", "lds", "vmem", "hbm", "latency", "launch")
COUNTS = ("mfma", "valu", "trans", "salu", "lds_read", "lds_write", "vmem_read", "vmem_write", "barriers")

# The static report's numbers; a test compares them with the report's model.
REPORT_METRICS: frozenset[Path] = frozenset(
    [
        *((name,) for name in ("spills", "scratch_bytes", "lds_bytes", "occupancy_waves")),
        *(("registers", name) for name in ("vgpr", "agpr", "sgpr")),
        *(("main_loop", name) for name in (*COUNTS, "tiles", "waits", "vmcnt_drains")),
        *((group, name) for group in ("per_tile", "per_mfma") for name in COUNTS),
        *(("bank_conflicts", name) for name in ("read_way", "write_way")),
        *(("estimate", "share", name) for name in RESOURCES),
    ]
)


def metrics(
    schedule: BaseModel,
    report: Mapping[str, Any] | None = None,
    bank_conflicts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Nested mappings of every metric that is known; conditions on the others are false.

    Args:
        schedule: Its fields and properties appear under `schedule`.
        report: The static report as a mapping. Beside its own numbers: `main_loop.waits` counts them and
            `main_loop.vmcnt_drains` those with vmcnt 0; `per_tile.X` and `per_mfma.X` divide `main_loop.X` by the
            k-tiles and by the MFMAs of one trip, so that unrolling does not show; `estimate.share.X` is resource X's
            time over the total time.
        bank_conflicts: The checker's worst ways, `read_way` and `write_way`; 1 is free of conflicts.
    """
    out: dict[str, Any] = {SCHEDULE: schedule_values(schedule)}
    if bank_conflicts is not None:
        out["bank_conflicts"] = dict(bank_conflicts)
    if report is None:
        return out
    out |= {name: report[name] for name in ("registers", "spills", "scratch_bytes", "lds_bytes", "occupancy_waves")}
    loop: dict[str, Any] = dict(report["main_loop"])
    waits: Sequence[Mapping[str, Any]] = loop["waits"]
    out["main_loop"] = {**loop, "waits": len(waits), "vmcnt_drains": sum(w["vmcnt"] == 0 for w in waits)}
    for group, divisor in (("per_tile", loop["tiles"]), ("per_mfma", loop["mfma"])):
        if divisor:
            out[group] = {name: loop[name] / divisor for name in COUNTS}
    if estimate := report.get("estimate"):
        total: float = estimate["time_us"]
        times: Mapping[str, float] = estimate["resources_us"]
        out["estimate"] = {"share": {name: us / total for name, us in times.items()} if total > 0 else {}}
    return out


def vocabulary(schedule: BaseModel) -> frozenset[Path]:
    """Every metric that may appear in a card of this schedule's family."""
    named = {
        (SCHEDULE, *path) for name, value in schedule_values(schedule).items() for path in _numbers((name,), value)
    }
    return REPORT_METRICS | named


def schedule_values(schedule: BaseModel) -> dict[str, Any]:
    """Fields and properties by name."""
    fields = type(schedule).model_fields
    return {name: getattr(schedule, name) for name in (*fields, *_properties(type(schedule)))}


def _properties(model: type[BaseModel]) -> Iterable[str]:
    """Properties that the model adds; pydantic's own describe the model, not the schedule."""
    own = [base for base in model.__mro__ if issubclass(base, BaseModel) and base is not BaseModel]
    return [name for base in own for name, value in vars(base).items() if isinstance(value, property)]


def _numbers(path: Path, value: object) -> list[Path]:
    if isinstance(value, int | float):
        return [path]
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return [found for i, item in enumerate(items) for found in _numbers((*path, i), item)]
    return []
