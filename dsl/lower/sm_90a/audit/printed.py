"""Events of the printed text: the function that the reader made of it, run for one thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from argus.dsl.lower.sm_90a.audit.events import Event, Place, Trace
from argus.dsl.lower.sm_90a.audit.reader import function, helpers
from argus.dsl.lower.sm_90a.cuda_kernel import CudaKernel

SHARED_AT = 1040  # where dynamic shared memory starts: aligned as the hardware promises, and no better
STRIDE_BYTES, SWIZZLED_128 = 1024, 1


class Row(list[object]):
    """Registers of one atom; `row + n` is a pointer to the n-th."""

    def __add__(self, n: object) -> Any:  # noqa: ANN401 - C's pointer arithmetic
        assert isinstance(n, int)
        return Row(self[n:])


@dataclass
class Registers:
    """One name of a C array."""

    name: str
    rows: list[Row]

    def __getitem__(self, i: int) -> Row:
        return self.rows[i]


@dataclass
class Printed:
    """The printed text, ready to run.

    Attributes:
        extents: Byte sizes of shared buffers and mbarriers, by their C names.
    """

    kernel: CudaKernel
    extents: Mapping[str, int]
    _code: Any = field(init=False)
    _helpers: Any = field(init=False)

    def __post_init__(self) -> None:
        text = function(self.kernel.source)
        self._code = compile(text + "\n  leave(locals())\nthread()\n", "<printed>", "exec")
        self._helpers = compile(helpers(self.kernel.source), "<helpers>", "exec")

    def trace(self, sizes: Mapping[str, int], *, block: int, blocks: int, thread: int) -> tuple[Trace, list[str]]:
        """What a thread does, and what is wrong with it by itself."""
        run = _Run(self, thread, block)
        space = run.namespace()
        space.update({m.name: m for m in self.kernel.maps})
        space.update(sizes)
        space.update({"blockIdx_x": block, "gridDim_x": blocks, "threadIdx_x": thread})
        exec(self._helpers, space)
        exec(self._code, space)
        return run.finish()


_LOGGED: Mapping[str, str] = {
    "mbar_init": "init",
    "mbar_wait": "wait",
    "mbar_arrive_bytes": "expect",
    "mbar_arrive": "arrive",
    "mbar_arrive_at": "arrive at",
    "cluster_barrier": "cluster",
    "tma_load_blocks": "load to all",
    "tma_load": "load",
    "tma_store": "store",
    "bulk_commit": "commit",
    "bulk_wait_read": "wait groups",
    "named_barrier": "barrier",
    "fence_async": "fence",
    "wgmma_commit": "batch",
    "wgmma_wait": "batch wait",
    "fewer_registers": "registers",
    "more_registers": "registers",
    "zero": "zero",
    "copy_commit": "commit",
    "copy_wait": "wait groups",
    "copy_chunk": "chunk copy",
    "load_chunk": "chunk load",
    "store_chunk": "chunk store",
    "store_pair": "pair",
    "load_matrices": "matrices",
    "store_matrix": "put",
    "store_matrix_transposed": "put down",
}


def _nothing(*operands: object) -> None:
    """Instructions whose operands decide nothing."""


def _pair(low: object, high: object) -> tuple[object, object]:
    return low, high


def _shared_address(pointer: object) -> int:
    del pointer
    return SHARED_AT


def _floor_quo(a: int, b: int) -> int:
    return a // b


def _floor_rem(a: int, b: int) -> int:
    return a % b


def _first_lane(mask: int, value: int, lane: int) -> int:
    """A warp's number is the same in all its lanes."""
    del mask, lane
    return value


def _array(name: str, rows: int, count: int) -> Registers:
    return Registers(name, [Row((name, p, i) for i in range(count)) for p in range(rows)])


