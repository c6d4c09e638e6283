"""`p, c, mx, l = online_softmax(s, mx, l, axis)` in its parts.

With m' = max(mx, max of s) and z = m', or 0 where every score so far is -inf:
p = exp(s - z), c = exp(mx - z), l' = l * c + sum of p. A row without any valid score then has p = 0 and l = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from argus.dsl.diagnostics import Span
from argus.dsl.ir.nodes import (
    Assign,
    Binary,
    Frag,
    Index,
    Kernel,
    OnlineSoftmax,
    Reduce,
    Ref,
    Scalar,
    Select,
    Stmt,
    Unary,
)
from argus.dsl.transform.base import Fresh
from argus.dsl.transform.blocks import map_statements

INFINITY = float("inf")


@dataclass(frozen=True, slots=True)
class ExpandOnlineSoftmax:
    """`online_softmax` becomes its reductions, exponentials and sum."""

    name: ClassVar[str] = "expand-online-softmax"

    def __call__(self, kernel: Kernel) -> Kernel:
        fresh = Fresh()

        def expand(statement: Stmt) -> tuple[Stmt, ...]:
            match statement:
                case Assign(targets=targets, value=OnlineSoftmax() as value, span=span):
                    return _expand(targets, value, span, fresh)
                case _:
                    return (statement,)

        return map_statements(kernel, expand)


def _expand(targets: tuple[str, ...], value: OnlineSoftmax, span: Span, fresh: Fresh) -> tuple[Stmt, ...]:
    p, c, mx, total = targets
    out: list[Stmt] = []

    def ref(name: str) -> Ref:
        return Ref(name=name, span=span)

    def define(what: str, frag: Frag) -> Ref:
        name = fresh.part(p, what)
        out.append(Assign(targets=(name,), value=frag, span=span))
        return ref(name)

    def argument(what: str, frag: Frag, result: str) -> Frag:
        # An argument that another result replaces must be kept; its own result comes after its last use.
        if isinstance(frag, Scalar | Index) or (isinstance(frag, Ref) and frag.name not in set(targets) - {result}):
            return frag
        return define(what, frag)

    s, old_max, old_sum = argument("s", value.s, p), argument("m", value.mx, mx), argument("l", value.l, total)
    row_max = Reduce(op="max", src=s, axis=value.axis, span=span)
    new_max = define("max", Binary(op="max", lhs=old_max, rhs=row_max, span=span))
    none = Binary(op="==", lhs=new_max, rhs=Scalar(value=-INFINITY, span=span), span=span)
    safe = define("safe", Select(condition=none, x=Scalar(value=0.0, span=span), y=new_max, span=span))
    weights = Unary(op="exp", src=Binary(op="-", lhs=s, rhs=safe, span=span), span=span)
    rescale = Unary(op="exp", src=Binary(op="-", lhs=old_max, rhs=safe, span=span), span=span)
    row_sum = Reduce(op="sum", src=ref(p), axis=value.axis, span=span)
    scaled = Binary(op="*", lhs=old_sum, rhs=ref(c), span=span)
    results: tuple[tuple[str, Frag], ...] = (
        (p, weights),
        (c, rescale),
        (mx, new_max),
        (total, Binary(op="+", lhs=scaled, rhs=row_sum, span=span)),
    )
    return (*out, *(Assign(targets=(name,), value=frag, span=span) for name, frag in results))
