"""Slips inside a statement: indices, counts, names, maps, values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, cast

from argus.dsl import ir
from argus.dsl.layout import Const, Op, Swizzle, Var
from argus.evals.mutation.places import Scene, shifts

_LOGIC_FLIPS = {"<": ("<=", ">"), "<=": ("<",), ">": (">=", "<"), ">=": (">",)}


def stage(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.At) and isinstance(node.src, ir.Ref) and node.src.name not in scene.tensors:
        for index in shifts(node.index):
            yield replace(node, index=index)
        yield replace(node, index=Const(0))
        match node.index:
            case Op("%", (inner, Const(value))):
                for modulus in (value - 1, value + 1):
                    yield replace(node, index=Op("%", (inner, Const(modulus))))
            case _:
                pass


def stage_count(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """One stage fewer or more than the code around it was written for."""
    del scene
    if isinstance(node, ir.Ring):
        yield replace(node, stages=node.stages - 1)
        yield replace(node, stages=node.stages + 1)
    if isinstance(node, ir.Shared) and len(node.shape) == 3:
        yield replace(node, shape=(node.shape[0] + 1, *node.shape[1:]))


def k_tile(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """The next or previous tile instead of this one."""
    del scene
    if isinstance(node, ir.TileAt):
        for i, index in enumerate(node.index):
            for moved in shifts(index):
                yield replace(node, index=(*node.index[:i], moved, *node.index[i + 1 :]))


def tile_index(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Block indices confused, or a tile's indices exchanged."""
    if isinstance(node, ir.TileAt):
        if len(node.index) == 2:
            yield replace(node, index=(node.index[1], node.index[0]))
        for i, index in enumerate(node.index):
            for other in scene.indices:
                if isinstance(index, Var) and index.name in scene.indices and other != index.name:
                    yield replace(node, index=(*node.index[:i], Var(other), *node.index[i + 1 :]))


