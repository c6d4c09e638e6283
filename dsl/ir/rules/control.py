"""Who runs what: the grid, roles, branches, one lane; what barriers demand of them."""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.nodes import (
    Arrive,
    Assign,
    AwaitPhase,
    Barrier,
    Block,
    Commit,
    CopyAsync,
    Fill,
    For,
    If,
    Index,
    Kernel,
    Node,
    Role,
    Shift,
    Split,
    Stmt,
    Use,
    Wait,
)
from argus.dsl.ir.report import diagnostic
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.rules.place import Place, places
from argus.dsl.layout import ZERO, Const
from argus.dsl.layout import names as variables
from argus.dsl.targets.limits import LIMITS

# What one lane can do; everything else is work of a whole wave.
_ONE_LANE = (CopyAsync, Commit, Wait, Arrive, AwaitPhase, For, If)
_MEETS = (Barrier, Fill, Use)
WARPS_OF_A_GROUP = 4


def control_problems(kernel: Kernel, nodes: tuple[Node, ...]) -> Iterator[Diagnostic]:
    """Misplaced grids, roles, barriers and one-lane work."""
    yield from _grid(nodes)
    yield from _roles(kernel, kernel.body)
    for node, place in places(kernel):
        yield from _place(kernel, node, place)


def _grid(nodes: tuple[Node, ...]) -> Iterator[Diagnostic]:
    grids = [
        n
        for n in nodes
        if (isinstance(n, For) and n.kind == "tiles") or (isinstance(n, Assign) and isinstance(n.value, Block))
    ]
    for extra in grids[1:]:
        message = "a kernel has one grid: one block(…) or one loop over tiles"
        yield diagnostic(Code.BAD_CALL, extra.span, message, "join the counts: `bm, bn = block(m, n)`")
    splits = [n for n in nodes if isinstance(n, Assign) and isinstance(n.value, Split)]
    for extra in splits[1:]:
        yield diagnostic(Code.BAD_CALL, extra.span, "a kernel has one split(…)", "delete one")


def _roles(kernel: Kernel, body: tuple[Stmt, ...]) -> Iterator[Diagnostic]:
    roles = [n for n in body if isinstance(n, Role)]
    if roles:
        yield from _siblings(kernel, roles)
    for node in body:
        match node:
            case Role():
                yield from _role(kernel, node)
            case If():
                yield from _roles(kernel, node.body)
                yield from _roles(kernel, node.orelse)
            case For() | Fill() | Use():
                yield from _roles(kernel, node.body)
            case _:
                pass


def _siblings(kernel: Kernel, roles: list[Role]) -> Iterator[Diagnostic]:
    total = sum(r.waves for r in roles)
    if total != kernel.waves:
        message = f"the roles have {total} waves, the kernel {kernel.waves}"
        yield diagnostic(Code.BAD_SIZE, roles[0].span, message, "every wave plays one role")
    for i, role in enumerate(roles):
        if role.name in {r.name for r in roles[:i]}:
            yield diagnostic(Code.BAD_CALL, role.span, f'two roles are called "{role.name}"', "rename one")
    budget = LIMITS[kernel.target].registers
    used = sum((r.regs or 0) * r.waves * LIMITS[kernel.target].lanes for r in roles)
    if used > budget:
        message = f"the roles' registers are {used:,}; a block has {budget:,}"
        yield diagnostic(Code.LIMIT, roles[0].span, message, "lower `regs=` of the role that loads")


def _role(kernel: Kernel, node: Role) -> Iterator[Diagnostic]:
    group = WARPS_OF_A_GROUP if kernel.target == "sm_90a" else 1
    if node.waves % group:
        message = f"a role of {node.waves} waves; sm_90a gives out warpgroups of {group}"
        yield diagnostic(Code.BAD_SIZE, node.span, message, f"use a multiple of {group}")
    if node.waves % node.groups or (node.waves // node.groups) % group:
        message = f"{node.waves} waves do not make {node.groups} equal groups"
        yield diagnostic(
            Code.BAD_SIZE, node.span, message, "a group is a whole number of waves, on sm_90a of warpgroups"
        )
    if node.regs is not None and (node.regs % 8 or not 24 <= node.regs <= 256):
        message = f"a role with {node.regs} registers a lane"
        yield diagnostic(Code.BAD_SIZE, node.span, message, "a multiple of 8 from 24 to 256")
    if any(isinstance(n, Role) for n in walk_body(node.body)):
        yield diagnostic(Code.BAD_CALL, node.span, "a role inside a role", "write the roles side by side")


def _place(kernel: Kernel, node: Stmt, place: Place) -> Iterator[Diagnostic]:
    if place.elect is not None and not isinstance(node, _ONE_LANE) and not _names_an_integer(node):
        message = "elect() runs on one lane, this is work of a whole wave"
        yield diagnostic(Code.NOT_UNIFORM, node.span, message, "move it out of elect()")
    if isinstance(node, _MEETS):
        yield from _meets(node, place)
    match node:
        case For(kind="unroll", bounds=bounds) if not (bounds[0] == ZERO and isinstance(bounds[1], Const)):
            if place.bounds(bounds[1]) is None:
                yield diagnostic(
                    Code.BAD_CALL, node.span, "the count of an unrolled loop is a constant", "use range(n)"
                )
        case For(kind="tiles") if place.depth:
            yield diagnostic(Code.BAD_CALL, node.span, "the loop over tiles is the kernel's outermost", "move it out")
        case Barrier(waves=waves) if waves is not None and waves > kernel.waves:
            message = f"a barrier of {waves} waves in a block of {kernel.waves}"
            yield diagnostic(Code.BAD_SIZE, node.span, message, "it would never complete")
        case Shift(waves=waves) if waves >= kernel.waves:
            message = f"a shift of {waves} waves in a block of {kernel.waves}"
            yield diagnostic(Code.BAD_SIZE, node.span, message, f"half the waves: shift({kernel.waves // 2})")
        case Fill(ring=ring) if ring in place.fills:
            yield diagnostic(Code.BAD_CALL, node.span, f"a fill of `{ring}` inside a fill of it", "close the first one")
        case _:
            pass


def _names_an_integer(node: Stmt) -> bool:
    return isinstance(node, Assign) and isinstance(node.value, Index)


def _meets(node: Barrier | Fill | Use, place: Place) -> Iterator[Diagnostic]:
    what = "a barrier" if isinstance(node, Barrier) else "a fill" if isinstance(node, Fill) else "a use"
    for branch in place.branches:
        if branch.orelse:
            message = f"{what} inside a branch with `else`"
            hint = "write the condition twice, or make both paths the same with select and pads"
            yield diagnostic(Code.NOT_UNIFORM, node.span, message, hint)
        elif (names := variables(branch.condition) & place.wave_dependent) and not _named(node):
            message = f"{what} that only some waves reach: `{min(names)}` differs between waves"
            yield diagnostic(Code.NOT_UNIFORM, node.span, message, "move it out of the branch")


def _named(node: Stmt) -> bool:
    return isinstance(node, Barrier) and node.waves is not None
