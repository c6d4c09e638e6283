"""The optimiser as a LangGraph state machine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argus.graph.build import build_graph
    from argus.graph.context import Budget, Config, RunContext
    from argus.graph.run import RunResult, aoptimize, optimize, resume

__all__ = ["Budget", "Config", "RunContext", "RunResult", "aoptimize", "build_graph", "optimize", "resume"]

# Loaded on first use: errors and events of a run are read by commands that need no graph library.
_HOME = {
    "Budget": "argus.graph.context",
    "Config": "argus.graph.context",
    "RunContext": "argus.graph.context",
    "RunResult": "argus.graph.run",
    "aoptimize": "argus.graph.run",
    "build_graph": "argus.graph.build",
    "optimize": "argus.graph.run",
    "resume": "argus.graph.run",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the module protocol asks for it
    if name not in _HOME:
        raise AttributeError(f"module 'argus.graph' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
