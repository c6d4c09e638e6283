"""Affine index forms, and formulas over them: what index expressions become once loops and facts are known.

A form is `constant + sum of coefficient * atom`. Atoms are variables and whatever is not affine (a floor division that
does not come out, a product of two symbols), which is kept opaque but rebuilt when a variable is substituted.
`a % c` and `cdiv(a, c)` are written with `//`, so that equal values mostly have equal forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from math import gcd
from typing import Literal

from argus.dsl.layout.expr import COMPARISONS, LOGIC, Const, Expr, Op, Var

AtomKind = Literal["var", "//", "*", "min", "max", "truth", "app"]


@dataclass(frozen=True, slots=True)
class Atom:
    """A variable or an opaque term; `text` is canonical, so it alone is compared.

    An `app` applies an unknown function to integers: the elements of a tensor, `expert[bs]`, or `expert_of(s)`.
    """

    text: str
    kind: AtomKind = field(default="var", compare=False)
    args: tuple[Affine, ...] = field(default=(), compare=False)
    truth: Formula | None = field(default=None, compare=False)

    def symbols(self) -> frozenset[str]:
        """Texts of this atom and of every atom inside it: what a substitution may name."""
        inner = frozenset((self.text,)).union(*(a.symbols() for a in self.args))
        return inner if self.truth is None else inner | formula_symbols(self.truth)

    def variables(self) -> frozenset[str]:
        if self.kind == "var":
            return frozenset((self.text,))
        inner = frozenset[str]().union(*(a.variables() for a in self.args))
        return inner if self.truth is None else inner | formula_variables(self.truth)


@dataclass(frozen=True, slots=True)
class Affine:
    """`const` plus the terms; they are sorted by the atoms' text and have no zero coefficient."""

    const: int = 0
    terms: tuple[tuple[Atom, int], ...] = ()

    @property
    def is_const(self) -> bool:
        return not self.terms

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.const + other, self.terms) if other else self
        if not other.terms:
            return Affine(self.const + other.const, self.terms)
        if not self.terms:
            return Affine(self.const + other.const, other.terms)
        return _collect(self.const + other.const, (*self.terms, *other.terms))

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other)

    def __mul__(self, factor: int) -> Affine:
        if factor == 0:
            return Affine()
        return Affine(self.const * factor, tuple((a, c * factor) for a, c in self.terms)) if factor != 1 else self

    def without_const(self) -> Affine:
        return Affine(0, self.terms) if self.const else self

    def coefficient(self, variable: str) -> int:
        return next((c for a, c in self.terms if a.text == variable), 0)

    def symbols(self) -> frozenset[str]:
        return frozenset[str]().union(*(a.symbols() for a, _ in self.terms)) if self.terms else frozenset()

    def variables(self) -> frozenset[str]:
        return frozenset[str]().union(*(a.variables() for a, _ in self.terms)) if self.terms else frozenset()

    def mentions(self, symbols: Iterable[str]) -> bool:
        return bool(self.terms) and not self.symbols().isdisjoint(symbols)

    def __str__(self) -> str:
        parts = [f"{c}*{a.text}" if c != 1 else a.text for a, c in self.terms]
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts).replace("+ -", "- ")


def _collect(const: int, terms: Iterable[tuple[Atom, int]]) -> Affine:
    total: dict[Atom, int] = {}
    for atom, c in terms:
        total[atom] = total.get(atom, 0) + c
    kept = sorted(((a, c) for a, c in total.items() if c), key=lambda term: term[0].text)
    return Affine(const, tuple(kept))


def var(name: str) -> Affine:
    return Affine(0, ((Atom(name), 1),))


