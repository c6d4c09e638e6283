"""What agents are told and what they answer: one JSON document between fixed markers, and typed outputs.

A model reads the document; `OfflineModel` parses it back. Nothing else reaches either: both decide on the same facts.
"""

from argus.agents.messages.document import parse, parse_as, render
from argus.agents.messages.explaining import Explanation, Failure
from argus.agents.messages.lowering import CheckAnswer, Declined, LoweredKernel, LoweringTask, TechniqueNote
from argus.agents.messages.planning import (
    ArmView,
    AttemptView,
    BudgetLeft,
    CardView,
    Lesson,
    OptionView,
    PairView,
    ParentView,
    Plan,
    PlanningState,
    Proposal,
    ReliefView,
    ReportFacts,
    TaskFacts,
)
from argus.agents.messages.selection import Belief, ProposalView, Selection, SelectionState

__all__ = [
    "ArmView",
    "AttemptView",
    "Belief",
    "BudgetLeft",
    "CardView",
    "CheckAnswer",
    "Declined",
    "Explanation",
    "Failure",
    "Lesson",
    "LoweredKernel",
    "LoweringTask",
    "OptionView",
    "PairView",
    "ParentView",
    "Plan",
    "PlanningState",
    "Proposal",
    "ProposalView",
    "ReliefView",
    "ReportFacts",
    "Selection",
    "SelectionState",
    "TaskFacts",
    "TechniqueNote",
    "parse",
    "parse_as",
    "render",
]
