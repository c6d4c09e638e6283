"""Memory of a simulated block: global tensors, shared buffers with their hazards, registers."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Space = Literal["global", "shared", "local"]

WAVE = 64
NUMPY_TYPES: dict[str, Any] = {
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float64": np.float64,
    "int8": np.int8,
    "uint8": np.uint8,
    "int16": np.int16,
    "uint16": np.uint16,
    "int32": np.int32,
    "uint32": np.uint32,
    "int64": np.int64,
    "uint64": np.uint64,
    "bool": np.bool_,
}


class SimulationFault(Exception):
    """The lowered code did what no kernel may do: the message says what, where and which thread."""


@dataclass(slots=True)
class Storage:
    """One buffer. `data` is flat, or (threads, elements) for registers.

    For shared memory, per element: `valid`, the last writer and its barrier phase, the first and last reader thread of
    the phase `read_phase`, and how many copies into it are in flight.
    """

    name: str
    space: Space
    data: Array
    valid: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    writer: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    write_phase: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    reader_low: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    reader_high: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    read_phase: Array = field(default_factory=lambda: np.zeros(0, np.int32))
    in_flight: Array = field(default_factory=lambda: np.zeros(0, np.int32))

    @staticmethod
    def allocate(name: str, space: Space, dtype: str, elements: int, threads: int) -> Storage:
        kind = NUMPY_TYPES[dtype]
        if space == "local":
            return Storage(name, space, _poison((threads, elements), kind))

        def never() -> Array:
            return np.full(elements, -1, np.int32)

        return Storage(
            name=name,
            space=space,
            data=_poison((elements,), kind),
            valid=np.zeros(elements, np.bool_),
            writer=never(),
            write_phase=never(),
            reader_low=never(),
            reader_high=never(),
            read_phase=never(),
            in_flight=np.zeros(elements, np.int32),
        )


def _poison(shape: tuple[int, ...], kind: Any) -> Array:  # noqa: ANN401 - numpy's scalar types have no common name
    value = np.nan if np.dtype(kind).kind == "f" or kind is ml_dtypes.bfloat16 else 0
    return np.full(shape, value, kind)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A byte address: per thread, shape (threads or 1, 1)."""

    storage: Storage
    offset: Array


@dataclass(frozen=True, slots=True)
class Flight:
    """A direct-to-LDS copy of one wave between issue and retirement."""

    storage: Storage
    cells: Array
    values: Array
    threads: Array


@dataclass(slots=True)
class Block:
    """One running block.

    Attributes:
        env: Values of TIR variables, shape (threads or 1, 1).
        active: Which threads execute the current statement.
        vmem: Per wave, the vector-memory operations in issue order; None where retirement has no effect here.
    """

    threads: int
    env: dict[str, Array]
    memory: dict[str, Storage]
    active: npt.NDArray[np.bool_]
    vmem: list[deque[Flight | None]]
    phase: int = 0
    barriers: int = 0
    mfma: int = 0

    @property
    def thread_ids(self) -> Array:
        return np.arange(self.threads, dtype=np.int32)[:, None]

    def issue(self, copies: dict[int, Flight] | None = None) -> None:
        """Enter one vector-memory instruction into the queue of every wave that executes it."""
        for wave, queue in enumerate(self.vmem):
            if self.active[wave * WAVE : (wave + 1) * WAVE].any():
                queue.append(copies.get(wave) if copies else None)

    def retire(self, keep: int) -> None:
        """`vmcnt(keep)`: land all but the newest `keep` operations of every active wave."""
        for wave, queue in enumerate(self.vmem):
            if self.active[wave * WAVE : (wave + 1) * WAVE].any():
                while len(queue) > keep:
                    self._land(queue.popleft())

    def _land(self, flight: Flight | None) -> None:
        if flight is not None:
            flight.storage.in_flight[flight.cells] -= 1
            self.write_shared(flight.storage, flight.cells, flight.values, flight.threads)

    # ---------------------------------------------------------------------------- shared memory

    def check_bounds(self, storage: Storage, index: Array, action: str) -> None:
        bad = (index < 0) | (index >= storage.data.shape[-1])
        if bad.any():
            place = tuple(int(x) for x in np.argwhere(bad)[0])
            raise SimulationFault(
                f"thread {place[0]} {action} {storage.name}[{int(index[place])}] of {storage.data.shape[-1]} elements"
            )

    def read_shared(self, storage: Storage, index: Array, threads: Array) -> Array:
        self.check_bounds(storage, index, "reads")
        self._fault_where(storage, index, threads, ~storage.valid[index], "reads uninitialised")
        self._fault_where(
            storage, index, threads, storage.in_flight[index] > 0, "reads, before its copy was waited for,"
        )
        foreign = (storage.write_phase[index] == self.phase) & _other_wave(storage.writer[index], threads)
        self._fault_where(storage, index, threads, foreign, "reads, in the phase of another wave's write,")
        flat, who = index.ravel(), np.broadcast_to(threads, index.shape).ravel()
        stale = flat[storage.read_phase[flat] != self.phase]
        storage.reader_low[stale] = np.iinfo(np.int32).max
        storage.reader_high[stale] = -1
        storage.read_phase[flat] = self.phase
        np.minimum.at(storage.reader_low, flat, who)
        np.maximum.at(storage.reader_high, flat, who)
        return storage.data[index]

    def write_shared(self, storage: Storage, index: Array, values: Array, threads: Array) -> None:
        self.check_bounds(storage, index, "writes")
        self._refuse_overwrite(storage, index, threads)
        storage.data[index] = values
        storage.valid[index] = True
        storage.writer[index] = np.broadcast_to(threads, index.shape)
        storage.write_phase[index] = self.phase

    def begin_copy(self, storage: Storage, cells: Array, threads: Array) -> None:
        """A copy may land at any time from now: its cells must be free of this phase's accesses by other waves."""
        self.check_bounds(storage, cells, "copies into")
        self._refuse_overwrite(storage, cells, threads)
        storage.in_flight[cells] += 1

    def _refuse_overwrite(self, storage: Storage, index: Array, threads: Array) -> None:
        read = storage.read_phase[index] == self.phase
        others = _other_wave(storage.reader_low[index], threads) | _other_wave(storage.reader_high[index], threads)
        self._fault_where(storage, index, threads, read & others, "writes, in the phase of another wave's read,")
        written = (storage.write_phase[index] == self.phase) & _other_wave(storage.writer[index], threads)
        self._fault_where(storage, index, threads, written, "writes, in the phase of another wave's write,")

    def _fault_where(self, storage: Storage, index: Array, threads: Array, bad: Array, action: str) -> None:
        if bad.any():
            place = tuple(int(x) for x in np.argwhere(bad)[0])
            who = int(np.broadcast_to(threads, index.shape)[place])
            raise SimulationFault(
                f"thread {who} (wave {who // WAVE}) {action} {storage.name}[{int(index[place])}] in phase {self.phase}"
            )


def _other_wave(thread: Array, me: Array) -> Array:
    return (thread >= 0) & (thread // WAVE != me // WAVE)
