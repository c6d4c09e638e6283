"""What a kernel's contract says its outputs are, in fp64: products summed over the reduced axes, then the epilogue.

`ensures` fixes the flow of data, not the function. Where the text applies pointwise operations to an accumulator
between its last MMA and the store, they are applied to the true sums here; what is compared is therefore the flow.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from argus.dsl.ir import (
    AsOperand,
    Assign,
    Binary,
    Cast,
    CopyAsync,
    Elect,
    Ensures,
    For,
    If,
    Index,
    Kernel,
    Load,
    Mask,
    MmaAcc,
    MmaInto,
    Node,
    Reduce,
    Ref,
    Role,
    Scalar,
    Select,
    Stmt,
    Store,
    TensorParam,
    Unary,
)
from argus.dsl.ir.infer import infer
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import evaluate
from argus.dsl.smt.chosen import chosen
from argus.dsl.smt.flow import sources
from argus.dsl.smt.functions import BINARY, UNARY
from argus.dsl.smt.ideal import ideal
from argus.dsl.smt.picked import Given, picked, places
from argus.dsl.tags.views import root

Floats = npt.NDArray[np.float64]
Inputs = Mapping[str, "Floats | float"]


def outputs(core: Kernel, inputs: Inputs, sizes: Mapping[str, int]) -> dict[str, Floats]:
    """The wanted value of each output for which this module can tell it."""
    out = dict[str, Floats]()
    for ensures in core.ensures:
        if _in_registers(core):
            wanted = ideal(core, ensures, inputs, sizes)
            if wanted is not None:
                out[ensures.tensor] = wanted
            continue
        sums = _sums(ensures, Given(core, inputs, sizes))
        if sums is None:
            continue
        wanted = epilogue(core, ensures.tensor, sums, inputs, sizes)
        if wanted is not None:
            out[ensures.tensor] = wanted
    return out


def _in_registers(core: Kernel) -> bool:
    """Whether data are reduced, masked or multiplied in registers, or nothing is multiplied by MMAs at all."""
    nodes = list(walk_body(core.body))
    made = [(n.targets[0], n.value) for n in nodes if isinstance(n, Assign)]
    multiplied = {x.name for n in nodes if isinstance(n, MmaInto) for x in (n.a, n.b) if isinstance(x, Ref)}
    return any(
        isinstance(v, Reduce | Mask) or (isinstance(v, AsOperand) and name in multiplied) for name, v in made
    ) or not any(isinstance(v, MmaAcc) for _, v in made)


def _sums(ensures: Ensures, given: Given) -> dict[str, Floats] | None:
    """The whole sum that each accumulator holds, or a part of; under the output's name what is stored as it is.

    Accumulators of the same tensors hold parts of one sum. If they differ in theirs, each holds one of its own.
    """
    core, uses = given.core, frozenset(ensures.uses)
    made = {n.targets[0] for n in walk_body(core.body) if isinstance(n, Assign) and isinstance(n.value, MmaAcc)}
    origins = {acc: sources(core, acc) & uses for acc in made}
    kinds = set(origins.values())
    apart = len(kinds) == len(origins) > 1 and frozenset() not in kinds and frozenset[str]().union(*kinds) == uses
    wanted = {acc: of if apart else uses for acc, of in origins.items()} | {ensures.tensor: uses}
    sums = {name: contraction(ensures, of, given) for name, of in wanted.items() if name in made or not apart}
    return None if any(s is None for s in sums.values()) else {n: s for n, s in sums.items() if s is not None}


def contraction(ensures: Ensures, of: frozenset[str], given: Given) -> Floats | None:
    """Over the reduced axes, the sum of products of the origins `of`; None if one is no input with named axes.

    Axes that are neither summed nor the output's are read where the contract's integers say.
    """
    letters = dict[str, str]()
    parts, arrays = list[str](), list[Floats]()
    params = {p.name: p for p in given.core.params if isinstance(p, TensorParam)}
    known = {*ensures.index, *(o.axis for o in ensures.over)}
    for name in sorted(of):
        value = given.inputs.get(name)
        if name not in params or not isinstance(value, np.ndarray) or not all(params[name].axes):
            return None
        axes = list(params[name].axes)
        for axis in [a for a in axes if a not in known]:
            found = picked(given, value, axes.index(axis), axis)
            if found is None or not known.issuperset(found[1]):
                return None
            at = axes.index(axis)
            value, axes[at : at + 1] = found
        for axis in axes:
            letters.setdefault(axis, string.ascii_letters[len(letters)])
        parts.append("".join(letters[axis] for axis in axes))
        arrays.append(value)
    if not arrays:
        return None
    for over in ensures.over:
        if over.pred is not None:
            found = chosen(over, ensures, params[ensures.tensor], given.sizes)
            if found is None:
                return None
            for axis in found[1]:
                letters.setdefault(axis, string.ascii_letters[len(letters)])
            parts.append("".join(letters[axis] for axis in found[1]))
            arrays.append(found[0])
    scattered = {axis: found for axis in ensures.index if axis not in letters and (found := places(given, axis))}
    if any(len(axes) != 1 or axes[0] not in letters for _, axes in scattered.values()):
        return None
    index = [scattered[a][1][0] if a in scattered else a for a in ensures.index]
    if any(a not in letters for a in index):
        return None
    out = np.einsum(f"{','.join(parts)}->{''.join(letters[a] for a in index)}", *arrays)
    for number, axis in enumerate(ensures.index):
        if axis in scattered:
            extent = evaluate(params[ensures.tensor].shape[number], given.sizes)
            out = _scattered(out, number, scattered[axis][0], extent)
    return out


def _scattered(rows: Floats, dimension: int, at: npt.NDArray[np.int64], extent: int) -> Floats:
    """Rows added up at the places they belong to; those at -1 belong nowhere."""
    out = np.zeros((extent, *np.delete(rows.shape, dimension)))
    np.add.at(out, at[at >= 0], np.moveaxis(rows, dimension, 0)[at >= 0])
    return np.moveaxis(out, 0, dimension)


def changes_data(core: Kernel) -> bool:
    """Whether data are changed before they are summed, so that products and sums do not tell the outputs."""
    inside = [n for s in _opened(core.body) if isinstance(s, For | If) for n in walk_body((s,))]
    changed = [n for n in inside if isinstance(n, Assign) and isinstance(n.value, Binary | Unary | Select)]
    if not changed:
        return False
    frags = infer(core).frags  # rows to read are no data
    return any(frags[n.targets[0]].dtype not in ("i32", "bool") for n in changed)


def epilogue(
    core: Kernel, tensor: str, sums: Mapping[str, Floats], inputs: Inputs, sizes: Mapping[str, int]
) -> Floats | None:
    """The pointwise operations between accumulator and store, applied to the sums; None if they are not that simple.

    Accumulators that are added up as they are hold parts of the sums; any other operation is applied to the whole.
    """
    if changes_data(core):
        return None
    body = tuple(_straight(_opened(core.body)))
    whole = sums.get(tensor)
    if whole is not None and not any(isinstance(n, Binary | Unary | Select) for n in walk_body(body)):
        return whole
    parts = set(sums) - {tensor} if whole is not None else set[str]()
    env = dict[str, "Floats | float"]((n, s) for n, s in sums.items() if n != tensor) | {
        name: value for name, value in inputs.items() if isinstance(value, int | float)
    }
    if whole is not None:
        loaded = _loaded_parts(core, parts)
        parts |= loaded
        env |= dict.fromkeys(loaded, whole)
    made_of = {name: {name} for name in parts}
    wanted: Floats | None = None
    for stmt in body:
        if isinstance(stmt, Assign) and isinstance(stmt.value, AsOperand):
            if isinstance(stmt.value.src, Ref) and stmt.value.src.name in env:
                env[stmt.targets[0]] = env[stmt.value.src.name]
        elif isinstance(stmt, Assign) and isinstance(stmt.value, Binary | Unary | Select | Cast | Ref):
            target, value = stmt.targets[0], stmt.value
            used = {n.name for n in walk_body((stmt,)) if isinstance(n, Ref)}
            made_of[target] = set[str]().union(*(made_of.get(name, set[str]()) for name in used))
            if whole is not None and isinstance(value, Binary) and value.op == "+" and used <= parts:
                parts.add(target)
                env[target] = whole
            elif len(made_of[target]) > 1 and len(used & env.keys()) > 1:
                return None  # changed parts are combined: how is what is to be found out
            elif (found := _value(value, env, sizes)) is not None:
                env[target] = found
        elif isinstance(stmt, Store) and isinstance(stmt.value, Ref) and root(stmt.view) != tensor:
            # On its way through shared memory.
            env |= {root(stmt.view): env[stmt.value.name]} if stmt.value.name in env else {}
        elif (source := _stored(stmt, tensor)) is not None:
            stored = env.get(source)
            if stored is None:
                return None
            shape = next(iter(sums.values())).shape
            wanted = np.broadcast_to(np.asarray(stored, np.float64), shape)
    if wanted is None and core.target == "sm_90a":
        return None  # stored in a way that this function does not follow
    return whole if wanted is None else wanted


def _loaded_parts(core: Kernel, parts: set[str]) -> set[str]:
    """Names loaded from shared buffers that hold accumulators as they are, and nothing else."""
    nodes = list(walk_body(core.body))
    stored = dict[str, list[bool]]()
    for node in nodes:
        if isinstance(node, Store):
            held = isinstance(node.value, Ref) and node.value.name in parts
            stored.setdefault(root(node.view), []).append(held)
    loads = [n for n in nodes if isinstance(n, Assign) and isinstance(n.value, Load)]
    return {n.targets[0] for n in loads if isinstance(n.value, Load) and all(stored.get(root(n.value.view), [False]))}


def _stored(stmt: Stmt, tensor: str) -> str | None:
    """The name of what a statement stores to a tensor."""
    match stmt:
        case Store(view=view, value=Ref(name=name)) if root(view) == tensor:
            return name
        case CopyAsync(dst=dst, src=src) if root(dst) == tensor:
            return root(src)
        case _:
            return None


def _opened(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements of a block or, on a persistent grid, of a tile, those of roles among them."""
    return tuple(s for outer in body for s in (_opened(outer.body) if _of_block(outer) else (outer,)))


