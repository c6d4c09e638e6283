"""`make demo`: a bug that tests miss, a search, and its winner with all that speaks for it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from argus import __version__
from argus.cli.output import fail, print_json
from argus.cli.progress import Progress
from argus.cli.report import report_run
from argus.cli.summary import winner_path
from argus.dsl.codegen.report import Report
from argus.dsl.diagnostics import CheckReport
from argus.dsl.frontend import parse
from argus.dsl.interp import Policy, run
from argus.dsl.kernels import Problem, make_problem, task_named
from argus.dsl.transform import to_core
from argus.evals.table import stored
from argus.graph.record import RunRecord
from argus.graph.result import AttemptRecord, RunResult
from argus.graph.run import RUNS, optimize
from argus.tools.check import check_invariants
from argus.tools.results import TestReport

app = typer.Typer()

CANDIDATES = 24
ROUNDS = 6
RANDOM_SEEDS = range(20)
_IN_ORDER = Policy("latest", "round-robin")
_SIZES = (
    (64, 64, 64),
    (64, 64, 32),
    (128, 64, 96),
    (64, 128, 160),
    (100, 60, 72),
    (33, 68, 8),
    (64, 64, 8),
    (1, 4, 40),
)


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Of every draw.")] = 0,
    out: Annotated[Path | None, typer.Option(help="The run's folder.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="The run's result as one JSON object on standard output.")
    ] = False,
) -> None:
    """Optimise a bf16 GEMM of 4096³ for gfx942 with the offline policy: no GPU, no key."""
    began = time.perf_counter()
    problem = make_problem(task_named("gemm"), dtype="bf16")
    say = _Say(err=json)
    sizes = "×".join(str(v) for v in problem.shape.values())
    say(
        f"Argus {__version__} · gemm {problem.dtype} {sizes} → {problem.target} (MI300X) · offline policy · seed {seed}"
    )
    say('No GPU is used. "est" is computed from the compiled code, not measured (docs/estimate.md).')
    missed_bug(problem, say)
    say(f"\n2  Search: at most {CANDIDATES} candidates")
    found = optimize(
        "gemm", dtype="bf16", seed=seed, candidates=CANDIDATES, rounds=ROUNDS, out=out, on_event=Progress()
    )
    folder = out or RUNS / found.run_id
    winner(found, folder, say)
    say(f"   report {report_run(folder, RunRecord.model_validate_json((folder / 'run.json').read_bytes()))}")
    say(f"   {time.perf_counter() - began:.0f} s · {len(found.attempts) - 1} candidates · 0 tokens")
    if json:
        print_json(found)
    raise typer.Exit(code=found.exit_code)


@dataclass(frozen=True, slots=True)
class _Say:
    err: bool

    def __call__(self, text: str) -> None:
        typer.echo(text, err=self.err)


def missed_bug(problem: Problem, say: _Say) -> None:
    """A kernel that in-order tests pass and the checker refutes."""
    path = Path(str(files("argus"))).parents[1] / "examples" / "gemm_missing_barrier.py"
    if not path.exists():
        fail("input", "the example kernel is not part of an installed package", str(path), "run it from a checkout")
    text = path.read_text("utf-8")
    core = to_core(parse(text, str(path)))
    passed = 0
    for m, n, k in _SIZES:
        rng = np.random.default_rng(m * n + k)
        inputs = {"A": rng.standard_normal((m, k)), "B": rng.standard_normal((n, k))}
        got = run(core, {"M": m, "N": n, "K": k}, inputs, policy=_IN_ORDER).outputs["C"]
        passed += bool(np.allclose(got, inputs["A"] @ inputs["B"].T, rtol=1e-9))
    say("\n1  A bug that tests miss")
    say(f"   {path.name}   tests: {passed}/{len(_SIZES)} passed (in-order interpreter)")
    report = check_invariants(path, problem)
    lines = text.splitlines()
    refuted = [o for o in report.obligations if o.counterexample is not None]
    for line in (refuted[0].render(lines) if refuted else report.render(text)).splitlines():
        say(f"   {line.replace(str(path), path.name)}")
    say(f"   checked in {report.seconds * 1e3:.0f} ms")


def winner(found: RunResult, folder: Path, say: _Say) -> None:
    """What was proved, tested, compiled and compared; lines without data are left out."""
    path = winner_path(found)
    if not path:
        say(f"\n3  No valid kernel: {found.stop_reason}")
        return
    best = path[-1]
    home = folder / "attempts" / str(best.id)
    report = Report.model_validate_json((home / "report.json").read_bytes())
    checked = CheckReport.model_validate_json((home / "check.json").read_bytes())
    tests = TestReport.model_validate_json((home / "tests.json").read_bytes())
    say(f"\n3  Winner: candidate {best.id}          est {best.time_us:,.1f} µs · {_floor(found, best)} of the floor")
    _floor_line(report, say)
    say("   path       " + " → ".join(f"{'+'.join(s.techniques) or 'start'} {s.time_us:,.1f}" for s in path))
    claimed = "leaning on assumptions" if checked.assumed else "none assumed"
    say(
        f"   proved     {checked.count('proved')} of {len(checked.obligations)} obligations, "
        f"{checked.count('unknown')} unknown, {claimed}, for every M, N, K with K % 8 == 0 and N % 4 == 0"
    )
    for assumption in checked.assumptions:
        say(f"              given that {assumption}")
    _numerics(tests, say)
    _object(report, best, say)
    _random_search(best, say)
    say("   trust      rank agreement of the estimate with measured times: gfx942 none (no MI300X was at hand)")
    say(f"\n   kernel {home / 'kernel.py'}   asm kernel.s   object kernel.hsaco")
    say(f"   next: argus check {home / 'kernel.py'} · argus runs show {found.run_id}")


def _floor(found: RunResult, best: AttemptRecord) -> str:
    return f"{100 * found.lower_bound_us / best.time_us:.0f} %" if found.lower_bound_us and best.time_us else "?"


def _floor_line(report: Report, say: _Say) -> None:
    if report.estimate is not None:
        floor = report.estimate.lower_bound_us
        say(f"   floor      {floor:.1f} µs for any kernel (est): the largest of MFMA, HBM and LDS, plus launch")


def _numerics(tests: TestReport, say: _Say) -> None:
    sizes = ", ".join("×".join(str(v) for v in c.sizes.values()) for c in tests.cases)
    worst = max((c.error for c in tests.cases if c.error is not None), default=None)
    error = "no error figure" if worst is None else f"max error {worst:.2f} of tolerance against fp64"
    say(f"   numerics   {tests.passed}/{len(tests.cases)} at {sizes}: {error}")
    say("              (executed: lowered code in the lockstep simulator; the gfx942 object was not run)")


def _object(report: Report, best: AttemptRecord, say: _Say) -> None:
    loop = report.main_loop
    say(
        f"   object     v_mfma {loop.mfma} per wave and trip of {loop.tiles} k-tiles · spills {report.spills} · "
        f"LDS {report.lds_bytes:,} B · {report.occupancy_waves} waves/SIMD · lints {len(report.lint) or 'clean'}"
    )
    del best


def _random_search(best: AttemptRecord, say: _Say) -> None:
    try:
        table = stored()
    except FileNotFoundError:
        return
    median = table.random_median(CANDIDATES, RANDOM_SEEDS)
    say(
        f"   search     random choice, same budget, {len(RANDOM_SEEDS)} seeds: median {median:,.1f} µs; "
        f"best of {len(table.entries):,} stored: {min(table.times):,.1f} µs; here {best.time_us:,.1f} µs"
    )
