"""Budgets: LDS, accumulator registers, and the width of offsets."""

from __future__ import annotations

from argus.dsl.ir import Assign, CopyAsync, Load, MmaAcc, Node, Operand, Store, TileAt, View
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout.affine import Affine, Formula, ge
from argus.dsl.tags.access import bytes_of
from argus.dsl.tags.context import Context, Oracle
from argus.dsl.tags.views import root

OFFSET_LIMIT = 2**31  # the buffer instructions take unsigned 32-bit offsets; half of that keeps signed arithmetic safe


def resources(cx: Context) -> dict[str, object]:
    """LDS bytes of a block and accumulator registers of a lane."""
    accumulators = sum(
        n.value.m * n.value.n // (64 * cx.kernel.waves)
        for n in walk_body(cx.kernel.body)
        if isinstance(n, Assign) and isinstance(n.value, MmaAcc)
    )
    return {
        "lds_bytes": sum(bytes_of(cx, name) for name in cx.types.buffers),
        "accumulator_registers": accumulators,
        "threads": cx.threads,
    }


def overflow(cx: Context, oracle: Oracle) -> tuple[str, ...]:
    """Settle the overflow obligations; returns the limits on sizes that a launch must check.

    Addresses are rebased at each tile, so an offset spans the rows of one tile: rows * row pitch + row length, in
    bytes.
    """
    assumptions = list[str]()
    for name, tensor in cx.types.params.items():
        obligation = cx.registry.get("overflow", -1, name)
        pitch = Affine(1)
        for extent in tensor.shape[1:]:
            form = cx.evaluate(extent)
            if not (pitch.is_const or form.is_const):
                obligation.block(f"{name} has more than one symbolic inner extent")
                break
            pitch = form * pitch.const if pitch.is_const else pitch * form.const
        else:
            rows = max((_rows(v) for n in walk_body(cx.kernel.body) for v in _views(n) if root(v) == name), default=1)
            span = pitch * (rows * DTYPE_BYTES[tensor.dtype])
            fits = ge(Affine(OFFSET_LIMIT - 1) - span)
            obligation.raise_tier("affine")
            if fits != ge(Affine()) and oracle.consistent((_not(fits),)):
                if not oracle.consistent((fits,)):
                    obligation.block(f"the preconditions force offsets of {name} beyond 31 bits")
                    continue
                assumptions.append(f"{rows} rows of {name} span less than 2 GiB: {span} < {OFFSET_LIMIT}")
    return tuple(assumptions)


def _not(f: Formula) -> Formula:
    from argus.dsl.layout.affine import negation

    return negation(f)


def _rows(view: View) -> int:
    """How many rows of a tensor one tile spans."""
    while True:
        if isinstance(view, TileAt):
            return max(view.shape)
        if not hasattr(view, "src"):
            return 1
        view = view.src  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]


def _views(node: Node) -> tuple[View, ...]:
    match node:
        case Load(view=view) | Store(view=view):
            return (view,)
        case Operand(src=src) | CopyAsync(src=src):
            return (src,)
        case _:
            return ()
