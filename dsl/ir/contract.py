"""The contract of a kernel in normal form: what a task owns and nobody else may change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from argus.dsl.ir.nodes import Assign, Kernel, Ref, Tagged, TensorParam
from argus.dsl.ir.printer import show_ensures, show_param
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.ir.show_value import show_value


def contract_lines(kernel: Kernel) -> tuple[str, ...]:
    """The clauses as text: parameters in order, then predicates and postconditions, each kind sorted.

    Layout, comments, the kernel's name, its target and its number of waves are no part of it.
    """
    return (
        *(show_param(p) for p in kernel.params),
        *sorted(f"where({show_expr(e)})" for e in kernel.where),
        *sorted(f"assume({a.text})" for a in kernel.assume),
        *sorted(_tags(kernel)),
        *sorted(show_ensures(e) for e in kernel.ensures),
    )


def _tags(kernel: Kernel) -> Iterator[str]:
    """Tags on parameters are claims about the task's data."""
    tensors = {p.name for p in kernel.params if isinstance(p, TensorParam)}
    for statement in kernel.body:
        match statement:
            case Assign(value=Tagged(src=Ref(name=name)) as tagged) if name in tensors:
                yield show_value(tagged)
            case _:
                pass


def contract_sha(kernel: Kernel) -> str:
    """SHA-256 of the normal form, as hex. Equal for kernels that differ in layout, name, target or body."""
    return hashlib.sha256("\n".join(contract_lines(kernel)).encode()).hexdigest()
