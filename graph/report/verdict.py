"""Part 1: what came out, and what was and was not executed to know it."""

from __future__ import annotations

from collections import Counter

from argus.graph.report.figures import percent, plural, shape_text, timed, times
from argus.graph.report.markup import Child, Html, h, listed
from argus.graph.report.read import Judged, RunData

_DEVICE = {"gfx942": "MI300X", "sm_90a": "H200"}
_RAN = {
    "ir": "the kernel's IR, in the interpreter",
    "tir": "the lowered code, in a lockstep simulator of threads, shared memory, barriers and MFMA",
    "object": "the compiled object, on a GPU",
}


def verdict(run: RunData) -> Html:
    """Headline, tiles, and what was executed."""
    winner = run.winner
    if winner is None:
        return h("div", h("p", _without_winner(run), class_="lead"), _damaged(run))
    return h(
        "div",
        h("p", _sentence(run, winner), class_="lead"),
        h("div", _tiles(run, winner), class_="tiles"),
        h("h3", "What was executed, and what was not"),
        listed(executed(winner)),
        _damaged(run),
    )


def executed(winner: Judged) -> list[Child]:
    """One line each for proof, tests, object and time."""
    a = winner.attempt
    lines: list[Child] = []
    if winner.check is not None:
        lines.append(
            "Proved from the kernel's text by the checker, for all sizes that the contract admits; nothing ran."
        )
    cases = winner.tests.cases if winner.tests else ()
    for what, count in Counter(c.executed for c in cases).items():
        lines.append(f"Executed: {_RAN.get(what, what)} ({plural(count, 'test case')}).")
    if not cases:
        lines.append("Executed: none.")
    if not any(c.executed == "object" for c in cases) and winner.manifest is not None:
        lines.append(
            f"Not executed: the {winner.manifest.target} object. It was compiled, linked and read; no GPU ran it."
        )
    if a.time_us is not None:
        where = "from its assembly by a model of the machine" if a.time_kind == "estimated" else "on a GPU"
        lines.append(f"The time is {a.time_kind}: {'computed ' if a.time_kind == 'estimated' else ''}{where}.")
    return lines


def headline(run: RunData) -> str:
    """`gemm bf16 4096×4096×4096 → gfx942 (MI300X)`."""
    p = run.problem
    return f"{p.task.name} {p.dtype} {shape_text(p.shape)} → {p.target} ({_DEVICE[p.target]})"


def _sentence(run: RunData, winner: Judged) -> Child:
    a, parts = winner.attempt, list[Child]()
    result = run.record.result
    gain = (
        "is the kernel that the search started from: nothing faster was found"
        if a.id == 0
        else "is the fastest kernel found"
    )
    parts += [f"Candidate {a.id} {gain}"]
    if a.id != 0 and a.speedup is not None:
        parts += [f", {times(a.speedup)} as fast as the start kernel"]
    parts += [". ", f"Stopped: {result.stop_reason}." if result else "The run has not ended."]
    return parts


def _tiles(run: RunData, winner: Judged) -> list[Html]:
    a, tiles = winner.attempt, list[Html]()
    floor = run.floor_us
    if a.time_us is not None:
        tiles.append(
            _tile(
                "time",
                timed(a.time_us, a.time_kind),
                f"{times(a.speedup)} the start kernel's speed" if a.speedup else "",
            )
        )
    if floor is not None:
        reached = percent(floor / a.time_us) if a.time_us else "–"
        tiles.append(_tile("floor of any kernel", timed(floor), f"the winner reaches {reached} of it"))
    total = a.obligations.proved + a.obligations.refuted + a.obligations.unknown
    unproved = f"{a.obligations.refuted} refuted, {a.obligations.unknown} unknown"
    tiles.append(
        _tile("proved", f"{a.obligations.proved} of {total}", unproved, bad=a.obligations.proved < total or not total)
    )
    cases = a.tests.passed + a.tests.failed
    tiles.append(
        _tile("numeric tests", f"{a.tests.passed} of {cases}", "against fp64", bad=a.tests.failed > 0 or not cases)
    )
    others = [j for n, j in run.attempts.items() if n != 0]
    valid = sum(j.attempt.valid for j in others)
    seconds = f" in {run.record.result.seconds:,.0f} s" if run.record.result else ""
    tiles.append(_tile("candidates", f"{len(others)}", f"{valid} valid{seconds}"))
    return tiles


def _tile(name: str, value: Child, note: Child, *, bad: bool = False) -> Html:
    return h(
        "div",
        h("span", name, class_="name"),
        h("span", value, class_="value"),
        h("span", note, class_="note") if note else None,
        class_="tile bad" if bad else "tile",
    )


def _without_winner(run: RunData) -> Child:
    result = run.record.result
    why = Counter(j.attempt.status for j in run.attempts.values())
    tally = ", ".join(f"{n} {status.replace('_', ' ')}" for status, n in why.most_common())
    ended = f" Stopped: {result.stop_reason}." if result else " The run has not ended."
    return f"No valid kernel among {plural(len(run.attempts), 'attempt')}{f' ({tally})' if tally else ''}.{ended}"


def _damaged(run: RunData) -> Html | None:
    if not run.damaged:
        return None
    return h("p", "Could not be read, and is missing below: ", ", ".join(run.damaged), ".", class_="warning")
