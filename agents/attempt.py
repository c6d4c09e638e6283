"""What is known of one candidate: the record that policy, graph, tracking and reports share."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import BaseModel, Field

from argus.dsl.codegen.report import Report
from argus.retrieval.card import Scalar

Fault = Literal["none", "proposal", "lowering", "toolchain"]
TimeKind = Literal["estimated", "measured"]
Status = Literal[
    "valid",  # every obligation proved, every test passed, a time known
    "refuted",
    "unknown",  # nothing refuted, not all proved; never a pass
    "wrong",  # a numeric test failed
    "rejected",  # no kernel of the language, another contract, or over a budget of the target
    "no_kernel",  # the agent gave none
    "broken",  # the toolchain failed; the kernel may be fine
    "pending",  # all that can be judged without its time is
]

# Values by parameter by card: two cards of a bundle may name a parameter alike.
Params = dict[str, dict[str, Scalar]]


class Verdicts(BaseModel, frozen=True):
    """How many obligations of a kernel had which verdict."""

    proved: int = 0
    refuted: int = 0
    unknown: int = 0

    def __str__(self) -> str:
        total = self.proved + self.refuted + self.unknown
        return f"{self.proved} of {total} proved" + (f", {self.refuted} refuted" if self.refuted else "")


class Tests(BaseModel, frozen=True):
    """How many numeric comparisons passed."""

    __test__ = False  # no pytest class

    passed: int = 0
    failed: int = 0


class Attempt(BaseModel, frozen=True):
    """One candidate from proposal to verdict. Attempt 0 is the kernel that the search starts from.

    Attributes:
        parent: The attempt that it changes; None for the start kernel.
        schedule: The family's fields when the kernel is what the family prints for them; None for free text.
        kernel, report_path: Files relative to the run folder; empty when there is none.
        text: The kernel.
        bank_conflicts: The checker's worst ways of LDS access.
        bottleneck: The parent's most loaded resource when this was proposed: part of the arm's name.
        prior: What card and closed form promised, as log gain over the parent.
        score: log of the speedup that the planner stated; `confidence` is what it stated beside.
        repairs: Kernel texts that the checker refused before this one.
        note: Why it failed, in a sentence.
        speedup: Baseline's time over this one's.
        peer_ratio: Measured: the library's time over this one's, taken in turns.
        tokens: Spent on lowering and explaining this candidate, or on a plan that never came.
    """

    id: int
    round: int
    parent: int | None = None
    techniques: tuple[str, ...] = ()
    params: Params = {}
    status: Status
    fault: Fault = "none"
    schedule: dict[str, Any] | None = None
    kernel: str = ""
    report_path: str = ""
    kernel_sha: str = ""
    text: str = ""
    report: Report | None = None
    bank_conflicts: dict[str, float] = {}
    obligations: Verdicts = Verdicts()
    tests: Tests = Tests()
    time_us: float | None = None
    time_kind: TimeKind = "estimated"
    peer_ratio: float | None = None
    bottleneck: str = "unknown"
    prior: float = 0.0
    score: float = 0.0
    confidence: float = Field(default=0.5, ge=0, le=1)
    speedup: float | None = None
    reward: float | None = None
    prompt_sha: str = ""
    tokens: int = 0
    repairs: int = 0
    note: str = ""
    seconds: float = 0.0

    @property
    def valid(self) -> bool:
        return self.status == "valid"

    @property
    def bound(self) -> str:
        """The resource that takes most of this kernel's time."""
        return self.report.estimate.bound if self.report and self.report.estimate else "unknown"


def sha(text: str) -> str:
    """Twelve hexadecimal digits of the text's SHA-256: enough to tell a run's kernels and prompts apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]
