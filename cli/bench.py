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
    shapes: Annotated[str, typer.Option(help="MxNxK, several with commas.")] = "4096x4096x4096,8192x8192x8192",
    dtype: Annotated[str, typer.Option(help="bf16 or f16.")] = "bf16",
    run: Annotated[Path | None, typer.Option(help="Time a bundle on this machine's GPU.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Results of --run.")] = Path("results.json"),
    show: Annotated[
        Path | None, typer.Option(help="Print the results of a run; with --bundle, verify its hashes.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Print medians. Times are of this machine now: compare them within one run alone."""
    if show is not None:
        _show(show, bundle, json=json)
    elif run is not None:
        _run(run, out, json=json)
    elif bundle is not None:
        if suite != "gemm":
            fail("usage", f"no bundle of {suite!r}", "SUITE", "argus bench gemm --bundle OUT", json=json)
        _bundle(bundle, shapes, dtype, json=json)
    else:
        _suite(suite, json=json)


def _suite(suite: str, *, json: bool) -> None:
    if suite == "gemm":
        fail("usage", "kernels are timed from a bundle", "SUITE", "argus bench gemm --bundle OUT", json=json)
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


def _bundle(out: Path, shapes: str, dtype: str, *, json: bool) -> None:
    from argus.evals.gemm_bundle import MANIFEST, Plan, write_bundle  # noqa: PLC0415 - the suites need no nvcc

    sizes = [_shape(part, json=json) for part in shapes.split(",")]
    try:
        candidates = write_bundle(out, shapes=sizes, dtype=dtype)
    except KernelError as error:
        d = error.diagnostic
        fail("input", d.message, "", d.hint, json=json)
    except ToolchainError as error:
        fail("toolchain", str(error), str(out), json=json)
    if json:
        print_json(Plan.model_validate_json((out / MANIFEST).read_bytes()))
        return
    for c in candidates:
        r = c.artifact.report
        found = "; ".join(r.lint) or "no findings"
        typer.echo(
            f"{c.name:28} {r.registers.regs} registers, {r.lds_bytes:,} bytes shared, {r.spills} spilled; {found}"
        )
    typer.echo(f"\non the machine with the GPU: python {out / 'run.py'} --out results.json")


def _shape(text: str, *, json: bool) -> tuple[int, int, int]:
    try:
        m, n, k = (int(x) for x in text.strip().split("x"))
    except ValueError:
        fail("usage", f"cannot read {text!r} as a shape", "--shapes", "write 4096x4096x4096,64x8192x8192", json=json)
    return m, n, k


def _run(bundle: Path, out: Path, *, json: bool) -> None:
    """The bundle's own runner in a process of its own, so that what is timed here is what is timed elsewhere."""
    runner = bundle / "run.py"
    if not runner.is_file():
        fail("input", "no run.py there", str(bundle), "make a bundle: argus bench gemm --bundle OUT", json=json)
    command = [sys.executable, str(runner), "--out", str(out)]
    done = subprocess.run(command, check=False, stdout=sys.stderr if json else None)
    if done.returncode == 3:
        fail("toolchain", "nothing could be measured", str(out), "an NVIDIA GPU and PyTorch with CUDA", json=json)
    _show(out, bundle, json=json)
    if done.returncode:
        raise typer.Exit(code=1)


def _show(file: Path, bundle: Path | None, *, json: bool) -> None:
    from argus.evals.gemm_results import mismatches, read_results, table  # noqa: PLC0415

    try:
        results = read_results(file)
        wrong = [] if bundle is None else mismatches(results, bundle)
    except ToolchainError as error:
        fail("input", str(error), str(file), json=json)
    if json:
        print_json(results)
    else:
        typer.echo(table(results))
        verified = sum(bool(r.cubin_sha) for r in results.results)
        if bundle is not None and not wrong and verified:
            typer.echo(f"{verified} entries ran the bundle's own cubins, compiled from the kernel texts that it names")
    if wrong:
        fail(
            "no-result", "; ".join(wrong), str(file), "show the results with the bundle that they came from", json=json
        )
