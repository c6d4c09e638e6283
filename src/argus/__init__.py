"""Argus: agents that write fast GPU kernels under data-flow invariants."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argus.dsl.check import check
    from argus.graph.run import RunResult, aoptimize, optimize
    from argus.tools.compile import compile_kernel

__version__ = "0.1.0"
__all__ = ["RunResult", "__version__", "aoptimize", "check", "compile_kernel", "optimize"]

# Loaded on first use: `import argus` must stay fast, and MLflow, TVM and Chroma are not.
_HOME = {
    "RunResult": "argus.graph.run",
    "aoptimize": "argus.graph.run",
    "check": "argus.dsl.check",
    "compile_kernel": "argus.tools.compile",
    "optimize": "argus.graph.run",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the module protocol asks for it
    if name not in _HOME:
        raise AttributeError(f"module 'argus' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
