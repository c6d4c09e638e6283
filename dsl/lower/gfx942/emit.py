"""The function under construction: buffers, values computed once at the top, and nested statement lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager

from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.tir import Tir


class Emitter:
    """Collects statements in order.

    Values that no loop changes are *hoisted*: computed once in the prelude and kept in one-element local buffers, which
    TVM's simplifier leaves alone (it would put a bound expression back into each of its uses) and LLVM turns into
    registers.
    """

    def __init__(self) -> None:
        self._allocations: list[Tir] = []
        self._prelude: list[Tir] = []
        self._bodies: list[list[Tir]] = [[]]
        self._hoisted: dict[Hashable, Tir] = {}
        self._names: set[str] = set()

    def add(self, statement: Tir) -> None:
        self._bodies[-1].append(statement)

    def call(self, name: str, *args: Tir) -> None:
        """A device function for its effect."""
        self.add(tir.evaluate(tir.call("void", name, *args)))

    @contextmanager
    def nested(self) -> Generator[list[Tir]]:
        """Collect what is added inside into the list given, for the body of a loop or branch."""
        body: list[Tir] = []
        self._bodies.append(body)
        try:
            yield body
        finally:
            assert self._bodies.pop() is body

    def name(self, wanted: str) -> str:
        """A fresh identifier that resembles `wanted`."""
        base = re.sub(r"\W", "_", wanted)
        found, n = base, 0
        while found in self._names:
            n += 1
            found = f"{base}_{n}"
        self._names.add(found)
        return found

    def allocate(self, name: str, size: int, dtype: str, scope: str) -> Tir:
        """A flat buffer of the block (`shared`) or of each thread (`local`)."""
        made = tir.buffer(self.name(name), size, dtype, scope)
        self._allocations.append(tir.allocate(made))
        return made

    def bind(self, name: str, value: Tir, dtype: str = "int32") -> Tir:
        """Name a value in the prelude; it may be computed again at each use."""
        made = tir.var(self.name(name), dtype)
        self._prelude.append(tir.bind(made, value))
        return made

    def hoist(self, key: Hashable, name: str, value: Callable[[], Tir]) -> Tir:
        """An i32 that depends on nothing which changes: computed in the prelude, once a key."""
        if key not in self._hoisted:
            made = self.allocate(name, 1, "int32", "local")
            self._prelude.append(tir.store(made, value(), 0))
            self._hoisted[key] = made
        return tir.load(self._hoisted[key], 0)

    def keep(self, name: str, value: Tir) -> Tir:
        """An i32 computed here and used below."""
        made = self.allocate(name, 1, "int32", "local")
        self.add(tir.store(made, value, 0))
        return tir.load(made, 0)

    def finish(self) -> Tir:
        """Everything in order: allocations, prelude, body."""
        (body,) = self._bodies
        return tir.sequence([*self._allocations, *self._prelude, *body])
