"""One mutant before two judges: the checker, which is judged, and the interpreter, which knows."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Literal

from pydantic import BaseModel

from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport, KernelError
from argus.dsl.frontend import parse
from argus.dsl.interp import trip_sizes, wrong
from argus.dsl.interp.program import size_symbols
from argus.dsl.ir import Kernel
from argus.dsl.ir.contract import contract_sha
from argus.dsl.layout import evaluate
from argus.dsl.transform import to_core
from argus.evals.subjects import Reference

Verdict = Literal["proved", "refuted", "unknown", "refused", "crashed"]

MORE_SIZES = 4
_LARGEST_BLOCKWORK = 2_000_000  # multiply-adds of a probe beyond the trip counts


class Judged(BaseModel, frozen=True):
    """What became of one kernel.

    Attributes:
        operator: How it was made; empty for an original.
        verdict: The checker's. `refuted` only with a replayed witness; `refused` by the front end.
        wrong: How the interpreter saw it go wrong; empty if it did not.
        kinds: Kinds of the obligations that are refuted, or else unknown.
        reasons: Why obligations are unknown.
        found: What the checker says of the obligations that are not proved.
        broken: How the interpreter failed, so that nobody knows whether the kernel is wrong.
    """

    operator: str
    origin: str
    sha: str
    text: str
    verdict: Verdict
    wrong: str = ""
    kinds: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    found: str = ""
    broken: str = ""
    check_seconds: float = 0.0
    truth_seconds: float = 0.0

    @property
    def internal(self) -> bool:
        """Solver and interpreter disagree: a defect of the checker, whatever the verdict."""
        return any(reason.startswith("internal") for reason in self.reasons)


def judge(text: str, reference: Reference, *, operator: str, origin: str, sha: str, contract: str) -> Judged:
    """Check a kernel and execute it.

    Args:
        text: The kernel.
        reference: What it should compute.
        operator: Copied to the result, as are `origin` and `sha`.
        origin: The original's name.
        sha: The kernel's hash.
        contract: The original's text, whose contract the kernel must have.
    """
    began = time.perf_counter()
    verdict, report, found = _verdict(text, contract_sha(parse(contract)))
    checked = time.perf_counter()
    core = to_core(parse(text))
    truth, broken = "", ""
    try:
        truth = is_wrong(core, reference, report)
    except Exception:  # an interpreter that crashes, likewise
        broken = traceback.format_exc(limit=-4)
    unproved = [] if report is None else [o for o in report.obligations if o.verdict != "proved"]
    refuted = [o for o in unproved if o.verdict == "refuted"]
    return Judged(
        operator=operator, origin=origin, sha=sha, text=text, verdict=verdict, wrong=truth, found=found,
        broken=broken,
        kinds=tuple(dict.fromkeys(o.kind for o in refuted or unproved)),
        reasons=tuple(dict.fromkeys(o.reason for o in unproved if o.reason)),
        check_seconds=checked - began, truth_seconds=time.perf_counter() - checked,
    )  # fmt: skip


def _verdict(text: str, contract: str) -> tuple[Verdict, CheckReport | None, str]:
    try:
        report = check(text, contract_sha=contract)
    except KernelError as error:
        return "refused", None, error.diagnostic.render(text.splitlines())
    except Exception:  # a checker that crashes is a result of this suite
        return "crashed", None, traceback.format_exc(limit=-4)
    if any(c.replayed for c in report.counterexamples):
        return "refuted", report, report.render(text)
    return ("proved" if report.ok else "unknown"), report, report.render(text)


def is_wrong(core: Kernel, reference: Reference, report: CheckReport | None = None) -> str:
    """How a kernel goes wrong: at its loops' trip counts, at witnesses' sizes or at some more. Empty: not at all."""
    sizes = trip_sizes(core)
    found = wrong(core, reference, sizes_list=sizes)
    if found is None and report is not None:
        witnesses = [c.sizes for c in report.counterexamples if c.sizes and c.sizes not in sizes]
        found = wrong(core, reference, sizes_list=witnesses, every_block=True)
    if found is None:
        found = wrong(core, reference, sizes_list=more_sizes(core, sizes))
    return "" if found is None else str(found)


def more_sizes(core: Kernel, known: Sequence[Mapping[str, int]]) -> Iterator[dict[str, int]]:
    """Random sizes that the preconditions admit, up to half as large again as the known ones."""
    random = Random(0)
    symbols = size_symbols(core)
    most = {s: max(k[s] for k in known) * 3 // 2 for s in symbols}
    found = 0
    for _ in range(10_000):
        sizes = {s: random.randint(1, most[s]) for s in symbols}
        work = 1
        for value in sizes.values():
            work *= value
        if work <= _LARGEST_BLOCKWORK and all(evaluate(p, sizes) for p in core.where):
            yield sizes
            found += 1
        if found == MORE_SIZES:
            return
