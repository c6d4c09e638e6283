"""Indices, operands and views: what one place says otherwise than its neighbours do, said alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from argus.dsl.diagnostics import Counterexample
from argus.dsl.ir import (
    Assign,
    At,
    Block,
    Cols,
    Copy,
    CopyAsync,
    For,
    Kernel,
    Load,
    MmaInto,
    Node,
    Operand,
    Ref,
    Role,
    Rows,
    Shared,
    Stmt,
    Store,
    TensorParam,
    TileAt,
    Transposed,
)
from argus.dsl.ir.rewrite import walk, walk_body
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout import Const, Expr, Op, Swizzle, Var, names
from argus.dsl.smt.mend.change import Change, bodies, instead, own_nodes


@dataclass(frozen=True, slots=True)
class _Site:
    """An expression within a node, and the node with another one."""

    node: Node
    expr: Expr
    put: Callable[[Expr], Node]


def indices(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Stages, k-steps and tiles that differ from their neighbours' take their form; then they move by one."""
    lines = _lines(kernel, found)
    groups = [group for group in _groups(kernel) if len(group) > 1]
    yield from _alike(kernel, groups, lines)
    near = [s for group in _groups(kernel) for s in group if s.node.span.line in lines]
    yield from _moduli(kernel)
    for site in near:
        for expr in shifted(site.expr):
            yield instead(kernel, [(site.node, site.put(expr))])
    for site in near:
        for old in names(site.expr) & _loop_variables(kernel).keys():
            for new in _loop_variables(kernel):
                if new != old:
                    yield instead(kernel, [(site.node, site.put(_renamed(site.expr, old, new)))])


