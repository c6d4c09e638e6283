"""Views, fragments and allocations as text."""

from __future__ import annotations

from argus.dsl.ir.nodes import (
    AsOperand,
    At,
    Binary,
    Block,
    Cast,
    Cols,
    Component,
    Coordinate,
    Field,
    Gather,
    Index,
    Load,
    Mask,
    MBar,
    MmaAcc,
    Node,
    OnlineSoftmax,
    Operand,
    Reduce,
    Ref,
    Relayout,
    Ring,
    Rows,
    Scalar,
    Select,
    Shared,
    Shuffle,
    Split,
    Tagged,
    TileAt,
    Transposed,
    Unary,
)
from argus.dsl.ir.show_expr import ATOM, UNARY, bound_expr, infix, show_expr, show_name, wrap
from argus.dsl.layout import Expr, Swizzle


def show_value(node: Node) -> str:
    """Anything that can stand on the right of an assignment or in an argument."""
    return _bound(node)[0]


def show_number(value: float) -> str:
    return repr(float(value))


def show_component(c: Component) -> str:
    text = f"{_receiver(c.src)}.{show_name(c.axis)}"
    return f"{show_name(c.function)}({text})" if c.function else text


def _bound(node: Node) -> tuple[str, int]:
    match node:
        case Binary(op="max" | "min" as op, lhs=lhs, rhs=rhs):
            return f"{op}({show_value(lhs)}, {show_value(rhs)})", ATOM
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return infix(op, _bound(lhs), _bound(rhs))
        case Unary(op="neg" | "not" as op, src=src):
            return f"{'-' if op == 'neg' else '~'}{wrap(_bound(src), UNARY)}", UNARY
        case Index(expr=expr):
            return bound_expr(expr)
        case Scalar(value=value):
            # Python reads `1.0.to` as an attribute of 1.0, so numbers need no parentheses, but signs do.
            return show_number(value), UNARY if value < 0 else ATOM
        case _:
            return _atom(node), ATOM


def _receiver(node: Node) -> str:
    """Before a dot."""
    text = wrap(_bound(node), ATOM)
    return f"({text})" if text[:1].isdigit() else text


def _atom(node: Node) -> str:
    match node:
        case Ref(name=name):
            return show_name(name)
        case TileAt() | At() | Rows() | Cols() | Transposed() | Gather() | Field():
            return _view(node)
        case Shared() | Ring() | MBar() | Block() | Split():
            return _allocation(node)
        case Load(view=view, map=linear, like=like):
            lanes = f", map=linear({linear.vector})" if linear else f", like={show_name(like.name)}" if like else ""
            return f"load({show_value(view)}{lanes})"
        case MmaAcc(atom=atom, m=m, n=n, grid=grid, regs=regs):
            waves = f", grid=({grid[0]}, {grid[1]})" if grid != (1, 1) else ""
            return f'mma_acc("{atom}", {m}, {n}{waves}{_regs(regs)})'
        case Operand(src=src, side=side, acc=acc, ks=ks, pack=pack):
            packed = f", pack={pack}" if pack != 1 else ""
            return f'{_receiver(src)}.operand("{side}", {show_name(acc)}, {show_expr(ks)}{packed})'
        case AsOperand(src=src, side=side, acc=acc, ks=ks):
            return f'{_receiver(src)}.as_operand("{side}", {show_name(acc)}, {show_expr(ks)})'
        case Cast(src=src, dtype=dtype):
            return f"{_receiver(src)}.to({dtype})"
        case Coordinate(src=src, axis=axis):
            return f"{show_name(src.name)}.{show_name(axis)}"
        case Tagged(src=src, components=components):
            return f"tag({show_value(src)}, {_named(components)})"
        case _:
            return _call(node)


def _call(node: Node) -> str:
    match node:
        case Unary(op=op, src=src):
            return f"{op}({show_value(src)})"
        case Select(condition=condition, x=x, y=y):
            return f"select({show_value(condition)}, {show_value(x)}, {show_value(y)})"
        case Mask(src=src, pred=pred, fill=fill):
            return f"mask({show_value(src)}, {show_value(pred)}, {show_number(fill)})"
        case Reduce(op=op, src=src, axis=axis, across=across):
            where = f', across="{across}"' if across != "wave" else ""
            return f'reduce("{op}", {show_value(src)}, "{show_name(axis)}"{where})'
        case Relayout(src=src, map=to):
            return f"relayout({show_value(src)}, linear({to.vector}))"
        case Shuffle(src=src, lane=lane):
            return f"shuffle({show_value(src)}, {show_value(lane)})"
        case OnlineSoftmax(s=s, mx=mx, l=total, axis=axis):
            return f'online_softmax({show_value(s)}, {show_value(mx)}, {show_value(total)}, "{show_name(axis)}")'
        case _:
            raise AssertionError(f"{type(node).__name__} is no value")


def _view(node: TileAt | At | Rows | Cols | Transposed | Gather | Field) -> str:
    src = _receiver(node.src)
    match node:
        case TileAt(shape=shape, index=index, pad=pad):
            padded = f", pad={show_number(pad)}" if pad != 0 else ""
            return f"{src}.tile({', '.join(map(str, shape))}{padded})[{', '.join(map(show_expr, index))}]"
        case At(index=index):
            return f"{src}[{show_expr(index)}]"
        case Rows(start=start, count=count):
            return f"{src}.rows({show_expr(start)}, {count})"
        case Cols(start=start, count=count):
            return f"{src}.cols({show_expr(start)}, {count})"
        case Transposed():
            return f"{src}.T"
        case Gather(index=index, scatter=scatter):
            return f"{src}.{'scatter' if scatter else 'gather'}({show_value(index)})"
        case Field(name=name):
            return f"{src}.{show_name(name)}"


def _allocation(node: Shared | Ring | MBar | Block | Split) -> str:
    match node:
        case Shared(dtype=dtype, shape=shape, swizzle=swizzle, pad=pad):
            places = f", swizzle={_swizzle(swizzle)}" if swizzle else ""
            return f"shared({dtype}, {', '.join(map(str, shape))}{places}{f', pad={pad}' if pad else ''})"
        case Ring(stages=stages, buffers=buffers):
            listed = ", ".join(f"{show_name(name)}={_allocation(buffer)}" for name, buffer in buffers)
            return f"ring({stages}, {listed})"
        case MBar(arrivals=arrivals, count=count):
            return f"mbar({arrivals}{f', count={count}' if count != 1 else ''})"
        case Block(counts=counts, order=order):
            return f"block({', '.join(map(show_expr, counts))}{f', order={order}' if order != 'rows' else ''})"
        case Split(n=n, parts=parts):
            return f"split({show_expr(n)}, {show_expr(parts)})"


def _swizzle(s: Swizzle) -> str:
    if s.hardware is not None:
        return s.hardware
    return f"xor({s.chunks}, unit={s.unit}{f', rows={s.rows}' if s.rows is not None else ''})"


def _regs(regs: str) -> str:
    return f', regs="{regs}"' if regs != "vgpr" else ""


def _named(parts: tuple[tuple[str, Expr], ...]) -> str:
    return ", ".join(f"{show_name(name)}={show_expr(e)}" for name, e in parts)
