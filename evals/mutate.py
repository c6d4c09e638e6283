"""Single edits of a kernel's body, as a tired author would make them. The contract is never touched.

Every operator yields whole kernels that differ from the original in one place. Whether a mutant is wrong is not this
module's business: some edits change nothing that matters, and the interpreter says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from random import Random
from typing import Any, cast

from argus.dsl import ir
from argus.dsl.ir.canonical import canonical_sha
from argus.dsl.ir.printer import show
from argus.dsl.ir.verify import problems
from argus.dsl.layout import Const, Op, Swizzle, Var

Body = tuple[ir.Stmt, ...]
Rewrite = Callable[[Any], Iterator[Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edited kernel; `text` is what the checker is given."""

    operator: str
    text: str
    sha: str


def mutants(kernel: ir.Kernel, *, seed: int, per_operator: int) -> list[Mutant]:
    """At most `per_operator` distinct mutants of each operator, well formed and different from the original."""
    random = Random(seed)
    seen = {canonical_sha(kernel)}
    found: list[Mutant] = []
    for name, operator in OPERATORS.items():
        candidates = list(operator(kernel))
        random.shuffle(candidates)
        kept = 0
        for candidate in candidates:
            if kept == per_operator:
                break
            sha = canonical_sha(candidate)
            if sha in seen or problems(candidate):
                continue
            seen.add(sha)
            found.append(Mutant(name, show(candidate), sha))
            kept += 1
    return found


# ---------------------------------------------------------------------------------- single-site edits


def _rewritten(node: Any, rewrite: Rewrite) -> Iterator[Any]:  # noqa: ANN401 - any dataclass of the IR
    """All copies of `node` in which `rewrite` replaced one node of the tree."""
    yield from rewrite(node)
    for f in fields(node):
        value = getattr(node, f.name)
        if f.name == "span":
            continue
        if is_dataclass(value):
            for changed in _rewritten(value, rewrite):
                yield replace(node, **{f.name: changed})
        elif isinstance(value, tuple):
            items = cast("tuple[Any, ...]", value)
            for i, item in enumerate(items):
                if is_dataclass(item):
                    for changed in _rewritten(item, rewrite):
                        yield replace(node, **{f.name: (*items[:i], changed, *items[i + 1 :])})


def _everywhere(rewrite: Rewrite) -> Callable[[ir.Kernel], Iterator[ir.Kernel]]:
    """An operator that applies `rewrite` at each node of the body in turn."""

    def operator(kernel: ir.Kernel) -> Iterator[ir.Kernel]:
        for i, stmt in enumerate(kernel.body):
            for changed in _rewritten(stmt, rewrite):
                yield replace(kernel, body=(*kernel.body[:i], changed, *kernel.body[i + 1 :]))

    return operator


def _bodies(edit: Callable[[Body], Iterator[Body]]) -> Callable[[ir.Kernel], Iterator[ir.Kernel]]:
    """An operator that applies `edit` to each statement list in turn."""

    def nested(body: Body) -> Iterator[Body]:
        yield from edit(body)
        for i, stmt in enumerate(body):
            for name in ("body", "orelse"):
                inner = cast("Body", getattr(stmt, name, ()))
                for changed in nested(inner) if inner else ():
                    yield (*body[:i], replace(cast("Any", stmt), **{name: changed}), *body[i + 1 :])

    def operator(kernel: ir.Kernel) -> Iterator[ir.Kernel]:
        for body in nested(kernel.body):
            yield replace(kernel, body=body)

    return operator


def _dropped(*kinds: type) -> Callable[[Body], Iterator[Body]]:
    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds) and len(body) > 1:
                yield (*body[:i], *body[i + 1 :])

    return edit


def _repeated(*kinds: type) -> Callable[[Body], Iterator[Body]]:
    def edit(body: Body) -> Iterator[Body]:
        for i, stmt in enumerate(body):
            if isinstance(stmt, kinds):
                yield (*body[: i + 1], stmt, *body[i + 1 :])

    return edit


def _swapped_neighbours(body: Body) -> Iterator[Body]:
    for i in range(len(body) - 1):
        yield (*body[:i], body[i + 1], body[i], *body[i + 2 :])


def _moved_barrier(body: Body) -> Iterator[Body]:
    for i, stmt in enumerate(body):
        if isinstance(stmt, ir.Barrier | ir.Wait):
            rest = (*body[:i], *body[i + 1 :])
            for j in range(len(rest) + 1):
                if abs(i - j) > 1:
                    yield (*rest[:j], stmt, *rest[j:])


def _wait_count(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.Wait):
        yield replace(node, pending=node.pending + 1)
        if node.pending:
            yield replace(node, pending=node.pending - 1)


def _stage(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.At):
        match node.index:
            case Op("%", (index, modulus)):
                yield replace(node, index=Op("%", (Op("+", (index, Const(1))), modulus)))
                yield replace(node, index=Const(0))
            case Const(value):
                yield replace(node, index=Const(1 - value if value < 2 else 0))
            case _:
                pass


def _tile_step(node: Any) -> Iterator[Any]:  # noqa: ANN401
    """The next or previous k-tile instead of this one."""
    if isinstance(node, ir.TileAt) and len(node.index) == 2:
        row, column = node.index
        yield replace(node, index=(row, Op("+", (column, Const(1)))))
        match column:
            case Op("+", (inner, Const())):
                yield replace(node, index=(row, inner))
            case _:
                pass


