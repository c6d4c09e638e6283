"""The witness that refutes an obligation: who, where, when, and what would mend it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

from argus.dsl.diagnostics.edit import Edit
from argus.dsl.diagnostics.excerpt import excerpt
from argus.dsl.diagnostics.span import Span

FixClass = Literal[
    "swizzle mismatch",
    "stage off by n",
    "missing barrier",
    "missing wait",
    "operand transposed",
    "lane map",
    "k incomplete",
    "bounds guard",
    "contract missing",
    "missing fence",
    "phase aliasing",
    "trip counts differ",
]


class Access(BaseModel, frozen=True):
    """One side of a conflict: which thread touched the cell, and where in the text."""

    span: Span
    action: Literal["reads", "writes", "copies into"]
    thread: int
    wave: int
    lane: int
    loops: dict[str, int] = {}


class Hop(BaseModel, frozen=True):
    """One step of a value's way from memory to its use."""

    span: Span
    text: str


class Counterexample(BaseModel, frozen=True):
    """One execution in which an obligation fails, after shrinking toward thread 0 and iteration 0.

    Attributes:
        kind: Kind of the obligation, e.g. `conformity`.
        text: What fails, in one sentence.
        sizes: Value of each size symbol.
        block: Value of each block index, by name.
        loops: Value of each enclosing loop variable.
        thread: Linear thread of the block; `wave` and `lane` follow from it.
        register_slot: Element slot in the thread's fragment, if a fragment is concerned.
        buffer, stage, element, byte, bank: The memory cell, if memory is concerned.
        want, got: Tags as text, e.g. `k = 64 + 3`; empty where tags play no part.
        component: The tag component that differs.
        consumer: Where the value is used.
        producer: Where the wrong value came from.
        other: The conflicting access of a race.
        hops: The value's way, at most five steps, producer first.
        wrong_count: How many elements of the checked fragment or buffer are wrong.
        total_count: Out of how many.
        pattern: Where they lie, e.g. `every second k-step`.
        fix_class: The kind of edit that mends it; joins to the cards' `mistakes`.
        fix: What would mend it, in words.
        tried: Edits in words that were checked: with them the obligation holds and no other is lost.
        edits: The same, exactly; all of them together.
        replayed: What the interpreter saw at this place, and under which schedule.
    """

    kind: str
    text: str
    sizes: dict[str, int] = {}
    block: dict[str, int] = {}
    loops: dict[str, int] = {}
    thread: int | None = None
    wave: int | None = None
    lane: int | None = None
    register_slot: int | None = None
    buffer: str | None = None
    stage: int | None = None
    element: tuple[int, ...] | None = None
    byte: int | None = None
    bank: int | None = None
    want: str = ""
    got: str = ""
    component: str | None = None
    consumer: Span
    producer: Span | None = None
    other: Access | None = None
    hops: tuple[Hop, ...] = ()
    wrong_count: int | None = None
    total_count: int | None = None
    pattern: str = ""
    fix_class: FixClass | None = None
    fix: str = ""
    tried: str = ""
    edits: tuple[Edit, ...] = ()
    replayed: str = ""

    def place(self) -> str:
        """The execution's coordinates in words: `thread 64 (wave 1, lane 0) at kt=1, M=300`."""
        who = "" if self.thread is None else f"thread {self.thread} (wave {self.wave}, lane {self.lane})"
        at = [f"{k}={v}" for k, v in (*self.loops.items(), *self.block.items(), *self.sizes.items())]
        return " ".join(p for p in (who, f"at {', '.join(at)}" if at else "") if p)

    def render(self, lines: Sequence[str]) -> str:
        """Text with up to two carets, consumer first, for terminals and prompts."""
        out = [f"{self.consumer}: refuted[{self.kind}]: {self.text}", *_caret(self.consumer, lines, self.place())]
        if self.other is not None:
            note = f"{self.other.action} it: thread {self.other.thread} (wave {self.other.wave})"
            out += _caret(self.other.span, lines, note)
        elif self.producer is not None and self.producer != self.consumer:
            out += _caret(self.producer, lines, "the value comes from here")
        if self.want or self.got:
            out.append(f"    = want {self.want}; got {self.got}")
        out += [f"    = via {hop.span.line}: {hop.text}" for hop in self.hops]
        if self.wrong_count is not None:
            where = f", {self.pattern}" if self.pattern else ""
            out.append(f"    = {self.wrong_count:,} of {self.total_count or 0:,} elements are wrong{where}")
        if self.replayed:
            out.append(f"    = replayed: {self.replayed}")
        out += self._fix()
        return "\n".join(out)

    def _fix(self) -> list[str]:
        kind = f" [{self.fix_class}]" if self.fix_class else ""
        if self.tried and self.fix in ("", self.tried):
            return [f"    = fix{kind}: {self.tried} (tried: then it is proved)"]
        hint = [f"    = fix{kind}: {self.fix}"] if self.fix or self.fix_class else []
        return [*hint, f"    = tried: {self.tried}; then it is proved"] if self.tried else hint


def _caret(span: Span, lines: Sequence[str], note: str) -> list[str]:
    return excerpt(span, lines, note) or ([f"    = {span}: {note}"] if note else [])
