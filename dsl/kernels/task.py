"""A task owns the contract: what a kernel must compute, where it is tested and timed. No agent may weaken it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.diagnostics.span import Span

Target = Literal["gfx942", "sm_90a"]
Array = npt.NDArray[np.float64]
Sizes = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Task:
    """A problem family with its contract.

    Attributes:
        symbols: Size symbols by the lower-case name used for shapes: `{"m": "M", ...}`.
        contract: Kernel text up to the body (signature, where, assume, ensures), with `{dtype}` for the input type
            and, if there are `multiples`, `{where}` for the line that states them.
        multiples: Size symbols and what kernels may take them for multiples of, at sizes where they are.
        reference: fp64 inputs and sizes to fp64 outputs.
        inputs: Shapes of the input tensors, in size symbols.
        test_sizes: Ragged sizes that numerics run at; the validator adds held-out ones.
        tolerance: Allowed |got - want| as a multiple of (sum of |a*b|) for each output element, by dtype.
        variants: The same computation as other targets state it: their contract, family and tolerance. A problem for
            such a target is about the variant.
    """

    name: str
    family: str
    symbols: Mapping[str, str]
    dtypes: tuple[str, ...]
    targets: tuple[Target, ...]
    contract: str
    inputs: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, tuple[str, ...]]
    reference: Callable[[Mapping[str, Array], Sizes], dict[str, Array]]
    default_shape: Mapping[str, int]
    test_sizes: tuple[Mapping[str, int], ...]
    tolerance: Mapping[str, float]
    variants: Mapping[Target, Task] = field(default_factory=dict["Target", "Task"])
    multiples: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Problem:
    """A task at one shape, dtype and target: what one optimisation is about."""

    task: Task
    shape: Mapping[str, int]
    dtype: str
    target: Target

    @property
    def sizes(self) -> dict[str, int]:
        """The shape by size symbol, as kernels spell it."""
        return {self.task.symbols[name]: value for name, value in self.shape.items()}

    @property
    def contract(self) -> str:
        known = [f"{s} % {n} == 0" for s, n in self.task.multiples.items() if self.sizes[s] % n == 0]
        where = f"    where({', '.join(known)})\n" if known else ""
        return self.task.contract.format(dtype=self.dtype, where=where)


def make_problem(
    task: Task, *, shape: Mapping[str, int] | None = None, dtype: str | None = None, target: str = "gfx942"
) -> Problem:
    """Validate a request against its task.

    Raises:
        KernelError: BAD_SIZE, BAD_DTYPE or BAD_TARGET; the hint lists what the task knows.
    """
    full = {**task.default_shape, **(shape or {})}
    if unknown := sorted(set(full) - set(task.symbols)):
        raise _refused(
            Code.BAD_SIZE, f"{task.name} has no size named {unknown[0]!r}", f"sizes are {', '.join(task.symbols)}"
        )
    for name, value in full.items():
        if value <= 0:
            raise _refused(
                Code.BAD_SIZE, f"size {name}={value} is not positive", "give every size as a positive integer"
            )
        if value >= 2**31:
            raise _refused(
                Code.BAD_SIZE, f"size {name}={value} does not fit 31 bits", "sizes are 32-bit kernel arguments"
            )
    dtype = dtype or task.dtypes[0]
    if dtype not in task.dtypes:
        raise _refused(
            Code.BAD_DTYPE, f"{task.name} is not defined for dtype {dtype!r}", f"dtypes are {', '.join(task.dtypes)}"
        )
    for known in task.targets:
        if target == known:
            return Problem(task.variants.get(known, task), full, dtype, known)
    raise _refused(
        Code.BAD_TARGET, f"{task.name} has no kernels for target {target!r}", f"targets are {', '.join(task.targets)}"
    )


def _refused(code: Code, message: str, hint: str) -> KernelError:
    return KernelError(Diagnostic(code=code, message=message, span=Span("<request>", 1, 1, 1, 1), hint=hint))
