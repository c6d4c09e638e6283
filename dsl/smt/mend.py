"""Fixes found by trying: small edits of the core form that make refuted hazards provable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from argus.dsl.diagnostics import Counterexample, Span
from argus.dsl.ir import Barrier, Commit, CopyAsync, For, If, Kernel, Stmt, Wait
from argus.dsl.ir.infer import infer
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.smt.discharge import provable
from argus.dsl.smt.z3_door import Door
from argus.dsl.tags.analysis import analyse

HAZARDS = ("race", "wait")
MENDABLE = ("missing barrier", "missing wait")  # of other slips a barrier only hides the race
MOST_TRIALS = 6


@dataclass(frozen=True, slots=True)
class Edit:
    """`kernel` with one edit, and the edit in words."""

    kernel: Kernel
    text: str


def mend(core: Kernel, hazards: Sequence[tuple[str, Counterexample]], door: Door) -> dict[str, str]:
    """Edits that make hazards provable, by the id of the obligation.

    Args:
        core: The kernel in core form.
        hazards: The refuted race and wait obligations, by id.
        door: A solver with the kernel's preconditions.
    """
    failing = frozenset(name for name, _ in hazards)
    waits_first = any(c.fix_class == "missing wait" for _, c in hazards)
    spans = [c.consumer for _, c in hazards if c.fix_class in MENDABLE]
    best = dict[str, str]()
    for trial, edit in enumerate(_edits(core, spans, waits_first=waits_first)):
        if trial == MOST_TRIALS or len(best) == len(failing):
            break
        for mended in _proved(edit.kernel, failing, door) - best.keys():
            best[mended] = edit.text
    return best


def _proved(core: Kernel, failing: frozenset[str], door: Door) -> frozenset[str]:
    """Which failing obligations the edit mends, if it spoils no other hazard."""
    analysis = analyse(core, infer(core), door)
    proved = set[str]()
    for obligation in analysis.registry.all:
        if obligation.kind in HAZARDS:
            if provable(obligation, door):
                proved.add(obligation.id)
            elif obligation.id not in failing:
                return frozenset()
    return frozenset(proved) & failing


def _edits(core: Kernel, spans: Sequence[Span], *, waits_first: bool) -> Iterator[Edit]:
    """Candidates: a barrier before the access, a stricter wait, a wait and a barrier."""
    places = dict.fromkeys(p for span in spans if (p := _statement(core.body, span)) is not None)
    if not waits_first:
        yield from _barriers(core, places)
    yield from _commits(core.body, core)
    for wait in (n for n in walk_body(core.body) if isinstance(n, Wait) and n.pending > 0):
        fewer = replace(wait, pending=wait.pending - 1)
        text = f"wait({fewer.pending}) instead of wait({wait.pending}) at line {wait.span.line}"
        yield Edit(replace(core, body=_replaced(core.body, wait, (fewer,))), text)
    for place in places:
        added = (Wait(pending=0, span=place.span), Barrier(span=place.span))
        yield Edit(_before(core, place, added), f"wait(0) and barrier() before line {place.span.line}")
    if waits_first:
        yield from _barriers(core, places)


def _commits(body: tuple[Stmt, ...], core: Kernel) -> Iterator[Edit]:
    """A group closed after each run of copies that nothing closes."""
    for stmt, after in zip(body, (*body[1:], None), strict=True):
        if isinstance(stmt, For | If):
            yield from _commits(stmt.body, core)
        if isinstance(stmt, CopyAsync) and not isinstance(after, CopyAsync | Commit):
            closed = (stmt, Commit(span=stmt.span))
            yield Edit(replace(core, body=_replaced(core.body, stmt, closed)), f"commit() after line {stmt.span.line}")


def _barriers(core: Kernel, places: Iterable[_Place]) -> Iterator[Edit]:
    for place in places:
        yield Edit(_before(core, place, (Barrier(span=place.span),)), f"barrier() before line {place.span.line}")


class _Place:
    """A statement by identity: equal statements may stand in several places."""

    __slots__ = ("stmt",)

    def __init__(self, stmt: Stmt) -> None:
        self.stmt = stmt

    @property
    def span(self) -> Span:
        return self.stmt.span

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and other.stmt is self.stmt

    def __hash__(self) -> int:
        return id(self.stmt)


def _statement(body: tuple[Stmt, ...], span: Span) -> _Place | None:
    """The statement that holds a place of the text; unrolled loops are not entered: they are one access phase."""
    for stmt in body:
        if any(node.span == span for node in walk_body((stmt,))):
            inner = stmt.body if isinstance(stmt, For) and stmt.kind == "range" else ()
            inner = (*stmt.body, *stmt.orelse) if isinstance(stmt, If) else inner
            return _statement(inner, span) or _Place(stmt)
    return None


def _before(core: Kernel, place: _Place, added: tuple[Stmt, ...]) -> Kernel:
    return replace(core, body=_replaced(core.body, place.stmt, (*added, place.stmt)))


def _replaced(body: tuple[Stmt, ...], old: Stmt, new: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    out = list[Stmt]()
    for stmt in body:
        if stmt is old:
            out += new
        elif isinstance(stmt, For):
            out.append(replace(stmt, body=_replaced(stmt.body, old, new)))
        elif isinstance(stmt, If):
            out.append(replace(stmt, body=_replaced(stmt.body, old, new), orelse=_replaced(stmt.orelse, old, new)))
        else:
            out.append(stmt)
    return tuple(out)
