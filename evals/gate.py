"""The gate of a prompt: with a run's lessons, other tasks must be solved better than without, pair by pair."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from random import Random
from statistics import fmean

from pydantic import BaseModel

from argus.agents.policy.arms import Catalogue
from argus.agents.policy.lessons import lessons, planner_prompt
from argus.agents.policy.reward import reward
from argus.agents.prompts import Prompt, load
from argus.dsl.kernels import families
from argus.graph.beliefs import learned_arms
from argus.graph.context import problem_of
from argus.graph.errors import RunError
from argus.graph.folder import RunFolder
from argus.graph.record import RunRecord, read_record
from argus.graph.run import optimize
from argus.graph.store import Store
from argus.retrieval.load import load_corpus

SCHEMA_VERSION = 1
LEVEL = 0.1
_EXACT = 12  # pairs up to which every sign is tried
_DRAWS = 4096

Shape = Mapping[str, int]
Search = Callable[[Shape, int, "Path | None"], "float | None"]


class Pair(BaseModel, frozen=True):
    """One task and seed; the best times without and with the lessons, None without a valid kernel."""

    shape: dict[str, int]
    seed: int
    without_us: float | None
    with_us: float | None

    @property
    def gain(self) -> float:
        """Log gain of the lessons; a search that found nothing counts as half as fast as its pair."""
        if self.without_us is None or self.with_us is None:
            return math.log(2) * ((self.with_us is not None) - (self.without_us is not None))
        return math.log(self.without_us / self.with_us)


class GateReport(BaseModel, frozen=True):
    """`argus eval gate --json`.

    Attributes:
        p_value: Chance of a mean gain as large if the lessons made no difference: signs flipped at random.
    """

    schema_version: int = SCHEMA_VERSION
    run_id: str
    prompt_sha: str
    seed_sha: str
    lessons: int
    pairs: tuple[Pair, ...]
    mean_gain: float
    p_value: float

    @property
    def promoted(self) -> bool:
        """Lessons that help, and not by chance."""
        return self.lessons > 0 and self.mean_gain > 0 and self.p_value <= LEVEL

    def render(self) -> str:
        """A line a pair, then the verdict."""
        lines = [
            f"{'x'.join(map(str, p.shape.values())):>18}, seed {p.seed}: {_us(p.without_us)} without, {_us(p.with_us)} "
            f"with the lessons, {100 * (math.exp(p.gain) - 1):+.1f} %"
            for p in self.pairs
        ]
        verdict = "promoted" if self.promoted else "not promoted"
        mean = 100 * (math.exp(self.mean_gain) - 1)
        return "\n".join(
            [
                *lines,
                f"prompt {self.prompt_sha} of run {self.run_id}, {self.lessons} lessons: {mean:+.2f} % in the mean, "
                f"p = {self.p_value:.3f}: {verdict}",
            ]
        )


def prompt_of(run: Path) -> tuple[RunRecord, Prompt, int]:
    """A run's record, the prompt that it ended with, and how many lessons that holds.

    Raises:
        RunError: If there is no run, or nothing in it to learn from.
    """
    folder = RunFolder.open(run)
    record = read_record(folder)
    problem = problem_of(record.task)
    catalogue = Catalogue(load_corpus(), families()[problem.task.family], problem)
    found = lessons(learned_arms(run, catalogue, reward))
    return record, planner_prompt(found), len(found)


def evaluate_gate(
    run: Path,
    shapes: Sequence[Shape],
    *,
    runs: int,
    search: Search,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> GateReport:
    """Search each task with and without what a run taught.

    Args:
        run: The run's folder.
        shapes: The tasks, none of them the run's own.
        runs: Seeds a task.
        search: Best time of a task, given the seed and the run to learn from, if any.
        seed: The first one.
        progress: Called with how many of how many pairs are done.

    Raises:
        RunError: If a task is the run's own, or there is nothing to learn from.
    """
    record, prompt, count = prompt_of(run)
    own = dict(problem_of(record.task).shape)
    if any({**own, **shape} == own for shape in shapes):
        raise RunError("a gate's tasks lie outside the evidence", f"choose other shapes than {own}", where=str(run))
    pairs: list[Pair] = []
    for shape, number in product(shapes, range(seed, seed + runs)):
        without, taught = search(shape, number, None), search(shape, number, run)
        pairs.append(Pair(shape={**own, **shape}, seed=number, without_us=without, with_us=taught))
        if progress is not None:
            progress(len(pairs), len(shapes) * runs)
    gains = [p.gain for p in pairs]
    return GateReport(
        run_id=record.run_id,
        prompt_sha=prompt.sha,
        seed_sha=load("planner").sha,
        lessons=count,
        pairs=tuple(pairs),
        mean_gain=fmean(gains) if gains else 0.0,
        p_value=sign_flip(gains),
    )


def decide(run: Path, report: GateReport) -> None:
    """Write the gate's verdict beside the prompt in the run's store."""
    status = "promoted" if report.promoted else "refused"
    Store.open(RunFolder.open(run).episodes).decide_prompt(report.prompt_sha, status, report.model_dump_json())


def sign_flip(gains: Sequence[float]) -> float:
    """Share of sign patterns whose mean is at least the observed one; exact for up to twelve pairs."""
    if not gains:
        return 1.0
    seen, n = sum(gains), len(gains)
    if n <= _EXACT:
        patterns = list(product((1, -1), repeat=n))
    else:
        random = Random(n)
        patterns = [tuple(random.choice((1, -1)) for _ in gains) for _ in range(_DRAWS)]
    # The tolerance keeps the observed pattern itself among those that reach it.
    reached = sum(sum(s * g for s, g in zip(signs, gains, strict=True)) >= seen - 1e-12 for signs in patterns)
    return reached / len(patterns)


def policy_search(record: RunRecord, *, rounds: int, candidates: int) -> Search:
    """The offline policy on the run's task at other shapes, in scratch folders."""

    def search(shape: Shape, seed: int, learn_from: Path | None) -> float | None:
        with tempfile.TemporaryDirectory() as scratch:
            found = optimize(
                record.task.name, shape=shape, dtype=record.task.dtype, target=record.task.target, seed=seed,
                rounds=rounds, candidates=candidates, out=Path(scratch) / "run", track=False, learn_from=learn_from,
            )  # fmt: skip
        return next((a.time_us for a in found.attempts if a.id == found.best), None)

    return search


def _us(time: float | None) -> str:
    return "no kernel" if time is None else f"{time:,.1f} us"
