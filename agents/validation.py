"""From kernel text to verdict: contract, invariants, compilation, tests, time. Only tools decide here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from argus.agents.attempt import Fault, Status, Tests, TimeKind, Verdicts
from argus.agents.toolbox import Toolbox
from argus.dsl.codegen.report import Report
from argus.dsl.diagnostics import CheckReport, Code, KernelError, ToolchainError
from argus.dsl.kernels import Problem
from argus.tools.results import CompileResult, TestReport


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the tools found, as far as they got.

    Attributes:
        messages: What a person or an agent should read about a failure; empty for a valid kernel.
        fix_classes: Of the counterexamples, smallest witness first.
    """

    status: Status
    fault: Fault = "none"
    check: CheckReport | None = None
    compiled: CompileResult | None = None
    tested: TestReport | None = None
    time_us: float | None = None
    time_kind: TimeKind = "estimated"
    messages: tuple[str, ...] = ()

    @property
    def report(self) -> Report | None:
        return self.compiled.report if self.compiled else None

    @property
    def obligations(self) -> Verdicts:
        c = self.check
        if c is None:
            return Verdicts()
        return Verdicts(proved=c.count("proved"), refuted=c.count("refuted"), unknown=c.count("unknown"))

    @property
    def tests(self) -> Tests:
        return Tests(passed=self.tested.passed, failed=self.tested.failed) if self.tested else Tests()

    @property
    def bank_conflicts(self) -> dict[str, float]:
        """The worst ways; the rows by access site stay in the check report."""
        ways = self.check.bank_conflicts if self.check else {}
        return {name: float(way) for name, way in ways.items() if isinstance(way, int | float)}

    @property
    def fix_classes(self) -> tuple[str, ...]:
        found = self.check.counterexamples if self.check else ()
        return tuple(c.fix_class for c in found if c.fix_class)


async def judge(
    text: str, toolbox: Toolbox, problem: Problem, directory: Path, *, checking: bool = True, measured: bool = False
) -> Judgement:
    """Run the tools in order until one refuses.

    A kernel whose time is measured stays `pending` without its tests, which run where it is timed.

    Args:
        text: The kernel.
        toolbox: Who checks, compiles and tests.
        problem: What the kernel must compute.
        directory: Where compiled files go.
        checking: False only in runs that switch invariants off.
        measured: Whether a GPU times and tests what passes here.
    """
    found = await _judged(text, toolbox, problem, directory, checking=checking, measured=measured)
    return replace(found, time_kind="measured") if measured else found


async def _judged(
    text: str, toolbox: Toolbox, problem: Problem, directory: Path, *, checking: bool, measured: bool
) -> Judgement:
    check: CheckReport | None = None
    compiled: CompileResult | None = None
    try:
        if checking:
            check = toolbox.check_invariants(text, problem)
            if not check.ok:
                status: Status = "refuted" if check.count("refuted") else "unknown"
                return Judgement(status, "lowering", check, messages=(check.render(text),))
        compiled = await toolbox.compile_kernel(text, problem, directory)
        if measured:
            return _compiled(check, compiled)
        tested = await toolbox.run_tests(text, problem, compiled)
    except KernelError as error:
        told = error.diagnostic.render(text.splitlines())
        # Over a budget of the target: what was asked for does not exist, however it is written.
        fault: Fault = "proposal" if error.diagnostic.code is Code.LIMIT else "lowering"
        return Judgement("rejected", fault, check, compiled, messages=(told,))
    except ToolchainError as error:
        return Judgement("broken", "toolchain", check, compiled, messages=(str(error),))
    except AssertionError:
        raise
    except Exception as error:
        # A text that trips a tool proves nothing about it; it must not end everyone else's run.
        told = f"a tool failed: {type(error).__name__}: {error}"
        return Judgement("broken", "toolchain", check, compiled, messages=(told,))
    if not tested.ok:
        wrong = [c.message or f"wrong at {c.sizes} ({c.executed})" for c in tested.cases if not c.passed]
        return Judgement("wrong", "lowering", check, compiled, tested, messages=tuple(wrong) or ("no test ran",))
    if compiled.report.estimate is None:
        return Judgement("broken", "toolchain", check, compiled, tested, messages=("no time was estimated",))
    return Judgement("valid", "none", check, compiled, tested, compiled.report.estimate.time_us)


def _compiled(check: CheckReport | None, compiled: CompileResult) -> Judgement:
    """A kernel that may be timed; what a lint finds would only waste the GPU's time."""
    if compiled.report.lint:
        return Judgement("rejected", "proposal", check, compiled, messages=compiled.report.lint)
    return Judgement("pending", "none", check, compiled)
