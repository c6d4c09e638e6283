"""Which fill, which use: how often the statements of a block fill or use a ring, as an index expression."""

from __future__ import annotations

from typing import Literal

from argus.dsl.diagnostics import Code
from argus.dsl.ir.linear import equal, product, total, trips
from argus.dsl.ir.nodes import Elect, Fill, For, If, Role, Stmt, Use
from argus.dsl.ir.report import kernel_error
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import ONE, ZERO, Expr
from argus.dsl.layout import names as variables

Event = Literal["fill", "use"]


def count(body: tuple[Stmt, ...], ring: str, event: Event) -> Expr:
    """How often one run of `body` fills (uses) `ring`.

    Raises:
        KernelError: If the number depends on the path, or is different in each iteration.
    """
    out: Expr = ZERO
    for statement in body:
        out = total(out, _count(statement, ring, event))
    return out


def per_iteration(node: For, ring: str, event: Event) -> Expr:
    """How often each iteration of a loop fills (uses) `ring`.

    Raises:
        KernelError: As `count`, and if iterations differ.
    """
    out = count(node.body, ring, event)
    if variables(out) & set(node.targets):
        message = f"iterations differ: each has {_times(out, event)} of `{ring}`, so the next stage is not known"
        hint = "give the inner loop the same bound in every iteration"
        raise kernel_error(Code.UNSUPPORTED, node.span, message, hint)
    return out


def _count(node: Stmt, ring: str, event: Event) -> Expr:
    match node:
        case Fill(ring=name, body=body) | Use(ring=name, body=body):
            hit = name == ring and event == ("fill" if isinstance(node, Fill) else "use")
            return total(ONE if hit else ZERO, count(body, ring, event))
        case Role(body=body) | Elect(body=body):
            return count(body, ring, event)
        case If(body=body, orelse=orelse):
            taken, other = count(body, ring, event), count(orelse, ring, event)
            if not equal(taken, other):
                message = f"`{ring}` has {_times(taken, event)} on one path and {_times(other, event)} on the other"
                hint = f"{event} on every path; a tile outside the tensor reads as zero"
                raise kernel_error(Code.BAD_CALL, node.span, message, hint)
            return taken
        case For():
            inner = per_iteration(node, ring, event)
            if inner == ZERO:
                return ZERO
            assert node.kind != "tiles", "a loop over tiles is outermost"
            return product(trips(node.bounds[0], node.bounds[1]), inner)
        case _:
            return ZERO


def _times(n: Expr, event: Event) -> str:
    return f"{show_expr(n)} {event}{'' if n == ONE else 's'}"
