"""Writes to tensors: each element once, and never poison."""

from __future__ import annotations

import numpy as np

from argus.dsl.interp.access import Access, check_write, put, report, selected
from argus.dsl.interp.arrays import Bools, Floats
from argus.dsl.interp.machine import Wave


def write_tensor(w: Wave, access: Access, data: Floats, poison: Bools | None) -> None:
    """Store to a tensor. What is written twice is reported and keeps the later value."""
    check_write(w, access)
    finish_write(w, access, data, poison)


def finish_write(w: Wave, access: Access, data: Floats, poison: Bools | None) -> None:
    """What remains when the order of the write has been checked, as at the issue of a copy: values and write set."""
    cells, site = access.cells, access.site
    _check_poison(w, access, poison)
    again = cells.times_written[site.hit] > 0
    if site.repeated is not None:
        again[site.repeated] = True
    report(w, access, "write-set", "an output element is written more than once", again)
    cells.times_written[site.hit] += 1
    put(cells, site, data, poison, {})


def add_to_tensor(w: Wave, access: Access, data: Floats, poison: Bools | None) -> None:
    """Atomically add; contributions commute, so their order does not matter."""
    _check_poison(w, access, poison)
    check_write(w, access)
    np.add.at(access.cells.times_written, access.site.hit, 1)
    add_to_cells(access, data, poison)


def add_to_cells(access: Access, data: Floats, poison: Bools | None) -> None:
    """Add values to cells; poison spreads."""
    cells, site = access.cells, access.site
    np.add.at(cells.data, site.hit, selected(site, data))
    if cells.poison is not None and poison is not None:
        np.logical_or.at(cells.poison, site.hit, selected(site, poison))


def _check_poison(w: Wave, access: Access, poison: Bools | None) -> None:
    text = "a value that depends on uninitialised cells or registers is written to the output"
    report(w, access, "poison", text, None if poison is None else selected(access.site, poison) != 0)
