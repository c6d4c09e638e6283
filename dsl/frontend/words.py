"""The language's vocabulary, for checking names and for hints."""

from __future__ import annotations

from typing import get_args

from argus.dsl.ir.nodes import Dtype, UnaryOp

DTYPES: tuple[Dtype, ...] = get_args(Dtype)
# Spelled `-x` and `~x`.
UNARY: frozenset[str] = frozenset(get_args(UnaryOp)) - {"neg", "not"}
INTEGER: frozenset[str] = frozenset({"cdiv", "min", "max"})
FRAGMENTS: frozenset[str] = frozenset(
    {"load", "mma_acc", "mma", "select", "mask", "reduce", "relayout", "shuffle", "online_softmax", "tag"}
)
ALLOCATIONS: frozenset[str] = frozenset({"shared", "ring", "mbar", "block", "split"})
CONTRACT: frozenset[str] = frozenset({"where", "assume", "ensures"})
STATEMENTS: frozenset[str] = frozenset(
    {
        "store", "atomic_add", "copy", "copy_async", "commit", "wait", "barrier", "shift", "fence", "arrive",
        "await_phase", "mma_wait", "assert_match", "assert_differ", "assert_complete", "sched_group",
        "sched_barrier", "priority",
    }
)  # fmt: skip
LOOPS: frozenset[str] = frozenset({"range", "unroll", "tiles"})
# Words that mean something only in one argument; they may name variables too.
SWIZZLES = ("b32", "b64", "b128")
ORDERS = ("rows", "columns", "longest_first")

FUNCTIONS: frozenset[str] = (
    UNARY | INTEGER | FRAGMENTS | ALLOCATIONS | CONTRACT | STATEMENTS | LOOPS | {"over", "kernel"}
)
RESERVED: frozenset[str] = FUNCTIONS | {*DTYPES, "inf", "role", "elect", "xor", "linear"}

VIEW_METHODS = ("tile", "rows", "cols", "gather", "scatter", "operand")
FRAG_METHODS = ("to", "operand", "as_operand")
# An axis may not be called like a method: `x.T` must stay unambiguous.
NO_AXES: frozenset[str] = frozenset({*VIEW_METHODS, *FRAG_METHODS, "T", "fill", "use"})
SCHED_KINDS = (
    "alu", "valu", "salu", "mfma", "vmem", "vmem_read", "vmem_write", "ds", "ds_read", "ds_write", "trans",
)  # fmt: skip
