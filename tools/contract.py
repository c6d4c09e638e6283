"""Whether a kernel is one for a problem: its contract is the task's, its target the problem's."""

from __future__ import annotations

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir.contract import contract_sha
from argus.dsl.kernels import Problem
from argus.tools.check import problem_contract_sha


def require_contract(text: str, problem: Problem) -> None:
    """Refuse what cannot be tested or timed on the problem.

    Raises:
        KernelError: The text is no kernel, is for another target, or has another contract.
    """
    kernel = parse(text)
    if kernel.target != problem.target:
        message = f"the kernel is for {kernel.target}, the problem for {problem.target}"
        raise KernelError(Diagnostic(code=Code.BAD_TARGET, message=message, span=kernel.span, hint="name the target"))
    if contract_sha(kernel) != problem_contract_sha(problem):
        hint = f"it begins with:\n{problem.contract.rstrip()}"
        message = f"the contract is not that of the task {problem.task.name} for {problem.dtype}"
        raise KernelError(Diagnostic(code=Code.CONTRACT, message=message, span=kernel.span, hint=hint))
