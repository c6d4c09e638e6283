"""What is to be proved, and what the analysis found out about it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from argus.dsl.diagnostics import FixClass, Hop, Span
from argus.dsl.layout.affine import FALSE, TRUE, Affine, Formula
from argus.dsl.tags.domain import Domain, Term, Window

Kind = Literal[
    "conformity", "completeness", "init", "race", "wait", "bounds", "epilogue", "divergence", "deadlock", "proxy",
    "register", "coverage", "overflow", "contract", "written",
]  # fmt: skip
Tier = Literal["structure", "affine", "gf2", "table", "smt", "bitvector"]
Action = Literal["reads", "writes", "copies into"]

POINTS = ("x0", "x1", "x2", "x3", "x4")  # a coordinate along each axis of an output

# Cheapest first: an obligation is labelled by the dearest tier that one of its instances needed.
TIERS: tuple[Tier, ...] = ("structure", "affine", "gf2", "table", "smt", "bitvector")


@dataclass(frozen=True, slots=True)
class Conflict:
    """The other access of a hazard."""

    span: Span
    action: Action
    thread: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where an obligation fails, symbols still open.

    Attributes:
        loops: Each enclosing loop variable as a form of the symbols that a model fixes.
        element: Of the fragment, view or buffer concerned.
        want, got: Tag component `component`, wanted and found.
        matters: Conditions under which the mistake shows in an output, the strongest first.
        wrong, total: How many elements are wrong.
        ignored: Tensors that the outputs should depend on and do not.
        fix_class, fix: See `Counterexample`.
        sure: An execution must show it; otherwise it may be that no output does.
    """

    text: str
    consumer: Span
    loops: Mapping[str, Affine]
    thread: int | None = None
    slot: int | None = None
    buffer: str | None = None
    stage: int | None = None
    element: tuple[int, ...] | None = None
    byte: int | None = None
    want: str = ""
    got: str = ""
    component: str | None = None
    producer: Span | None = None
    other: Conflict | None = None
    hops: tuple[Hop, ...] = ()
    matters: tuple[Formula, ...] = ()
    wrong: int | None = None
    total: int | None = None
    pattern: str = ""
    ignored: tuple[str, ...] = ()
    fix_class: FixClass | None = None
    fix: str = ""
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Holds:
    """A formula that must hold for all values of the symbols."""

    formula: Formula


@dataclass(frozen=True, slots=True)
class CoversOnce:
    """The terms together hold each integer of [0, extent) exactly once; what lies outside must be absorbed.

    The terms' masks speak of the integer as `own(axis)`.

    Attributes:
        inside: Those for which this holds, as a formula of `POINTS[0]`; the others are not held.
        once: Not for extremes: what they hold twice makes no difference.
        across: Other axes that are reduced together with this one, with their extents: each combination is held once.
    """

    terms: tuple[Term, ...]
    extent: Affine
    inside: Formula = TRUE
    axis: str = ""
    once: bool = True
    across: tuple[tuple[str, Affine], ...] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle of an output that one store writes: along axis i coordinates `base[i]` to `base[i] + size[i] - 1`.

    Attributes:
        domains: Loop symbols and the values they run over.
        given: Facts of the path on which the store runs.
    """

    site: int
    base: tuple[Affine, ...]
    size: tuple[int, ...]
    windows: tuple[Window, ...] = ()
    domains: tuple[Domain, ...] = ()
    given: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class WritesOnce:
    """Over all blocks, the boxes write each element of a tensor of these extents exactly once.

    Attributes:
        inside: Those that are written once, as a formula of `POINTS`; the others are not written.
    """

    boxes: tuple[Box, ...]
    extents: tuple[Affine, ...]
    blocks: tuple[tuple[str, Affine], ...]
    inside: Formula = TRUE


Claim = Holds | CoversOnce | WritesOnce
NEVER = Holds(FALSE)


@dataclass(frozen=True, slots=True)
class Goal:
    """`facts` imply `claim`; if not, `finding` describes what is wrong."""

    facts: tuple[Formula, ...]
    claim: Claim
    finding: Callable[[], Finding]


@dataclass(slots=True, eq=False)
class Obligation:
    """One obligation, met by any number of execution paths.

    Attributes:
        goals: What the analysis could not settle by itself.
        blocked: Why some instance cannot be decided.
        tier: The dearest tier so far.
        met: Whether any path reaches it.
    """

    kind: Kind
    text: str
    span: Span
    site: int
    origin: Literal["implicit", "written"] = "implicit"
    ordinal: int = 0
    goals: list[Goal] = field(default_factory=list[Goal])
    blocked: list[str] = field(default_factory=list[str])
    tier: Tier = "structure"
    met: bool = False

    @property
    def id(self) -> str:
        """A hash of kind, text and ordinal: an edit elsewhere keeps it."""
        return hashlib.sha256(f"{self.kind}\n{self.text}\n{self.ordinal}".encode()).hexdigest()[:12]

    def raise_tier(self, tier: Tier) -> None:
        self.met = True
        if TIERS.index(tier) > TIERS.index(self.tier):
            self.tier = tier

    def need(self, goal: Goal) -> None:
        self.met = True
        if goal.claim != Holds(TRUE):
            self.goals.append(goal)

    def block(self, reason: str) -> None:
        self.met = True
        if reason not in self.blocked:
            self.blocked.append(reason)

    @property
    def place(self) -> str:
        return f"{self.kind} at line {self.span.line}"


class Registry:
    """All obligations of a kernel, in order of the text."""

    def __init__(self) -> None:
        self.all: list[Obligation] = []
        self._by_site: dict[tuple[Kind, int, str], Obligation] = {}
        self._ordinals: dict[tuple[Kind, str], int] = {}

    def add(self, kind: Kind, site: int, text: str, span: Span, *, part: str = "", written: bool = False) -> Obligation:
        ordinal = self._ordinals[kind, text] = self._ordinals.get((kind, text), -1) + 1
        made = Obligation(kind, text, span, site, "written" if written else "implicit", ordinal)
        self.all.append(made)
        self._by_site[kind, site, part] = made
        return made

    def get(self, kind: Kind, site: int, part: str = "") -> Obligation:
        return self._by_site[kind, site, part]

    def find(self, kind: Kind, site: int, part: str = "") -> Obligation | None:
        return self._by_site.get((kind, site, part))

    def at(self, site: int) -> list[Obligation]:
        return [o for o in self.all if o.site == site]

    def mark(self) -> list[tuple[int, int, Tier, bool]]:
        """A point to go back to."""
        return [(len(o.goals), len(o.blocked), o.tier, o.met) for o in self.all]

    def rewind(self, mark: list[tuple[int, int, Tier, bool]]) -> None:
        """Forget what was found since `mark`."""
        for o, (goals, blocked, tier, met) in zip(self.all, mark, strict=True):
            del o.goals[goals:]
            del o.blocked[blocked:]
            o.tier, o.met = tier, met
