"""One mutant before two judges: the checker, which is judged, and the interpreter, which knows."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Literal

from pydantic import BaseModel

from argus.dsl.check import check_kernel
from argus.dsl.diagnostics import CheckReport, KernelError
from argus.dsl.interp import POLICIES, Policy, trip_sizes, wrong
from argus.dsl.interp.program import size_symbols
from argus.dsl.ir import AtomicAdd, CopyAsync, Kernel, Store
from argus.dsl.ir.contract import contract_sha
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import evaluate
from argus.dsl.tags.views import root
from argus.dsl.transform import to_core
from argus.evals.limits import OutOfTime, time_limit
from argus.evals.subjects import Subject, read

Verdict = Literal["proved", "refuted", "unknown", "refused", "crashed"]

MORE_SIZES = 2
FEW = (*POLICIES[:3], POLICIES[-1])  # each landing, and waves that starve
LIMIT_SECONDS = 60.0  # of each of the two judges
_LARGEST_BLOCKWORK = 2_000_000  # multiply-adds of a probe beyond the trip counts


class Judged(BaseModel, frozen=True):
    """What became of one kernel.

    Attributes:
        operator: How it was made; empty for an original.
        verdict: The checker's. `refuted` only with a replayed witness; `refused` by the front end.
        wrong: How the interpreter saw it go wrong; empty if it did not.
        kinds: Kinds of the obligations that are refuted, or else unknown.
        reasons: Why obligations are unknown.
        tiers: How many obligations each tier decided.
        widened: Loops that the checker did not understand.
        found: What the checker says of the obligations that are not proved.
        broken: How the interpreter failed, so that nobody knows whether the kernel is wrong.
    """

    operator: str
    origin: str
    family: str
    sha: str
    text: str
    verdict: Verdict
    wrong: str = ""
    kinds: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    tiers: dict[str, int] = {}
    widened: tuple[str, ...] = ()
    found: str = ""
    broken: str = ""
    check_seconds: float = 0.0
    truth_seconds: float = 0.0

    @property
    def internal(self) -> bool:
        """Solver and interpreter disagree: a defect of the checker, whatever the verdict."""
        return any(reason.startswith("internal") for reason in self.reasons)


def judge(text: str, subject: Subject, *, operator: str = "", sha: str = "") -> Judged:
    """Check a kernel and execute it.

    Args:
        text: The kernel.
        subject: The original, whose contract the kernel must have and whose results it should give.
        operator: How the kernel was made; copied to the result, as is `sha`. Empty: it is the original, which tests of
            the library execute thoroughly, and is executed briefly here.
        sha: The kernel's hash.
    """
    began = time.perf_counter()
    verdict, report, found = _verdict(text, contract_sha(read(subject.text)))
    checked = time.perf_counter()
    truth, broken = "", ""
    try:
        with time_limit(LIMIT_SECONDS):
            truth = is_wrong(to_core(read(text)), subject, report, thorough=bool(operator))
    except KernelError as error:  # it has no meaning: what the front end could have said
        verdict = verdict if verdict == "proved" else "refused"
        broken = str(error)
    except Exception:  # an interpreter that crashes is a result, too
        broken = traceback.format_exc(limit=-4)
    obligations = () if report is None else report.obligations
    unproved = [o for o in obligations if o.verdict != "proved"]
    refuted = [o for o in unproved if o.verdict == "refuted"]
    if not truth and not broken and refuted and all(o.origin == "written" for o in refuted):
        # What it computes is right, what it says of it is not: the interpreter showed that, too.
        truth = "; ".join(o.counterexample.replayed for o in refuted if o.counterexample is not None)
    return Judged(
        operator=operator, origin=subject.name, family=subject.family, sha=sha, text=text, verdict=verdict,
        wrong=truth, found=found, broken=broken,
        kinds=tuple(dict.fromkeys(o.kind for o in refuted or unproved)),
        reasons=tuple(dict.fromkeys(o.reason for o in unproved if o.reason)),
        tiers=dict(Counter(o.tier for o in obligations)),
        widened=() if report is None else report.widened,
        check_seconds=checked - began, truth_seconds=time.perf_counter() - checked,
    )  # fmt: skip


def _verdict(text: str, contract: str) -> tuple[Verdict, CheckReport | None, str]:
    try:
        with time_limit(LIMIT_SECONDS):
            report = check_kernel(read(text), contract_sha=contract, fixes=False)
    except KernelError as error:
        return "refused", None, error.diagnostic.render(text.splitlines())
    except OutOfTime as error:
        return "crashed", None, f"the checker hangs: {error}"
    except Exception:  # a checker that crashes is a result of this suite
        return "crashed", None, traceback.format_exc(limit=-4)
    if any(c.replayed for c in report.counterexamples):
        return "refuted", report, report.render(text)
    return ("proved" if report.ok else "unknown"), report, report.render(text)


def is_wrong(core: Kernel, subject: Subject, report: CheckReport | None = None, *, thorough: bool = True) -> str:
    """How a kernel goes wrong: at its loops' trip counts, at witnesses' sizes or at some more. Empty: not at all.

    All schedules are tried at the largest trip count, where most is in flight, and a few at the others; unless
    `thorough`, a few at the trip counts alone.
    """

    def tried(
        sizes: Iterable[Mapping[str, int]], policies: Sequence[Policy] = FEW, *, every_block: bool = False
    ) -> str:
        found = wrong(
            core, subject.reference, sizes_list=sizes, inputs=subject.make_inputs, policies=policies,
            every_block=every_block,
        )  # fmt: skip
        return "" if found is None else str(found)

    unwritten = {e.tensor for e in core.ensures} - set(written(core))
    if unwritten:
        return f"nothing writes {', '.join(sorted(unwritten))}"
    sizes = [*subject.sizes] or trip_sizes(core)
    witnesses = () if report is None else tuple(c.sizes for c in report.counterexamples if c.sizes)
    if not thorough:
        return tried(sizes)
    return (
        tried(sizes[:-1])
        or tried(sizes[-1:], POLICIES)
        or tried((w for w in witnesses if w not in sizes), POLICIES, every_block=True)
        or tried(more_sizes(core, sizes))
    )


def written(core: Kernel) -> Iterator[str]:
    """The tensors and buffers that statements write."""
    for node in walk_body(core.body):
        if isinstance(node, Store | AtomicAdd | CopyAsync):
            yield root(node.dst if isinstance(node, CopyAsync) else node.view)


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
