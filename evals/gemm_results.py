"""What a bundle's run measured, read back: the table, the mean, and whether what ran is what was compiled."""

from __future__ import annotations

import json
from math import exp, log
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from argus.dsl.diagnostics import ToolchainError

MANIFEST = "bundle.json"


class Result(BaseModel, frozen=True):
    """One entry of a run. `ratio` is the peer's time over ours with its 95 % interval: above 1 means faster."""

    id: str
    kind: str = ""
    status: str
    message: str = ""
    dtype: str = ""
    sizes: dict[str, int] = {}
    name: str = ""
    library: str | None = None
    kernel_sha: str = ""
    cubin_sha: str = ""
    time_us: tuple[float, float, float] | None = None
    peer_us: tuple[float, float, float] | None = None
    ratio: tuple[float, float, float] | None = None
    tflops: float | None = None
    peer_tflops: float | None = None
    checks: tuple[dict[str, Any], ...] = ()
    clocks: tuple[dict[str, float | None], ...] = ()
    device: dict[str, Any] = {}


class Results(BaseModel, frozen=True):
    """A results file, as `run.py` writes it."""

    schema_version: int
    bundle_sha: str
    task: str
    date: str
    driver: str | None = None
    results: tuple[Result, ...]


def read_results(path: Path) -> Results:
    """Read a results file.

    Raises:
        ToolchainError: If it cannot be read, or is none.
    """
    try:
        return Results.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise ToolchainError(f"no results in {path}: {error}") from error


def mismatches(results: Results, bundle: Path) -> list[str]:
    """Entries that did not run what this bundle holds; empty when all did.

    Raises:
        ToolchainError: If the bundle cannot be read.
    """
    try:
        plan = json.loads((bundle / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ToolchainError(f"no bundle in {bundle}: {error}") from error
    entries = {e["id"]: e for e in plan["entries"]}
    out = [] if plan["bundle_sha"] == results.bundle_sha else ["the results are of another bundle"]
    for r in results.results:
        entry = entries.get(r.id)
        if entry is None:
            out.append(f"{r.id} is not in the bundle")
        elif r.cubin_sha and (r.cubin_sha, r.kernel_sha) != (entry["cubin_sha"], entry["kernel_sha"]):
            out.append(f"{r.id} ran another cubin, or one of another kernel text")
    return out


def table(results: Results) -> str:
    """A line an entry, and the geometric mean over shapes of the best kernel of each."""
    known = [r.device for r in results.results if r.device]
    device = known[0] if known else {}
    lines = [
        f"{device.get('name', 'unknown GPU')}, driver {results.driver or 'unknown'}, torch {device.get('torch', '?')}, "
        f"{results.date}; measured, paired, median [95 %]",
        f"{'entry':52} {'status':9} {'us':>9} {'TFLOP/s':>8} {'peer':>8}   percent of peer",
    ]
    lines += [_line(r) for r in results.results]
    best: dict[str, float] = {}
    for r in results.results:
        if r.kind == "candidate" and r.status == "ok" and r.ratio is not None:
            key = f"{r.dtype} {sorted(r.sizes.items())}"
            best[key] = max(best.get(key, 0.0), r.ratio[0])
    if best:
        mean = exp(sum(log(x) for x in best.values()) / len(best))
        lines.append(f"best kernel of each of {len(best)} shapes, geometric mean: {100 * mean:.1f} % of the library")
    return "\n".join(lines)


def _line(r: Result) -> str:
    if r.ratio is None or r.time_us is None:
        bad = next((c for c in r.checks if not c.get("ok")), "")
        return f"{r.id:52} {r.status:9} {r.message} {bad}".rstrip()
    ratio, low, high = (100 * x for x in r.ratio)
    clocks = [mhz for c in r.clocks if (mhz := c.get("sm_mhz")) is not None]
    clock = f", {min(clocks):.0f}–{max(clocks):.0f} MHz" if clocks else ""
    against = r.library if r.kind == "candidate" else "itself"
    return (
        f"{r.id:52} {r.status:9} {r.time_us[0]:9.1f} {r.tflops or 0:8.1f} {r.peer_tflops or 0:8.1f}   "
        f"{ratio:.1f} [{low:.1f}, {high:.1f}] of {against}{clock}"
    )