def _tile_swap(node: Any) -> Iterator[Any]:  # noqa: ANN401
    """Block indices confused, or a tile's indices exchanged."""
    if isinstance(node, ir.TileAt):
        if len(node.index) == 2:
            yield replace(node, index=(node.index[1], node.index[0]))
        for i, index in enumerate(node.index):
            for this, other in (("bm", "bn"), ("bn", "bm")):
                if index == Var(this):
                    yield replace(node, index=(*node.index[:i], Var(other), *node.index[i + 1 :]))


def _wrong_tensor(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.TileAt) and isinstance(node.src, ir.Ref) and node.src.name in ("A", "B"):
        yield replace(node, src=ir.Ref(name="B" if node.src.name == "A" else "A", span=node.src.span))


def _trip_count(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.For):
        *first, last = node.bounds
        match node.kind, last:
            case "unroll", Const(value):
                yield replace(node, bounds=(*first, Const(value + 1)))
                if value > 1:
                    yield replace(node, bounds=(*first, Const(value - 1)))
            case "range", _:
                yield replace(node, bounds=(*first, Op("-", (last, Const(1)))))
                yield replace(node, bounds=(*first, Op("+", (last, Const(1)))))
                yield replace(node, bounds=(Const(1), last))
            case _:
                pass


def _k_step(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.Operand):
        yield replace(node, ks=Const(0))
        match node.ks:
            case Var():
                yield replace(node, ks=Op("//", (node.ks, Const(2))))
                yield replace(node, ks=Op("max", (Op("-", (node.ks, Const(1))), Const(0))))
            case _:
                pass


def _buffer_confused(node: Any) -> Iterator[Any]:  # noqa: ANN401
    names = {"As": "Bs", "Bs": "As"}
    if isinstance(node, ir.Ref) and node.name in names:
        yield replace(node, name=names[node.name])
    if isinstance(node, ir.Field) and node.name in names:
        yield replace(node, name=names[node.name])


def _fragment_confused(node: Any) -> Iterator[Any]:  # noqa: ANN401
    names = {"a": "b", "b": "a", "x": "y", "y": "x"}
    if isinstance(node, ir.Store) and isinstance(node.value, ir.Ref) and node.value.name in names:
        yield replace(node, value=replace(node.value, name=names[node.value.name]))
    if isinstance(node, ir.MmaInto):
        yield replace(node, a=node.b, b=node.a)
        yield replace(node, b=node.a)


def _transposed(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.Store):
        inner = node.view.src if isinstance(node.view, ir.Transposed) else ir.Transposed(src=node.view, span=node.span)
        yield replace(node, view=inner)
    if isinstance(node, ir.Operand):
        yield replace(node, src=ir.Transposed(src=node.src, span=node.span))


def _pad_value(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.TileAt) and isinstance(node.src, ir.Ref) and node.src.name != "C":
        yield replace(node, pad=1.0)


def _tile_shape(node: Any) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.Block):
        for i, count in enumerate(node.counts):
            match count:
                case Op("cdiv", (size, Const(value))):
                    for wrong in (value * 2, value // 2):
                        counts = (*node.counts[:i], Op("cdiv", (size, Const(wrong))), *node.counts[i + 1 :])
                        yield replace(node, counts=counts)
                    counts = (*node.counts[:i], Op("//", (size, Const(value))), *node.counts[i + 1 :])
                    yield replace(node, counts=counts)
                case _:
                    pass


def _harmless(node: Any) -> Iterator[Any]:  # noqa: ANN401
    """Edits that keep the meaning: another swizzle, order, vector width, register class, wave grid."""
    if isinstance(node, ir.Shared):
        yield replace(node, swizzle=None if node.swizzle else Swizzle(chunks=4, unit=8, rows=1))
        yield replace(node, pad=8)
    if isinstance(node, ir.Block):
        yield replace(node, order="group_m(4)" if node.order == "rows" else "rows")
    if isinstance(node, ir.Load) and node.map is not None:
        yield replace(node, map=replace(node.map, vector=node.map.vector // 2))
    if isinstance(node, ir.MmaAcc):
        yield replace(node, regs="agpr" if node.regs == "vgpr" else "vgpr")
        yield replace(node, grid=(node.grid[1], node.grid[0]))


OPERATORS: dict[str, Callable[[ir.Kernel], Iterator[ir.Kernel]]] = {
    "drop-barrier": _bodies(_dropped(ir.Barrier)),
    "drop-wait": _bodies(_dropped(ir.Wait)),
    "drop-commit": _bodies(_dropped(ir.Commit)),
    "drop-store": _bodies(_dropped(ir.Store)),
    "drop-copy": _bodies(_dropped(ir.CopyAsync)),
    "drop-mma": _bodies(_dropped(ir.MmaInto)),
    "repeat-mma": _bodies(_repeated(ir.MmaInto)),
    "repeat-store": _bodies(_repeated(ir.Store)),
    "move-barrier": _bodies(_moved_barrier),
    "swap-statements": _bodies(_swapped_neighbours),
    "wait-count": _everywhere(_wait_count),
    "stage": _everywhere(_stage),
    "k-tile": _everywhere(_tile_step),
    "tile-index": _everywhere(_tile_swap),
    "wrong-tensor": _everywhere(_wrong_tensor),
    "trip-count": _everywhere(_trip_count),
    "k-step": _everywhere(_k_step),
    "wrong-buffer": _everywhere(_buffer_confused),
    "wrong-fragment": _everywhere(_fragment_confused),
    "transpose": _everywhere(_transposed),
    "pad-value": _everywhere(_pad_value),
    "tile-shape": _everywhere(_tile_shape),
    "harmless": _everywhere(_harmless),
}
