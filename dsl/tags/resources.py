"""Budgets: LDS, accumulator registers, and the width of offsets."""

from __future__ import annotations

from argus.dsl.ir import Assign, AtomicAdd, CopyAsync, Gather, Load, MmaAcc, Node, Operand, Store, View
from argus.dsl.ir.rewrite import walk, walk_body
from argus.dsl.ir.types import DTYPE_BYTES
from argus.dsl.layout.affine import TRUE, Affine, ge, negation, product
from argus.dsl.tags.access import bytes_of
from argus.dsl.tags.context import Context, Oracle
from argus.dsl.tags.views import Outside, root
from argus.dsl.targets.atoms import ATOMS
from argus.dsl.targets.limits import LIMITS

OFFSET_LIMIT = 2**31  # the buffer instructions take unsigned 32-bit offsets; half of that keeps signed arithmetic safe


def resources(cx: Context) -> dict[str, object]:
    """LDS bytes of a block and accumulator registers of a lane."""
    made = [n.value for n in walk_body(cx.kernel.body) if isinstance(n, Assign) and isinstance(n.value, MmaAcc)]
    lanes = LIMITS[cx.kernel.target].lanes
    accumulators = sum(a.m * a.n // (lanes * ATOMS[a.atom].waves * a.grid[0] * a.grid[1]) for a in made)
    return {
        "lds_bytes": sum(bytes_of(cx, name) for name in cx.types.buffers),
        "accumulator_registers": accumulators,
        "threads": lanes * cx.kernel.waves,
    }


def overflow(cx: Context, oracle: Oracle) -> tuple[str, ...]:
    """Settle the overflow obligations; returns the limits on sizes that a launch must check.

    Addresses are rebased at each tile, so an offset spans one tile: from its first element to its last, row pitches
    included.
    """
    assumptions = list[str]()
    for name in cx.types.params:
        obligation = cx.registry.get("overflow", -1, name)
        obligation.raise_tier("affine")
        spans = dict.fromkeys(s for n in walk_body(cx.kernel.body) for v in _views(n) for s in _span(cx, v, name))
        for span in spans:
            fits = ge(Affine(OFFSET_LIMIT) - span)
            if fits == TRUE or not oracle.consistent((negation(fits),)):
                continue
            if not oracle.consistent((fits,)):
                obligation.block(f"the preconditions force offsets of {name} beyond 31 bits")
                continue
            assumptions.append(f"offsets within {name} span at most 2 GiB: {span} <= {OFFSET_LIMIT}")
    return tuple(assumptions)


def _span(cx: Context, view: View, name: str) -> list[Affine]:
    """Bytes from the first element of a view of tensor `name` to the end of its last."""
    if root(view) != name:
        return []
    if any(isinstance(n, Gather) for n in walk(view)):
        # Rows lie anywhere, so their offsets span the whole tensor.
        tensor = cx.types.params[name]
        whole = Affine(DTYPE_BYTES[tensor.dtype])
        for extent in tensor.shape:
            whole = product(whole, cx.evaluate(extent))
        return [whole]
    try:
        at = cx.global_view(view)
    except Outside:
        return []
    extents = [cx.evaluate(e) for e in at.tensor.shape]
    span = Affine(1)
    for edge in at.edges:
        stride = Affine(1)
        for inner in extents[edge.axis + 1 :]:
            stride = product(stride, inner)
        span += product(edge.extent - 1, stride)
    return [span * DTYPE_BYTES[at.tensor.dtype]]


def _views(node: Node) -> tuple[View, ...]:
    match node:
        case Load(view=view) | Store(view=view) | AtomicAdd(view=view):
            return (view,)
        case Operand(src=src) | CopyAsync(src=src):
            return (src,)
        case _:
            return ()
