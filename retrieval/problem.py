"""A fault in the corpus, with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel

Rule = Literal[
    "syntax",  # not front matter, YAML or UTF-8
    "schema",  # unknown, missing or ill-typed field
    "file-name",
    "reference",  # a card or source that does not exist
    "symmetry",  # a conflict told by one side only
    "cycle",
    "prerequisite",  # lacks the card's target or family, or conflicts with the card
    "metric",
    "expression",
    "change",
    "example",
    "invariant",
    "effect",
    "status",
    "length",
    "figure",  # a number without its source
]


class Problem(BaseModel, frozen=True):
    """`rule` names the kind of fault; `line` counts from 1; `hint` says what would fix it."""

    file: str
    line: int
    rule: Rule
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: [{self.rule}] {self.message}" + (f"; {self.hint}" if self.hint else "")


class CardError(Exception):
    """One or more cards cannot be loaded."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(str(problem) for problem in problems))
