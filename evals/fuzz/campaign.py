"""A campaign of random cases: what each came to, and those on which something broke or hung."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from pydantic import BaseModel

from argus.dsl.check import check_kernel
from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir import Kernel
from argus.dsl.ir.printer import show
from argus.evals.fuzz import nodes, texts
from argus.evals.limits import OutOfTime, time_limit
from argus.evals.subjects import read, subjects

SCHEMA_VERSION = 1
LIMIT_SECONDS = 20.0  # of one case
KINDS = ("edit", "ir", "text", "edit", "ir", "deep")


class FuzzFault(BaseModel, frozen=True):
    """A case on which front end or checker broke."""

    kind: str
    case: int
    error: str
    text: str


class FuzzReport(BaseModel, frozen=True):
    """`argus eval fuzz --json`.

    Attributes:
        outcomes: Of each kind of case: how many the front end refused, and the verdicts on the others.
        slowest_seconds: Of one case; `slowest`: its number.
        faults: Tracebacks and hangs.
    """

    schema_version: int = SCHEMA_VERSION
    seed: int
    cases: int
    outcomes: dict[str, dict[str, int]]
    slowest: int
    slowest_seconds: float
    faults: tuple[FuzzFault, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Every case got an answer in time."""
        return not self.faults

    def render(self) -> str:
        """Outcomes by kind of case, and every fault's last line."""
        lines = [f"seed {self.seed}: {self.cases:,} cases in {self.seconds:.0f} s, {len(self.faults)} faults"]
        for kind, found in self.outcomes.items():
            lines.append(f"{kind:8}" + ", ".join(f"{count:,} {what}" for what, count in sorted(found.items())))
        lines.append(f"the slowest, case {self.slowest}, took {self.slowest_seconds:.1f} s")
        lines += [f"case {f.case} ({f.kind}): {f.error.splitlines()[-1]}" for f in self.faults]
        return "\n".join(lines)


def evaluate_fuzz(
    *,
    seed: int,
    minutes: float | None = None,
    cases: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> FuzzReport:
    """Run random cases until the time is over or their number reached.

    Args:
        seed: Of all cases: case i is the same in every campaign of this seed.
        minutes: Wall time; None: until `cases` are done.
        cases: How many at most.
        progress: Told of every fault as it is found.
    """
    if minutes is None and cases is None:
        raise ValueError("give minutes or cases")
    began = time.perf_counter()
    outcomes: dict[str, Counter[str]] = {kind: Counter() for kind in dict.fromkeys(KINDS)}
    faults: list[FuzzFault] = []
    slowest, longest, number = 0, 0.0, 0
    while (cases is None or number < cases) and (minutes is None or time.perf_counter() - began < 60 * minutes):
        kind = KINDS[number % len(KINDS)]
        start = time.perf_counter()
        said, text = run_case(seed, number)
        took = time.perf_counter() - start
        if took > longest:
            slowest, longest = number, took
        outcomes[kind][said if "\n" not in said else "faults"] += 1
        if "\n" in said:
            faults.append(FuzzFault(kind=kind, case=number, error=said.strip(), text=text))
            if progress is not None:
                progress(f"case {number} ({kind}): {said.strip().splitlines()[-1]}")
        number += 1
    return FuzzReport(
        seed=seed, cases=number, outcomes={k: dict(v) for k, v in outcomes.items()}, slowest=slowest,
        slowest_seconds=longest, faults=tuple(faults), seconds=time.perf_counter() - began,
    )  # fmt: skip


def run_case(seed: int, number: int) -> tuple[str, str]:
    """What one case came to (a traceback holds line breaks), and its text."""
    text = ""
    try:
        with time_limit(LIMIT_SECONDS):
            made = make_case(seed, number)
            text = made if isinstance(made, str) else show(made)
            return _answered(made), text
    except OutOfTime:
        return traceback.format_exc(limit=-6), text
    except Exception:  # what the campaign looks for
        return traceback.format_exc(limit=-6), text


def make_case(seed: int, number: int) -> str | Kernel:
    """The text or the kernel of a case."""
    random = Random(f"{seed}:{number}")
    good = _good()
    match KINDS[number % len(KINDS)]:
        case "text":
            return texts.soup(random)
        case "deep":
            return texts.nested(random)
        case "edit":
            return texts.edited(random.choice(good), random, good)
        case _:
            return nodes.shaken(parse(random.choice(good)), random, _pool())


def _answered(made: str | Kernel) -> str:
    try:
        kernel = read(made) if isinstance(made, str) else made
        report = check_kernel(kernel)
    except KernelError as error:
        error.diagnostic.render([])
        return "refused"
    report.render(made if isinstance(made, str) else show(made))
    report.model_dump_json()
    if report.count("refuted"):
        return "refuted"
    return "proved" if report.ok else "unknown"


@cache
def _good() -> Sequence[str]:
    """Texts that authors may write, all right."""
    return tuple(s.text for s in subjects() if "·" not in s.text)


@cache
def _pool() -> nodes.Pool:
    return nodes.pool_of(parse(text) for text in _good())


def save_faults(report: FuzzReport, folder: Path) -> list[Path]:
    """One file for each fault: the text, then the traceback in comments."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for fault in report.faults:
        path = folder / f"{fault.kind}-{report.seed}-{fault.case}.py"
        notes = "".join(f"# {line}\n" for line in fault.error.splitlines())
        path.write_text(f"{fault.text}\n{notes}", "utf-8", errors="backslashreplace")
        paths.append(path)
    return paths
