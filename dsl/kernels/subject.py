"""A library kernel with everything that a test, an evaluation or a bench asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from argus.dsl.kernels.task import Sizes, Target

Reference = Callable[[Mapping[str, Any], Sizes], Mapping[str, npt.NDArray[Any]]]
# Inputs are arrays, or numbers for scalar parameters, by parameter name.
MakeInputs = Callable[[Sizes, np.random.Generator], Mapping[str, Any]]
# The same of a family, whose functions take the schedule first.
FamilyReference = Callable[[Any, Mapping[str, Any], Sizes], Mapping[str, npt.NDArray[Any]]]
FamilyInputs = Callable[[Any, Sizes, np.random.Generator], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Subject:
    """A right kernel: its text, and the outputs that inputs and sizes should give.

    Attributes:
        name: `family/schedule`; distinct.
        reference: fp64 inputs and sizes to fp64 outputs; NaN where any value will do.
        sizes: Where to test it: loops over sizes run 1, 2, S and 2 S + 1 times (S stages), with ragged tails.
        make_inputs: Inputs that the contract allows; None: normal deviates will do.
    """

    name: str
    text: str
    reference: Reference
    family: str
    target: Target
    sizes: tuple[Sizes, ...]
    make_inputs: MakeInputs | None = None


@dataclass(frozen=True, slots=True)
class LibraryFamily:
    """A family of kernels: from a schedule to text, and what that text computes.

    The functions take a schedule of the class `schedule` and no other.

    Attributes:
        summary: One line, what it computes and how.
        targets: A schedule of a family for both has a field `target`.
        examples: Schedules by name, which differ in how they stage, synchronise or map.
    """

    name: str
    summary: str
    targets: tuple[Target, ...]
    schedule: type[BaseModel]
    text: Callable[[Any], str]
    reference: FamilyReference
    sizes: Callable[[Any], tuple[Sizes, ...]]
    examples: Mapping[str, BaseModel]
    make_inputs: FamilyInputs | None = None

    def subject(self, label: str, schedule: BaseModel) -> Subject:
        """The kernel of a schedule; `label` names the schedule."""
        make = self.make_inputs
        return Subject(
            name=f"{self.name}/{label}",
            text=self.text(schedule),
            reference=lambda inputs, sizes: self.reference(schedule, inputs, sizes),
            family=self.name,
            target=getattr(schedule, "target", self.targets[0]),
            sizes=self.sizes(schedule),
            make_inputs=None if make is None else lambda sizes, rng: make(schedule, sizes, rng),
        )
