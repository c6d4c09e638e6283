"""Bank conflicts of shared memory accesses under the lane phases of the target."""

from __future__ import annotations

from argus.dsl.tags.context import Context


def bank_conflicts(cx: Context) -> dict[str, object]:
    del cx
    return {}
