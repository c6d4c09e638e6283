"""Whether a kernel is well formed, before any tag is looked at.

Names, targets, control flow and budgets are checked in any form; types only in core form, where every name has one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.ir.divides import multiples
from argus.dsl.ir.infer import infer, sizes
from argus.dsl.ir.names import problems as name_problems
from argus.dsl.ir.nodes import Assign, Copy, Field, Fill, Kernel, OnlineSoftmax, Ring, Store, Use
from argus.dsl.ir.report import diagnostic, did_you_mean
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.rules.bounds import bounds_problems
from argus.dsl.ir.rules.cluster import cluster_problems
from argus.dsl.ir.rules.contract import contract_problems
from argus.dsl.ir.rules.control import control_problems
from argus.dsl.ir.rules.divisors import divisor_problems
from argus.dsl.ir.rules.memory import memory_problems
from argus.dsl.ir.rules.mma import mma_problems
from argus.dsl.ir.rules.place import places
from argus.dsl.ir.rules.resources import resource_problems
from argus.dsl.ir.rules.tags import tag_problems
from argus.dsl.ir.rules.target import target_problems
from argus.dsl.ir.shapes import DTYPE_BYTES, Types
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import evaluate
from argus.dsl.targets.limits import LIMITS

MAX_SIZE = 2**31 - 1


def verify(kernel: Kernel) -> None:
    """Check a kernel in any form.

    Raises:
        KernelError: With the first problem.
    """
    for problem in problems(kernel):
        raise KernelError(problem)


def problems(kernel: Kernel) -> list[Diagnostic]:
    """Every problem that was found; later ones may follow from earlier ones."""
    found = structure_problems(kernel)
    return found if found or not is_core(kernel) else list(type_problems(kernel))


def structure_problems(kernel: Kernel) -> list[Diagnostic]:
    """Problems that need no types: names first, since all else relies on them."""
    nodes = tuple(walk_body(kernel.body))
    return [
        *contract_problems(kernel),
        *name_problems(kernel),
        *target_problems(kernel, nodes),
        *control_problems(kernel, nodes),
        *resource_problems(kernel, nodes),
        *divisor_problems(kernel, nodes),
        *tag_problems(kernel, nodes),
    ]


def type_problems(kernel: Kernel) -> Iterator[Diagnostic]:
    """Problems of types, of a kernel in core form."""
    try:
        types = infer(kernel)
    except KernelError as bad:
        yield bad.diagnostic
        return
    yield from _typed(kernel, types)


def _typed(kernel: Kernel, types: Types) -> Iterator[Diagnostic]:
    too_large = list(register_problems(kernel, types))
    if too_large:  # what follows looks at every element
        yield from too_large
        return
    known = multiples(kernel.where)
    yield from cluster_problems(kernel, types.sizes, known)
    for node, place in places(kernel):
        yield from memory_problems(types, node, known)
        yield from mma_problems(kernel, types, node, place)
        yield from bounds_problems(types, node, place)


def register_problems(kernel: Kernel, types: Types) -> Iterator[Diagnostic]:
    """Fragments that do not fit the registers of all lanes together."""
    limits = LIMITS[kernel.target]
    threads = kernel.waves * limits.lanes
    for node in walk_body(kernel.body):
        made = types.frags.get(node.targets[0]) if isinstance(node, Assign) else None
        if made is None:
            continue
        needed = math.prod(made.shape) * DTYPE_BYTES[made.dtype] / 4 / threads
        if needed > limits.lane_registers:
            shape = " x ".join(map(str, made.shape))
            message = f"{shape} elements of {made.dtype} are {needed:,.0f} registers a lane"
            message += f"; there are {limits.lane_registers}"
            yield diagnostic(Code.LIMIT, node.span, message, "take a smaller tile, or more waves")


def is_core(kernel: Kernel) -> bool:
    """Whether all sugar is expanded."""
    sugar = (Ring, Fill, Use, Field, Copy, OnlineSoftmax)
    return not any(isinstance(n, sugar) or (isinstance(n, Store) and n.via == "tma") for n in walk_body(kernel.body))


def check_sizes(kernel: Kernel, given: Mapping[str, int]) -> None:
    """Check the sizes of a launch against the contract.

    Args:
        kernel: In any form.
        given: A value for each size symbol; integer arguments may be among them.

    Raises:
        KernelError: BAD_SIZE if a size is missing, unknown, not positive or too large, or a `where` does not hold.
    """
    wanted = sizes(kernel)
    arguments = [p.name for p in kernel.params if p.dtype == "i32"]
    for name in given:
        if name not in wanted and name not in arguments:
            hint = did_you_mean(name, wanted) or f"sizes are {', '.join(wanted) or 'none'}"
            raise KernelError(diagnostic(Code.BAD_SIZE, kernel.span, f"`{name}` is no size of `{kernel.name}`", hint))
    for name in wanted:
        if name not in given:
            raise KernelError(diagnostic(Code.BAD_SIZE, kernel.span, f"the size {name} is missing"))
        if not 0 < given[name] <= MAX_SIZE:
            message = f"the size {name} is {given[name]}"
            raise KernelError(diagnostic(Code.BAD_SIZE, kernel.span, message, f"sizes are 1 to {MAX_SIZE:,}"))
    for predicate in kernel.where:
        try:
            holds = evaluate(predicate, given)
        except ZeroDivisionError:
            holds = 0
        if not holds:
            values = ", ".join(f"{n} = {given[n]}" for n in wanted)
            message = f"these sizes break where({show_expr(predicate)}): {values}"
            raise KernelError(diagnostic(Code.BAD_SIZE, kernel.span, message, "choose sizes for which it holds"))
