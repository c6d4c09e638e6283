"""The end of a run in a few lines."""

from __future__ import annotations

from argus.graph.result import AttemptRecord, RunResult


def winner_path(found: RunResult) -> list[AttemptRecord]:
    """From the start kernel to the best, in order; empty without a best."""
    by_id = {a.id: a for a in found.attempts}
    path: list[AttemptRecord] = []
    at = found.best
    while at is not None:
        path.append(by_id[at])
        at = by_id[at].parent
    return path[::-1]


def summary(found: RunResult) -> str:
    """Status, winner and the way to it."""
    tried = len(found.attempts) - 1
    lines = [f"{found.status}: {tried} candidates in {found.seconds:.0f} s; {found.stop_reason}"]
    path = winner_path(found)
    time_us = path[-1].time_us if path else None
    if time_us is not None:
        best, kind = path[-1], "est" if path[-1].time_kind == "estimated" else "measured"
        floor = f" · {100 * found.lower_bound_us / time_us:.0f} % of the floor" if found.lower_bound_us else ""
        lines.append(
            f"best: candidate {best.id}, {kind} {time_us:,.1f} us{floor}, {best.speedup or 1.0:.2f}x the start"
        )
        lines += [
            f"  {step.time_us:>9,.1f} us  {'+'.join(step.techniques) or 'start'}"
            + (f" ({', '.join(f'{k}={v}' for k, v in step.params.items())})" if step.params else "")
            for step in path
            if step.time_us is not None
        ]
    lines.append(f"argus runs show {found.run_id}")
    return "\n".join(lines)
