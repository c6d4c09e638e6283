"""The fakes of the graph's tests serve here as well."""

from __future__ import annotations

import pytest
from tests.graph import graph_fakes

import argus.graph.context


@pytest.fixture
def told_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    """The family's text tells its schedule, so that fake tools can read it."""
    monkeypatch.setattr(argus.graph.context, "families", lambda: {"gemm": graph_fakes.family()})
