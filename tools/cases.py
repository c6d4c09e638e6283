"""Which sizes and inputs a kernel is tested at. Loads no compiler: the parent asks, a worker runs."""

from __future__ import annotations

from random import Random

from pydantic import BaseModel

from argus.dsl.kernels import Problem

NUMERICS = "numerics.json"


class CaseRequest(BaseModel, frozen=True):
    """One case: sizes by symbol, the kind of inputs and their seed."""

    sizes: dict[str, int]
    inputs: str = "normal"
    seed: int = 0
    held_out: bool = False


class NumericsRequest(BaseModel, frozen=True):
    """The comparisons to make for one task on one target."""

    task: str
    dtype: str
    target: str
    cases: tuple[CaseRequest, ...]


def requested_cases(problem: Problem, *, seed: int, held_out: int = 2) -> NumericsRequest:
    """The task's test sizes, and `held_out` ragged ones that follow from the seed and appear in no prompt."""
    cases = [CaseRequest(sizes=dict(s), seed=seed) for s in problem.task.test_sizes]
    cases.append(CaseRequest(sizes=dict(problem.task.test_sizes[-1]), inputs="integers", seed=seed))
    random = Random(f"{problem.task.name} {seed}")
    for _ in range(held_out):
        sizes = {"M": random.randrange(1, 400), "N": 4 * random.randrange(1, 90), "K": 8 * random.randrange(1, 28)}
        cases.append(CaseRequest(sizes=sizes, seed=random.randrange(2**31), held_out=True))
    return NumericsRequest(task=problem.task.name, dtype=problem.dtype, target=problem.target, cases=tuple(cases))
