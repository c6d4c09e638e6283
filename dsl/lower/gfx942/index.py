"""Index expressions to TIR, under what is known of the loops around."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import reduce

from argus.dsl.layout import Const, Expr, Op, Var, names
from argus.dsl.lower.facts import never_negative, resolve, simplify
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.tir import Tir


class Indices:
    """The integer variables in scope.

    Attributes:
        known: Variables that stand for expressions: unrolled loop variables, and those of loops split by stage.
        values: TIR of the others.
        counters: The others that change while the kernel runs.
    """

    def __init__(self) -> None:
        self.known: dict[str, Expr] = {}
        self.values: dict[str, Tir] = {}
        self.counters: set[str] = set()

    def resolve(self, e: Expr) -> Expr:
        return resolve(e, self.known)

    def invariant(self, e: Expr) -> bool:
        """Whether `e` has one value throughout the kernel."""
        return not names(self.resolve(e)) & self.counters

    @contextmanager
    def knowing(self, meanings: Mapping[str, Expr]) -> Generator[None]:
        before = dict(self.known)
        self.known.update(meanings)
        try:
            yield
        finally:
            self.known = before

    @contextmanager
    def counting(self, name: str, counter: Tir) -> Generator[None]:
        assert name not in self.values, f"two loops count {name}"
        self.values[name] = counter
        self.counters.add(name)
        try:
            yield
        finally:
            del self.values[name]
            self.counters.remove(name)

    def value(self, e: Expr) -> Tir:
        """`e` as i32, uniform over the wave."""
        return self._tir(self.resolve(e))

    def wide(self, e: Expr) -> Tir:
        """`e` as i64, widened before anything is multiplied."""
        return self._tir(self.resolve(e), wide=True)

    def condition(self, e: Expr) -> Tir:
        """`e` as a truth value."""
        match self.resolve(e):
            case Op("and", args):
                return reduce(lambda a, b: tir.both([a, b]), [self.condition(a) for a in args])
            case Op("or", args):
                return reduce(tir.either, [self.condition(a) for a in args])
            case Op("not", (a,)):
                return tir.negated(self.condition(a))
            case Op("<" | "<=" | ">" | ">=" | "==" | "!=" as kind, (a, b)):
                return _compare(kind, self._tir(a), self._tir(b))
            case other:
                return tir.differs(self._tir(other), tir.i32(0))

    def _tir(self, e: Expr, *, wide: bool = False) -> Tir:
        dtype = "int64" if wide else "int32"
        match e:
            case Const(value):
                return tir.cast(dtype, tir.i32(value)) if wide else tir.i32(value)
            case Var(name):
                value = self.values[name]
                return tir.cast(dtype, value) if wide else value
            case Op("+" | "-" | "*" | "//" | "%" | "cdiv" | "min" | "max" as kind, (a, b)):
                # A product alone can outgrow 32 bits; quotients and remainders are of sizes.
                widen = wide and kind in {"+", "-", "*"}
                x, y = self._tir(a, wide=widen), self._tir(b, wide=widen)
                made = _arithmetic(kind, x, y, positive=never_negative(a) and never_negative(b))
                return tir.cast(dtype, made) if wide and not widen else made
            case Op():
                return tir.cast("int32", self.condition(e))


def _arithmetic(kind: str, a: Tir, b: Tir, *, positive: bool) -> Tir:
    match kind:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "//":
            return tir.quotient(a, b) if positive else a // b
        case "%":
            return tir.remainder(a, b) if positive else a % b
        case "cdiv":
            return tir.quotient(a + b - 1, b) if positive else (a + b - 1) // b
        case "min":
            return tir.smaller(a, b)
        case _:
            return tir.larger(a, b)


def _compare(kind: str, a: Tir, b: Tir) -> Tir:
    match kind:
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
        case "==":
            return tir.equal(a, b)
        case _:
            return tir.differs(a, b)


_PRECEDENCE = {"+": "+", "-": "-", "*": "*", "//": "//", "%": "%"}


def python_text(e: Expr) -> str:
    """`e` as Python arithmetic over the size names, for launchers."""
    match e:
        case Const(value):
            return str(value)
        case Var(name):
            return name
        case Op("cdiv", (a, b)):
            x, y = python_text(a), python_text(b)
            return f"(({x} + {y} - 1) // {y})" if not isinstance(b, Const) else f"(({x} + {b.value - 1}) // {y})"
        case Op("min" | "max" as kind, args):
            return f"{kind}({', '.join(map(python_text, args))})"
        case Op(kind, (a, b)) if kind in _PRECEDENCE:
            return f"({python_text(a)} {kind} {python_text(b)})"
        case Op():
            raise AssertionError(f"a launch grid is arithmetic, not {e}")


def product(factors: list[Expr]) -> Expr:
    return simplify(reduce(lambda a, b: Op("*", (a, b)), factors, Const(1)))
