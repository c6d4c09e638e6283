"""From a kernel's IR to what the estimate must know of it: how the problem is cut, what the loop should hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil

from argus.dsl import ir
from argus.dsl.codegen.workload import Conflicts, Workload
from argus.dsl.diagnostics import CheckReport
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Const, Expr, Op, Var
from argus.dsl.targets.atoms import ATOMS

_DMA_BYTES_A_WAVE = 256  # of one direct-to-LDS instruction on gfx942


@dataclass(frozen=True, slots=True)
class KernelShape:
    """What compiled code is compared with.

    Attributes:
        cut: Block rows, block columns and k-depth; None for kernels that are no GEMM.
        mfma_per_tile: MFMAs of one wave in one iteration of the main loop; None without one.
        in_flight: Direct-to-LDS instructions that a wave may have outstanding at a barrier of the main loop.
    """

    cut: tuple[int, int, int] | None
    waves: int
    order: str
    mfma_per_tile: int | None
    in_flight: int


def kernel_shape(core: ir.Kernel) -> KernelShape:
    """Read it off a core-form kernel."""
    block = next((s.value for s in core.body if isinstance(s, ir.Assign) and isinstance(s.value, ir.Block)), None)
    loop = next((s for s in core.body if isinstance(s, ir.For) and s.kind == "range"), None)
    order = block.order if block is not None else "rows"
    mfma = _mfma_count(core, loop.body) if loop is not None else None
    return KernelShape(_cut(core, block, loop), core.waves, order, mfma, _in_flight(core, loop))


def workload(core: ir.Kernel, sizes: Mapping[str, int], report: CheckReport) -> Workload | None:
    """The problem as the estimate sees it; None for kernels that are no GEMM."""
    shape = kernel_shape(core)
    if shape.cut is None or not core.ensures:
        return None
    m, n, k = _gemm_sizes(core)
    conflicts = report.bank_conflicts
    ways = Conflicts(float(conflicts.get("read_way", 1.0)), float(conflicts.get("write_way", 1.0)))
    tensors = {p.name: p for p in core.params if isinstance(p, ir.TensorParam)}
    ensures = core.ensures[0]
    return Workload(
        m=sizes[m],
        n=sizes[n],
        k=sizes[k],
        bm=shape.cut[0],
        bn=shape.cut[1],
        bk=shape.cut[2],
        waves=shape.waves,
        order=shape.order,
        element_bytes=DTYPE_BYTES[tensors[ensures.uses[0]].dtype],
        out_bytes=DTYPE_BYTES[tensors[ensures.tensor].dtype],
        conflicts=ways,
    )


def _gemm_sizes(core: ir.Kernel) -> tuple[str, str, str]:
    """Size symbols of rows, columns and depth: the axes of the first two used tensors and the reduced one."""
    ensures = core.ensures[0]
    extents = {
        axis: extent.name
        for p in core.params
        if isinstance(p, ir.TensorParam)
        for axis, extent in zip(p.axes, p.shape, strict=True)
        if isinstance(extent, Var)
    }
    rows, columns = ensures.index[-2:]
    return extents[rows], extents[columns], extents[ensures.over[0].axis]


def _cut(core: ir.Kernel, block: ir.Block | None, loop: ir.For | None) -> tuple[int, int, int] | None:
    if block is None or loop is None or not core.ensures or len(core.ensures[0].index) < 2 or not core.ensures[0].over:
        return None
    steps: dict[str, int] = {}
    for count in (*block.counts, *loop.bounds[-1:]):
        match count:
            case Op("cdiv", (Var(name), Const(value))):
                steps[name] = value
            case _:
                pass
    try:
        m, n, k = (steps[name] for name in _gemm_sizes(core))
    except KeyError:
        return None
    return m, n, k


def _mfma_count(core: ir.Kernel, body: tuple[ir.Stmt, ...]) -> int | None:
    accumulators = {
        s.targets[0]: s.value
        for s, _ in _walk(core.body)
        if isinstance(s, ir.Assign) and isinstance(s.value, ir.MmaAcc)
    }
    operands = {
        s.targets[0]: s.value
        for s, _ in _walk(core.body)
        if isinstance(s, ir.Assign) and isinstance(s.value, ir.Operand)
    }
    total = 0
    for stmt, times in _walk(body):
        if isinstance(stmt, ir.MmaInto):
            acc = accumulators[stmt.acc]
            shape = ATOMS[acc.atom]
            operand = operands.get(stmt.a.name) if isinstance(stmt.a, ir.Ref) else None
            pack = operand.pack if operand is not None else 1
            total += times * pack * (acc.m // acc.grid[0] // shape.m) * (acc.n // acc.grid[1] // shape.n)
    return total or None


def _in_flight(core: ir.Kernel, loop: ir.For | None) -> int:
    """Instructions of the groups that the loop's waits leave pending, taking its groups as equal."""
    if loop is None:
        return 0
    waits = [s.pending for s, _ in _walk(loop.body) if isinstance(s, ir.Wait)]
    commits = sum(times for s, times in _walk(loop.body) if isinstance(s, ir.Commit))
    if not waits or not commits:
        return 0
    copied = sum(times * _copy_instructions(core, s) for s, times in _walk(loop.body) if isinstance(s, ir.CopyAsync))
    return max(waits) * ceil(copied / commits)


def _copy_instructions(core: ir.Kernel, copy: ir.CopyAsync) -> int:
    shape, view = None, copy.src
    while shape is None:
        if isinstance(view, ir.TileAt):
            shape = view.shape
        elif isinstance(view, ir.Ref | ir.Field):
            return 0
        else:
            view = view.src
    elements = 1
    for extent in shape:
        elements *= extent
    source = next(p for p in core.params if isinstance(p, ir.TensorParam) and p.name == _root(copy.src))
    return ceil(elements * DTYPE_BYTES[source.dtype] / (_DMA_BYTES_A_WAVE * core.waves))


def _root(view: ir.View) -> str:
    return view.name if isinstance(view, ir.Ref) else _root(view.src)


def _walk(body: tuple[ir.Stmt, ...], times: int = 1) -> Iterator[tuple[ir.Stmt, int]]:
    """Every statement with how often one pass over `body` runs it; loops of unknown length count once."""
    for stmt in body:
        yield stmt, times
        if isinstance(stmt, ir.For):
            yield from _walk(stmt.body, times * _unrolled(stmt.bounds[-1]) if stmt.kind == "unroll" else times)
        elif isinstance(stmt, ir.If | ir.Role | ir.Elect):
            yield from _walk(stmt.body, times)


def _unrolled(bound: Expr) -> int:
    assert isinstance(bound, Const), "the bound of an unrolled loop is a constant"
    return bound.value