def orientation(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Block indices on the axes where the other views have them; views turned over; operands swapped."""
    lines = _lines(kernel, found)
    yield from _crossed(kernel, lines)
    near = [n for n in walk_body(kernel.body) if n.span.line in lines]
    turned = [n.view if isinstance(n, Store | Load) else n.src for n in near if isinstance(n, Store | Load | Operand)]
    for view in turned:
        yield instead(kernel, [(view, view.src if isinstance(view, Transposed) else Transposed(src=view))])
    yield from _swapped(kernel)


def names_of_memory(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Another tensor of the same type, or another buffer of the same shape; near the counterexample first."""
    lines = _lines(kernel, found)
    tensors = {p.name: (p.dtype, len(p.shape)) for p in kernel.params if isinstance(p, TensorParam)}
    assigned = [n for n in walk_body(kernel.body) if isinstance(n, Assign) and isinstance(n.value, Shared)]
    kinds: dict[str, object] = {**tensors, **{n.targets[0]: n.value for n in assigned}}
    outputs = {e.tensor for e in kernel.ensures}
    places = [n for n in walk_body(kernel.body) if isinstance(n, Ref) and n.name in kinds]
    for ref in sorted(places, key=lambda r: lines.index(r.span.line) if r.span.line in lines else len(lines)):
        for name, kind in kinds.items():
            if name != ref.name and kind == kinds[ref.name] and (name in outputs) == (ref.name in outputs):
                yield instead(kernel, [(ref, replace(ref, name=name))])


def rows(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Sub-views at other rows or columns: a neighbour's, one further for each trip or group, one on or one back."""
    slabs = [n for n in walk_body(kernel.body) if isinstance(n, Rows | Cols)]
    groups_of = [n.index for n in walk_body(kernel.body) if isinstance(n, Role) and n.index]
    variables = [*groups_of, *_loop_variables(kernel)]
    lines = _lines(kernel, found)
    for slab in sorted(slabs, key=lambda s: lines.index(s.span.line) if s.span.line in lines else len(lines)):
        others = [s.start for s in slabs if type(s) is type(slab) and s.count == slab.count]
        others += [Op("*", (Var(v), Const(slab.count))) for v in variables if slab.span.line in lines]
        moved = [Const(v) for e in [slab.start] if isinstance(e, Const)
                 for v in (e.value - slab.count, e.value + slab.count) if v >= 0]  # fmt: skip
        for start in _distinct(e for e in (*others, *moved) if e != slab.start):
            yield instead(kernel, [(slab, replace(slab, start=start))])


def groups(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Tiles that all groups of a role take alike, a tile further for each group."""
    lines = _lines(kernel, found)
    indices = [n.index for n in walk_body(kernel.body) if isinstance(n, Role) and n.index]
    for site in (s for n in walk_body(kernel.body) if isinstance(n, TileAt) and n.span.line in lines for s in _tile(n)):
        for index in indices:
            if index not in names(site.expr):
                yield instead(kernel, [(site.node, site.put(Op("+", (site.expr, Var(index)))))])


def packs(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """Operands of one accumulator read in equally deep steps, and each on its own side."""
    del found
    operands = [n for n in walk_body(kernel.body) if isinstance(n, Operand)]
    for operand in operands:
        for pack in {o.pack for o in operands if o.acc == operand.acc} - {operand.pack}:
            yield instead(kernel, [(operand, replace(operand, pack=pack))])
    yield from _swapped(kernel)


def swizzles(kernel: Kernel, found: Counterexample) -> Iterator[Change]:
    """A buffer swizzled as another one is, as the hardware expects, or not at all; the counterexample's first."""
    buffers = [n for n in walk_body(kernel.body) if isinstance(n, Shared)]
    named = {id(n.value): n.targets[0] for n in walk_body(kernel.body) if isinstance(n, Assign)}
    for buffer in sorted(buffers, key=lambda b: named.get(id(b)) != found.buffer):
        known = (b.swizzle for b in buffers if b.dtype == buffer.dtype)
        options = [*known, None, *(_hardware(buffer) if kernel.target == "sm_90a" else ())]
        for option in dict.fromkeys(o for o in options if o != buffer.swizzle):
            yield instead(kernel, [(buffer, replace(buffer, swizzle=option))])


def _hardware(buffer: Shared) -> tuple[Swizzle, ...]:
    """Those that TMA and wgmma know: of 128, 64 or 32 bytes, in chunks of 16."""
    unit = 16 // DTYPE_BYTES[buffer.dtype]
    return Swizzle(8, unit, hardware="b128"), Swizzle(4, unit, hardware="b64"), Swizzle(2, unit, hardware="b32")


# ------------------------------------------------------------------------------------------- neighbours


def _groups(kernel: Kernel) -> Iterator[list[_Site]]:
    """Index expressions of one list of statements that should mostly be alike."""
    loops = _loop_variables(kernel)
    for body in bodies(kernel):
        nodes = [(stmt, n) for stmt in body for n in own_nodes(stmt)]
        written = {id(n) for stmt in body for view in _written(stmt) for n in walk(view)}
        yield [_step(n) for _, n in nodes if isinstance(n, Operand)]
        yield [_stage(n) for _, n in nodes if isinstance(n, At) and id(n) not in written]
        yield [_stage(n) for _, n in nodes if isinstance(n, At) and id(n) in written]
        yield [
            site for _, n in nodes if isinstance(n, TileAt) for site in _tile(n) if names(site.expr) & loops.keys()
        ]  # fmt: skip


def _moduli(kernel: Kernel) -> Iterator[Change]:
    """Stages counted modulo how many there are."""
    assigned = [n for n in walk_body(kernel.body) if isinstance(n, Assign) and isinstance(n.value, Shared)]
    stages = {n.targets[0]: n.value.shape[0] for n in assigned if isinstance(n.value, Shared)}
    for node in walk_body(kernel.body):
        match node:
            case At(src=Ref(name=name), index=Op("%", (inner, Const(modulus)))) if stages.get(name, modulus) != modulus:
                yield instead(kernel, [(node, replace(node, index=Op("%", (inner, Const(stages[name])))))])
            case _:
                pass


def _alike(kernel: Kernel, groups: Iterable[list[_Site]], lines: list[int]) -> Iterator[Change]:
    candidates: list[tuple[tuple[bool, int, int], _Site, Expr]] = []
    for group in groups:
        counts = Counter(site.expr for site in group)
        for site in group:
            for expr in counts.keys() - {site.expr}:
                # First what the counterexample names, then what is alone in saying what it says.
                far = lines.index(site.node.span.line) if site.node.span.line in lines else len(lines)
                candidates.append(((far == len(lines), counts[site.expr], far), site, expr))
    for _, site, expr in sorted(candidates, key=lambda c: c[0]):
        yield instead(kernel, [(site.node, site.put(expr))])


def _crossed(kernel: Kernel, lines: list[int]) -> Iterator[Change]:
    """Block indices along an axis for which most views of tensors use another one."""
    axes = {p.name: p.axes for p in kernel.params if isinstance(p, TensorParam)}
    blocks = [
        t for n in walk_body(kernel.body) if isinstance(n, Assign) and isinstance(n.value, Block) for t in n.targets
    ]
    tiles = [n for n in walk_body(kernel.body) if isinstance(n, TileAt) and getattr(n.src, "name", None) in axes]
    uses = [
        (n, i, axes[cast("Any", n.src).name][i], block)
        for n in tiles for i, e in enumerate(n.index) for block in blocks if block in names(e)
    ]  # fmt: skip
    by_axis = {axis: Counter(b for _, _, a, b in uses if a == axis) for _, _, axis, _ in uses}
    found: list[tuple[bool, Change]] = []
    for node, i, axis, block in uses:
        for other in by_axis[axis]:
            if other != block:
                index = tuple(_renamed(e, block, other) if at == i else e for at, e in enumerate(node.index))
                found.append((node.span.line not in lines, instead(kernel, [(node, replace(node, index=index))])))
    yield from (change for _, change in sorted(found, key=lambda f: f[0]))
    for node in tiles:
        if len(node.index) == 2 and node.span.line in lines and node.index[0] != node.index[1]:
            yield instead(kernel, [(node, replace(node, index=node.index[::-1]))])


def _swapped(kernel: Kernel) -> Iterator[Change]:
    """Of each product that sums into one accumulator: the operands the other way round, sides included."""
    products = [n for n in walk_body(kernel.body) if isinstance(n, MmaInto)]
    for acc in dict.fromkeys(p.acc for p in products):
        pairs: list[tuple[Node, Node]] = []
        for p in (p for p in products if p.acc == acc):
            pairs.append((p, replace(p, a=_turned(p.b), b=_turned(p.a))))
        nested = {id(n) for p, _ in pairs for n in walk(p)}
        for n in walk_body(kernel.body):
            if isinstance(n, Operand) and n.acc == acc and id(n) not in nested:
                pairs.append((n, _turned(n)))
        yield instead(kernel, pairs)


def _turned(frag: Any) -> Any:  # noqa: ANN401 - a fragment of the same kind
    return replace(frag, side="b" if frag.side == "a" else "a") if isinstance(frag, Operand) else frag


def _written(stmt: Stmt) -> tuple[Node, ...]:
    match stmt:
        case Store(view=view) | CopyAsync(dst=view) | Copy(dst=view):
            return (view,)
        case _:
            return ()


# ------------------------------------------------------------------------------------------------ sites


def _step(node: Operand) -> _Site:
    return _Site(node, node.ks, lambda e: replace(node, ks=e))


def _stage(node: At) -> _Site:
    return _Site(node, node.index, lambda e: replace(node, index=e))


def _tile(node: TileAt) -> Iterator[_Site]:
    for i, expr in enumerate(node.index):

        def put(e: Expr, at: int = i) -> Node:
            return replace(node, index=(*node.index[:at], e, *node.index[at + 1 :]))

        yield _Site(node, expr, put)


def _lines(kernel: Kernel, found: Counterexample) -> list[int]:
    """Lines that the counterexample speaks of, and those where the fragments that are used there come from."""
    spans = [found.producer, *(h.span for h in found.hops), found.consumer, found.other and found.other.span]
    lines = [s.line for s in spans if s is not None]
    told = {found.consumer.line, found.consumer.line if found.producer is None else found.producer.line}
    used = {n.name for s in walk_body(kernel.body) if s.span.line in told for n in walk(s) if isinstance(n, Ref)}
    lines += [n.span.line for n in walk_body(kernel.body) if isinstance(n, Assign) and used & set(n.targets)]
    return list(dict.fromkeys(lines))


def _loop_variables(kernel: Kernel) -> dict[str, None]:
    return dict.fromkeys(
        t for n in walk_body(kernel.body) if isinstance(n, For) and n.kind != "tiles" for t in n.targets
    )


def shifted(expr: Expr) -> Iterator[Expr]:
    """One more and one less; inside a remainder, where stages are counted."""
    match expr:
        case Op("%", (inner, modulus)):
            yield from (Op("%", (e, modulus)) for e in shifted(inner))
        case Op("+" | "-" as sign, (rest, Const(value))):
            offset = value if sign == "+" else -value
            for new in (offset - 1, offset + 1):
                yield rest if new == 0 else Op("+" if new > 0 else "-", (rest, Const(abs(new))))
        case Const(value):
            yield from (Const(v) for v in (value - 1, value + 1) if v >= 0)
        case _:
            yield Op("+", (expr, Const(1)))
            yield Op("-", (expr, Const(1)))


def moved(expr: Expr, variable: str, step: int) -> Expr:
    """The expression one trip of a loop later or earlier."""
    match expr:
        case Op("+" | "-" as sign, (Var(name), Const(value))) if name == variable:
            offset = (value if sign == "+" else -value) + step
            return Op("+" if offset > 0 else "-", (Var(name), Const(abs(offset)))) if offset else Var(name)
        case Var(name) if name == variable:
            return Op("+" if step > 0 else "-", (expr, Const(abs(step))))
        case Op(kind, args):
            return Op(kind, tuple(moved(a, variable, step) for a in args))
        case _:
            return expr


def _renamed(expr: Expr, old: str, new: str) -> Expr:
    match expr:
        case Var(name):
            return Var(new) if name == old else expr
        case Op(kind, args):
            return Op(kind, tuple(_renamed(a, old, new) for a in args))
        case _:
            return expr


def _distinct(exprs: Iterable[Expr]) -> list[Expr]:
    return list(dict.fromkeys(exprs))
