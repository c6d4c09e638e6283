"""A kernel with its expected verdict; variants are edits of one text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from argus.dsl.frontend import parse
from argus.evals.subjects import Reference, Sizes, Subject

Edit = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel of the suite.

    Attributes:
        hazard: What the kernel is about, for the table.
        right: Expected verdict; the interpreter confirms it.
        kinds: Of a wrong kernel: the kinds of obligation of which one must be refuted.
    """

    name: str
    hazard: str
    text: str
    reference: Reference
    right: bool
    kinds: tuple[str, ...] = ()
    sizes: tuple[Sizes, ...] = ()

    @property
    def subject(self) -> Subject:
        """For the judges."""
        return Subject(self.name, self.text, self.reference, self.hazard, parse(self.text).target, self.sizes)


@dataclass(frozen=True, slots=True)
class Base:
    """A right kernel, and the variants that edits make of it.

    Attributes:
        sizes: Where to execute it; empty: where loops run few, several and many times.
    """

    name: str
    text: str
    reference: Reference
    sizes: tuple[Sizes, ...] = ()

    def right(self, name: str, hazard: str, *edits: Edit) -> Case:
        """A variant that does no harm."""
        return self._case(name, hazard, edits, right=True, kinds=())

    def wrong(self, name: str, hazard: str, kinds: str, *edits: Edit) -> Case:
        """A variant that goes wrong; `kinds`, with commas, are those of which one is refuted."""
        return self._case(name, hazard, edits, right=False, kinds=tuple(kinds.split(",")))

    def _case(self, name: str, hazard: str, edits: tuple[Edit, ...], *, right: bool, kinds: tuple[str, ...]) -> Case:
        text = self.text
        for old, new in edits:
            assert text.count(old) == 1, f"{self.name} holds {old!r} {text.count(old)} times, not once"
            text = text.replace(old, new)
        return Case(f"{self.name}: {name}", hazard, text, self.reference, right, kinds, self.sizes)


Arrays = Mapping[str, npt.NDArray[Any]]


def same(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    """B = A."""
    del sizes
    return {"B": inputs["A"]}


def turned(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    """B = A transposed."""
    del sizes
    return {"B": inputs["A"].T}


def row_sums(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    """B[m] = sum of row m of A."""
    del sizes
    return {"B": np.sum(inputs["A"], axis=1)}


def product(inputs: Mapping[str, Any], sizes: Sizes) -> Arrays:
    """C = A B^T."""
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


def variants(*cases: Case) -> Iterator[Case]:
    """Cases in order, names checked to be distinct."""
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), names
    yield from cases
