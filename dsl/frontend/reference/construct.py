"""What a construct's entry in the language reference says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Target = Literal["both", "gfx942", "sm_90a"]


@dataclass(frozen=True, slots=True)
class Construct:
    """One construct, or a few that belong together.

    Attributes:
        words: The words of the language that it explains.
        form: How it is written.
        brief: One line for prompts.
        meaning: What it does, with shapes.
        obligations: What the checker proves because of it; empty: nothing.
        example: A whole kernel that uses it.
        target: Where it exists; on the other target it is a diagnostic.
        sugar: Whether a transform expands it into other constructs.
    """

    words: tuple[str, ...]
    form: str
    brief: str
    meaning: str
    example: str
    obligations: str = ""
    target: Target = "both"
    sugar: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Constructs under one heading."""

    title: str
    constructs: tuple[Construct, ...]
