"""What a bundle's run measured, read back: the table, the mean, and whether what ran is what was compiled."""

from __future__ import annotations

from math import exp, log

from argus.tools.bundle import Result, Results, mismatches, read_results

__all__ = ["Result", "Results", "mismatches", "read_results", "table"]


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
