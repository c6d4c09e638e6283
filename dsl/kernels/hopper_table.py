"""Which schedule was fastest where it was measured: `hopper_table.json`, written by `argus bench --show FILE --choose`.

Proposals for these shapes start with it. No search sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import BaseModel

from argus.dsl.kernels.hopper_schedule import HopperGemmSchedule

FILE = "hopper_table.json"


class Choice(BaseModel, frozen=True):
    """The schedule for one shape, in percent of the library there when it was chosen."""

    dtype: str
    sizes: dict[str, int]
    schedule: HopperGemmSchedule
    percent: float


class Table(BaseModel, frozen=True):
    """Choices; `measured` says on which GPU and when."""

    measured: str
    choices: tuple[Choice, ...]


def chosen(sizes: Mapping[str, int], dtype: str) -> HopperGemmSchedule | None:
    """The schedule that was fastest at exactly these sizes; failing that, with the other type, which is as fast."""
    found = [c for c in _table().choices if c.sizes == dict(sizes)]
    found.sort(key=lambda c: c.dtype != dtype)
    return found[0].schedule if found else None


@cache
def _table() -> Table:
    return Table.model_validate_json(resources.files("argus.dsl.kernels").joinpath(FILE).read_text("utf-8"))


def write(path: Path, measured: str, choices: Sequence[Choice]) -> None:
    """Put choices into a table; those of other shapes that it has already stay."""
    old = Table.model_validate_json(path.read_bytes()).choices if path.is_file() else ()
    new = {(c.dtype, *sorted(c.sizes.items())) for c in choices}
    kept = [c for c in old if (c.dtype, *sorted(c.sizes.items())) not in new]
    table = Table(measured=measured, choices=(*kept, *choices))
    lines = [c.model_dump_json(exclude_defaults=True) for c in table.choices]
    body = ",\n  ".join(lines)
    head = Table(measured=measured, choices=()).model_dump_json().removesuffix("[]}")
    path.write_text(f"{head}[\n  {body}\n]}}\n", "utf-8")