class _Run:
    """Stands in for the device functions. Addresses are told apart when all names are known, at the end."""

    def __init__(self, printed: Printed, thread: int, block: int) -> None:
        self.printed, self.thread, self.block = printed, thread, block
        self.raw: list[tuple[str, tuple[Any, ...]]] = []
        self.locals: dict[str, Any] = {}
        self.problems: list[str] = []

    def namespace(self) -> dict[str, Any]:
        """Every function that the text may call."""
        silent = ("prefetch_map", "mbar_init_fence", "__syncthreads", "wgmma_fence", "hold")
        atoms = [f"m64n{n}k16" for n in range(8, 257, 8)]
        return {
            **dict.fromkeys(silent, _nothing),
            **{name: partial(self._log, what) for name, what in _LOGGED.items()},
            **{f"mma_{atom}_{d}": partial(self._log, "mma", atom, d) for atom in atoms for d in ("bf16", "f16")},
            **{f"mma_m16n8k16_{d}": partial(self._log, "mma sync", d) for d in ("bf16", "f16")},
            "cluster_rank": lambda: self.block % 2,
            "block_barrier": partial(self._log, "barrier", 0, self.printed.kernel.threads),
            **{name: name for name in self.printed.kernel.pointers},
            **{f"pair_{d}": _pair for d in ("bf16", "f16")},
            "min": min,
            "max": max,
            "floor_quo": _floor_quo,
            "floor_rem": _floor_rem,
            "shared_address": _shared_address,
            "dynamic_shared": None,
            "__shfl_sync": _first_lane,
            "array": _array,
            "leave": self.locals.update,
        }

    def _log(self, what: str, *operands: Any) -> None:  # noqa: ANN401 - as printed
        self.raw.append((what, operands))

    def finish(self) -> tuple[Trace, list[str]]:
        return [self._event(what, operands) for what, operands in self.raw], self.problems

    def _event(self, what: str, o: tuple[Any, ...]) -> Event:
        match what:
            case "init" | "wait" | "expect":
                return Event(what, (self._place(o[0]), o[1]))
            case "arrive":
                return Event(what, (self._place(o[0]),))
            case "arrive at":
                return Event(what, (self._place(o[0]), o[1]))
            case "load to all":
                place, m, x, y, bar, blocks = o
                return Event(what, (m.tensor, x, y, m.box, m.swizzle, self._place(place), self._place(bar), blocks))
            case "load":
                place, m, x, y, bar = o
                return Event(what, (m.tensor, x, y, m.box, m.swizzle, self._place(place), self._place(bar)))
            case "store":
                m, x, y, place = o
                return Event(what, (m.tensor, x, y, m.box, m.swizzle, self._place(place)))
            case "mma":
                atom, dtype, acc, a, b, adds = o
                return Event(what, (atom, dtype, acc[0][:2], self._descriptor(a), self._descriptor(b), bool(adds)))
            case "zero":
                return Event(what, (o[0][0][:2],))
            case "chunk copy":
                width, place, *element = o
                return Event(what, (self._place(place), *self._element(width, element)))
            case "chunk load":
                width, registers, *element = o
                return Event(what, (registers[0][:2], *self._element(width, element)))
            case "chunk store":
                return Event(what, (self._place(o[0]), o[1][0][:2]))
            case "pair":
                width, *element, values = o
                return Event(what, (*self._element(width, element), values))
            case "matrices":
                return Event(what, (o[0][0][:2], self._place(o[1])))
            case "mma sync":
                dtype, acc, a, b = o
                return Event(what, (dtype, acc[0][:2], a[0], b[0]))
            case "put" | "put down":
                return Event(what, (self._place(o[0]), tuple(o[1][:4])))
            case _:
                return Event(what, o)

    def _element(self, width: int, element: Sequence[Any]) -> Sequence[object]:
        """Tensor, row, column, extents; pieces of `width` elements must not cross rows, nor their own alignment."""
        name, _, column, _, columns = element
        if column % width or columns % width:
            self.problems.append(
                f"pieces of {width} elements from column {column} of {name}, whose rows have {columns}"
            )
        return element

    def _place(self, address: int) -> Place:
        for name, extent in self.printed.extents.items():
            start = self.locals.get(name)
            if start is not None and start <= address < start + extent:
                return Place(name, address - start)
        self.problems.append(f"address {address} lies in no shared buffer")
        return Place("nothing", address)

    def _descriptor(self, d: int) -> Place:
        """What a descriptor addresses; bits as PTX lays them out."""
        start, stride, layout = (d & 0x3FFF) << 4, ((d >> 32) & 0x3FFF) << 4, d >> 62
        if (stride, layout, (d >> 49) & 7) != (STRIDE_BYTES, SWIZZLED_128, 0):
            self.problems.append(f"a descriptor with stride {stride}, layout {layout} for rows of 128 swizzled bytes")
        return self._place(start)
