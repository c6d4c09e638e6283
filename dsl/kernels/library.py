"""What exists: the tasks and the families, by name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace

from argus.dsl.diagnostics import Code, Diagnostic, KernelError, Span
from argus.dsl.kernels import gemm, hopper_gemm, hopper_search, predict
from argus.dsl.kernels.family import Family
from argus.dsl.kernels.schedule import GemmSchedule
from argus.dsl.kernels.task import Array, Sizes, Task


def _gemm_reference(inputs: Mapping[str, Array], sizes: Sizes) -> dict[str, Array]:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


_GEMM = Task(
    name="gemm",
    family="gemm",
    symbols={"m": "M", "n": "N", "k": "K"},
    dtypes=("bf16", "f16"),
    targets=("gfx942",),
    contract=gemm.CONTRACT,
    inputs={"A": ("M", "K"), "B": ("N", "K")},
    outputs={"C": ("M", "N")},
    reference=_gemm_reference,
    default_shape={"m": 4096, "n": 4096, "k": 4096},
    test_sizes=({"M": 64, "N": 64, "K": 64}, {"M": 300, "N": 200, "K": 72}, {"M": 33, "N": 260, "K": 168}),
    # f32 accumulation errs by some 2**-24 of the sum of magnitudes for each of a few roundings that do not cancel; a
    # kernel that accumulates in a narrower type errs by 2**-11 or more.
    tolerance={"bf16": 2.0**-20, "f16": 2.0**-20},
)
# Hopper's kernels store C in the type of the inputs: one more rounding, of a value that the sum of magnitudes bounds.
_HOPPER_GEMM = replace(
    _GEMM,
    family="hopper_gemm",
    targets=("sm_90a",),
    contract=hopper_gemm.CONTRACT,
    multiples=hopper_gemm.MULTIPLES,
    test_sizes=({"M": 64, "N": 64, "K": 64}, {"M": 300, "N": 200, "K": 72}, {"M": 33, "N": 264, "K": 168}),
    tolerance={"bf16": 2.0**-8 + 2.0**-20, "f16": 2.0**-11 + 2.0**-20},
)
GEMM = replace(_GEMM, targets=("gfx942", "sm_90a"), variants={"sm_90a": _HOPPER_GEMM})

_TASKS: Mapping[str, Task] = {GEMM.name: GEMM}
_FAMILIES: Mapping[str, Family] = {
    "gemm": Family(
        name="gemm",
        parse_schedule=GemmSchedule.model_validate,
        start=gemm.start,
        text=gemm.text,
        predict=predict.predict,
        covered=predict.COVERED,
    ),
    "hopper_gemm": Family(
        name="hopper_gemm",
        parse_schedule=hopper_search.parse_schedule,
        start=hopper_search.start,
        text=hopper_search.text,
        predict=hopper_search.predict,
        covered=hopper_search.COVERED,
    ),
}


def task_named(name: str) -> Task:
    """The task of that name.

    Raises:
        KernelError: UNKNOWN_NAME, with the nearest names as a hint.
    """
    if name in _TASKS:
        return _TASKS[name]
    near = difflib.get_close_matches(name, _TASKS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"tasks are {', '.join(_TASKS)}"
    where = Span("<request>", 1, 1, 1, 1)
    raise KernelError(Diagnostic(code=Code.UNKNOWN_NAME, message=f"unknown task {name!r}", span=where, hint=hint))


def families() -> Mapping[str, Family]:
    """The families that `argus optimize` searches, by name."""
    return _FAMILIES


def tasks() -> Mapping[str, Task]:
    """The tasks of `argus optimize`, by name."""
    return _TASKS
