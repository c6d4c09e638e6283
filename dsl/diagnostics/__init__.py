"""What the compiler says to people and to agents: spans, diagnostics, counterexamples, check reports."""

from argus.dsl.diagnostics.check_report import CheckReport, ObligationReport
from argus.dsl.diagnostics.counterexample import Access, Counterexample, FixClass, Hop
from argus.dsl.diagnostics.diagnostic import Code, Diagnostic, KernelError, ToolchainError
from argus.dsl.diagnostics.edit import Advice, Edit, apply
from argus.dsl.diagnostics.span import NOWHERE, Span

__all__ = [
    "NOWHERE",
    "Access",
    "Advice",
    "CheckReport",
    "Code",
    "Counterexample",
    "Diagnostic",
    "Edit",
    "FixClass",
    "Hop",
    "KernelError",
    "ObligationReport",
    "Span",
    "ToolchainError",
    "apply",
]
