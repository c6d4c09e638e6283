"""Whether a kernel is wrong: the definition that the checker is judged by.

A kernel is *wrong* at some sizes if, under some schedule, its execution has a fault (poison in an output, unordered
conflicting accesses, out of bounds, deadlock, divergence, a wrong write set, …) or an output differs from the
reference by more than `tolerance` times the largest magnitude of that output, in fp64 without dtype rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.dsl.interp.arrays import Bools, Floats
from argus.dsl.interp.fault import Fault
from argus.dsl.interp.policy import POLICIES, Policy
from argus.dsl.interp.program import Program, prepare, statements
from argus.dsl.interp.run import MAX_STEPS, Inputs, Outcome, execute, grid
from argus.dsl.ir.nodes import CopyAsync, Kernel

Arrays = Mapping[str, npt.NDArray[Any]]
Reference = Callable[[Mapping[str, Any], Mapping[str, int]], Arrays]
MakeInputs = Callable[[Mapping[str, int], np.random.Generator], Inputs]


@dataclass(frozen=True, slots=True)
class Wrong:
    """One way in which a kernel is wrong: a fault, or an output element with another value.

    Attributes:
        element, got, want: The first wrong element of `output`; `count` of `total` elements are wrong.
    """

    sizes: dict[str, int]
    policy: Policy
    fault: Fault | None = None
    output: str | None = None
    element: tuple[int, ...] | None = None
    got: float | None = None
    want: float | None = None
    count: int = 0
    total: int = 0

    def __str__(self) -> str:
        where = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        if self.fault is not None:
            return f"{self.fault} at {where}; {self.policy}"
        values = f"{self.output}{list(self.element or ())} is {self.got}, not {self.want}"
        return f"{values} ({self.count:,} of {self.total:,} elements) at {where}; {self.policy}"


@dataclass(frozen=True, slots=True)
class _At:
    sizes: dict[str, int]
    policy: Policy


def wrong(
    core: Kernel,
    reference: Reference,
    *,
    sizes_list: Iterable[Mapping[str, int]],
    policies: Sequence[Policy] = POLICIES,
    seed: int = 0,
    tolerance: float = 1e-9,
    inputs: MakeInputs | None = None,
    every_block: bool = False,
    max_steps: int = MAX_STEPS,
) -> Wrong | None:
    """The first way in which a kernel is wrong, or None.

    At each of the sizes the whole grid runs under the first policy. Blocks do not wait for one another, so what
    schedules can change shows within a block: under the other policies the first and the last block run.

    Args:
        core: The kernel, in core form.
        reference: From inputs and sizes to the wanted outputs, in fp64; NaN where any value will do.
        sizes_list: See `trip_sizes`.
        policies: Those that this kernel cannot tell apart run once.
        seed: Of the random inputs.
        tolerance: Relative to the largest magnitude of an output.
        inputs: Makes the inputs; by default normal deviates, which integer tensors are too special for.
        every_block: Run the whole grid under every policy.
        max_steps: Statements that a block may take.

    Raises:
        KernelError: If sizes violate a precondition.
    """
    for sizes in sizes_list:
        program = prepare(core, sizes)
        made = (inputs or _normal(program))(sizes, np.random.default_rng(seed))
        want = reference(made, sizes)
        # Sums that blocks add up are complete only after all of them.
        sample = None if program.added else _corners(program, made)
        for turn, policy in enumerate(_distinct(core, policies)):
            blocks = None if turn == 0 or every_block else sample
            outcome = execute(program, made, policy, blocks=blocks, max_steps=max_steps, first_fault=True)
            at = _At(dict(sizes), policy)
            found = _judge(outcome, want, tolerance, whole_grid=blocks is None, at=at)
            if found is not None:
                return found
    return None


def _distinct(core: Kernel, policies: Sequence[Policy]) -> list[Policy]:
    """Without async operations nothing lands, so policies that differ only there are one."""
    lands = core.target == "sm_90a" or any(isinstance(s, CopyAsync) for s in statements(core.body))
    seen: dict[tuple[object, ...], Policy] = {}
    for p in policies:
        random = p.interleaving == "random" or (lands and p.landing == "random")
        seen.setdefault((p.landing if lands else "", p.interleaving, p.seed if random else 0), p)
    return list(seen.values())


def _corners(program: Program, made: Inputs) -> list[tuple[int, ...]]:
    scalars = {name: float(np.asarray(made[name])) for name in program.scalars}
    indices = sorted(b.indices for b in grid(program, scalars))
    return sorted({indices[0], indices[-1]}) if indices else []


def _normal(program: Program) -> MakeInputs:
    def make(_: Mapping[str, int], rng: np.random.Generator) -> dict[str, Floats | float]:
        made: dict[str, Floats | float] = {}
        for name, param in program.tensors.items():
            if name in program.written:
                continue
            if param.dtype in ("i32", "bool"):
                raise ValueError(f"{name} holds {param.dtype}: pass `inputs` to make it")
            made[name] = rng.standard_normal(program.shapes[name])
        for name, param in program.scalars.items():
            if param.dtype == "i32":
                raise ValueError(f"{name} is {param.dtype}: pass `inputs` to make it")
            made[name] = float(rng.uniform(0.5, 1.5))
        return made

    return make


def _judge(outcome: Outcome, want: Arrays, tolerance: float, *, whole_grid: bool, at: _At) -> Wrong | None:
    if outcome.faults:
        return Wrong(at.sizes, at.policy, outcome.faults[0])
    for name, reference in want.items():
        expected = np.asarray(reference, np.float64)
        if name not in outcome.outputs:
            return Wrong(at.sizes, at.policy, output=name, count=expected.size, total=expected.size)
        got, compared = outcome.outputs[name], ~np.isnan(expected)
        if not whole_grid:
            compared &= outcome.written[name] > 0
        bad = compared & _differ(got, expected, tolerance)
        if bad.any():
            element = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
            return Wrong(
                at.sizes,
                at.policy,
                output=name,
                element=element,
                got=float(got[element]),
                want=float(expected[element]),
                count=int(bad.sum()),
                total=int(compared.sum()),
            )
    return None


def _differ(got: Floats, want: Floats, tolerance: float) -> Bools:
    finite = np.abs(want[np.isfinite(want)])
    scale = float(finite.max(initial=0.0)) or 1.0
    with np.errstate(invalid="ignore"):
        close = np.abs(got - want) <= tolerance * scale
    return ~(close | (got == want))
