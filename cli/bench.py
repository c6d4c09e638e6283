"""`argus bench`: how long the project's own parts take, and how fast kernels are on a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from argus.cli.output import fail, print_json
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.evals.bench import SUITES, BenchReport

app = typer.Typer()


@app.command()
def bench(
    suite: Annotated[str, typer.Argument(help="checker, compile, optimize, all; or gemm with --bundle.")] = "all",
    bundle: Annotated[Path | None, typer.Option(help="gemm: compile for sm_90a into this folder.")] = None,
    shapes: Annotated[
        str, typer.Option(help="MxNxK, or cubes, skinny, ragged, all; several with commas, f16: before those in f16.")
    ] = "4096x4096x4096,8192x8192x8192",
    candidates: Annotated[int, typer.Option(min=1, help="Schedules a shape, best prediction first.")] = 2,
    run: Annotated[Path | None, typer.Option(help="Time a bundle on this machine's GPU.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Results of --run.")] = Path("results.json"),
    show: Annotated[
        Path | None, typer.Option(help="Print the results of a run; with --bundle, verify its hashes.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="Of --show: text, markdown.")] = "text",
    choose: Annotated[
        Path | None, typer.Option(help="With --show: write the fastest schedule of each shape to this table.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Print medians. Times are of this machine now: compare them within one run alone."""
    if show is not None:
        _show(show, bundle, form, json=json)
        if choose is not None:
            _choose(show, choose)
    elif run is not None:
        _run(run, out, json=json)
    elif bundle is not None:
        if suite != "gemm":
            fail("usage", f"no bundle of {suite!r}", "SUITE", "argus bench gemm --bundle OUT", json=json)
        _bundle(bundle, shapes, candidates, json=json)
    else:
        _suite(suite, json=json)


def _suite(suite: str, *, json: bool) -> None:
    if suite == "gemm":
        fail("usage", "kernels are timed from a bundle", "SUITE", "argus bench gemm --bundle OUT", json=json)
    if suite != "all" and suite not in SUITES:
        fail("usage", f"no suite {suite!r}", "SUITE", f"one of {', '.join(SUITES)}, all", json=json)
    parts = [SUITES[name]() for name in (SUITES if suite == "all" else (suite,))]
    report = BenchReport(
        suite=suite,
        timings=tuple(t for part in parts for t in part.timings),
        figures=tuple(f for part in parts for f in part.figures),
    )
    if json:
        print_json(report)
        return
    for figure in report.figures:
        typer.echo(figure.render())
    for t in report.timings:
        typer.echo(
            f"{t.name:42} median {t.median_s * 1e3:9.1f} ms   {t.fastest_s * 1e3:.1f} to {t.slowest_s * 1e3:.1f} "
            f"({t.repetitions} times)"
        )


def _bundle(out: Path, shapes: str, count: int, *, json: bool) -> None:
    from argus.evals.gemm_bundle import Case, proposed, write_bundle  # noqa: PLC0415 - needs no nvcc yet
    from argus.tools.bundle import read_plan  # noqa: PLC0415

    cases: list[Case] = []
    for part in shapes.split(","):
        dtype, _, named = part.strip().rpartition(":")
        cases += proposed(_shapes(named, json=json), dtype or "bf16", count)
    try:
        candidates = write_bundle(out, cases)
    except KernelError as error:
        d = error.diagnostic
        fail("input", d.message, "", d.hint, json=json)
    except ToolchainError as error:
        fail("toolchain", str(error), str(out), json=json)
    if json:
        print_json(read_plan(out))
        return
    for c in candidates:
        r = c.artifact.report
        found = "; ".join(r.lint) or "no findings"
        typer.echo(
            f"{c.name:28} {r.registers.regs} registers, {r.lds_bytes:,} bytes shared, {r.spills} spilled; {found}; "
            f"{c.obligations[0]} of {c.obligations[1]} obligations proved"
        )
    typer.echo(f"\non the machine with the GPU: python {out / 'run.py'} --out results.json")


def _shapes(text: str, *, json: bool) -> tuple[tuple[int, int, int], ...]:
    from argus.evals.gemm_bundle import SHAPES  # noqa: PLC0415

    if text in SHAPES:
        return SHAPES[text]
    try:
        m, n, k = (int(x) for x in text.split("x"))
    except ValueError:
        hint = f"write 4096x4096x4096,f16:64x8192x8192, or one of {', '.join(SHAPES)}"
        fail("usage", f"cannot read {text!r} as a shape", "--shapes", hint, json=json)
    return ((m, n, k),)


def _run(bundle: Path, out: Path, *, json: bool) -> None:
    """The bundle's own runner in a process of its own, so that what is timed here is what is timed elsewhere."""
    runner = bundle / "run.py"
    if not runner.is_file():
        fail("input", "no run.py there", str(bundle), "make a bundle: argus bench gemm --bundle OUT", json=json)
    command = [sys.executable, str(runner), "--out", str(out)]
    done = subprocess.run(command, check=False, stdout=sys.stderr if json else None)
    if done.returncode == 3:
        fail("toolchain", "nothing could be measured", str(out), "an NVIDIA GPU and PyTorch with CUDA", json=json)
    _show(out, bundle, "text", json=json)
    if done.returncode:
        raise typer.Exit(code=1)


def _choose(file: Path, table: Path) -> None:
    from argus.dsl.kernels import hopper_table  # noqa: PLC0415
    from argus.evals.gemm_results import choices, read_results  # noqa: PLC0415

    measured, found = choices(read_results(file))
    hopper_table.write(table, measured, found)
    typer.echo(f"{len(found)} choices written to {table}")


def _show(file: Path, bundle: Path | None, form: str, *, json: bool) -> None:
    from argus.evals.gemm_results import mismatches, read_results, table  # noqa: PLC0415

    if form not in ("text", "markdown"):
        fail("usage", f"no format {form!r}", "--format", "text or markdown", json=json)
    try:
        results = read_results(file)
        wrong = [] if bundle is None else mismatches(results, bundle)
    except ToolchainError as error:
        fail("input", str(error), str(file), json=json)
    if json:
        print_json(results)
    else:
        typer.echo(table(results, "markdown" if form == "markdown" else "text"))
        verified = sum(bool(r.cubin_sha) for r in results.results)
        if bundle is not None and not wrong and verified:
            typer.echo(
                f"{verified} entries ran the bundle's own cubins, compiled from its own kernel texts: hashes verified"
            )
    if wrong:
        fail(
            "no-result", "; ".join(wrong), str(file), "show the results with the bundle that they came from", json=json
        )
