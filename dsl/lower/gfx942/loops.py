"""Loops: unrolled ones written out, counted ones split by stage and by whether their tiles are whole.

A loop whose body picks LDS stages by `i % S` is written out S times, so that each stage is a constant. Its trips come
first in a main loop, as long as every tile that depends on the loop's variable lies inside its tensor: no masks there.
What remains, the ragged end and the trips that do not fill S, runs in a second loop with masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from math import lcm

from argus.dsl.ir import For, Stmt, View
from argus.dsl.layout import Const, Expr, Op, Var, names
from argus.dsl.lower.gfx942 import barriers, tir
from argus.dsl.lower.gfx942.context import Context
from argus.dsl.lower.gfx942.errors import unsupported
from argus.dsl.lower.gfx942.facts import constant, linear, never_negative, simplify
from argus.dsl.lower.gfx942.index import Indices
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import GlobalAxis, global_view, is_shared, stage_indices
from argus.dsl.lower.gfx942.walk import every_view, unrolled_views

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
        self.stages = _stages(node, self.name)
        if self.stages > 1 and constant(self.start) is None:
            raise unsupported(node, "a loop that picks stages starts at a constant")

    def emit(self) -> None:
        trips = self._at_least_0("trips", simplify(Op("-", (self.stop, self.start))))
        whole = whole_trips(self.ctx.indices, self.ctx, self.node, self.start)
        if whole is None and self.stages == 1:
            self._main(trips, whole=False)
            return
        unmasked = trips if whole is None else tir.smaller(trips, self._at_least_0("whole", whole))
        rounds = self.ctx.emit.keep("rounds", tir.quotient(unmasked, tir.i32(self.stages)))
        self._main(rounds, whole=whole is not None)
        self._rest(rounds, self.ctx.emit.keep("rest", trips - rounds * self.stages))

    def _at_least_0(self, name: str, count: Expr) -> Tir:
        return self.ctx.emit.keep(name, tir.larger(self.ctx.indices.value(count), tir.i32(0)))

    def _main(self, rounds: Tir, *, whole: bool) -> None:
        ctx = self.ctx
        outer = ctx.full
        with self._counter(rounds, self.name) as counter:
            ctx.full = counter if whole else outer
            for stage in range(self.stages):
                self._trip(Op("*", (Var(counter), Const(self.stages))), stage)
        ctx.full = outer

    def _rest(self, rounds: Tir, rest: Tir) -> None:
        """The trips after the main loop's; the last round may be cut short."""
        ctx = self.ctx
        outer, ctx.full = ctx.full, None
        done = f"{self.name}.done"
        with (
            ctx.indices.counting(done, rounds),
            self._counter(tir.quotient(rest + (self.stages - 1), tir.i32(self.stages)), f"{self.name}_rest") as counter,
        ):
            first = Op("*", (Op("+", (Var(done), Var(counter))), Const(self.stages)))
            for stage in range(self.stages):
                if stage == 0:
                    self._trip(first, stage)
                    continue
                barriers.ask_for_order(ctx)
                with ctx.emit.nested() as body:
                    self._trip(first, stage)
                    barriers.ask_for_order(ctx)
                left = ctx.indices.values[counter] * self.stages + stage < rest
                ctx.emit.add(tir.branch(left, tir.sequence(body)))
        ctx.full = outer

    def _trip(self, first: Expr, stage: int) -> None:
        place = simplify(Op("+", (self.start, Op("+", (first, Const(stage))))))
        with self.ctx.indices.knowing({self.name: place}):
            self.lower(self.node.body)

    @contextmanager
    def _counter(self, trips: Tir, name: str) -> Iterator[str]:
        """A loop of TIR around what is emitted inside; its counter's name has a dot, so that no kernel spells it."""
        ctx = self.ctx
        variable = tir.var(ctx.emit.name(name))
        counter = f"{variable.name}.counter"
        barriers.ask_for_order(ctx)
        with ctx.emit.nested() as body, ctx.indices.counting(counter, variable):
            yield counter
            barriers.ask_for_order(ctx)
        ctx.emit.add(tir.serial(variable, trips, tir.sequence(body)))


def _stages(node: For, name: str) -> int:
    """How many copies of the body make every stage index a constant: the moduli of indices that mention the variable."""
    moduli = [
        modulus
        for view in every_view(node.body)
        for index in stage_indices(view)
        if isinstance(index, Op) and index.kind == "%" and name in names(index)
        for modulus in [constant(index.args[1])]
        if modulus
    ]
    return lcm(*moduli) if moduli else 1


def whole_trips(indices: Indices, ctx: Context, node: For, start: Expr) -> Expr | None:
    """For how many first trips all tiles that move with the loop lie inside their tensors.

    None when no tile moves, or when one does not move linearly and forward.
    """
    name = node.targets[0]
    found: list[Expr] = []
    for view in unrolled_views(node.body, indices):
        if is_shared(view, ctx.types):
            continue
        for axis in global_view(view, ctx.types).axes:
            moving = indices.resolve(axis.start)
            if name not in names(moving):
                continue
            last = _last_whole(indices, axis, moving, name)
            if last is None:
                return None
            found += last
    if not found:
        return None
    trips = (Op("-", (Op("+", (last, Const(1))), start)) for last in dict.fromkeys(map(simplify, found)))
    return simplify(reduce(lambda a, b: Op("min", (a, b)), trips))


def _last_whole(indices: Indices, axis: GlobalAxis, moving: Expr, name: str) -> list[Expr] | None:
    """The largest value of the variable with the axis inside each of its limits."""
    form = linear(moving, name)
    if form is None or form.slope <= 0 or axis.count is None or not never_negative(moving):
        return None
    if not indices.invariant(form.rest) or any(n not in indices.values for n in names(form.rest)):
        return None
    room = (Op("-", (Op("-", (limit, form.rest)), Const(axis.count))) for limit in map(indices.resolve, axis.limits))
    return [Op("//", (r, Const(form.slope))) for r in room]
