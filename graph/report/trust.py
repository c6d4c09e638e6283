"""Part 9: what the figures rest on, and how far they can be trusted."""

from __future__ import annotations

from collections import Counter

from argus.graph.events import Warned
from argus.graph.report.figures import plural
from argus.graph.report.markup import Child, Html, facts, h, listed
from argus.graph.report.read import RunData, estimators


def trust(run: RunData) -> Html:
    """The estimator with its known errors, what failed beside the search, and what was switched off."""
    kinds = Counter(j.attempt.time_kind for j in run.attempts.values() if j.attempt.time_us is not None)
    versions = sorted(estimators(j.attempt for j in run.attempts.values()))
    pairs: list[tuple[Child, Child]] = [
        ("times", ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none"),
        ("estimate", f"version {', '.join(versions)}, docs/estimate.md" if versions else "none"),
        ("calibration", _calibration(kinds["measured"], run.problem.target)),
        ("toolchain faults", _faults(run)),
        ("switched off", ", ".join(k for k, on in run.record.config.switches.items() if not on) or "none"),
        ("warnings", _warnings(run)),
    ]
    return h(
        "div",
        facts(pairs),
        h("h3", "Known errors of the estimate"),
        listed(_KNOWN) if kinds["estimated"] else h("p", "No time of this run is estimated."),
    )


# What the model leaves out, from the constants that dsl/targets and docs/estimate.md mark as unmeasured.
_KNOWN: tuple[Child, ...] = (
    "It takes the peak clock; under load a GPU runs slower, more so the more matrix work a kernel does.",
    "Caches are modelled by reuse counts, not simulated; contention between dies and address translation are left out.",
    "Launch time, barriers and a few latencies are figures of common knowledge that nobody measured for this project.",
    "Its steady state comes from a short simulation of the main loop: differences of about 2 % are noise.",
    "So it ranks kernels of one problem; it does not predict what a clock will show.",
)


def _calibration(measured: int, target: str) -> str:
    if measured:
        return f"{plural(measured, 'candidate')} of this run were measured on a GPU"
    return f"none: no time of this run was measured, and no agreement of estimate and clock is known for {target}"


def _faults(run: RunData) -> str:
    failed = [n for n, j in run.attempts.items() if j.attempt.fault == "toolchain"]
    return f"candidates {', '.join(map(str, failed))}" if failed else "none"


def _warnings(run: RunData) -> Child:
    told = [e.message for e in run.events if isinstance(e, Warned)]
    return listed(told) if told else "none"
