"""Signature, `where`, `ensures`; budgets of waves and clusters."""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.infer import sizes
from argus.dsl.ir.nodes import Ensures, Kernel, TensorParam
from argus.dsl.ir.report import diagnostic
from argus.dsl.layout import Expr
from argus.dsl.layout import names as variables
from argus.dsl.targets.limits import LIMITS


def contract_problems(kernel: Kernel) -> Iterator[Diagnostic]:
    """What is wrong with the part that the task owns, and with the kernel's head."""
    yield from _head(kernel)
    yield from _parameters(kernel)
    known = frozenset(sizes(kernel))
    for predicate in kernel.where:
        for name in sorted(variables(predicate) - known):
            message = f"`where` is about sizes, and `{name}` is none"
            yield diagnostic(Code.CONTRACT, kernel.span, message, "sizes are the names in the signature's extents")
    tensors = {p.name: p for p in kernel.params if isinstance(p, TensorParam)}
    axes = frozenset(a for p in tensors.values() for a in p.axes if a)
    for i, e in enumerate(kernel.ensures):
        yield from _ensures(e, tensors, axes, known)
        if e.tensor in {other.tensor for other in kernel.ensures[:i]}:
            yield diagnostic(Code.CONTRACT, e.span, f"`{e.tensor}` has two `ensures`", "join them")


def _head(kernel: Kernel) -> Iterator[Diagnostic]:
    limits = LIMITS[kernel.target]
    if not 1 <= kernel.waves <= limits.waves:
        message = f"a block of {kernel.waves} waves; {kernel.target} has at most {limits.waves}"
        yield diagnostic(Code.LIMIT, kernel.span, message, f"{limits.waves} waves of {limits.lanes} lanes")
    if kernel.cluster != 1 and kernel.target == "gfx942":
        yield diagnostic(Code.BAD_TARGET, kernel.span, "gfx942 has no clusters", "delete `cluster=`")
    elif kernel.cluster not in (1, 2, 4, 8, 16):
        yield diagnostic(Code.LIMIT, kernel.span, f"a cluster of {kernel.cluster} blocks", "use 1, 2, 4, 8 or 16")


def _parameters(kernel: Kernel) -> Iterator[Diagnostic]:
    seen = set(sizes(kernel))
    for p in kernel.params:
        if p.name in seen:
            yield diagnostic(Code.CONTRACT, p.span, f"`{p.name}` is named twice in the signature", "use another name")
        seen.add(p.name)


def _ensures(
    e: Ensures, tensors: dict[str, TensorParam], axes: frozenset[str], known: frozenset[str]
) -> Iterator[Diagnostic]:
    for name in (e.tensor, *e.uses):
        if name not in tensors:
            yield diagnostic(Code.CONTRACT, e.span, f"`{name}` is no tensor parameter")
    if e.tensor in tensors and len(e.index) != len(tensors[e.tensor].shape):
        message = f"{len(e.index)} indices for the {len(tensors[e.tensor].shape)} axes of `{e.tensor}`"
        yield diagnostic(Code.CONTRACT, e.span, message)
    for name in (*e.index, *(o.axis for o in e.over)):
        if name not in axes:
            yield diagnostic(Code.CONTRACT, e.span, f"`{name}` is no axis of the signature")
    for o in e.over:
        yield from _only(o.extent, known, e, "the extent of a set", "sizes")
        if o.pred is not None:
            yield from _only(o.pred, known | axes, e, "the predicate of a set", "sizes and axes")


def _only(e: Expr, known: frozenset[str], at: Ensures, what: str, allowed: str) -> Iterator[Diagnostic]:
    for name in sorted(variables(e) - known):
        yield diagnostic(Code.CONTRACT, at.span, f"{what} mentions `{name}`", f"it may mention {allowed}")
