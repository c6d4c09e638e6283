"""Random input for front end and checker: whatever comes, they answer, and in time."""

from argus.evals.fuzz.campaign import FuzzFault, FuzzReport, evaluate_fuzz

__all__ = ["FuzzFault", "FuzzReport", "evaluate_fuzz"]
