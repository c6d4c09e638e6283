"""Integer and truth-valued index expressions. Plain values, so that Z3 and TVM each stay behind one door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

OpKind = Literal[
    "+", "-", "*", "//", "%", "cdiv", "min", "max",
    "<", "<=", ">", ">=", "==", "!=", "and", "or", "not",
]  # fmt: skip
COMPARISONS: frozenset[OpKind] = frozenset({"<", "<=", ">", ">=", "==", "!="})
LOGIC: frozenset[OpKind] = frozenset({"and", "or", "not"})


class _Arithmetic:
    """Python's operators build expressions; nothing is simplified, so that text round-trips."""

    __slots__ = ()

    def __add__(self, other: Expr | int) -> Op:
        return _op("+", self, other)

    def __radd__(self, other: int) -> Op:
        return _op("+", other, self)

    def __sub__(self, other: Expr | int) -> Op:
        return _op("-", self, other)

    def __mul__(self, other: Expr | int) -> Op:
        return _op("*", self, other)

    def __rmul__(self, other: int) -> Op:
        return _op("*", other, self)

    def __floordiv__(self, other: Expr | int) -> Op:
        return _op("//", self, other)

    def __mod__(self, other: Expr | int) -> Op:
        return _op("%", self, other)


@dataclass(frozen=True, slots=True)
class Const(_Arithmetic):
    """An integer."""

    value: int


@dataclass(frozen=True, slots=True)
class Var(_Arithmetic):
    """A size symbol, a block or group index, a loop variable or an integer kernel argument."""

    name: str


@dataclass(frozen=True, slots=True)
class Op(_Arithmetic):
    """`kind` applied to `args`: two, except `not` (one).

    `//` and `%` floor, as in Python; `cdiv(a, b)` is the ceiling of a / b. Comparisons and logic give 0 or 1.
    """

    kind: OpKind
    args: tuple[Expr, ...]


Expr = Const | Var | Op

ZERO = Const(0)
ONE = Const(1)


def _op(kind: OpKind, lhs: object, rhs: object) -> Op:
    sides = tuple(Const(x) if isinstance(x, int) else x for x in (lhs, rhs))
    assert all(isinstance(x, Const | Var | Op) for x in sides)
    return Op(kind, sides)  # pyright: ignore[reportArgumentType]


def cdiv(a: Expr | int, b: Expr | int) -> Op:
    """`a / b`, rounded up."""
    return _op("cdiv", a, b)


def names(e: Expr) -> frozenset[str]:
    """The variables of an expression."""
    match e:
        case Var(name):
            return frozenset({name})
        case Const():
            return frozenset()
        case Op(_, args):
            return frozenset[str]().union(*(names(a) for a in args))


def substitute(e: Expr, env: Mapping[str, Expr]) -> Expr:
    """Replace variables by expressions; names absent from `env` stay."""
    match e:
        case Var(name):
            return env.get(name, e)
        case Const():
            return e
        case Op(kind, args):
            return Op(kind, tuple(substitute(a, env) for a in args))


def evaluate(e: Expr, env: Mapping[str, int]) -> int:
    """The value of `e`.

    Raises:
        KeyError: If a variable has no value.
        ZeroDivisionError: As in Python.
    """
    match e:
        case Var(name):
            return env[name]
        case Const(value):
            return value
        case Op("and", args):
            return int(all(evaluate(a, env) for a in args))
        case Op("or", args):
            return int(any(evaluate(a, env) for a in args))
        case Op("not", args):
            return int(not evaluate(args[0], env))
        case Op(kind, args):
            return _apply(kind, evaluate(args[0], env), evaluate(args[1], env))


def _apply(kind: OpKind, a: int, b: int) -> int:
    match kind:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return a // b
        case "%":
            return a % b
        case "cdiv":
            return -(-a // b)
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
        case "<":
            return int(a < b)
        case "<=":
            return int(a <= b)
        case ">":
            return int(a > b)
        case ">=":
            return int(a >= b)
        case "==":
            return int(a == b)
        case "!=":
            return int(a != b)
        case "and" | "or" | "not":
            raise AssertionError(f"{kind} is handled by evaluate")
