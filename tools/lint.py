"""What card lint needs of the language: a proof of each example, and a reading of each invariant."""

from __future__ import annotations

from pydantic import BaseModel

from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.frontend.parse import parse_assertion
from argus.dsl.kernels import Problem, families, make_problem, tasks
from argus.tools.check import check_invariants


def prove(family: str, schedule: BaseModel) -> bool:
    """Whether every obligation of the schedule's kernel is proved, under the family's own contract."""
    problem = _problem(family)
    text = families()[family].text(families()[family].parse_schedule(schedule.model_dump()), problem)
    return check_invariants(text, problem).ok


def parse_invariant(text: str) -> str | None:
    """Why an invariant is not of the language; None if it is. Postconditions are read as a contract's."""
    try:
        if text.startswith("ensures("):
            signature = _problem("gemm").contract.splitlines()[0]
            parse(f'@kernel(target="gfx942", waves=1)\n{signature}\n    {text}\n    barrier()\n', "<invariant>")
        else:
            parse_assertion(text, "<invariant>")
    except KernelError as error:
        return error.diagnostic.message
    return None


def _problem(family: str) -> Problem:
    """A problem whose kernels are the family's: a task's own, or one of its variants."""
    for task in tasks().values():
        for target in task.targets:
            if task.variants.get(target, task).family == family:
                return make_problem(task, target=target)
    raise AssertionError(f"no task has kernels of {family}")
