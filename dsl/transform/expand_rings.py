"""Rings in terms of buffers, indices and waits.

A ring `r` of S stages becomes buffers `r.As` with a leading axis of S; the i-th fill and the i-th use take stage i % S.

Where the fills are groups of copies (gfx942, or cp.async): a fill is its body and `Commit`; a use is `Wait(n)`,
`Barrier`, its body.

Where the fills are TMA copies (sm_90a): `r.full[s]` completes when the bytes of a fill of stage s have arrived,
`r.empty[s]` when every wave that uses the ring has freed the stage. In a fill one lane awaits the completion of
`empty` that belongs to the use S fills ago and issues the copies; a use awaits `full`, and frees its stage when at
most `keep` batches of MMAs are pending.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from argus.dsl.diagnostics import Code, Span
from argus.dsl.ir.linear import constant, equal, product, simplify, total, trips
from argus.dsl.ir.nodes import (
    Arrive,
    Assign,
    At,
    AwaitPhase,
    Barrier,
    Commit,
    CopyAsync,
    Elect,
    Fence,
    Field,
    Fill,
    For,
    If,
    Kernel,
    MBar,
    MmaAcc,
    MmaWait,
    Node,
    Ref,
    Ring,
    Role,
    Shared,
    Stmt,
    Use,
    Wait,
)
from argus.dsl.ir.report import kernel_error
from argus.dsl.ir.rewrite import map_children, walk_body
from argus.dsl.ir.shapes import Types, view_type
from argus.dsl.layout import ONE, ZERO, Const, Expr, Op, Var
from argus.dsl.targets.atoms import ATOMS
from argus.dsl.transform.blocks import Body, with_bodies
from argus.dsl.transform.ring_counts import count, per_iteration
from argus.dsl.transform.ring_styles import Style, ring_styles
from argus.dsl.transform.ring_waits import group_waits


@dataclass(frozen=True, slots=True)
class ExpandRings:
    """Rings become buffers, indices, waits and barriers."""

    name: ClassVar[str] = "expand-rings"

    def __call__(self, kernel: Kernel) -> Kernel:
        rings = {s.targets[0]: s.value for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, Ring)}
        if not rings:
            return kernel
        for ring in rings.values():
            if ring.stages < 1:
                raise kernel_error(Code.BAD_SIZE, ring.span, f"a ring of {ring.stages} stages", "1 stage or more")
        styles = ring_styles(kernel.body, rings)
        waits = group_waits(kernel.body, [name for name in rings if styles[name] == "groups"])
        expander = _Expander(kernel, rings, styles, waits)
        body = expander.block(kernel.body)
        return replace(kernel, body=(*expander.allocations(), *body))


@dataclass(slots=True)
class _Counts:
    """At the current point: fills and uses so far, and the uses that the last `mma_wait(0)` freed.

    None: not expressible, after a loop over tiles.
    """

    fills: dict[str, Expr | None]
    uses: dict[str, Expr | None]
    freed: dict[str, Expr | None]


@dataclass(slots=True)
class _Expander:
    kernel: Kernel
    rings: dict[str, Ring]
    styles: dict[str, Style]
    waits: dict[int, int]
    counts: _Counts = field(init=False)
    role: Role | None = None
    using_role: dict[str, Role | None] = field(default_factory=dict[str, "Role | None"])
    stages: dict[str, tuple[str, Expr]] = field(default_factory=dict[str, tuple[str, Expr]])
    in_use: int = 0

    def __post_init__(self) -> None:
        start: dict[str, Expr | None] = dict.fromkeys(self.rings, ZERO)
        self.counts = _Counts(dict(start), dict(start), dict(start))

    # -------------------------------------------------------------------------------- allocations

    def allocations(self) -> Body:
        out: list[Stmt] = []
        for name, ring in self.rings.items():
            for part, buffer in ring.buffers:
                staged = replace(buffer, shape=(ring.stages, *buffer.shape))
                out.append(Assign(targets=(f"{name}.{part}",), value=staged, span=buffer.span))
            if self.styles[name] == "phases":
                role = self.using_role.get(name)
                waves = self.kernel.waves if role is None else role.waves
                for part, arrivals in (("full", 1), ("empty", waves)):
                    bar = MBar(arrivals=arrivals, count=ring.stages, span=ring.span)
                    out.append(Assign(targets=(f"{name}.{part}",), value=bar, span=ring.span))
        return tuple(out)

    def _buffers(self) -> Types:
        buffers = {
            f"{name}.{part}": replace(b, shape=(ring.stages, *b.shape))
            for name, ring in self.rings.items()
            for part, b in ring.buffers
        }
        own = {s.targets[0]: s.value for s in self.kernel.body if isinstance(s, Assign) and isinstance(s.value, Shared)}
        return Types(params={}, buffers={**own, **buffers}, frags={}, sizes=())

    # --------------------------------------------------------------------------------- statements

    def block(self, body: Body) -> Body:
        return tuple(new for old in body for new in self._statement(old))

    def _statement(self, node: Stmt) -> Body:
        match node:
            case Assign(value=Ring()):
                return ()
            case Fill():
                return self._fill(node)
            case Use():
                return self._use(node)
            case For():
                return (self._loop(node),)
            case If():
                self._demand_equal_paths(node)
                return (self._inside(node),)
            case MmaWait(pending=0):
                return (node, *self._free_held(node))
            case Role():
                outer, self.role = self.role, node
                out = self._inside(node)
                self.role = outer
                return (out,)
            case _:
                return (self._inside(node),)

    def _demand_equal_paths(self, node: If) -> None:
        for ring in self.rings:
            count((node,), ring, "fill")
            count((node,), ring, "use")

    def _inside(self, node: Stmt) -> Stmt:
        node = with_bodies(node, self.block) if isinstance(node, If | Role | Elect) else node
        # Bodies hold no fields any more; what is left are the statement's own views.
        return map_children(node, self._field)

    def _field(self, child: Any) -> Any:  # noqa: ANN401 - nodes and index expressions
        if isinstance(child, Field):
            ring, index = self.stages[child.src.name]
            return At(src=Ref(name=f"{ring}.{child.name}", span=child.span), index=index, span=child.span)
        return map_children(child, self._field) if isinstance(child, Node) else child

    # -------------------------------------------------------------------------------------- loops

    def _loop(self, node: For) -> For:
        per_fill = {ring: per_iteration(node, ring, "fill") for ring in self.rings}
        per_use = {ring: per_iteration(node, ring, "use") for ring in self.rings}
        done, runs = _iterations(node)
        before = _Counts(dict(self.counts.fills), dict(self.counts.uses), dict(self.counts.freed))
        drains = any(isinstance(n, MmaWait) and n.pending == 0 for n in walk_body(node.body))
        for ring in self.rings:
            self.counts.fills[ring] = _after(before.fills[ring], done, per_fill[ring])
            self.counts.uses[ring] = _after(before.uses[ring], done, per_use[ring])
            if drains and per_use[ring] != ZERO:
                self._demand_freed(ring, node.span, before)
                self.counts.freed[ring] = self.counts.uses[ring]
        out = replace(node, body=self.block(node.body))
        for ring in self.rings:
            if drains and per_use[ring] != ZERO:
                self._demand_freed(ring, node.span, self.counts)
            self.counts.fills[ring] = _after(before.fills[ring], runs, per_fill[ring])
            self.counts.uses[ring] = _after(before.uses[ring], runs, per_use[ring])
            self.counts.freed[ring] = self.counts.uses[ring] if drains and per_use[ring] != ZERO else before.freed[ring]
        return out

    def _demand_freed(self, ring: str, span: Span, at: _Counts) -> None:
        freed, uses = at.freed[ring], at.uses[ring]
        # Without `keep` every use frees its own stage, and no wait in between frees another.
        if (
            self.styles[ring] == "phases"
            and self._keep(ring)
            and (freed is None or uses is None or not equal(freed, uses))
        ):
            message = f"`mma_wait(0)` frees stages of `{ring}` in the middle of a loop"
            raise kernel_error(Code.UNSUPPORTED, span, message, "end the loop's body with mma_wait(0)")

    def _keep(self, ring: str) -> int:
        return max((n.keep for n in walk_body(self.kernel.body) if isinstance(n, Use) and n.ring == ring), default=0)

    # ----------------------------------------------------------------------------- fills and uses

    def _next(self, node: Fill | Use) -> Expr:
        """The number of this fill or use; it counts from here on."""
        counts = self.counts.fills if isinstance(node, Fill) else self.counts.uses
        i = counts[node.ring]
        if i is None:
            message = f"`{node.ring}` is used after a loop over tiles: which stage follows is not known"
            raise kernel_error(Code.UNSUPPORTED, node.span, message, "keep the ring inside the loop")
        counts[node.ring] = total(i, ONE)
        return i

    def _stage_body(self, node: Fill | Use, stage: Expr) -> Body:
        outer = self.stages.get(node.stage)
        self.stages[node.stage] = (node.ring, stage)
        body = self.block(node.body)
        if outer is None:
            del self.stages[node.stage]
        else:
            self.stages[node.stage] = outer
        return body

    def _fill(self, node: Fill) -> Body:
        i, stages, span = self._next(node), self.rings[node.ring].stages, node.span
        stage = _modulo(i, stages)
        body = self._stage_body(node, stage)
        if self.styles[node.ring] == "groups":
            return (*body, Commit(span=span))
        types = self._buffers()
        size = _copied_bytes(body, types)
        free = AwaitPhase(bar=f"{node.ring}.empty", completion=_earlier(i, stages), slot=stage, span=span)
        arrive = Arrive(bar=f"{node.ring}.full", bytes=size, slot=stage, span=span)
        # The lane that issues the copies waits alone: another wave might lag two phases behind and miss the parity.
        return (Elect(body=(free, *body, arrive), span=span),)

    def _use(self, node: Use) -> Body:
        i, stages, span = self._next(node), self.rings[node.ring].stages, node.span
        stage = _modulo(i, stages)
        self.using_role[node.ring] = self.role
        self.in_use += 1
        body = self._stage_body(node, stage)
        self.in_use -= 1
        pending = _wgmma(self.kernel.body)
        drained = (MmaWait(pending=node.keep, span=span),) if pending else ()
        if self.styles[node.ring] == "groups":
            # A use that never runs has no number.
            wait = Wait(pending=self.waits.get(id(node), 0), span=span)
            # Copies by cp.async are ordinary writes, which wgmma does not see without a fence.
            fence = (Fence(span=span),) if pending else ()
            waves = None if self.role is None else self.role.waves // self.role.groups
            return (wait, *fence, Barrier(waves=waves, span=span), *body, *drained)
        full = AwaitPhase(bar=f"{node.ring}.full", completion=_quotient(i, stages), slot=stage, span=span)
        return (full, *body, *drained, *self._free(node, i))

    def _free(self, node: Use, i: Expr) -> Body:
        """Free the stage used `keep` uses before this one, if there was one that is not freed yet."""
        stages, span = self.rings[node.ring].stages, node.span
        held = simplify(Op("-", (i, Const(node.keep))))
        arrive = Arrive(bar=f"{node.ring}.empty", slot=_modulo(held, stages), span=span)
        if node.keep == 0:
            return (arrive,)
        freed = self.counts.freed[node.ring]
        assert freed is not None
        since = simplify(Op("-", (i, freed)))
        return (If(condition=Op(">=", (since, Const(node.keep))), body=(arrive,), span=span),)

    def _free_held(self, node: MmaWait) -> Body:
        """After `mma_wait(0)` nothing is pending, so every stage still held is free."""
        out: list[Stmt] = []
        for ring, style in self.styles.items():
            keep = self._keep(ring)
            uses, freed = self.counts.uses[ring], self.counts.freed[ring]
            if style == "groups" or keep == 0 or self.using_role.get(ring, self.role) is not self.role:
                continue
            if self.role is not None and not any(
                isinstance(n, Use) and n.ring == ring for n in walk_body(self.role.body)
            ):
                continue  # a role further down holds its stages
            if self.in_use or uses is None or freed is None:
                message = f"`mma_wait(0)` inside a use of `{ring}` would free the stage in use"
                raise kernel_error(Code.UNSUPPORTED, node.span, message, "write it after the use")
            for back in range(keep, 0, -1):
                held = simplify(Op("-", (uses, Const(back))))
                arrive = Arrive(bar=f"{ring}.empty", slot=_modulo(held, self.rings[ring].stages), span=node.span)
                since = simplify(Op("-", (uses, freed)))
                out.append(If(condition=Op(">=", (since, Const(back))), body=(arrive,), span=node.span))
            self.counts.freed[ring] = uses
        return tuple(out)


def _wgmma(body: Body) -> bool:
    """Whether the kernel has MMAs that stay pending and read shared memory by themselves."""
    accumulators = (s.value.atom for s in walk_body(body) if isinstance(s, Assign) and isinstance(s.value, MmaAcc))
    return any(ATOMS[name].warpgroup for name in accumulators if name in ATOMS)


# ---------------------------------------------------------------------------------------- arithmetic


def _iterations(node: For) -> tuple[Expr, Expr | None]:
    """How many iterations came before this one, and how many there are."""
    if node.kind == "tiles":
        return Var(f"{node.targets[0]}.n"), None
    start, stop = node.bounds
    return simplify(Op("-", (Var(node.targets[0]), start))), trips(start, stop)


def _after(base: Expr | None, runs: Expr | None, each: Expr) -> Expr | None:
    if each == ZERO:
        return base
    return None if base is None or runs is None else total(base, product(runs, each))


def _modulo(i: Expr, stages: int) -> Expr:
    value = constant(i)
    return Const(value % stages) if value is not None else Op("%", (i, Const(stages)))


def _quotient(i: Expr, stages: int) -> Expr:
    value = constant(i)
    return Const(value // stages) if value is not None else Op("//", (i, Const(stages)))


def _earlier(i: Expr, stages: int) -> Expr:
    """Which completion of `empty` frees the stage for fill i: none for the first S fills."""
    return simplify(Op("-", (_quotient(i, stages), ONE)))


def _copied_bytes(body: Body, types: Types) -> int:
    """Bytes that the TMA copies of a fill move; TMA counts the whole box, also outside the tensor."""
    out = 0
    for node in body:
        match node:
            case CopyAsync(via="tma"):
                out += view_type(types, node.dst).bytes
            case For(body=inner, bounds=(start, stop)) if (n := constant(trips(start, stop))) is not None:
                out += n * _copied_bytes(inner, types)
            case _:
                message = 'a fill by TMA holds only copy_async(…, via="tma")'
                raise kernel_error(Code.UNSUPPORTED, node.span, message, "move the rest before or after the fill")
    return out
