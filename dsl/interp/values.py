"""Values held in registers, one wave at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from argus.dsl.interp.arrays import Bools, Floats, Ints
from argus.dsl.ir.nodes import Dtype, View
from argus.dsl.layout import Accumulator, FragMap, OperandMap, Side, Uniform, WithoutAxis


@dataclass(frozen=True, slots=True)
class Layout:
    """How registers hold a fragment: those of `base`, of shape `shape`, of whose axes only `kept` are left.

    A value that lost an axis keeps the registers it had, each with the value of its remaining coordinates.
    """

    base: FragMap
    shape: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def dims(self) -> tuple[int, ...]:
        return tuple(self.shape[a] for a in self.kept)

    @property
    def uniform(self) -> bool:
        return isinstance(self.base, Uniform)

    @property
    def map(self) -> FragMap:
        """As the IR spells it."""
        result = self.base
        for axis in reversed(range(len(self.shape))):
            if axis not in self.kept:
                result = WithoutAxis(result, axis)
        return result


def whole(base: FragMap, shape: tuple[int, ...]) -> Layout:
    """The layout of all of a map."""
    return Layout(base, shape, tuple(range(len(shape))))


UNIFORM = Layout(Uniform(), (), ())


@dataclass(frozen=True, slots=True)
class Frag:
    """One wave's registers.

    Attributes:
        data: (lanes, slots), or (1, 1) when uniform; what is poisoned is NaN.
        poison: Same shape; None: nothing is poisoned.
        axes: Names of the base's axes, '' where unknown.
        coords: Global coordinate of each register's element along the axes that the kernel asks for as data.
        everywhere: All values of a small index vector, whichever wave's registers hold them: a wave may reload them.
    """

    data: Floats
    layout: Layout = UNIFORM
    poison: Bools | None = None
    axes: tuple[str, ...] = ()
    dtype: Dtype = "f32"
    coords: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    everywhere: Floats | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.axes[a] for a in self.layout.kept)


@dataclass(slots=True)
class Accumulation:
    """An MMA's accumulator as the wave's matrix; registers are made from it when something else reads it.

    Attributes:
        matrix: (rows, columns) of the wave's part; never edited in place.
        row_coords, column_coords: Global coordinates along the asked-for axes.
        pending: MMAs in flight that will replace `matrix` (sm_90a).
    """

    map: Accumulator
    matrix: Floats
    poison: Bools | None = None
    axes: tuple[str, str] = ("", "")
    row_coords: dict[str, Floats] = field(default_factory=dict[str, Floats])
    column_coords: dict[str, Floats] = field(default_factory=dict[str, Floats])
    pending: int = 0


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A wgmma operand in shared memory: read by the instruction, not by the wave.

    Attributes:
        rows, columns: Element coordinates of the wave's operand in `view`.
        values: What the view's index expressions were when the descriptor was made.
    """

    view: View
    side: Side
    rows: Ints
    columns: Ints
    values: tuple[int, ...]


Register = Frag | Accumulation | Descriptor

__all__ = ["UNIFORM", "Accumulation", "Descriptor", "Frag", "Layout", "OperandMap", "Register", "whole"]