def tile_size(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """The tiles that one view is cut into: exchanged, or another depth than the loop's."""
    del scene
    if isinstance(node, ir.TileAt) and len(node.shape) == 2:
        rows, columns = node.shape
        if rows != columns:
            yield replace(node, shape=(columns, rows))


def rows(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Rows or columns from elsewhere."""
    del scene
    if isinstance(node, ir.Rows | ir.Cols):
        for start in shifts(node.start):
            yield replace(node, start=start)
        yield replace(node, start=Op("+", (node.start, Const(node.count // 2))))
        yield replace(node, start=Const(0))


def wrong_tensor(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.TileAt | ir.At) and isinstance(node.src, ir.Ref) and node.src.name in scene.inputs:
        for other in scene.inputs:
            if other != node.src.name:
                yield replace(node, src=replace(node.src, name=other))


def trip_count(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    del scene
    if isinstance(node, ir.For):
        first, last = node.bounds[0], node.bounds[-1]
        match node.kind, last:
            case "unroll", Const(value):
                for wrong in (value + 1, value - 1, value // 2):
                    if wrong > 0:
                        yield replace(node, bounds=(first, Const(wrong)))
            case "range", _:
                yield replace(node, bounds=(first, Op("-", (last, Const(1)))))
                yield replace(node, bounds=(first, Op("+", (last, Const(1)))))
                match last:
                    case Op("cdiv", (size, Const(value))):
                        yield replace(node, bounds=(first, Op("//", (size, Const(value)))))
                        yield replace(node, bounds=(first, Op("cdiv", (size, Const(value * 2)))))
                        yield replace(node, bounds=(first, Op("cdiv", (size, Const(value // 2)))))
                    case _:
                        pass
            case _:
                pass


def loop_start(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    del scene
    if isinstance(node, ir.For) and node.kind == "range":
        first, last = node.bounds
        match first:
            case Const(value):
                yield replace(node, bounds=(Const(value + 1), last))
                yield replace(node, bounds=(Const(value + 2), last))
                if value:
                    yield replace(node, bounds=(Const(value - 1), last))
            case _:
                yield replace(node, bounds=(Op("+", (first, Const(1))), last))
                yield replace(node, bounds=(Const(0), last))


def k_step(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    del scene
    if isinstance(node, ir.Operand | ir.AsOperand):
        yield replace(node, ks=Const(0))
        if not isinstance(node.ks, Const):
            yield replace(node, ks=Op("//", (node.ks, Const(2))))
            yield replace(node, ks=Op("max", (Op("-", (node.ks, Const(1))), Const(0))))


def lane_map(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """One operand read for another instruction than the other."""
    del scene
    if isinstance(node, ir.Operand):
        yield replace(node, pack=2 if node.pack == 1 else node.pack // 2)
        yield replace(node, side="b" if node.side == "a" else "a")


def wrong_buffer(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.Ref | ir.Field) and node.name in scene.buffers:
        for other in scene.buffers:
            if other != node.name:
                yield replace(node, name=other)


def transposed(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    del scene
    if isinstance(node, ir.Store):
        yield replace(node, view=_turned(node.view))
    if isinstance(node, ir.Operand):
        yield replace(node, src=_turned(node.src))
    if isinstance(node, ir.Load):
        yield replace(node, view=_turned(node.view))


def _turned(view: ir.View) -> ir.View:
    return view.src if isinstance(view, ir.Transposed) else ir.Transposed(src=view, span=view.span)


def pad_value(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    if isinstance(node, ir.TileAt) and isinstance(node.src, ir.Ref) and node.src.name in scene.inputs:
        yield replace(node, pad=1.0)
        yield replace(node, pad=float("inf"))


def grid(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Too few blocks, too many, or blocks of another size."""
    del scene
    if isinstance(node, ir.Block):
        for i, count in enumerate(node.counts):
            match count:
                case Op("cdiv", (size, Const(value))):
                    wrong = (Op("cdiv", (size, Const(value * 2))), Op("cdiv", (size, Const(value // 2))),
                             Op("//", (size, Const(value))), Op("+", (count, Const(1))))  # fmt: skip
                    for other in wrong:
                        yield replace(node, counts=(*node.counts[:i], other, *node.counts[i + 1 :]))
                case _:
                    yield replace(node, counts=(*node.counts[:i], Op("-", (count, Const(1))), *node.counts[i + 1 :]))
        if len(node.counts) == 2:
            yield replace(node, counts=(node.counts[1], node.counts[0]))


def guard(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """A branch's condition off by one, or turned round."""
    del scene
    if isinstance(node, ir.If) and isinstance(node.condition, Op):
        op, args = node.condition.kind, node.condition.args
        for other in _LOGIC_FLIPS.get(op, ()):
            yield replace(node, condition=Op(cast("Any", other), args))
        if len(args) == 2:
            for moved in shifts(args[0]):
                yield replace(node, condition=Op(op, (moved, args[1])))


def loop_variable(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Another loop's variable as an index."""
    if isinstance(node, ir.TileAt | ir.At | ir.Operand):
        for f in fields(node):
            value = getattr(node, f.name)
            if isinstance(value, Var) and value.name in scene.loops:
                for other in scene.loops:
                    if other != value.name:
                        yield replace(node, **{f.name: Var(other)})


def harmless(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Edits that keep the meaning: another swizzle, order, vector width, register class, wave grid."""
    del scene
    if isinstance(node, ir.Shared):
        yield replace(node, swizzle=None if node.swizzle else Swizzle(chunks=4, unit=8, rows=1))
        yield replace(node, pad=8 if not node.pad else 0)
    if isinstance(node, ir.Block):
        yield replace(node, order="group_m(4)" if node.order == "rows" else "rows")
        yield replace(node, order="xcd(8)")
    if isinstance(node, ir.Load) and node.map is not None:
        yield replace(node, map=replace(node.map, vector=node.map.vector // 2))
    if isinstance(node, ir.MmaAcc):
        yield replace(node, regs="agpr" if node.regs == "vgpr" else "vgpr")
        yield replace(node, grid=(node.grid[1], node.grid[0]))


def wrong_fragment(node: Any, scene: Scene) -> Iterator[Any]:  # noqa: ANN401
    """Other registers of the same sort."""
    if isinstance(node, ir.MmaInto):
        yield replace(node, a=node.b, b=node.a)
        yield replace(node, b=node.a)
        yield replace(node, a=node.b)
        yield from (replace(node, acc=other) for other in scene.accs if other != node.acc)
        for side in ("a", "b"):
            for other in _others(getattr(node, side), scene.operands):
                yield replace(node, **{side: other})
    if isinstance(node, ir.Store | ir.AtomicAdd | ir.AsOperand):
        name = "src" if isinstance(node, ir.AsOperand) else "value"
        for other in _others(getattr(node, name), (*scene.accs, *scene.frags)):
            yield replace(node, **{name: other})


def _others(frag: ir.Frag, names: tuple[str, ...]) -> Iterator[ir.Frag]:
    if isinstance(frag, ir.Ref):
        yield from (replace(frag, name=other) for other in names if other != frag.name)
