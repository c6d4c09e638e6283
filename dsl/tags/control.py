"""Control flow: conditions by splitting the path, short loops iteration by iteration, the others by induction."""

from __future__ import annotations

from argus.dsl.ir import Barrier, For, If, Role, Shift, Split
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout.affine import Affine, negation
from argus.dsl.tags.context import Context, Frame, Site
from argus.dsl.tags.induction import Induction, Live, Run, forget, scoped, symbol_of
from argus.dsl.tags.parts import Part
from argus.dsl.tags.state import State
from argus.dsl.tags.team import Team
from argus.dsl.tags.views import Outside

MAX_LAG = 3  # barriers that some waves may be behind others
CONCRETE_TRIPS = 16  # loops of at most so many iterations are executed one by one


def branch(cx: Context, stmt: If, state: State, run: Run) -> list[State]:
    """Both ways that are possible; one state again if they leave the same behind."""
    condition, names = cx.condition(stmt.condition), frozenset(state.frags)
    if state.evident(condition):
        return scoped(names, run(stmt.body, [state]))
    if state.refutes(condition):
        return scoped(names, run(stmt.orelse, [state]))
    ends = list[State]()
    for body, fact in ((stmt.body, condition), (stmt.orelse, negation(condition))):
        path = state.fork()
        path.assume(fact)
        if cx.oracle.consistent(path.hypotheses()):
            ends += scoped(names, run(body, [path]))
    return ends


def split_range(cx: Context, state: State, names: tuple[str, ...], value: Split) -> None:
    """`begin, end = split(n, parts)`."""
    begin, end = names
    cx.part = Part(begin, end, cx.evaluate(value.n), cx.evaluate(value.parts))
    state.least |= dict.fromkeys(names, 0)
    for fact in cx.part.ranges:
        state.assume(fact)


def shift(cx: Context, state: State, site: Site, waves: int) -> None:
    """`shift(waves)`: the first waves arrive at a barrier once more, so they fall one barrier behind the others.

    Whoever has ended counts no more, so the last barrier of those behind completes too: nobody is left waiting.
    """
    bits = (1 << waves) - 1
    if any(b.behind not in (0, bits) or b.lag == MAX_LAG for b in state.buffers.values()):
        raise Outside("one more shift(...)")
    cx.registry.get("deadlock", site.number).raise_tier("structure")
    for buffer in state.buffers.values():
        buffer.shift(bits)


def role(cx: Context, stmt: Role, state: State, run: Run) -> list[State]:
    """The groups of a role, one after another.

    They run at the same time, but no barrier lies between them: whatever one of them touches, the next one may not
    rely on, and the races between them are found in whichever order they are looked at.
    """
    if cx.team is not None or any(isinstance(n, Barrier | Shift) for n in walk_body(stmt.body)):
        raise Outside("a barrier inside role(...)")
    first = 0
    for node in dict.fromkeys(n.name for n in walk_body(cx.kernel.body) if isinstance(n, Role)):
        if node == stmt.name:
            break
        first += next(n.waves for n in walk_body(cx.kernel.body) if isinstance(n, Role) and n.name == node)
    size = stmt.waves // stmt.groups
    states, names = [state], frozenset(state.frags)
    cx.registry.get("deadlock", cx.site_of(stmt).number).raise_tier("structure")
    try:
        for group in range(stmt.groups):
            cx.team = Team(first + group * size, size)
            if stmt.index is not None:
                cx.env[stmt.index] = Affine(group)
            states = scoped(names, run(stmt.body, states))
    finally:
        cx.team = None
        if stmt.index is not None:
            cx.env.pop(stmt.index, None)
    return states


def repeat(cx: Context, stmt: For, state: State, run: Run, live: Live) -> list[State]:
    """`range` and `unroll`."""
    name = stmt.targets[0]
    state = forget(cx, state, symbol_of(cx, stmt))  # first: the bounds must not speak of an earlier run of this loop
    bounds = [state.reduce(cx.evaluate(e)) for e in stmt.bounds]
    start, stop = bounds if len(bounds) == 2 else (Affine(), bounds[0])
    outer = cx.env.get(name)
    try:
        trips = stop - start
        if trips.is_const and (stmt.kind == "unroll" or trips.const <= CONCRETE_TRIPS):
            return _each(cx, stmt, state, run, start=start, trips=trips.const)
        return Induction(cx, stmt, state, run, start=start, stop=stop, live=live).solve()
    finally:
        if outer is None:
            cx.env.pop(name, None)
        else:
            cx.env[name] = outer


def _each(cx: Context, stmt: For, state: State, run: Run, *, start: Affine, trips: int) -> list[State]:
    name = stmt.targets[0]
    states, names = [state], frozenset(state.frags)
    cx.frames.append(Frame(name, start, "", 1))
    for i in range(trips):
        cx.env[name] = start + i
        states = scoped(names, run(stmt.body, states))
    cx.frames.pop()
    return states