def floordiv(a: Affine, c: int) -> Affine:
    """`a // c` for c > 0: multiples of c leave the division, the rest stays opaque."""
    assert c > 0
    whole = tuple((x, k // c) for x, k in a.terms if k % c == 0)
    rest = tuple((x, k) for x, k in a.terms if k % c)
    if not rest:
        return Affine(a.const // c, whole)
    offset = a.const % c
    # floor((g*x + r) / (g*c)) = floor((x + r // g) / c)
    g = reduce(gcd, (abs(k) for _, k in rest), c)
    inner = Affine(offset // g, tuple((x, k // g) for x, k in rest))
    atom = Atom(_division_text(inner, c // g), "//", (inner, Affine(c // g)))
    return _collect(a.const // c, (*whole, (atom, 1)))


def _division_text(inner: Affine, c: int) -> str:
    if inner.const == c - 1:
        return f"cdiv({inner.without_const()}, {c})"
    return f"(({inner}) // {c})" if len(inner.terms) > 1 or inner.const else f"({inner} // {c})"


def _opaque(kind: AtomKind, args: tuple[Affine, ...]) -> Affine:
    text = f"{kind}({', '.join(map(str, args))})" if kind != "*" else " * ".join(f"({a})" for a in args)
    return Affine(0, ((Atom(text, kind, args), 1),))


def product(a: Affine, b: Affine) -> Affine:
    """`a * b`; opaque when neither is a constant."""
    if a.is_const:
        return b * a.const
    if b.is_const:
        return a * b.const
    first, second = sorted((a, b), key=str)
    return _opaque("*", (first, second))


def truth_of(f: Formula) -> Affine:
    """1 where a formula holds, else 0."""
    if f in (TRUE, FALSE):
        return Affine(int(f == TRUE))
    return Affine(0, ((Atom(f"[{f}]", "truth", (), f), 1),))


def application(name: str, args: tuple[Affine, ...]) -> Affine:
    """`name[args]`: an unknown function, such as a tensor of integers."""
    return Affine(0, ((Atom(f"{name}[{', '.join(map(str, args))}]", "app", args), 1),))


def function_of(atom: Atom) -> str:
    """The name of the function that an `app` applies."""
    return atom.text.partition("[")[0]


def atoms_of(a: Affine) -> Iterator[Atom]:
    """All atoms of a form, those inside others too."""
    for atom, _ in a.terms:
        yield atom
        for arg in atom.args:
            yield from atoms_of(arg)
        if atom.truth is not None:
            yield from formula_atoms(atom.truth)


def formula_atoms(f: Formula) -> Iterator[Atom]:
    """All atoms of a formula."""
    match f:
        case Ge(a) | Eq(a) | Ne(a):
            yield from atoms_of(a)
        case And(parts) | Or(parts):
            for p in parts:
                yield from formula_atoms(p)


def division(a: Affine, b: Affine) -> Affine:
    """`a // b`; opaque where it does not come out."""
    if b.is_const and b.const > 0:
        return floordiv(a, b.const)
    if b.is_const and b.const < 0:
        return floordiv(-a, -b.const)
    return Affine(0, ((Atom(f"(({a}) // ({b}))", "//", (a, b)), 1),))


def _extreme(kind: Literal["min", "max"], a: Affine, b: Affine) -> Affine:
    gap = a - b
    if gap.is_const:
        return a if (gap.const <= 0) == (kind == "min") else b
    first, second = sorted((a, b), key=str)
    return _opaque(kind, (first, second))


def affine(e: Expr, env: Mapping[str, Affine]) -> Affine:
    """The form of an integer expression; names absent from `env` stand for themselves."""
    match e:
        case Const(value):
            return Affine(value)
        case Var(name):
            return env.get(name) or var(name)
        case Op(kind, args):
            if kind in COMPARISONS or kind in LOGIC:
                f = formula(e, env)
                if f in (TRUE, FALSE):
                    return Affine(int(f == TRUE))
                return Affine(0, ((Atom(f"[{f}]", "truth", (), f), 1),))
            return _combine(kind, affine(args[0], env), affine(args[1], env))


def _combine(kind: str, a: Affine, b: Affine) -> Affine:
    match kind:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return product(a, b)
        case "//":
            return division(a, b)
        case "cdiv":
            return floordiv(a + (b.const - 1), b.const) if b.is_const and b.const > 0 else -division(-a, b)
        case "%":
            return a - product(division(a, b), b)
        case "min" | "max":
            return _extreme(kind, a, b)
        case _:
            raise AssertionError(f"{kind} is no integer operation")


def substitute_affine(a: Affine, env: Mapping[str, Affine]) -> Affine:
    """Replace variables (or opaque atoms, by their text), inside opaque atoms too, and simplify again."""
    if not a.mentions(env):
        return a
    total = Affine(a.const)
    for atom, c in a.terms:
        total += _substitute_atom(atom, env) * c
    return total


def _substitute_atom(atom: Atom, env: Mapping[str, Affine]) -> Affine:
    if (new := env.get(atom.text)) is not None:
        return new
    if atom.kind == "var":
        return Affine(0, ((atom, 1),))
    if atom.truth is not None:
        f = substitute_formula(atom.truth, env)
        return Affine(int(f == TRUE)) if f in (TRUE, FALSE) else Affine(0, ((Atom(f"[{f}]", "truth", (), f), 1),))
    args = tuple(substitute_affine(x, env) for x in atom.args)
    return application(function_of(atom), args) if atom.kind == "app" else _combine(atom.kind, *args)


# ------------------------------------------------------------------------------------------ formulas


@dataclass(frozen=True, slots=True)
class Ge:
    """`a >= 0`."""

    a: Affine

    def __str__(self) -> str:
        return f"{self.a} >= 0"


@dataclass(frozen=True, slots=True)
class Eq:
    """`a == 0`."""

    a: Affine

    def __str__(self) -> str:
        return f"{self.a} == 0"


@dataclass(frozen=True, slots=True)
class Ne:
    """`a != 0`."""

    a: Affine

    def __str__(self) -> str:
        return f"{self.a} != 0"


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " and ".join(f"({p})" for p in self.parts) if self.parts else "true"


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " or ".join(f"({p})" for p in self.parts) if self.parts else "false"


Formula = Ge | Eq | Ne | And | Or
TRUE: Formula = And(())
FALSE: Formula = Or(())


def conjunction(parts: Iterable[Formula]) -> Formula:
    kept = tuple(dict.fromkeys(p for p in parts if p != TRUE))
    if FALSE in kept:
        return FALSE
    return kept[0] if len(kept) == 1 else And(kept)


def disjunction(parts: Iterable[Formula]) -> Formula:
    kept = tuple(dict.fromkeys(p for p in parts if p != FALSE))
    if TRUE in kept:
        return TRUE
    return kept[0] if len(kept) == 1 else Or(kept)


def ge(a: Affine) -> Formula:
    return (TRUE if a.const >= 0 else FALSE) if a.is_const else Ge(a)


def eq(a: Affine) -> Formula:
    return (TRUE if a.const == 0 else FALSE) if a.is_const else Eq(a)


def ne(a: Affine) -> Formula:
    return (FALSE if a.const == 0 else TRUE) if a.is_const else Ne(a)


def negation(f: Formula) -> Formula:
    match f:
        case Ge(a):
            return ge(-a - 1)
        case Eq(a):
            return ne(a)
        case Ne(a):
            return eq(a)
        case And(parts):
            return disjunction(negation(p) for p in parts)
        case Or(parts):
            return conjunction(negation(p) for p in parts)


def formula(e: Expr, env: Mapping[str, Affine]) -> Formula:
    """The truth of an expression; integers are true unless zero."""
    if isinstance(e, Op):
        match e.kind:
            case "and":
                return conjunction(formula(a, env) for a in e.args)
            case "or":
                return disjunction(formula(a, env) for a in e.args)
            case "not":
                return negation(formula(e.args[0], env))
            case "<":
                return ge(affine(e.args[1], env) - affine(e.args[0], env) - 1)
            case "<=":
                return ge(affine(e.args[1], env) - affine(e.args[0], env))
            case ">":
                return ge(affine(e.args[0], env) - affine(e.args[1], env) - 1)
            case ">=":
                return ge(affine(e.args[0], env) - affine(e.args[1], env))
            case "==":
                return eq(affine(e.args[0], env) - affine(e.args[1], env))
            case "!=":
                return ne(affine(e.args[0], env) - affine(e.args[1], env))
            case _:
                pass
    return ne(affine(e, env))


def substitute_formula(f: Formula, env: Mapping[str, Affine]) -> Formula:
    match f:
        case Ge(a):
            return ge(substitute_affine(a, env))
        case Eq(a):
            return eq(substitute_affine(a, env))
        case Ne(a):
            return ne(substitute_affine(a, env))
        case And(parts):
            return conjunction(substitute_formula(p, env) for p in parts)
        case Or(parts):
            return disjunction(substitute_formula(p, env) for p in parts)


def formula_symbols(f: Formula) -> frozenset[str]:
    match f:
        case Ge(a) | Eq(a) | Ne(a):
            return a.symbols()
        case And(parts) | Or(parts):
            return frozenset[str]().union(*(formula_symbols(p) for p in parts))


def formula_variables(f: Formula) -> frozenset[str]:
    match f:
        case Ge(a) | Eq(a) | Ne(a):
            return a.variables()
        case And(parts) | Or(parts):
            return frozenset[str]().union(*(formula_variables(p) for p in parts))


# ----------------------------------------------------------------------------------------- evaluation


def evaluate_affine(a: Affine, env: Mapping[str, int]) -> int:
    """The value of a form.

    Applications have theirs under their text, with numbers for arguments: `expert[3]`.

    Raises:
        KeyError: If a variable or an application has no value.
    """
    return a.const + sum(c * _atom_value(atom, env) for atom, c in a.terms)


def _atom_value(atom: Atom, env: Mapping[str, int]) -> int:
    if atom.kind == "var":
        return env[atom.text]
    if atom.truth is not None:
        return int(evaluate_formula(atom.truth, env))
    if atom.kind == "app":
        return env[str(application(function_of(atom), tuple(Affine(evaluate_affine(x, env)) for x in atom.args)))]
    left, right = (evaluate_affine(x, env) for x in atom.args)
    match atom.kind:
        case "//":
            return left // right
        case "*":
            return left * right
        case "min":
            return min(left, right)
        case _:
            return max(left, right)


def evaluate_formula(f: Formula, env: Mapping[str, int]) -> bool:
    match f:
        case Ge(a):
            return evaluate_affine(a, env) >= 0
        case Eq(a):
            return evaluate_affine(a, env) == 0
        case Ne(a):
            return evaluate_affine(a, env) != 0
        case And(parts):
            return all(evaluate_formula(p, env) for p in parts)
        case Or(parts):
            return any(evaluate_formula(p, env) for p in parts)
