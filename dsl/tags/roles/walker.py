"""The walk over a kernel of several teams: each runs until it waits, loops run side by side."""

from __future__ import annotations

from dataclasses import dataclass

from argus.dsl.ir import (
    AwaitPhase,
    Barrier,
    Elect,
    For,
    If,
    MmaInto,
    Ref,
    Role,
    Stmt,
)
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout.affine import Affine, negation
from argus.dsl.tags.analysis import MAX_STATES
from argus.dsl.tags.context import block_all
from argus.dsl.tags.coverage import coverage
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.roles.joint_loop import JointLoop, Later, forget_run
from argus.dsl.tags.roles.partners import partners
from argus.dsl.tags.roles.sync import Sync, sync_of
from argus.dsl.tags.roles.team_walker import TeamWalker
from argus.dsl.tags.roles.teams import Actor, Team, across_roles
from argus.dsl.tags.roles.tile_loop import TileLoop
from argus.dsl.tags.state import State
from argus.dsl.tags.views import Outside

CONCRETE_TRIPS = 16


@dataclass(frozen=True, slots=True)
class Bind:
    """An unrolled loop variable takes a value; None: it ends."""

    name: str
    form: Affine | None


@dataclass(frozen=True, slots=True)
class Elected:
    """From here one lane executes, or all again."""

    on: bool


Item = Stmt | Bind | Elected
Work = dict[int, tuple[Item, ...]]


@dataclass(slots=True, eq=False)
class _Path:
    """A state, what each team has still to do, and which teams have elected a lane."""

    state: State
    work: Work
    elected: frozenset[int] = frozenset()


class _Forked(Exception):
    """A condition that may be true or false splits the path."""

    def __init__(self, paths: list[_Path]) -> None:
        super().__init__()
        self.paths = paths


