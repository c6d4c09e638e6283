"""check_invariants: the checker's verdict on kernel text, its contract compared with the task's."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from threading import Lock

from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport
from argus.dsl.frontend import parse
from argus.dsl.ir.contract import contract_sha
from argus.dsl.kernels import Problem

# Z3's main context belongs to one thread at a time, and graph nodes check from several.
_ONE_AT_A_TIME = Lock()


def check_invariants(
    text: str | Path, problem: Problem | None = None, *, kernel: str | None = None, advise: bool = False
) -> CheckReport:
    """Prove every obligation of a kernel, or say what refutes it.

    Args:
        text: Kernel text, or the path of a file that holds it.
        problem: Whose contract the kernel must have; without it, the kernel's own contract is what is proved.
        kernel: Which kernel of the text.
        advise: Also look for swizzles without bank conflicts.

    Raises:
        KernelError: If the text is no kernel.
    """
    expected = None if problem is None else problem_contract_sha(problem)
    with _ONE_AT_A_TIME:
        return check(text, kernel=kernel, contract_sha=expected, advise=advise)


def problem_contract_sha(problem: Problem) -> str:
    """The hash of the task's contract, as a kernel with that contract would have it."""
    return _sha(problem.contract, problem.target)


@cache
def _sha(contract: str, target: str) -> str:
    return contract_sha(parse(f'@kernel(target="{target}", waves=4)\n{contract}    barrier()\n', "<task>"))


def without_solver(report: CheckReport) -> CheckReport:
    """The report of a checker that has no solver: what only the solver decides stays unknown. An ablation."""
    open_ = {"verdict": "unknown", "counterexample": None, "reason": "the solver is switched off"}
    kept = (o.model_copy(update=open_) if o.tier in ("smt", "bitvector") else o for o in report.obligations)
    return report.model_copy(update={"obligations": tuple(kept)})
