"""How many groups of copies may stay pending when a stage is used: derived by walking the kernel.

The i-th use needs the group of the i-th fill, so all groups that were committed after that one may stay pending. Their
number must be the same whenever the use runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from argus.dsl.diagnostics import Code
from argus.dsl.ir.linear import constant
from argus.dsl.ir.nodes import Commit, Elect, Fill, For, If, Role, Stmt, Use
from argus.dsl.ir.report import kernel_error

# vmcnt counts to 63: nothing sensible runs further ahead.
MAX_AHEAD = 64
# For each ring the fills that no use has taken, oldest first: how many groups were committed after each.
State = tuple[tuple[str, tuple[int, ...]], ...]
States = frozenset[State]


def group_waits(body: tuple[Stmt, ...], rings: Iterable[str]) -> dict[int, int]:
    """For each `Use` (by `id`) of a ring whose fills are groups: the number for `Wait`.

    Raises:
        KernelError: If the number is not the same on every path and iteration; the message has both.
    """
    walker = _Walker(frozenset(rings))
    walker.block(body, frozenset({tuple((ring, ()) for ring in rings)}))
    return walker.waits


class _Walker:
    def __init__(self, rings: frozenset[str]) -> None:
        self._rings = rings
        self.waits: dict[int, int] = {}

    def block(self, body: tuple[Stmt, ...], states: States) -> States:
        for statement in body:
            states = self._statement(statement, states)
        return states

    def _statement(self, node: Stmt, states: States) -> States:
        match node:
            case Fill(ring=ring, body=body) if ring in self._rings:
                states = self.block(body, states)
                return frozenset(self._committed(s, ring, node) for s in states)
            case Commit():
                return frozenset(self._committed(s, None, node) for s in states)
            case Use(ring=ring, body=body) if ring in self._rings:
                return self.block(body, frozenset(self._used(s, ring, node) for s in states))
            case Fill(body=body) | Use(body=body) | Role(body=body) | Elect(body=body):
                return self.block(body, states)
            case If(body=body, orelse=orelse):
                return self.block(body, states) | self.block(orelse, states)
            case For():
                return self._loop(node, states)
            case _:
                return states

    def _loop(self, node: For, states: States) -> States:
        start, stop = (constant(b) for b in node.bounds) if node.kind != "tiles" else (None, None)
        if start is not None and stop is not None:
            for _ in range(start, stop):
                after = self.block(node.body, states)
                if after == states:
                    break
                states = after
            return states
        seen = states
        while True:
            states = self.block(node.body, states) - seen
            if not states:
                return seen
            seen |= states

    @staticmethod
    def _committed(state: State, ring: str | None, node: Stmt) -> State:
        out = {name: tuple(n + 1 for n in ages) for name, ages in state}
        if ring is not None:
            out[ring] = (*out[ring], 0)
            if len(out[ring]) > MAX_AHEAD:
                message = f"fills of `{ring}` run ahead of its uses without bound"
                hint = "use each stage that is filled: one use for each fill in the loop"
                raise kernel_error(Code.BAD_CALL, node.span, message, hint)
        return tuple((name, tuple(min(n, MAX_AHEAD) for n in out[name])) for name, _ in state)

    def _used(self, state: State, ring: str, node: Use) -> State:
        ages = dict(state)[ring]
        # A use that nothing filled waits for everything; what it reads is the checker's concern.
        pending = ages[0] if ages else 0
        before = self.waits.setdefault(id(node), pending)
        if before != pending:
            message = f"this use of `{ring}` would leave {before} groups pending at one time and {pending} at another"
            hint = "fill equally far ahead whenever it runs; write the last uses after the loop, one by one"
            raise kernel_error(Code.BAD_CALL, node.span, message, hint)
        return tuple((name, a[1:] if name == ring else a) for name, a in state)
