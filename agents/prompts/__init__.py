"""Seed prompts: reviewed files, loaded as data. `{language}` in one stands for the language reference in short."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from argus.agents.attempt import sha
from argus.dsl.frontend.reference import compact


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt's text under the name of its hash."""

    name: str
    text: str

    @property
    def sha(self) -> str:
        return sha(self.text)


@cache
def load(name: str) -> Prompt:
    """The seed of one agent's prompt."""
    text = files("argus.agents.prompts").joinpath(f"{name}.md").read_text("utf-8")
    return Prompt(name, text.replace("{language}", compact().strip()))
