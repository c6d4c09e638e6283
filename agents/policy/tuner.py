"""Parameters that the closed form cannot rank: Optuna's tree-structured Parzen estimator, asked and told.

The only module that imports Optuna. A study lives for one call: it is rebuilt from what was evaluated, so that the
same history and seed give the same questions, on resuming as well.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import TrialState, create_trial

from argus.agents.policy.parameters import Choice
from argus.retrieval.card import Scalar

Space = Mapping[str, Mapping[str, tuple[Scalar, ...]]]  # card id -> parameter -> values; fixed for the study


@dataclass(frozen=True, slots=True)
class Trial:
    """An evaluated candidate: one card's parameters and its loss, the log of its time over its parent's."""

    card: str
    params: Mapping[str, Scalar]
    loss: float | None  # None: no valid kernel


@dataclass(frozen=True, slots=True)
class Tuner:
    """One study for a task, target and family, seen by all cards.

    Attributes:
        space: Every card's parameters; categories do not change within a study.
        history: What was evaluated so far, oldest first.
    """

    space: Space
    history: Sequence[Trial]
    seed: int

    def order(self, card: str, choices: Sequence[Choice], wanted: int) -> list[Choice]:
        """Up to `wanted` of the choices, in the order the sampler asks for them; the defaults first when untried."""
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            sampler = optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=True, seed=self.seed)
        study = optuna.create_study(sampler=sampler)
        for trial in self.history:
            if trial.card not in self.space:
                continue
            state = TrialState.FAIL if trial.loss is None else TrialState.COMPLETE
            study.add_trial(
                create_trial(
                    state=state,
                    value=trial.loss,
                    params=self._indices(trial.card, trial.params),
                    distributions=self._distributions(trial.card),
                )
            )
        if not any(trial.card == card for trial in self.history):
            study.enqueue_trial(self._indices(card, choices[0].params))
        by_index = {tuple(sorted(self._indices(card, c.params).items())): c for c in choices}
        found: list[Choice] = []
        # The sampler knows no constraints; what it asks outside the choices is told back as failed.
        for _ in range(8 * wanted):
            if len(found) >= min(wanted, len(choices)):
                break
            asked = study.ask(self._distributions(card))
            choice = by_index.get(tuple(sorted(asked.params.items())))
            if choice is None:
                study.tell(asked, state=TrialState.FAIL)
            elif choice not in found:
                found.append(choice)
        rest = [c for c in choices if c not in found]
        return [*found, *rest][:wanted]

    def _distributions(self, card: str) -> dict[str, BaseDistribution]:
        # Categories are positions: Optuna takes no tuples and warns of mixed types.
        return {
            f"{card}.{name}": CategoricalDistribution(tuple(range(len(values))))
            for name, values in self.space[card].items()
        }

    def _indices(self, card: str, params: Mapping[str, Scalar]) -> dict[str, int]:
        values = self.space[card]
        return {
            f"{card}.{name}": next((i for i, v in enumerate(options) if v == params.get(name, options[0])), 0)
            for name, options in values.items()
        }
