"""Index expressions as functions: evaluated thousands of times, taken apart once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from argus.dsl.layout import Const, Expr, Op, Var

Env = Mapping[str, int]
Compiled = Callable[[Env], int]


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


_BINARY: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": lambda a, b: a // b, "%": operator.mod,
    "cdiv": _ceiling, "min": min, "max": max, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def compiled(e: Expr) -> Compiled:
    """A function from the values of variables to the value of `e`; comparisons and logic give 0 or 1."""
    match e:
        case Const(value):
            return lambda _: value
        case Var(name):
            return lambda env: env[name]
        case Op("not", (x,)):
            inner = compiled(x)
            return lambda env: int(not inner(env))
        case Op("and", args):
            parts = [compiled(a) for a in args]
            return lambda env: int(all(p(env) for p in parts))
        case Op("or", args):
            parts = [compiled(a) for a in args]
            return lambda env: int(any(p(env) for p in parts))
        case Op(kind, args):
            function, (left, right) = _BINARY[kind], [compiled(a) for a in args]
            return lambda env: int(function(left(env), right(env)))
