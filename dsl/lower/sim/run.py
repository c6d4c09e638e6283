"""Statements, and the launch of a grid."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportMissingTypeStubs=false

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from argus.dsl.lower.lowered import Lowered
from argus.dsl.lower.sim.expr import buffer_name, compile_expr
from argus.dsl.lower.sim.state import NUMPY_TYPES, WAVE, Array, Block, SimulationFault, Storage

Exec = Callable[[Block], None]


@dataclass(frozen=True, slots=True)
class Stats:
    """What was executed: instructions are per wave and block, as issued."""

    blocks: int
    mfma: int
    barriers: int


def simulate(
    lowered: Lowered,
    sizes: Mapping[str, int],
    tensors: Mapping[str, Array],
    *,
    blocks: Sequence[tuple[int, int, int]] | None = None,
) -> Stats:
    """Run a lowered kernel on `tensors`, which are written in place.

    Args:
        lowered: What would be given to code generation.
        sizes: Every size argument by name.
        tensors: C-contiguous arrays by parameter name, of the parameter's type.
        blocks: (x, y, z) of the blocks to run; None runs the whole grid.

    Raises:
        SimulationFault: Uninitialised or racing shared memory, an access out of bounds, a divergent barrier.
    """
    globals_ = {p.name: _global(p.name, p.dtype, tensors[p.name]) for p in lowered.params if p.kind == "tensor"}
    env = {p.name: np.array([[sizes[p.name]]], np.int32) for p in lowered.params if p.kind != "tensor"}
    program = _Program(lowered.func, env)
    grid = blocks if blocks is not None else list(itertools.product(*(range(n) for n in program.grid)))
    mfma = barriers = 0
    for place in grid:
        block = program.block(place, env, globals_)
        program.body(block)
        mfma, barriers = mfma + block.mfma, barriers + block.barriers
    return Stats(len(grid), mfma, barriers)


def _global(name: str, dtype: str, array: Array) -> Storage:
    want = np.dtype(NUMPY_TYPES[dtype])
    if array.dtype != want or not array.flags.c_contiguous:
        raise ValueError(f"{name} must be a C-contiguous array of {want}, got {array.dtype}")
    return Storage(name, "global", array.reshape(-1))


class _Program:
    """The statements of one PrimFunc as closures."""

    def __init__(self, func: Any, env: dict[str, Array]) -> None:  # noqa: ANN401 - TVM nodes are untyped
        self.axes: dict[str, tuple[str, int]] = {}
        self._env = env
        self.body = self._stmt(func.body)
        extents = {tag: extent for tag, extent in self.axes.values()}
        self.threads = extents.get("threadIdx.x", 1)
        self.grid = tuple(extents.get(f"blockIdx.{d}", 1) for d in "xyz")

    def block(self, place: tuple[int, ...], env: dict[str, Array], memory: dict[str, Storage]) -> Block:
        names: dict[str, int] = dict(zip(("blockIdx.x", "blockIdx.y", "blockIdx.z"), place, strict=True))
        own = dict(env)
        for variable, (tag, _) in self.axes.items():
            thread = np.arange(self.threads, dtype=np.int32)[:, None]
            own[variable] = thread if tag == "threadIdx.x" else np.array([[names[tag]]], np.int32)
        queues: list[deque[Any]] = [deque() for _ in range(max(1, self.threads // WAVE))]
        return Block(self.threads, own, dict(memory), np.ones(self.threads, np.bool_), queues)

    def _stmt(self, s: Any) -> Exec:  # noqa: ANN401
        match type(s).__name__:
            case "SeqStmt":
                return _sequence([self._stmt(x) for x in s.seq])
            case "For":
                return self._for(s)
            case "BufferStore":
                return _store(s)
            case "Evaluate":
                value = compile_expr(s.value)
                return lambda block: value(block) and None
            case "IfThenElse":
                return self._if(s)
            case "AllocBuffer":
                return self._alloc([s.buffer])
            case "SBlockRealize":
                return _sequence([self._alloc(s.block.alloc_buffers), self._stmt(s.block.body)])
            case "AttrStmt":
                return self._stmt(s.body)
            case "Bind" | "LetStmt":
                return self._bind(s)
            case "While":
                return self._while(s)
            case other:
                raise NotImplementedError(f"the simulator has no statement {other}")

    def _for(self, s: Any) -> Exec:  # noqa: ANN401
        name, body = s.loop_var.name, None
        start, extent = compile_expr(s.min), compile_expr(s.extent)
        if s.thread_binding is not None:
            probe = Block(1, dict(self._env), {}, np.ones(1, np.bool_), [])
            self.axes[name] = (str(s.thread_binding.thread_tag), int(extent(probe).ravel()[0]))
            return self._stmt(s.body)
        body = self._stmt(s.body)

        def run(block: Block) -> None:
            first, count = (_uniform(block, f(block), "a loop bound") for f in (start, extent))
            for i in range(first, first + count):
                block.env[name] = np.array([[i]], np.int32)
                body(block)

        return run

    def _while(self, s: Any) -> Exec:  # noqa: ANN401
        condition, body = compile_expr(s.condition), self._stmt(s.body)

        def run(block: Block) -> None:
            while _uniform(block, condition(block), "a loop condition"):
                body(block)

        return run

    def _if(self, s: Any) -> Exec:  # noqa: ANN401
        condition, then = compile_expr(s.condition), self._stmt(s.then_case)
        other = self._stmt(s.else_case) if s.else_case is not None else None

        def run(block: Block) -> None:
            before = block.active
            holds = np.broadcast_to(condition(block).astype(np.bool_), (block.threads, 1))[:, 0]
            for case, mask in ((then, before & holds), (other, before & ~holds)):
                if case is not None and mask.any():
                    block.active = mask
                    case(block)
            block.active = before

        return run

    def _alloc(self, buffers: Iterable[Any]) -> Exec:
        specs: list[tuple[str, Any, str, int]] = []
        for b in buffers:
            scope = str(b.scope()) if callable(b.scope) else str(b.scope)
            elements = int(np.prod([int(x) for x in b.shape]))
            space = "shared" if scope.startswith("shared") else "local"
            specs.append((buffer_name(b), space, str(b.dtype), elements))

        def run(block: Block) -> None:
            for name, space, dtype, elements in specs:
                block.memory[name] = Storage.allocate(name, space, dtype, elements, block.threads)

        return run

    def _bind(self, s: Any) -> Exec:  # noqa: ANN401
        name, value = s.var.name, compile_expr(s.value)
        body = self._stmt(s.body) if getattr(s, "body", None) is not None else None

        def run(block: Block) -> None:
            result = value(block)
            if isinstance(result, np.ndarray):
                block.env[name] = result
            else:
                block.env[name] = result
            if body is not None:
                body(block)

        return run


def _sequence(steps: list[Exec]) -> Exec:
    def run(block: Block) -> None:
        for step in steps:
            step(block)

    return run


def _store(s: Any) -> Exec:  # noqa: ANN401
    name, index, value = buffer_name(s.buffer), compile_expr(s.indices[0]), compile_expr(s.value)

    def run(block: Block) -> None:
        storage, where, what = block.memory[name], index(block), value(block)
        lanes = max(where.shape[1], what.shape[1])
        where = np.broadcast_to(where, (block.threads, lanes))
        what = np.broadcast_to(what, (block.threads, lanes)).astype(storage.data.dtype)
        rows = block.active
        if storage.space == "local":
            threads = np.broadcast_to(block.thread_ids, where.shape)
            storage.data[threads[rows], where[rows]] = what[rows]
        elif storage.space == "global":
            block.check_bounds(storage, where[rows], "writes")
            storage.data[where[rows]] = what[rows]
            block.issue()
        else:
            block.write_shared(storage, where[rows], what[rows], block.thread_ids[rows])

    return run


def _uniform(block: Block, value: Array, what: str) -> int:
    flat = np.asarray(value).ravel()
    if flat.size > 1:
        flat = flat[block.active] if flat.size == block.threads else flat
        if (flat != flat[0]).any():
            raise SimulationFault(f"{what} differs between threads")
    return int(flat[0])
