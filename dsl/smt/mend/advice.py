"""Edits that no proof asks for: swizzles under which shared memory is accessed in fewer cycles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from argus.dsl.diagnostics import Advice
from argus.dsl.ir import Kernel, Shared
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.smt.mend.change import instead
from argus.dsl.smt.mend.recheck import Key, Recheck
from argus.dsl.tags.analysis import Analysis
from argus.dsl.tags.banks import Access
from argus.dsl.tags.swizzles import Better, better_swizzle


def advice(kernel: Kernel, analysis: Analysis, recheck: Recheck, unproved: frozenset[Key]) -> Iterator[Advice]:
    """For each buffer with bank conflicts the best swizzle, if there is a better one; no proof is lost by it."""
    if kernel.target != "gfx942":
        return
    by_buffer: dict[str, list[Access]] = defaultdict(list)
    for access in analysis.context.accesses.values():
        by_buffer[access.buffer].append(access)
    written = [n for n in walk_body(kernel.body) if isinstance(n, Shared)]
    for name, accesses in by_buffer.items():
        buffer = analysis.context.types.buffers[name]
        found = better_swizzle(buffer, accesses)
        source = next((s for s in written if s.span == buffer.span), None)
        if found is None or source is None:
            continue
        change = instead(kernel, [(source, replace(source, swizzle=found.swizzle))])
        if recheck(change.kernel, unproved) is not None:
            yield Advice(line=source.span.line, text=f"{_told(name, found)}: {change.words}", edits=change.edits)


def _told(name: str, found: Better) -> str:
    ways = f"up to {found.worst_before:g}-way bank conflicts, then {found.worst_after:g}-way"
    return f"{name} has {ways} ({found.before} and {found.after} LDS cycles)"
