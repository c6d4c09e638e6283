"""From a Hopper GEMM's core form to what the estimate must know of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from argus.dsl import ir
from argus.dsl.codegen.hopper_estimate import HopperWork
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import Expr, evaluate
from argus.dsl.targets.atoms import ATOMS

_LANES = 32
_GROUP_M = re.compile(r"group_m\((\d+)\)")


def hopper_work(core: ir.Kernel, sizes: Mapping[str, int], shape: Mapping[str, int]) -> HopperWork | None:
    """The problem as the estimate sees it; None for kernels that are no GEMM with copies in the background.

    Args:
        core: The kernel in core form.
        sizes: By symbol, as the kernel spells them.
        shape: By name, as the task does.
    """
    grid = _grid(core.body)
    loads = list({_source(c): c for c in _copies(core) if isinstance(c.src, ir.TileAt)}.values())
    accs = [s.value for s in _assigns(core) if isinstance(s.value, ir.MmaAcc)]
    if grid is None or len(loads) != 2 or len(accs) != 1 or not core.ensures:
        return None
    tiles, order, persistent = grid
    acc, atom = accs[0], ATOMS[accs[0].atom]
    (bm, bk), (bn, _) = (copy.src.shape for copy in loads if isinstance(copy.src, ir.TileAt))
    role = next((r for r in _roles(core) if any(isinstance(n, ir.MmaInto) for n in walk_body(r.body))), None)
    sync = atom.m < 64  # mma.sync: warps tile the block, where warpgroups tile it by 64 rows
    groups = 1 if sync else (role.waves if role else core.waves) // 4
    gm, gn = acc.grid
    m, n, k = (sizes[x] for x in ("M", "N", "K"))
    group = _GROUP_M.fullmatch(order)
    return HopperWork(
        shape=dict(shape),
        m=m,
        n=n,
        k=k,
        bm=bm,
        bn=bn,
        bk=bk,
        tiles=(evaluate(tiles[0], dict(sizes)), evaluate(tiles[1], dict(sizes))),
        persistent=persistent,
        group_m=int(group[1]) if group else 1,
        groups=groups,
        atoms=acc.m // (64 if sync else atom.m),
        columns=acc.n if sync else atom.n,
        mma_steps=bk // atom.k,
        stages=_stages(core, loads),
        keep=_keep(core),
        chunks=_chunks(core, acc.n),
        threads=core.waves * _LANES,
        warp_rows=acc.m * gn + acc.n * gm if sync else None,
        direct=not any(isinstance(c.dst, ir.TileAt) for c in _copies(core)),
    )


def _grid(body: Sequence[ir.Stmt]) -> tuple[tuple[Expr, ...], str, bool] | None:
    for s in body:
        match s:
            case ir.Assign(value=ir.Block(counts=counts, order=order)) if len(counts) == 2:
                return counts, order, False
            case ir.For(kind="tiles", bounds=counts, order=order) if len(counts) == 2:
                return counts, order, True
            case _:
                pass
    return None


def _assigns(core: ir.Kernel) -> Iterator[ir.Assign]:
    return (s for s in walk_body(core.body) if isinstance(s, ir.Assign))


def _roles(core: ir.Kernel) -> Iterator[ir.Role]:
    return (s for s in walk_body(core.body) if isinstance(s, ir.Role))


def _copies(core: ir.Kernel) -> Iterator[ir.CopyAsync]:
    return (s for s in walk_body(core.body) if isinstance(s, ir.CopyAsync))


def _source(copy: ir.CopyAsync) -> str:
    view = copy.src
    while not isinstance(view, ir.Ref):
        view = view.src
    return view.name


def _stages(core: ir.Kernel, loads: Sequence[ir.CopyAsync]) -> int:
    """Leading extent of the buffers that the loads fill."""
    buffers = {s.targets[0]: s.value for s in _assigns(core) if isinstance(s.value, ir.Shared)}
    view = loads[0].dst
    while not isinstance(view, ir.Ref):
        view = view.src
    shape = buffers[view.name].shape
    return shape[0] if len(shape) == 3 else 1


def _keep(core: ir.Kernel) -> int:
    """Batches in flight at the end of a step: what the loop over k waits for."""
    loops = (s for s in walk_body(core.body) if isinstance(s, ir.For) and s.kind == "range")
    waits = (w.pending for loop in loops for w in loop.body if isinstance(w, ir.MmaWait))
    return max(waits, default=0)


def _chunks(core: ir.Kernel, columns: int) -> int:
    """Pieces in which an accumulator's columns leave."""
    for copy in _copies(core):
        if isinstance(copy.dst, ir.TileAt):
            return max(1, columns // copy.dst.shape[-1])
    return 1
