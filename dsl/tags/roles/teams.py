"""Who runs what: a team is the waves of one group of one role, or all waves where there are no roles."""

from __future__ import annotations

from dataclasses import dataclass

from argus.dsl.ir import Arrive, AwaitPhase, Barrier, Elect, For, If, Kernel, Role, Stmt
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout.affine import FALSE, TRUE, formula

WARP = 32  # lanes of a wave on sm_90a


@dataclass(frozen=True, slots=True)
class Team:
    """Waves `first` to `first + waves - 1` of the block, which execute the same statements."""

    number: int
    role: str
    group: int
    first: int
    waves: int

    @property
    def members(self) -> range:
        return range(self.first, self.first + self.waves)

    @property
    def mask(self) -> int:
        return ((1 << self.waves) - 1) << self.first

    def __str__(self) -> str:
        return f"role {self.role}" if self.role else "the block"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who executes: a team, or its first lane where one was elected."""

    team: Team
    elected: bool

    @property
    def waves(self) -> range:
        return range(self.team.first, self.team.first + 1) if self.elected else self.team.members

    @property
    def mask(self) -> int:
        return 1 << self.team.first if self.elected else self.team.mask


def teams(kernel: Kernel) -> tuple[Team, ...]:
    """The teams of a block in the order of their waves; roles take waves in the order of the text."""
    out = list[Team]()
    first = 0
    roles = {node.name: node for node in reversed(list(walk_body(kernel.body))) if isinstance(node, Role)}
    for role in reversed(list(roles.values())):
        size = role.waves // role.groups
        for group in range(role.groups):
            out.append(Team(len(out), role.name, group, first, size))
            first += size
    return tuple(out) or (Team(0, "", 0, 0, kernel.waves),)


def across_roles(kernel: Kernel, all_teams: tuple[Team, ...]) -> dict[int, tuple[Team, ...]]:
    """For barriers of more waves than a role has, by their count: the teams of the roles that ever come to one."""
    sizes = dict[str, int]()
    for team in all_teams:
        sizes[team.role] = sizes.get(team.role, 0) + team.waves
    comers = dict[int, set[str]]()
    for role in [n for n in walk_body(kernel.body) if isinstance(n, Role)]:
        for node in walk_body(role.body):
            if isinstance(node, Barrier) and node.waves is not None and node.waves > sizes[role.name]:
                comers.setdefault(node.waves, set()).add(role.name)
    return {count: tuple(t for t in all_teams if t.role in found) for count, found in comers.items()}


def parties(kernel: Kernel, all_teams: tuple[Team, ...]) -> dict[str, int]:
    """For each barrier the waves that ever wait for it or arrive at it, as bits."""
    out = dict[str, int]()

    def visit(body: tuple[Stmt, ...], who: tuple[Team, ...], *, elected: bool) -> None:
        for stmt in body:
            match stmt:
                case AwaitPhase(bar=bar) | Arrive(bar=bar):
                    for team in who:
                        out[bar] = out.get(bar, 0) | (1 << team.first if elected else team.mask)
                case Role(name=name, body=inner):
                    visit(inner, tuple(t for t in who if t.role == name), elected=elected)
                case Elect(body=inner):
                    visit(inner, who, elected=True)
                case For(body=inner):
                    visit(inner, who, elected=elected)
                case If(condition=condition, body=inner, orelse=orelse):
                    holds = formula(condition, {})
                    visit(() if holds == FALSE else inner, who, elected=elected)
                    visit(() if holds == TRUE else orelse, who, elected=elected)
                case _:
                    pass

    visit(kernel.body, all_teams, elected=False)
    return out
