"""Affine forms, formulas over them, and what both are made of: each holds the other, so they stand together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

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
        return collect(self.const + other.const, (*self.terms, *other.terms))

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


def collect(const: int, terms: Iterable[tuple[Atom, int]]) -> Affine:
    """The form of terms in any order: equal atoms added up, zeros dropped."""
    total: dict[Atom, int] = {}
    for atom, c in terms:
        total[atom] = total.get(atom, 0) + c
    kept = sorted(((a, c) for a, c in total.items() if c), key=lambda term: term[0].text)
    return Affine(const, tuple(kept))


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
    """All of the parts; none: true."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " and ".join(f"({p})" for p in self.parts) if self.parts else "true"


@dataclass(frozen=True, slots=True)
class Or:
    """One of the parts at least; none: false."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " or ".join(f"({p})" for p in self.parts) if self.parts else "false"


Formula = Ge | Eq | Ne | And | Or
TRUE: Formula = And(())
FALSE: Formula = Or(())


def formula_symbols(f: Formula) -> frozenset[str]:
    """Texts of all atoms of a formula: what a substitution may name."""
    match f:
        case Ge(a) | Eq(a) | Ne(a):
            return a.symbols()
        case And(parts) | Or(parts):
            return frozenset[str]().union(*(formula_symbols(p) for p in parts))


def formula_variables(f: Formula) -> frozenset[str]:
    """Names of the variables of a formula."""
    match f:
        case Ge(a) | Eq(a) | Ne(a):
            return a.variables()
        case And(parts) | Or(parts):
            return frozenset[str]().union(*(formula_variables(p) for p in parts))


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
