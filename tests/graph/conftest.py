"""The fakes beside these tests are imported by name, by tests and by the processes that tests start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import argus.graph.context

sys.path.insert(0, str(Path(__file__).parent))

import graph_fakes


@pytest.fixture(autouse=True)
def told_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family's text tells its schedule, so that fake tools can read it."""
    monkeypatch.setattr(argus.graph.context, "families", lambda: {"gemm": graph_fakes.family()})
