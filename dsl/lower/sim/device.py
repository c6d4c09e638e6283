"""Device functions and intrinsics that lowered code calls."""

# pyright: reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from tvm.target.codegen import llvm_lookup_intrinsic_id

from argus.dsl.lower.sim.mfma import MFMA_INTRINSICS, execute
from argus.dsl.lower.sim.state import WAVE, Array, Block, Flight, Pointer, SimulationFault

Call = Callable[[Block, list[Any]], Any]
NUM_RECORDS = 0x80000000  # of the buffer descriptor: offsets from here on read zero and drop writes


def external(name: str) -> Call | None:
    """What a function called by name does; None: not known."""
    return _EXTERNALS.get(name)


def intrinsic(number: int) -> Call | None:
    """What an LLVM intrinsic does, by its number; None: not known."""
    return _intrinsics().get(number)


# ------------------------------------------------------------------------------------------ buffers


def _addresses(block: Block, pointer: Pointer, voff: Array, soff: Array, size: int) -> tuple[Array, Array]:
    """(byte index of every byte, whether the lane is in range), shapes (threads, size) and (threads, 1)."""
    voff = np.broadcast_to(np.asarray(voff, np.int64) & 0xFFFFFFFF, (block.threads, 1))
    inside = (voff < NUM_RECORDS) & block.active[:, None]
    start = pointer.offset + voff + np.asarray(soff, np.int64)
    total = pointer.storage.data.nbytes
    bad = inside & ((start < 0) | (start + size > total))
    if bad.any():
        thread = int(np.argmax(bad[:, 0]))
        where = int(np.broadcast_to(start, bad.shape)[thread, 0])
        raise SimulationFault(
            f"thread {thread} touches bytes {where}..{where + size - 1} of {pointer.storage.name} ({total} bytes)"
        )
    return np.where(inside, start, 0) + np.arange(size), inside


def _buffer_load(size: int) -> Call:
    def call(block: Block, args: list[Any]) -> Array:
        pointer, voff, soff = args
        index, inside = _addresses(block, pointer, voff, soff, size)
        raw = pointer.storage.data.view(np.uint8)[index]
        block.issue()
        return np.ascontiguousarray(np.where(inside, raw, np.uint8(0))).view(np.float32)

    return call


def _buffer_store(size: int) -> Call:
    def call(block: Block, args: list[Any]) -> None:
        pointer, value, voff, soff = args
        index, inside = _addresses(block, pointer, voff, soff, size)
        value = np.broadcast_to(value, (block.threads, value.shape[1]))
        raw = np.ascontiguousarray(value).view(np.uint8)
        rows = inside[:, 0]
        pointer.storage.data.view(np.uint8)[index[rows]] = raw[rows]
        block.issue()

    return call


def _load_lds(block: Block, args: list[Any]) -> None:
    source, target, voff, soff = args
    index, inside = _addresses(block, source, voff, soff, 4)
    raw = np.where(inside, source.storage.data.view(np.uint8)[index], np.uint8(0))
    storage = target.storage
    width = storage.data.itemsize
    values = np.ascontiguousarray(raw).view(storage.data.dtype)
    base = np.broadcast_to(target.offset, (block.threads, 1))
    copies: dict[int, Flight] = {}
    for wave in range(block.threads // WAVE):
        lanes = slice(wave * WAVE, (wave + 1) * WAVE)
        if not block.active[lanes].any():
            continue
        if not block.active[lanes].all():
            raise SimulationFault(f"wave {wave} copies to LDS with some lanes inactive")
        if (base[lanes] != base[lanes][0]).any():
            raise SimulationFault(f"wave {wave} copies to LDS with a destination that differs between lanes")
        cells = (
            np.arange(WAVE * 4 // width, dtype=np.int64).reshape((WAVE, 4 // width)) + int(base[lanes][0, 0]) // width
        )
        threads = block.thread_ids[lanes]
        block.begin_copy(storage, cells, threads)
        copies[wave] = Flight(storage, cells, values[lanes], threads)
    block.issue(copies)


def _fenced_barrier(block: Block, args: list[Any]) -> None:
    del args
    block.retire(0)
    _barrier(block, [])


def _barrier(block: Block, args: list[Any]) -> None:
    del args
    if not block.active.all():
        raise SimulationFault("a barrier is not reached by all threads")
    block.phase += 1
    block.barriers += 1


def _waitcnt(block: Block, args: list[Any]) -> None:
    bits = int(np.asarray(args[0]).ravel()[0])
    vmcnt = (bits & 0xF) | (bits >> 14 & 0x3) << 4
    block.retire(vmcnt)


def _nothing(block: Block, args: list[Any]) -> None:
    del block, args


_EXTERNALS: dict[str, Call] = {
    "argus_barrier": _fenced_barrier,
    "argus_buffer_load_b128": _buffer_load(16),
    "argus_buffer_load_b64": _buffer_load(8),
    "argus_buffer_load_b32": _buffer_load(4),
    "argus_buffer_store_b128": _buffer_store(16),
    "argus_buffer_store_b64": _buffer_store(8),
    "argus_buffer_store_b32": _buffer_store(4),
    "argus_buffer_load_lds_b32": _load_lds,
}

# ----------------------------------------------------------------------------------------- intrinsics

_POLICIES = (
    "llvm.amdgcn.s.setprio",
    "llvm.amdgcn.sched.barrier",
    "llvm.amdgcn.sched.group.barrier",
    "llvm.amdgcn.iglp.opt",
)


def _mfma(name: str) -> Call:
    instruction = MFMA_INTRINSICS[name]

    def call(block: Block, args: list[Any]) -> Array:
        a, b, c = (np.broadcast_to(x, (block.threads, x.shape[1])) for x in args[:3])
        block.mfma += 1
        return execute(instruction, a, b, c)

    return call


def _readfirstlane(block: Block, args: list[Any]) -> Array:
    value = np.broadcast_to(args[0], (block.threads, 1)).reshape(-1, WAVE)
    return np.repeat(value[:, :1], WAVE, axis=1).reshape(-1, 1)


_TABLE: dict[int, Call] = {}


def _intrinsics() -> dict[int, Call]:
    if not _TABLE:
        known: dict[str, Call] = {name: _mfma(name) for name in MFMA_INTRINSICS}
        known |= dict.fromkeys(_POLICIES, _nothing)
        known |= {
            "llvm.amdgcn.s.barrier": _barrier,
            "llvm.amdgcn.s.waitcnt": _waitcnt,
            "llvm.amdgcn.readfirstlane": _readfirstlane,
        }
        lookup = cast("Callable[[str], int]", llvm_lookup_intrinsic_id)
        _TABLE.update({int(lookup(name)): call for name, call in known.items()})
    return _TABLE
