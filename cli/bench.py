"""`argus bench`: how long checking, compiling and a whole run take."""

from __future__ import annotations

from typing import Annotated

import typer

from argus.cli.output import fail, print_json
from argus.evals.bench import SUITES, BenchReport

app = typer.Typer()


@app.command()
def bench(
    suite: Annotated[str, typer.Argument(help="checker, compile, optimize, or all.")] = "all",
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Print medians. Times are of this machine now: compare them within one run alone."""
    if suite != "all" and suite not in SUITES:
        fail("usage", f"no suite {suite!r}", "SUITE", f"one of {', '.join(SUITES)}, all", json=json)
    timings = [t for name in (SUITES if suite == "all" else (suite,)) for t in SUITES[name]().timings]
    report = BenchReport(suite=suite, timings=tuple(timings))
    if json:
        print_json(report)
        return
    for t in report.timings:
        typer.echo(
            f"{t.name:42} median {t.median_s * 1e3:9.1f} ms   {t.fastest_s * 1e3:.1f} to {t.slowest_s * 1e3:.1f} "
            f"({t.repetitions} times)"
        )
