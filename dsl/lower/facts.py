"""What is known of index expressions before they run: divisors, signs, residues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd, lcm

from argus.dsl.layout import Const, Expr, Op, Var, substitute


@dataclass(frozen=True, slots=True)
class Facts:
    """Hypotheses of a kernel: its `where` clause.

    Attributes:
        divisors: Largest known divisor of each size symbol.
    """

    divisors: Mapping[str, int]

    @classmethod
    def of(cls, where: tuple[Expr, ...]) -> Facts:
        """Read `x % c == 0` and `x == c`, also inside conjunctions; other predicates say nothing here."""
        divisors: dict[str, int] = {}
        for predicate in _conjuncts(where):
            match predicate:
                case Op("==", (Op("%", (Var(name), Const(c))), Const(0))) if c > 0:
                    divisors[name] = lcm(divisors.get(name, 1), c)
                case Op("==", (Var(name), Const(c))) | Op("==", (Const(c), Var(name))) if c > 0:
                    divisors[name] = lcm(divisors.get(name, 1), c)
                case _:
                    pass
        return cls(divisors)

    def divisor(self, e: Expr) -> int:
        """A number that divides `e` always; 0 when `e` is always 0."""
        match e:
            case Const(value):
                return abs(value)
            case Var(name):
                return self.divisors.get(name, 1)
            case Op("*", (a, b)):
                return self.divisor(a) * self.divisor(b)
            case Op("+" | "-" | "min" | "max", (a, b)):
                return gcd(self.divisor(a), self.divisor(b))
            case Op("%", (a, Const(c))):
                return gcd(self.divisor(a), c)
            case Op():
                return 1

    def divides(self, n: int, e: Expr) -> bool:
        return self.divisor(e) % n == 0


def _conjuncts(predicates: tuple[Expr, ...]) -> list[Expr]:
    found: list[Expr] = []
    for p in predicates:
        found += _conjuncts(p.args) if isinstance(p, Op) and p.kind == "and" else [p]
    return found


def never_negative(e: Expr) -> bool:
    """Whether `e` is at least 0 by its form: sizes, block indices and loop counters are."""
    match e:
        case Const(value):
            return value >= 0
        case Var():
            return True
        case Op("-", (a, b)):
            return never_negative(a) and b == Const(0)
        case Op("%", (_, Const(c))):
            return c > 0
        case Op(_, args):
            return all(never_negative(a) for a in args)


def residue(e: Expr, modulus: int) -> int | None:
    """`e` mod `modulus` where its form decides it."""
    match e:
        case Const(value):
            return value % modulus
        case Op("*", (a, b)):
            sides = residue(a, modulus), residue(b, modulus)
            if 0 in sides:
                return 0
            return None if None in sides else _apply(e, sides, modulus)
        case Op("+" | "-", (a, b)):
            sides = residue(a, modulus), residue(b, modulus)
            return None if None in sides else _apply(e, sides, modulus)
        case Op("%", (a, Const(c))) if c % modulus == 0:
            return residue(a, modulus)
        case _:
            value = constant(e)
            return None if value is None else value % modulus


def _apply(e: Op, sides: tuple[int | None, int | None], modulus: int) -> int:
    a, b = sides
    assert a is not None
    assert b is not None
    return {"+": a + b, "-": a - b, "*": a * b}[e.kind] % modulus


def constant(e: Expr) -> int | None:
    """The value of an expression that has only one; `x % c` counts where the form of x decides it."""
    match e:
        case Const(value):
            return value
        case Var():
            return None
        case Op("%", (a, Const(c))) if c > 0:
            return residue(a, c) if not isinstance(a, Const) else a.value % c
        case Op(kind, args):
            values = [constant(a) for a in args]
            if any(v is None for v in values):
                return None
            return _fold(kind, [v for v in values if v is not None])


def _fold(kind: str, values: list[int]) -> int | None:
    match kind, values:
        case "+", [a, b]:
            return a + b
        case "-", [a, b]:
            return a - b
        case "*", [a, b]:
            return a * b
        case "//", [a, b] if b:
            return a // b
        case "cdiv", [a, b] if b:
            return -(-a // b)
        case "min", _:
            return min(values)
        case "max", _:
            return max(values)
        case _:
            return None


def simplify(e: Expr) -> Expr:
    """Fold constants and drop neutral elements, so that generated code reads well."""
    if not isinstance(e, Op):
        return e
    args = tuple(simplify(a) for a in e.args)
    e = Op(e.kind, args)
    value = constant(e)
    if value is not None:
        return Const(value)
    match e:
        case Op("+", (a, Const(0))) | Op("+", (Const(0), a)) | Op("-", (a, Const(0))):
            return a
        case Op("*", (a, Const(1))) | Op("*", (Const(1), a)) | Op("//" | "cdiv", (a, Const(1))):
            return a
        case Op("+", (Op("+", (a, Const(x))), Const(y))):
            return simplify(Op("+", (a, Const(x + y))))
        case _:
            return e


def resolve(e: Expr, known: Mapping[str, Expr]) -> Expr:
    """`e` with what is known of variables put in."""
    return simplify(substitute(e, known))
