"""Equal shares of all steps of all tiles (stream-K), seen tile by tile.

The kernel's text speaks of one block: `begin, end = split(rows * columns * steps, parts)`, then `for t in
range(begin // steps, cdiv(end, steps))` over the tiles that the share touches, of which it takes the steps
`max(begin - t * steps, 0)` to `min(end - t * steps, steps)`. Shares are disjoint runs that cover everything, so what
they hold of one tile are disjoint runs that cover that tile's steps; and the blocks that come to a tile are those that
hold some of it, besides some that hold nothing. So the kernel is checked as if it were

    for t.row, t.column in tiles(rows, columns):
        t.begin, t.end = split(steps, parts)

with `t.row` for `t // columns` and `t.column` for `t % columns`. What is special: which runs there are differs from
tile to tile, so `coverage` asks that all shares of a tile add to the same elements, whatever their bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from argus.dsl.ir import Assign, Block, For, Kernel, MBar, Node, Split
from argus.dsl.ir.rewrite import children, map_children, walk_body
from argus.dsl.layout import ZERO, Const, Expr, Op, Var, cdiv, names
from argus.dsl.layout.affine import affine, ge
from argus.dsl.tags.context import Oracle
from argus.dsl.tags.parts import BEGIN, END


@dataclass(frozen=True, slots=True)
class _Shares:
    """The split and the loop of a kernel of this form."""

    split: Assign
    loop: For
    rows: Expr
    columns: Expr
    steps: Expr
    parts: Const


def by_tile(kernel: Kernel, sizes: Collection[str], oracle: Oracle) -> Kernel:
    """A kernel in core form with its shares as a loop over tiles; itself if it has another form."""
    found = _shares(kernel, frozenset(sizes))
    if found is None or oracle.consistent((ge(-affine(found.steps, {})),)):
        return kernel
    (t,), bounds = found.loop.targets, found.split.targets
    begin, end = (Var(name) for name in bounds)
    called: dict[Expr, Expr] = {
        Var(t) // found.columns: Var(f"{t}.row"),
        Var(t) % found.columns: Var(f"{t}.column"),
        Op("max", (begin - Var(t) * found.steps, ZERO)): Var(t + BEGIN),
        Op("min", (end - Var(t) * found.steps, found.steps)): Var(t + END),
    }
    split = replace(
        found.split, targets=(t + BEGIN, t + END), value=Split(n=found.steps, parts=found.parts, span=found.split.span)
    )
    loop = replace(
        found.loop,
        kind="tiles",
        targets=(f"{t}.row", f"{t}.column"),
        bounds=(found.rows, found.columns),
        body=(split, *(_renamed(stmt, called) for stmt in found.loop.body)),
    )
    body = tuple(loop if stmt is found.loop else stmt for stmt in kernel.body if stmt is not found.split)
    return kernel if any(_mentions(stmt, {t, *bounds}) for stmt in body) else replace(kernel, body=body)


def _shares(kernel: Kernel, sizes: frozenset[str]) -> _Shares | None:
    splits = [s for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, Split)]
    nodes = list(walk_body(kernel.body))
    grids = [n for n in nodes if isinstance(n, Block) or (isinstance(n, For) and n.kind == "tiles")]
    # A ring of mbarriers turns by as much as a share holds of a tile, which is no multiple of the tiles done.
    if len(splits) != 1 or grids or kernel.cluster > 1 or any(isinstance(n, MBar) for n in nodes):
        return None
    (split,) = splits
    assert isinstance(split.value, Split)
    match split.value.n, split.value.parts:
        case Op("*", (Op("*", (rows, columns)), steps)) as n, Const(value) as parts if value >= 1 and names(n) <= sizes:
            begin, end = (Var(name) for name in split.targets)
            bounds = (begin // steps, cdiv(end, steps))
        case _:
            return None
    loops = [s for s in kernel.body if isinstance(s, For) and s.kind == "range" and s.bounds == bounds]
    if len(loops) != 1:
        return None
    (loop,) = loops
    bound = [name for n in nodes if isinstance(n, Assign | For) and n not in (split, loop) for name in n.targets]
    if {*loop.targets, *split.targets} & {*bound}:
        return None
    return _Shares(split, loop, rows, columns, steps, parts)


def _renamed(node: Any, called: Mapping[Expr, Expr]) -> Any:  # noqa: ANN401 - a node or an expression
    match node:
        case Op(kind, args):
            return called[node] if node in called else Op(kind, tuple(_renamed(a, called) for a in args))
        case Node():
            return map_children(node, lambda child: _renamed(child, called))
        case _:
            return node


def _mentions(node: Any, called: set[str]) -> bool:  # noqa: ANN401 - a node or an expression
    match node:
        case Var(name):
            return name in called
        case Op(_, args):
            return any(_mentions(a, called) for a in args)
        case Node():
            return any(_mentions(child, called) for child in children(node))
        case _:
            return False
