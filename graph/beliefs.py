"""Beliefs taken along from an earlier run: its rewards are learned again, and count for at most six tries an arm."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from argus.agents.attempt import Attempt
from argus.agents.policy.arms import Catalogue
from argus.agents.policy.learning import learn
from argus.agents.policy.lessons import Arm, carried
from argus.agents.policy.reward import Reward
from argus.graph.errors import RunError
from argus.graph.folder import RECORD, RunFolder
from argus.graph.record import read_record
from argus.graph.store import step_id


def beliefs_of(run: Path, catalogue: Catalogue, reward: Reward) -> dict[str, Arm]:
    """What a run's attempts teach another, under this catalogue's cards.

    Arms carry target, family and kind of time in their names: those of another target lie idle.

    Raises:
        RunError: If there is no run, or none of its attempts can be read.
    """
    # Lessons go on citing the steps that taught them, by the episode that they belong to.
    episode = read_record(RunFolder.open(run)).run_id
    arms = carried(learned_arms(run, catalogue, reward).values())
    return {
        name: arm.model_copy(update={"steps": tuple(step_id(episode, s) for s in arm.steps)})
        for name, arm in arms.items()
    }


def learned_arms(run: Path, catalogue: Catalogue, reward: Reward) -> dict[str, Arm]:
    """The arms as the run itself left them.

    Raises:
        RunError: See `beliefs_of`.
    """
    folder = RunFolder.open(run)
    attempts = sorted(_attempts(folder), key=lambda a: (a.round, a.id))
    if not attempts:
        raise RunError(f"{run} holds no attempts to learn from", where=str(run))
    known = {a.id: a for a in attempts}
    arms: dict[str, Arm] = {}
    for _, fresh in groupby(attempts, key=lambda a: a.round):
        usable = [a for a in fresh if a.parent is None or a.parent in known]
        arms = learn(arms, usable, known, catalogue, reward).arms
    return arms


def _attempts(folder: RunFolder) -> Iterator[Attempt]:
    for path in (folder.root / "attempts").glob(f"*/{RECORD}"):
        try:
            yield Attempt.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            continue  # cut short by a crash, or of an older version
