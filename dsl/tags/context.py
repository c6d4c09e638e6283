"""What every transfer rule needs: the kernel, its types, interned values, obligations, the place in the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from argus.dsl.diagnostics import Hop, Span
from argus.dsl.ir import Assign, Kernel, Shared, Stmt, TensorParam, View
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.types import DTYPE_BYTES, FragType, Types
from argus.dsl.layout import Expr
from argus.dsl.layout.affine import Affine, Formula, affine, conjunction, formula, var
from argus.dsl.tags.banks import Access, Direction, run_of
from argus.dsl.tags.contract import Assumptions
from argus.dsl.tags.domain import ELEMENT_BITS, Acc, Fragment, Ints, Store, Tile
from argus.dsl.tags.obligations import NEVER, Finding, Goal, Holds, Obligation, Registry, Tier
from argus.dsl.tags.parts import Part
from argus.dsl.tags.state import State
from argus.dsl.tags.tables import NoTable, Places, places
from argus.dsl.tags.team import Team
from argus.dsl.tags.views import Gathered, GlobalView, Outside, SharedViews, byte_offsets, global_view, root


class Oracle(Protocol):
    """Decides what the cheap tests leave open."""

    def consistent(self, facts: Sequence[Formula]) -> bool:
        """False only if no values of the symbols satisfy the facts and the preconditions."""
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """One enclosing loop, as messages show it: `symbol` counts rounds of `period` iterations from `start`."""

    name: str
    start: Affine
    symbol: str
    period: int


@dataclass(slots=True, eq=False)
class Site:
    """One statement of core form."""

    number: int
    stmt: Stmt

    @property
    def span(self) -> Span:
        """Of the operation; several may share a statement of the source."""
        return self.stmt.value.span if isinstance(self.stmt, Assign) else self.stmt.span


@dataclass(slots=True, eq=False)
class Context:
    kernel: Kernel
    types: Types
    oracle: Oracle
    sites: Mapping[int, Site]
    registry: Registry = field(default_factory=Registry)
    store: Store = field(default_factory=Store)
    env: dict[str, Affine] = field(default_factory=dict[str, Affine])
    frames: list[Frame] = field(default_factory=list[Frame])
    widened: list[str] = field(default_factory=list[str])
    factors: set[int] = field(default_factory=set[int])  # sites of fragments that were subtracted from exponents
    reduced_axes: frozenset[str] = frozenset()
    written_tensors: frozenset[str] = frozenset()
    guarded: frozenset[str] = frozenset()  # buffers that are filled under some condition
    shared_views: SharedViews = field(init=False)
    assumptions: Assumptions = field(default_factory=Assumptions)
    team: Team | None = None  # the waves of a role's group; None: all
    part: Part | None = None  # of a range that the blocks of a tile share out
    accesses: dict[tuple[object, ...], Access] = field(default_factory=dict[tuple[object, ...], Access])
    _offsets: dict[str, Ints] = field(default_factory=dict[str, Ints])
    _places: dict[tuple[object, ...], Places] = field(default_factory=dict[tuple[object, ...], Places])

    def __post_init__(self) -> None:
        self.shared_views = SharedViews(dict(self.types.buffers))

    @property
    def threads(self) -> int:
        return self.kernel.waves * 64

    @property
    def working(self) -> Team:
        """The waves that execute the current statement."""
        return self.team or Team(0, self.kernel.waves)

    def site_of(self, stmt: Stmt) -> Site:
        return self.sites[id(stmt)]

    def span_of(self, site: int) -> Span | None:
        return next((s.span for s in self.sites.values() if s.number == site), None)

    # ------------------------------------------------------------------------------------ expressions

    def evaluate(self, e: Expr) -> Affine:
        return affine(e, self.env)

    def condition(self, e: Expr) -> Formula:
        return formula(e, self.env)

    def constant(self, state: State) -> Callable[[Expr, str], int]:
        """An evaluator of indices that must be known here."""

        def evaluate(e: Expr, word: str) -> int:
            form = state.reduce(self.evaluate(e))
            if not form.is_const:
                raise Outside(f"the symbolic {word} {self.shown(form)} into shared memory")
            return form.const

        return evaluate

    def shown(self, a: Affine, state: State | None = None) -> str:
        """A form in the source's own symbols: loop variables, or what an ended loop ran to, instead of rounds."""
        for frame in reversed(self.frames):
            c = a.coefficient(frame.symbol)
            if c and c % frame.period == 0:
                offset = self.env[frame.name] - var(frame.symbol) * frame.period
                a = a - var(frame.symbol) * c + (var(frame.name) - offset) * (c // frame.period)
        for alone, value in state.fixed.values() if state is not None else ():
            for atom, c in value.terms:
                k = a.coefficient(atom.text)
                if k and k % c == 0 and "@" in atom.text:
                    turns = Affine(0, ((atom, 1),))
                    a = a - turns * k + (alone - (value - turns * c)) * (k // c)
        return str(a)

    def loops(self) -> dict[str, Affine]:
        return {frame.name: self.env[frame.name] for frame in self.frames}

    # ------------------------------------------------------------------------------------------ views

    def tensor(self, name: str) -> TensorParam | None:
        return self.types.params.get(name)

    def buffer(self, name: str) -> Shared:
        return self.types.buffers[name]

    def global_view(self, view: View, gathered: Gathered | None = None) -> GlobalView:
        """Coordinates of a view of a tensor; without `gathered`, rows that are picked are outside the slice."""
        return global_view(view, self.types.params[root(view)], self.evaluate, gathered)

    def byte_offsets(self, buffer: str) -> Ints:
        """Byte offset in the buffer of each of its cells."""
        if buffer not in self._offsets:
            self._offsets[buffer] = byte_offsets(self.buffer(buffer))
        return self._offsets[buffer]

    # ------------------------------------------------------------------------------------------ places

    def places(self, frag: FragType, lost: tuple[int, ...] = (), *, owned: bool = False) -> Places:
        """Where a fragment's elements live; `lost` and `owned` are as in `tables.places`.

        Raises:
            Outside: If its map is not of this slice.
        """
        team = self.working
        key = (frag.map, frag.shape, lost, owned, team)
        if key not in self._places:
            try:
                found = places(frag.map, frag.shape, team.waves * 64, lost, owned=owned)
                self._places[key] = team.seated(found)
            except NoTable as e:
                raise Outside(str(e)) from None
        return self._places[key]

    def holder(self, frag: FragType, element: int, lost: tuple[int, ...] = ()) -> tuple[int | None, int | None]:
        """The first thread and slot that hold an element; Nones where there is no table of the map."""
        try:
            places = self.places(frag, lost)
        except Outside:
            return None, None
        return places.thread_of(element) if (places.element == element).any() else (None, None)

    def note_access(
        self,
        site: Site,
        buffer: str,
        cells: Ints,
        frag: FragType,
        *,
        direction: Direction,
        key: object = "",
        lost: tuple[int, ...] = (),
    ) -> None:
        """Remember an access for the bank conflict report; stages of a ring differ by a shift and count once."""
        if (site.number, key) in self.accesses:
            return
        element = self.places(frag, lost, owned=direction == "write").element
        address = np.where(element >= 0, self.byte_offsets(buffer)[cells][element], -1)
        self.accesses[site.number, key] = Access(
            site.number, site.span.line, buffer, direction, address, run_of(frag.map),
            DTYPE_BYTES[self.buffer(buffer).dtype],
        )  # fmt: skip

    def copy_waves(self, offsets: Ints, element_bytes: int) -> Ints:
        """The wave, as a bit, that copies each cell of a direct-to-LDS copy.

        Cells are copied in address order, 4 bytes a lane, consecutive lanes of consecutive threads.
        """
        rank = np.empty(len(offsets), np.int64)
        rank[np.argsort(offsets, kind="stable")] = np.arange(len(offsets))
        lane = rank * element_bytes // 4
        return np.int64(1) << (self.working.first + lane // 64 % self.working.waves)

    # ------------------------------------------------------------------------------------- obligations

    def violated(self, obligation: Obligation, state: State, tier: Tier, finding: Callable[[], Finding]) -> None:
        """Record that the obligation fails on this path, if the path exists."""
        obligation.raise_tier(tier)
        obligation.need(Goal(state.hypotheses(), NEVER, _hinted(state, finding)))

    def must(
        self, obligation: Obligation, state: State, f: Formula, tier: Tier, finding: Callable[[], Finding]
    ) -> None:
        """Record that `f` must hold here."""
        obligation.raise_tier(tier)
        if not state.evident(f):
            obligation.need(Goal(state.hypotheses(), Holds(state.reduce_formula(f)), _hinted(state, finding)))

    # -------------------------------------------------------------------------------------- provenance

    def origin_span(self, frag: Fragment, index: tuple[int, ...] | None = None) -> Span | None:
        """Where an element's value was loaded."""
        if isinstance(frag, Tile):
            code = int(frag.codes[index] if index is not None else frag.codes.flat[0])
            return self.store.values[code >> ELEMENT_BITS].span if code >= 0 else None
        return frag.span if isinstance(frag, Acc) else None

    def hops(self, *steps: tuple[Span | None, str]) -> tuple[Hop, ...]:
        return tuple(Hop(span=span, text=text) for span, text in steps if span is not None)[:5]


def _hinted(state: State, finding: Callable[[], Finding]) -> Callable[[], Finding]:
    """The finding with the state's hints tried first."""
    if not state.hints:
        return finding
    return lambda: replace(
        found := finding(), matters=(conjunction((*state.hints, *found.matters[:1])), *found.matters)
    )


def block_all(cx: Context, body: tuple[Stmt, ...], reason: str) -> None:
    """Nothing can be decided about these statements."""
    for node in walk_body(body):
        if id(node) in cx.sites:
            for obligation in cx.registry.at(cx.sites[id(node)].number):
                obligation.block(reason)