class RoleWalker(TeamWalker):
    """The walk; `stuck` says that some teams waited for others for ever."""

    stuck: bool = False

    def run(self) -> None:
        cx = self.cx
        sync = Sync.fresh(cx.kernel, cx.types, self.families, self.teams)
        state = State({}, {}, least={size: 1 for size in cx.types.sizes}, sync=sync)
        roles = [n for n in walk_body(cx.kernel.body) if isinstance(n, Role)]
        for role in roles:
            groups = [t for t in self.teams if t.role == role.name]
            cx.registry.get("deadlock", cx.site_of(role).number).raise_tier("structure")
            for team in groups:
                if role.index is not None:
                    sync.env[team.number][role.index] = Affine(team.group)
        finals = self.run_teams({t.number: cx.kernel.body for t in self.teams}, state)
        for final in finals:
            if not final.lost:
                self.copies.ended(final)
        coverage(cx, self.blocks, finals, self._ends_of_tiles)

    # ---------------------------------------------------------------------------------------- the walk

    def run_teams(self, bodies: dict[int, tuple[Stmt, ...]], state: State) -> list[State]:
        """All teams to the end of their statements."""
        waiting = [_Path(state, dict(bodies))]
        done = list[State]()
        while waiting:
            if len(waiting) + len(done) > MAX_STATES:
                for path in waiting:
                    self._give_up(path, "too many cases are open")
                return [path.state for path in waiting]
            path = waiting.pop()
            try:
                finished = self._as_far_as(path)
            except _Forked as fork:
                waiting += reversed(fork.paths)
                continue
            except Outside as e:
                self._give_up(path, str(e))
                finished = [path]
            for end in finished:
                if end.state.lost or not any(end.work.values()):
                    done.append(end.state)
                else:
                    waiting.append(end)
        return done

    def _give_up(self, path: _Path, reason: str) -> None:
        path.state.lost = path.state.lost or reason
        for items in path.work.values():
            block_all(self.cx, tuple(i for i in items if not isinstance(i, Bind | Elected)), path.state.lost)

    def _as_far_as(self, path: _Path) -> list[_Path]:
        """Run the teams as far as they come; then the loops that they stand before."""
        moved = True
        while moved:
            moved = False
            for number in path.work:
                moved |= self._run_team(path, number)
        heads = {t: items[0] for t, items in path.work.items() if items}
        if not heads:
            return [path]
        loops = {t: s for t, s in heads.items() if isinstance(s, For)}
        if not loops:
            self._stuck(path, heads)
            return [path]
        return self._side_by_side(path, loops)

    def _run_team(self, path: _Path, number: int) -> bool:
        """One team until it waits, ends or stands before a loop; whether it did anything."""
        sync = sync_of(path.state)
        path.state.frags = sync.frags[number]
        self.cx.env.update(sync.env[number])
        moved = False
        try:
            while path.work[number]:
                item, rest = path.work[number][0], path.work[number][1:]
                self.actor = Actor(self.teams[number], number in path.elected)
                try:
                    replaced = self._item(path, number, item, rest)
                except Outside as e:
                    raise self._outside_item(item, e) from None
                if replaced is None:
                    break
                path.work[number] = replaced
                moved = True
        finally:
            for name in sync.env[number]:
                self.cx.env.pop(name, None)
        return moved

    def _outside_item(self, item: Item, e: Outside) -> Outside:
        if isinstance(item, Bind | Elected):
            return e
        reason = f"{e} (line {item.span.line}) is outside this slice of the checker"
        block_all(self.cx, (item,), reason)
        return Outside(reason)

    def _item(self, path: _Path, number: int, item: Item, rest: tuple[Item, ...]) -> tuple[Item, ...] | None:
        """What the team does after this; None if it cannot go on, or stands before a loop."""
        sync = sync_of(path.state)
        match item:
            case Bind(name=name, form=form):
                if form is None:
                    sync.env[number].pop(name, None)
                    self.cx.env.pop(name, None)
                else:
                    sync.env[number][name] = self.cx.env[name] = form
                return rest
            case Elected(on=on):
                path.elected = path.elected | {number} if on else path.elected - {number}
                return rest
            case Role(name=name, body=body):
                return (*body, *rest) if self.teams[number].role == name else rest
            case Elect(body=body):
                return (Elected(True), *body, Elected(False), *rest)
            case If():
                return (*self._taken(path, number, item, rest), *rest)
            case For():
                return self._unrolled(path, item, rest)
            case AwaitPhase():
                over = self.arrivals.awaited(path.state, self.actor, self._site(item), item)
                return rest if over else None
            case Barrier():
                return rest if self._meets(path, item) else None
            case _:
                self.perform(path.state, item)
                return rest

    # ----------------------------------------------------------------------------------- control flow

    def _taken(self, path: _Path, number: int, stmt: If, rest: tuple[Item, ...]) -> tuple[Stmt, ...]:
        condition = self.cx.condition(stmt.condition)
        if path.state.evident(condition):
            return stmt.body
        if path.state.refutes(condition):
            return stmt.orelse
        paths = list[_Path]()
        for body, fact in ((stmt.body, condition), (stmt.orelse, negation(condition))):
            state = path.state.fork()
            state.assume(fact)
            if self.cx.oracle.consistent(state.hypotheses()):
                paths.append(_Path(state, {**path.work, number: (*body, *rest)}, path.elected))
        raise _Forked(paths)

    def _unrolled(self, path: _Path, stmt: For, rest: tuple[Item, ...]) -> tuple[Item, ...] | None:
        """A loop of few known trips, written out; None for others."""
        if stmt.kind == "tiles":
            return None
        start, stop = self._bounds(path.state, stmt)
        trips = stop - start
        if not trips.is_const or (stmt.kind == "range" and trips.const > CONCRETE_TRIPS):
            return None
        if any(isinstance(n, Role) for n in walk_body(stmt.body)):
            raise Outside("roles inside an unrolled loop")
        name = stmt.targets[0]
        out = list[Item]()
        for i in range(trips.const):
            out += [Bind(name, start + i), *stmt.body]
        return (*out, Bind(name, None), *rest)

    def _bounds(self, state: State, stmt: For) -> tuple[Affine, Affine]:
        bounds = [state.reduce(self.cx.evaluate(e)) for e in stmt.bounds]
        return (bounds[0], bounds[1]) if len(bounds) == 2 else (Affine(), bounds[0])

    def _meets(self, path: _Path, stmt: Barrier) -> bool:
        """Whether a barrier's waves are all there; then they have met."""
        sync, team = sync_of(path.state), self.actor.team
        site = self._site(stmt)
        for kind in ("divergence", "deadlock"):
            self.cx.registry.get(kind, site.number).raise_tier("structure")
        count = self.cx.kernel.waves if stmt.waves is None else stmt.waves
        if team.waves % count == 0:
            for part in range(team.waves // count):
                sync.order.meet(((1 << count) - 1) << (team.first + part * count))
            return True
        members, key = self._participants(team, stmt)
        comers = sum(t.waves for t in members)
        if comers < count:
            return False  # it never completes
        if comers > count:
            raise Outside(f"a barrier of {count} waves, which no teams make up")
        arrived = sync.meeting.get(key, frozenset()) | {team.number}
        others = [t for t in members if t.number != team.number]
        if len(arrived) < len(members):
            sync.meeting[key] = arrived
            return False
        if any(t.number not in path.work for t in others):
            raise Outside("a barrier inside a loop with one outside it")
        # The others stand before barriers that this one completes.
        for t in others:
            if t.role == team.role and path.work[t.number][0] is not stmt:
                self._diverged(path.state, stmt, path.work[t.number][0])
            path.work[t.number] = path.work[t.number][1:]
        sync.meeting.pop(key, None)
        mask = 0
        for t in members:
            mask |= t.mask
        sync.order.meet(mask)
        return True

    def _diverged(self, state: State, stmt: Barrier, other: Item) -> None:
        """Waves of one role meet at different statements: each barrier ends the other's wait."""
        finding = Finding(
            "waves of one role meet at different barriers", stmt.span, self.cx.loops(),
            producer=other.span if isinstance(other, Barrier) else None, fix_class="missing barrier",
        )  # fmt: skip
        self.cx.violated(
            self.cx.registry.get("divergence", self._site(stmt).number), state, "structure", lambda: finding
        )

    def _participants(self, team: Team, stmt: Barrier) -> tuple[tuple[Team, ...], tuple[object, ...]]:
        """Which teams come to a barrier that a team stands before, and what tells it from others."""
        if stmt.waves in (None, self.cx.kernel.waves):
            return self.teams, ("all", stmt.waves)
        role = tuple(t for t in self.teams if t.role == team.role)
        if stmt.waves <= sum(t.waves for t in role):
            return role, (team.role, stmt.waves)
        in_roles = {id(n) for r in walk_body(self.cx.kernel.body) if isinstance(r, Role) for n in walk_body(r.body)}
        if id(stmt) not in in_roles:
            raise Outside(f"a barrier of {stmt.waves} waves outside the roles that it joins")
        return across_roles(self.cx.kernel, self.teams)[stmt.waves], ("across", stmt.waves)

    def _side_by_side(self, path: _Path, loops: dict[int, For]) -> list[_Path]:
        """Loops of equal trip counts, side by side."""
        first = next(iter(loops.values()))
        if first.kind == "tiles":
            if any(s is not first for s in loops.values()) or len(loops) < len(self.teams):
                raise Outside("tiles(...) that not all teams walk together")
            tiles = TileLoop(self, first, path.state)
            ends = tiles.run()
            self._ends_of_tiles += tiles.ends
        else:
            for stmt in {id(s): s for s in loops.values()}.values():
                path.state = forget_run(self.cx, path.state, stmt)  # the bounds must not speak of an earlier run
            if path.state.lost:
                self._give_up(path, path.state.lost)
                return [path]
            loops, ends = self._joint(path, loops)
        work = {t: items[1:] if t in loops else items for t, items in path.work.items()}
        out = [_Path(end, dict(work), path.elected) for end in ends]
        for lost in (p for p in out if p.state.lost):
            self._give_up(lost, lost.state.lost)
        return out

    def _joint(self, path: _Path, loops: dict[int, For]) -> tuple[dict[int, For], list[State]]:
        """One group of loops to its end: the first that does not wait for teams beyond it; and which it was."""
        bounds = {t: self._bounds(path.state, s) for t, s in loops.items()}
        groups = partners(loops, bounds)
        for group in groups:
            mark = self.cx.registry.mark()
            state = path.state if group is groups[-1] else path.state.fork()
            start, stop = bounds[next(iter(group))]
            later = self._rest({t: items[1:] if t in group else items for t, items in path.work.items()})
            outer = {s.targets[0]: self.cx.env.get(s.targets[0]) for s in group.values()}
            self.stuck = False
            ends = JointLoop(
                self.cx, self.families, group, state, self.run_teams, start=start, stop=stop, later=later
            ).solve_teams()
            for name, form in outer.items():
                if form is None:
                    self.cx.env.pop(name, None)
                else:
                    self.cx.env[name] = form
            if not self.stuck or group is groups[-1]:
                return group, ends
            self.cx.registry.rewind(mark)
        raise AssertionError("some loop is the last")

    def _rest(self, work: Work) -> Later:
        names, buffers = set[str](), set[str]()
        for t, items in work.items():
            nodes = list(walk_body(tuple(i for i in items if not isinstance(i, Bind | Elected))))
            names |= {f"{t}/{n.name}" for n in nodes if isinstance(n, Ref)}
            names |= {f"{t}/{n.acc}" for n in nodes if isinstance(n, MmaInto)}
            buffers |= {n.name for n in nodes if isinstance(n, Ref) and n.name in self.cx.types.buffers}
        return Later(frozenset(names), frozenset(buffers))

    def _stuck(self, path: _Path, heads: dict[int, Item]) -> None:
        """Every team here waits: if these are all, no schedule gets further."""
        self.stuck = True
        waits = [(t, s) for t, s in heads.items() if not isinstance(s, Bind | Elected)]
        if len(path.work) < len(self.teams):
            self._give_up(path, f"line {waits[0][1].span.line} waits for teams that are not in the same loop")
            return
        for team, stmt in waits:
            others = [s for _, s in waits if s is not stmt]
            fix_class, fix = self.arrivals.why_stuck(path.state, stmt, self.teams[team])
            finding = Finding(
                "every team waits, and none can go on", stmt.span, self.cx.loops(),
                producer=others[0].span if others else None, fix_class=fix_class, fix=fix,
            )  # fmt: skip
            obligation = self.cx.registry.get("deadlock", self._site(stmt).number)
            self.cx.violated(obligation, path.state, "structure", lambda finding=finding: finding)
        self._give_up(path, f"all teams wait at line {waits[0][1].span.line}")
