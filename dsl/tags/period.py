"""How often index expressions repeat along a loop."""

from __future__ import annotations

from collections.abc import Iterable
from math import lcm
from typing import cast

from argus.dsl.ir import Stmt
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import Const, Op, names


def period_of(body: Iterable[Stmt], name: str) -> int:
    """The least common multiple of the moduli and divisors that index expressions apply to a loop variable."""
    found = 1
    for node in walk_body(tuple(body)):
        for field in node.__dataclass_fields__:
            found = lcm(found, _moduli(getattr(node, field), name))
    return found


def _moduli(value: object, name: str) -> int:
    match value:
        case Op(kind, args):
            inner = lcm(*(_moduli(a, name) for a in args))
            if kind in ("%", "//", "cdiv") and isinstance(args[1], Const) and args[1].value and name in names(args[0]):
                return inner * abs(args[1].value)  # a quotient taken modulo c repeats after the product
            return inner
        case tuple():
            return lcm(*(_moduli(v, name) for v in cast("tuple[object, ...]", value)))
        case _:
            return 1
