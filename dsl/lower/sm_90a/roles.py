"""One program a role: roles are disjoint sets of waves, so each is given what it runs of the whole kernel.

A register budget is set once, and a branch taken once, before any loop; in the text roles stand inside the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from argus.dsl.ir import Assign, Commit, Elect, For, If, Kernel, MBar, Role, Shared, Stmt, Wait
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.lower.errors import unsupported

Body = tuple[Stmt, ...]
WARPGROUP = 4


@dataclass(frozen=True, slots=True)
class Program:
    """What some waves run.

    Attributes:
        role: None where the kernel has none.
        first, waves: The waves.
        group: Waves that execute a statement together.
        number: The role's place among the roles.
    """

    role: Role | None
    first: int
    waves: int
    group: int
    number: int
    body: Body


def programs(kernel: Kernel) -> tuple[Program, ...]:
    """Each role's program, in the order of its waves.

    Raises:
        KernelError: If a role stands in a branch.
    """
    body = tuple(s for s in kernel.body if not (isinstance(s, Assign) and isinstance(s.value, Shared | MBar)))
    roles = list(_roles(body))
    if not roles:
        return (Program(None, 0, kernel.waves, kernel.waves, 0, _elected(body)),)
    out: list[Program] = []
    first = 0
    for number, role in enumerate(roles):
        own = _only(body, role)
        if not any(isinstance(n, Commit) for n in walk_body(own)):
            own = _without_waits(own)
        out.append(Program(role, first, role.waves, role.waves // role.groups, number, _elected(own)))
        first += role.waves
    return tuple(out)


def _roles(body: Body) -> Iterator[Role]:
    for s in body:
        match s:
            case Role():
                yield s
            case For():
                yield from _roles(s.body)
            case If():
                inner = next((n for n in walk_body((*s.body, *s.orelse)) if isinstance(n, Role)), None)
                if inner is not None:
                    raise unsupported(inner, "a role in a branch is not lowered yet", "branch inside the role")
            case _:
                pass


def _only(body: Body, role: Role) -> Body:
    out: list[Stmt] = []
    for s in body:
        match s:
            case Role(name=name, body=inner):
                out += inner if name == role.name else ()
            case For():
                out.append(replace(s, body=_only(s.body, role)))
            case _:
                out.append(s)
    return tuple(out)


def _without_waits(body: Body) -> Body:
    """Waves that issue no group of copies have nothing to wait for."""
    kept = (s for s in body if not isinstance(s, Wait))
    return tuple(replace(s, body=_without_waits(s.body)) if isinstance(s, For) else s for s in kept)


def _elected(body: Body) -> Body:
    """Loops whose bodies one lane alone runs are left to that lane."""
    return tuple(_elect_loop(s) for s in body)


def _elect_loop(s: Stmt) -> Stmt:
    if not isinstance(s, For):
        return s
    body = _elected(s.body)
    if body and all(isinstance(inner, Elect) for inner in body):
        flat = tuple(n for inner in body if isinstance(inner, Elect) for n in inner.body)
        return Elect(body=(replace(s, body=flat),), span=s.span)
    return replace(s, body=body)
