"""What a wave can wait for."""

from __future__ import annotations

from dataclasses import dataclass, field

from argus.dsl.diagnostics import Span
from argus.dsl.interp.arrays import Bools, Floats, Ints


@dataclass(slots=True, eq=False)
class Gate:
    """Opens once; waves that wait at it then run on."""

    what: str
    span: Span
    open: bool = False


@dataclass(slots=True, eq=False)
class Assembly:
    """Waves bringing (data, poison, element numbers) of a block-wide reduction; the gate opens when all have come."""

    gate: Gate
    parts: dict[int, tuple[Floats, Bools, Ints]] = field(default_factory=dict[int, tuple[Floats, Bools, Ints]])
