"""Flat Bayesian search as a rival: Optuna's tree-structured Parzen estimator over all knobs at once, on stored times.

It asks for a point of the whole space and is given the stored schedule that differs from it in the fewest knobs, and is
told that one's time. So it never leaves the table, and what it learns is of the schedule that it got.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState, create_trial

# A schedule without a time costs as much as one so much slower than the slowest.
_FAILED = 2.0


@dataclass(frozen=True, slots=True)
class Stored:
    """A schedule's knobs, plain and hashable, and its time; None if it has none."""

    knobs: Mapping[str, Any]
    time_us: float | None


def knobs_of(schedule: Mapping[str, Any]) -> dict[str, Any]:
    """Fields as categories; the elements of a tuple are knobs of their own."""
    out: dict[str, Any] = {}
    for name, value in schedule.items():
        if isinstance(value, list | tuple):
            out |= {f"{name}[{i}]": x for i, x in enumerate(value)}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        else:
            out[name] = value
    return out


def tpe_search(stored: Sequence[Stored], budget: int, seed: int) -> list[float]:
    """Best time after each candidate; infinite while none was valid."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    domains = {name: list(dict.fromkeys(s.knobs[name] for s in stored)) for name in stored[0].knobs}
    # Categories are positions: Optuna warns of types that it cannot store.
    space: dict[str, BaseDistribution] = {
        name: CategoricalDistribution(tuple(range(len(values)))) for name, values in domains.items() if len(values) > 1
    }
    worst = max((s.time_us for s in stored if s.time_us is not None), default=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(multivariate=True, seed=seed)
    study = optuna.create_study(sampler=sampler)
    left, best, curve = list(range(len(stored))), math.inf, list[float]()
    for _ in range(min(budget, len(stored))):
        asked = study.ask(space)
        study.tell(asked, state=TrialState.FAIL)
        wanted = {name: domains[name][i] for name, i in asked.params.items()}
        nearest = min(left, key=lambda n: (sum(stored[n].knobs[k] != v for k, v in wanted.items()), n))
        left.remove(nearest)
        found = stored[nearest]
        loss = math.log(found.time_us if found.time_us is not None else _FAILED * worst)
        params = {name: domains[name].index(found.knobs[name]) for name in space}
        study.add_trial(create_trial(state=TrialState.COMPLETE, value=loss, params=params, distributions=space))
        best = min(best, found.time_us if found.time_us is not None else math.inf)
        curve.append(best)
    return curve
