"""Changes of a kernel that can be written down as edits of its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from argus.dsl.diagnostics import Edit, Span
from argus.dsl.ir import Elect, For, Kernel, Node, Role, Stmt
from argus.dsl.ir.printer import show_statement
from argus.dsl.ir.rewrite import map_children, walk, walk_body
from argus.dsl.ir.show_value import show_value


@dataclass(frozen=True, slots=True)
class Change:
    """`kernel` with `edits`, and the edits in words."""

    kernel: Kernel
    edits: tuple[Edit, ...]
    words: str

    @property
    def synchronises(self) -> bool:
        """Whether it puts statements in or waits for more."""
        return all(e.where != "instead" or e.new.startswith(("wait(", "mma_wait(")) for e in self.edits)


def instead(kernel: Kernel, pairs: Sequence[tuple[Node, Node]]) -> Change:
    """Nodes replaced by others: values whole, of blocks only the head."""
    swaps: Mapping[int, Node] = {id(old): new for old, new in pairs}

    def visit(child: Any) -> Any:  # noqa: ANN401 - any field of any node
        if id(child) in swaps:
            return swaps[id(child)]
        return map_children(child, visit) if isinstance(child, Node) else child

    edits = tuple(Edit(span=old.span, new=_text(new)) for old, new in pairs)
    words = ", ".join(f"{_text(new)} instead of {_text(old)} at line {old.span.line}" for old, new in pairs)
    return Change(map_children(kernel, visit), edits, words)


def before(kernel: Kernel, stmt: Stmt, added: Sequence[Stmt]) -> Change:
    """Statements put before one, and before what shares its line."""
    lines = [_text(s) for s in added]
    edits = tuple(Edit(span=stmt.span, new=line, where="before") for line in reversed(lines))
    words = f"{' and '.join(lines)} before line {stmt.span.line}"
    first = _on_its_line(kernel, stmt)[0]
    return Change(_put(kernel, first, (*added, first)), edits, words)


def after(kernel: Kernel, stmt: Stmt, added: Stmt) -> Change:
    """A statement put after one, its block included, and after what shares its line."""
    last = _on_its_line(kernel, stmt)[-1]
    end = max(n.span.end_line for n in walk(last))
    edit = Edit(span=replace(last.span, end_line=end), new=_text(added), where="after")
    return Change(_put(kernel, last, (last, added)), (edit,), f"{_text(added)} after line {end}")


def without(kernel: Kernel, stmt: Stmt) -> Change | None:
    """A statement left out; None if it shares its line, or leaves an empty block."""
    siblings = next(body for body in bodies(kernel) if any(s is stmt for s in body))
    if len(siblings) == 1 or len(_on_its_line(kernel, stmt)) > 1 or hasattr(stmt, "body"):
        return None
    edit = Edit(span=stmt.span, new="", where="delete")
    return Change(_put(kernel, stmt, ()), (edit,), f"line {stmt.span.line} deleted: {_text(stmt)}")


def _on_its_line(kernel: Kernel, stmt: Stmt) -> list[Stmt]:
    """`a, b = x, y` is two statements."""
    siblings = next(body for body in bodies(kernel) if any(s is stmt for s in body))
    return [s for s in siblings if s.span.line == stmt.span.line]


def bodies(kernel: Kernel) -> Iterator[tuple[Stmt, ...]]:
    """All lists of statements, outer ones first."""

    def nested(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
        yield body
        for stmt in body:
            for name in ("body", "orelse"):
                inner = cast("tuple[Stmt, ...]", getattr(stmt, name, ()))
                if inner:
                    yield from nested(inner)

    return nested(kernel.body)


def own_nodes(stmt: Stmt) -> Iterator[Node]:
    """The nodes of a statement without those of its block."""
    if hasattr(stmt, "body"):
        yield stmt
    else:
        yield from walk(stmt)


def statements_at(body: tuple[Stmt, ...], span: Span) -> list[Stmt]:
    """The statements that hold a place of the text, before which something may be put, likeliest first.

    That is the innermost one outside unrolled loops, which mostly are one phase of access, and then those within them.
    What one lane runs is not entered: there it meets nobody.
    """
    held: list[Stmt] = []
    unrolled = False
    while (stmt := next((s for s in body if any(n.span == span for n in walk(s))), None)) is not None:
        held = [*held, stmt] if unrolled else [stmt]
        unrolled |= isinstance(stmt, For) and stmt.kind == "unroll"
        if isinstance(stmt, Elect):
            break
        body = (*cast("Any", getattr(stmt, "body", ())), *cast("Any", getattr(stmt, "orelse", ())))
    return held


def role_of(kernel: Kernel, stmt: Stmt) -> Role | None:
    """The role whose body holds a statement."""
    roles = (n for n in walk_body(kernel.body) if isinstance(n, Role))
    return next((role for role in roles if any(n is stmt for n in walk_body(role.body))), None)


def _text(node: Node) -> str:
    if isinstance(node, Stmt):
        return show_statement(node).split("\n", 1)[0].removesuffix(":")
    return show_value(node)


def _put(kernel: Kernel, old: Stmt, new: tuple[Stmt, ...]) -> Kernel:
    def put(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            if stmt is old:
                out += new
                continue
            blocks = {name: put(getattr(stmt, name)) for name in ("body", "orelse") if getattr(stmt, name, ())}
            out.append(replace(stmt, **blocks) if blocks else stmt)
        return tuple(out)

    return replace(kernel, body=put(kernel.body))
