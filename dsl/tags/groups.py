"""Axes that a contract neither indexes nor reduces: which of their coordinates belongs to an element of the output.

Where H query heads share G key heads and the contract says `where(H % G == 0)`, element h of the output belongs to key
head h // (H // G): consecutive coordinates form a group. No other rule is known for such an axis.
"""

from __future__ import annotations

from argus.dsl.ir import Ensures
from argus.dsl.layout import Const, Expr, Op, Var
from argus.dsl.layout.affine import Affine, And, Eq, Formula, Ge, Ne, Or, affine, eq, formula, ge, product
from argus.dsl.tags.context import Context
from argus.dsl.tags.state import State


def group_of(cx: Context, ensures: Ensures, axis: str, coordinates: dict[str, Affine]) -> Affine | None:
    """The coordinate along `axis` of an element at given coordinates of the output; None: the contract is silent."""
    extents = {e for name in ensures.uses for a, e in zip(*_shape(cx, name), strict=True) if a == axis}
    if len(extents) != 1:
        return None
    (extent,) = extents
    axes, shape = ensures.index, cx.types.params[ensures.tensor].shape
    for pred in cx.kernel.where:
        match pred:
            case Op("==", (Op("%", (whole, part)), Const(0))) if part == extent:
                owners = [a for a, e in zip(axes, shape, strict=True) if e == whole]
                if len(owners) == 1 and owners[0] in coordinates:
                    return _divided(coordinates[owners[0]], whole, part)
            case _:
                pass
    return None


def _shape(cx: Context, name: str) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
    tensor = cx.types.params[name]
    return tensor.axes, tensor.shape


def _divided(at: Affine, whole: Expr, part: Expr) -> Affine:
    return affine(Op("//", (Var("at"), Op("//", (whole, part)))), {"at": at})


def assume_groups(cx: Context, state: State, f: Formula) -> None:
    """For each `x // (H // G)` in a formula, with H a multiple of G: 0 <= x < H puts it between 0 and G - 1."""
    for a in _forms(f):
        for atom, _ in a.terms:
            if atom.kind != "//" or len(atom.args[1].terms) != 1:
                continue
            (size, factor), at = atom.args[1].terms[0], atom.args[0]
            if size.kind != "//" or factor != 1 or atom.args[1].const:
                continue
            whole, parts = size.args
            inside = state.evident(ge(at)) and state.evident(ge(whole - at - 1))
            if inside and any(formula(p, {}) == eq(whole - product(atom.args[1], parts)) for p in cx.kernel.where):
                group = Affine(0, ((atom, 1),))
                state.assume(ge(group))
                state.assume(ge(parts - group - 1))


def _forms(f: Formula) -> list[Affine]:
    match f:
        case And(parts) | Or(parts):
            return [a for p in parts for a in _forms(p)]
        case Ge(a) | Eq(a) | Ne(a):
            return [a]
