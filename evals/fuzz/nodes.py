"""Random IR: kernels whose nodes are exchanged with nodes of the same sort from anywhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from random import Random
from typing import Any

from argus.dsl import ir
from argus.dsl.ir.rewrite import map_children, walk
from argus.dsl.layout import Const, Expr, Op, Var

Pool = Mapping[str, Sequence[Any]]

_SORTS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("name", (ir.Ref,)),  # of a view or of registers
    ("view", (ir.TileAt, ir.At, ir.Rows, ir.Cols, ir.Transposed, ir.Gather)),
    ("frag", (ir.Scalar, ir.Index, ir.Load, ir.MmaAcc, ir.Operand, ir.AsOperand, ir.Cast, ir.Unary, ir.Binary,
              ir.Select, ir.Coordinate, ir.Mask, ir.Reduce, ir.Relayout, ir.Shuffle)),
    ("statement", (ir.Assign, ir.Store, ir.AtomicAdd, ir.Copy, ir.CopyAsync, ir.Commit, ir.Wait, ir.Barrier, ir.Shift,
                   ir.Fence, ir.Arrive, ir.AwaitPhase, ir.MmaInto, ir.MmaWait, ir.For, ir.If, ir.Role, ir.Elect,
                   ir.Fill, ir.Use, ir.AssertMatch, ir.AssertComplete)),
    ("index", (Const, Op, Var)),
)  # fmt: skip
_NUMBERS = (0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 32, 48, 64, 96, 128, 1000, 2**31)


def sort_of(node: object) -> str:
    """What a node may be exchanged with."""
    return next((name for name, kinds in _SORTS if isinstance(node, kinds)), "")


def pool_of(kernels: Iterable[ir.Kernel]) -> Pool:
    """All nodes of these kernels' bodies by sort."""
    found: dict[str, list[Any]] = defaultdict(list)
    for kernel in kernels:
        for statement in kernel.body:
            for node in walk(statement):
                if sort := sort_of(node):
                    found[sort].append(node)
                found["index"] += [v for f in fields(node) if sort_of(v := getattr(node, f.name)) == "index"]
    return found


def shaken(kernel: ir.Kernel, random: Random, pool: Pool) -> ir.Kernel:
    """One to five nodes of the body exchanged, their numbers or their statements' order changed."""
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        target = random.randrange(max(1, sum(1 for s in kernel.body for _ in walk(s))))
        seen = 0

        def visit(node: Any, target: int = target) -> Any:  # noqa: ANN401 - any child
            nonlocal seen
            if not isinstance(node, ir.Node):
                return _index(node, random, pool) if random.random() < 0.01 else node
            seen += 1
            if seen - 1 == target:
                return _changed(node, random, pool)
            # What these are fields or components of is a name, by type.
            return node if isinstance(node, ir.Field | ir.Component | ir.AssertComplete) else map_children(node, visit)

        body = [visit(s) for s in kernel.body]
        if random.random() < 0.2:
            random.shuffle(body)
        kernel = replace(kernel, body=tuple(body))
    return kernel


def _changed(node: ir.Node, random: Random, pool: Pool) -> Any:  # noqa: ANN401
    choices = pool.get(sort_of(node), ())
    if choices and random.random() < 0.5:
        return random.choice(choices)
    changes: dict[str, Any] = {}
    for f in fields(node):
        value = getattr(node, f.name)
        if f.name == "span" or random.random() < 0.5:
            continue
        if isinstance(value, bool):
            changes[f.name] = not value
        elif isinstance(value, int):
            changes[f.name] = random.choice(_NUMBERS)
        elif isinstance(value, Const | Op | Var):
            changes[f.name] = _index(value, random, pool)
        elif isinstance(value, tuple) and f.name in ("shape", "grid"):
            changes[f.name] = tuple(random.choice(_NUMBERS) for _ in range(len(value)))  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, tuple) and f.name == "body":
            changes[f.name] = tuple(random.sample(value, len(value)))  # pyright: ignore[reportUnknownArgumentType]
    return replace(node, **changes)


def _index(e: Expr, random: Random, pool: Pool) -> Expr:
    match random.randrange(4):
        case 0:
            return Const(random.choice(_NUMBERS))
        case 1:
            return Op(
                random.choice(("+", "-", "*", "//", "%", "min", "max", "cdiv")), (e, Const(random.choice(_NUMBERS)))
            )
        case _:
            return random.choice(pool["index"])
