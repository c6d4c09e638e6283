"""What the selector is told and answers."""

from __future__ import annotations

from pydantic import BaseModel

from argus.retrieval.card import Level


class Belief(BaseModel, frozen=True):
    """A Student-t belief on a log gain, and the share of tries that gave a valid kernel."""

    mean: float
    scale: float
    dof: float
    success: float


class ProposalView(BaseModel, frozen=True):
    """A proposal as the selector sees it.

    Attributes:
        behind: log of the parent's time over the best kernel's: what must be gained before anything is won.
        score: log of the stated speedup over the parent.
        belief: On the log gain over the parent.
    """

    index: int
    techniques: tuple[str, ...]
    parent: int
    behind: float = 0.0
    level: Level
    open: bool
    schedule_sha: str
    score: float
    confidence: float
    belief: Belief


class SelectionState(BaseModel, frozen=True):
    """The whole user message of the selector.

    Attributes:
        calibration: Weight of the planner's scores beside the beliefs, from how well past scores came true.
    """

    seed: int
    round: int
    slots: int
    calibration: float
    proposals: tuple[ProposalView, ...]


class Selection(BaseModel, frozen=True, extra="forbid"):
    """Indices of the proposals to try, best first."""

    chosen: tuple[int, ...]
