"""The text under construction, with the line of the kernel that each line came from."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from argus.dsl.diagnostics import Span


class Writer:
    """Collects lines of C.

    A value that is *named* is computed once in the scope where it is first asked for and in the scopes inside.
    """

    def __init__(self, depth: int = 0) -> None:
        self.text: list[str] = []
        self.lines: list[int] = []
        self._depth = depth
        self._line = 0
        self._named: list[dict[str, str]] = [{}]
        self._taken: dict[str, int] = {}

    def add(self, text: str) -> None:
        self.text.append("  " * self._depth + text if text else "")
        self.lines.append(self._line)

    def at(self, span: Span) -> None:
        """What is added from here on comes from that place of the kernel."""
        self._line = span.line

    @contextmanager
    def scope(self, head: str, tail: str = "}") -> Generator[None]:
        """`head {`, what is added inside, `tail`."""
        self.add(f"{head} {{" if head else "{")
        self._depth += 1
        self._named.append({})
        try:
            yield
        finally:
            self._named.pop()
            self._depth -= 1
            self.add(tail)

    def array(self, ctype: str, name: str, rows: int, columns: int) -> None:
        """Registers `name[rows][columns]`, unless the same stand already in this scope or around it.

        A fragment that gets another value keeps its registers, so that those after a loop have the loop's last value.
        """
        key = f"{ctype} {name}[{rows}][{columns}];"
        if any(key in scope for scope in self._named):
            return
        self.add(key)
        self._named[-1][key] = name

    def named(self, ctype: str, name: str, value: str) -> str:
        """A constant of the present scope; equal values share one."""
        key = f"{ctype} {value}"
        for scope in self._named:
            if key in scope:
                return scope[key]
        count = self._taken[name] = self._taken.get(name, 0) + 1
        made = name if count == 1 else f"{name}_{count}"
        self.add(f"const {ctype} {made} = {value};")
        self._named[-1][key] = made
        return made