def _of_block(stmt: Stmt) -> TypeGuard[For | Role]:
    return isinstance(stmt, Role) or (isinstance(stmt, For) and stmt.kind == "tiles")


def _straight(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Unrolled loops once, since what they do to the parts of a value they do to the value."""
    for stmt in body:
        if isinstance(stmt, Elect) or (isinstance(stmt, For) and stmt.kind == "unroll"):
            yield from _straight(stmt.body)
        else:
            yield stmt


def _value(node: Node, env: Mapping[str, Floats | float], sizes: Mapping[str, int]) -> Floats | float | None:
    match node:
        case Ref(name=name):
            return env.get(name)
        case Scalar(value=value):
            return value
        case Index(expr=expr):
            try:
                return float(evaluate(expr, sizes))
            except KeyError:
                return None
        case Cast(src=src):
            return _value(src, env, sizes)
        case Unary(op=op, src=src):
            return _applied(UNARY[op], _value(src, env, sizes))
        case Binary(op=op, lhs=lhs, rhs=rhs):
            return _applied(BINARY[op], _value(lhs, env, sizes), _value(rhs, env, sizes))
        case Select(condition=condition, x=x, y=y):
            return _applied(np.where, *(_value(p, env, sizes) for p in (condition, x, y)))
        case _:
            return None


def _applied(function: Callable[..., Floats], *values: Floats | float | None) -> Floats | None:
    if any(v is None for v in values):
        return None
    with np.errstate(all="ignore"):
        return function(*values)
