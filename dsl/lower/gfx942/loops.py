"""Loops: unrolled ones written out, counted ones as loops of TIR.

A loop whose body picks LDS stages by `i % S` is written out S times, so that each stage is a constant; the trips that
do not fill S follow it, each under its own condition. Tiles at the ragged end are masked in the loop itself: a select
for each access, hidden behind the MFMAs. A second loop without masks is no faster by the estimate, and costs registers
where the two meet.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import lcm

from argus.dsl.ir import For, Stmt
from argus.dsl.layout import Const, Expr, Op, Var, names
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import constant, simplify
from argus.dsl.lower.gfx942 import barriers, tir
from argus.dsl.lower.gfx942.context import Context
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import stage_indices
from argus.dsl.lower.gfx942.walk import every_view

Lower = Callable[[Sequence[Stmt]], None]


def loop(ctx: Context, node: For, lower: Lower) -> None:
    """A loop statement; `lower` emits a body."""
    match node.kind:
        case "unroll":
            _unrolled(ctx, node, lower)
        case "range":
            _Counted(ctx, node, lower).emit()
        case "tiles":
            raise unsupported(node, "persistent loops over tiles are not lowered yet", "use block() indices")


def _unrolled(ctx: Context, node: For, lower: Lower) -> None:
    stop = constant(ctx.indices.resolve(node.bounds[1]))
    if stop is None:
        raise unsupported(node, "an unrolled loop runs a constant number of times")
    for i in range(stop):
        with ctx.indices.knowing({node.targets[0]: Const(i)}):
            lower(node.body)


class _Counted:
    def __init__(self, ctx: Context, node: For, lower: Lower) -> None:
        self.ctx, self.node, self.lower = ctx, node, lower
        self.name = node.targets[0]
        self.start, self.stop = map(ctx.indices.resolve, node.bounds)
        self.stages = stages(node)
        if self.stages > 1 and constant(self.start) is None:
            raise unsupported(node, "a loop that picks stages starts at a constant")

    def emit(self) -> None:
        ctx = self.ctx
        trips = ctx.indices.value(simplify(Op("-", (self.stop, self.start))))
        if self.stages == 1:
            with self._counter(trips) as counter:
                self._trip(Var(counter))
            return
        trips = ctx.emit.keep("trips", tir.larger(trips, tir.i32(0)))
        rounds = ctx.emit.keep("rounds", tir.quotient(trips, tir.i32(self.stages)))
        with self._counter(rounds) as counter:
            for stage in range(self.stages):
                self._trip(self._place(counter, stage))
        done = f"{self.name}.done"
        with ctx.indices.counting(done, rounds):
            self._rest(done, trips - rounds * self.stages, 0)

    def _rest(self, done: str, left: Tir, stage: int) -> None:
        """The trips after the last full round, at most one fewer than there are stages."""
        if stage == self.stages - 1:
            return
        with self.ctx.emit.nested() as body:
            self._trip(self._place(done, stage))
            barriers.ask_for_order(self.ctx)
            self._rest(done, left, stage + 1)
        self.ctx.emit.add(tir.branch(left > stage, tir.sequence(body)))

    def _place(self, rounds: str, stage: int) -> Expr:
        return Op("+", (Op("*", (Var(rounds), Const(self.stages))), Const(stage)))

    def _trip(self, trip: Expr) -> None:
        """The body, with the loop's variable standing for its value in this trip."""
        place = simplify(Op("+", (self.start, trip)))
        with self.ctx.indices.knowing({self.name: place}):
            self.lower(self.node.body)

    @contextmanager
    def _counter(self, trips: Tir) -> Generator[str]:
        """A loop of TIR around what is emitted inside; its counter's name has a dot, so that no kernel spells it."""
        ctx = self.ctx
        variable = tir.var(ctx.emit.name(self.name))
        counter = f"{variable.name}.counter"
        barriers.ask_for_order(ctx)
        with ctx.emit.nested() as body, ctx.indices.counting(counter, variable):
            yield counter
            barriers.ask_for_order(ctx)
        ctx.emit.add(tir.serial(variable, trips, tir.sequence(body)))


def stages(node: For) -> int:
    """How many copies of the body make every stage index that mentions the loop's variable a constant."""
    moduli = [
        modulus
        for view in every_view(node.body)
        for index in stage_indices(view)
        if isinstance(index, Op) and index.kind == "%" and node.targets[0] in names(index)
        for modulus in [constant(index.args[1])]
        if modulus
    ]
    return lcm(*moduli) if moduli else 1
