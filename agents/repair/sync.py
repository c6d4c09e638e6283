"""Edits of synchronisation: barriers, waits, commits, fences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from argus.agents.repair import sites
from argus.agents.repair.blocks import block_after, common_block, head, lines_of, near, owner
from argus.agents.repair.sites import Kernel
from argus.dsl.diagnostics import Counterexample


def barrier(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """A barrier between the two accesses, at the block both lie in; at its end when they meet over the loop's edge."""
    yield from _wait_before_barrier(kernel)
    if "after the wait" in found.fix:
        waits = [s.line for s in kernel.of("wait") if s.line < found.consumer.line]
        for line in reversed(waits):
            yield sites.insert(kernel, line + 1, "barrier()", like=line)
    use = found.consumer.line
    others = [found.other.span.line] if found.other else _partners(kernel, found)
    lines = sorted(n for n in {use, *others} if 1 <= n <= len(kernel.lines))
    if not lines:
        return
    depth, begin, end = common_block(kernel, lines[0], lines[-1])
    # The later access as the text goes, or the earlier when the conflict wraps around a loop: the use either way.
    heads = sorted({head(kernel, n, depth) for n in lines}, key=lambda n: n != head(kernel, use, depth))
    for place in heads:
        yield sites.insert(kernel, place, "barrier()", like=place)
    if begin <= end:
        yield sites.insert(kernel, end + 1, "barrier()", like=begin)
    if match := re.search(r"before line (\d+)", found.fix):
        line = int(match[1])
        if 1 <= line <= len(kernel.lines):
            yield sites.insert(kernel, line, "barrier()", like=line)


def wait(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Wait for more groups, and before the barrier that publishes; close a group that is waited for."""
    use = found.consumer.line
    if "commit()" in found.fix:
        yield from _uncommitted(kernel)
    for keep in kernel.of("keep"):
        if keep.text.isdigit() and int(keep.text) > 0:
            yield sites.replace(kernel, keep, str(int(keep.text) - 1))
    yield from _fills_ahead(kernel)
    yield from _wait_before_barrier(kernel)
    waits = [s for s in kernel.of("wait") if s.text.isdigit()]
    waits.sort(key=lambda s: (s.line > use, abs(s.line - use)))
    told = re.search(r"wait\((\d+)\)", found.fix)
    count = told[1] if told else "0"
    for site in waits:
        if int(site.text) > int(count):
            yield sites.replace(kernel, site, count)
    yield from _waits_before_barriers(kernel, use, count)
    for site in waits:
        if int(site.text) > 0:
            yield sites.replace(kernel, site, str(int(site.text) - 1))
    yield from _uncommitted(kernel)
    place = head(kernel, use, common_block(kernel, use, use)[0])
    yield sites.insert(kernel, place, f"wait({count})", like=place)


def fence(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """A fence for the asynchronous proxy before the barrier, or before the use."""
    for line in (n for n in lines_of(kernel, "barrier()") if n <= found.consumer.line):
        yield sites.insert(kernel, line, 'fence("async")', like=line)
    yield sites.insert(kernel, found.consumer.line, 'fence("async")', like=found.consumer.line)


def trip_counts(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Barriers belong outside of branches: after the branch, or with the branch gone."""
    del found
    for i, line in enumerate(kernel.lines, 1):
        if not line.lstrip().startswith(("if ", "with elect(")):
            continue
        inside = block_after(kernel, i)
        for n in (n for n in inside if kernel.lines[n - 1].strip() == "barrier()"):
            rows = [row for k, row in enumerate(kernel.lines, 1) if k != n]
            rows.insert(inside[-1] - 1, " " * sites.indent(line) + "barrier()")
            yield sites.join(rows)
            kept = [(k, row) for k, row in enumerate(kernel.lines, 1) if k != i]
            yield sites.join([row[4:] if k in inside else row for k, row in kept])


def _wait_before_barrier(kernel: Kernel) -> Iterator[str]:
    """A wait says nothing to other waves: what it waited for is theirs after a later barrier."""
    lines = list(kernel.lines)
    for i in range(len(lines) - 1):
        if lines[i].strip() == "barrier()" and lines[i + 1].strip().startswith("wait("):
            swapped = [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]]
            yield sites.join(swapped)


def _waits_before_barriers(kernel: Kernel, use: int, count: str) -> Iterator[str]:
    bars = [n for n in lines_of(kernel, "barrier()") if "wait(" not in kernel.lines[max(0, n - 2)]]
    for line in sorted(bars, key=lambda n: (n > use, abs(n - use))):
        yield sites.insert(kernel, line, f"wait({count})", like=line)


def _fills_ahead(kernel: Kernel) -> Iterator[str]:
    """Before the loop a ring of S stages is filled S - 1 times."""
    match = re.search(r"ring\((\d+),", kernel.text)
    if match is None:
        return
    for site in kernel.of("loop"):
        body = block_after(kernel, site.line)
        fills = any(".fill()" in kernel.lines[n - 1] for n in body)
        uses = any(".use(" in kernel.lines[n - 1] for n in body)
        if site.text.startswith("unroll(") and fills and not uses:
            yield sites.replace(kernel, site, f"unroll({int(match[1]) - 1})")
            if filled := re.fullmatch(r"unroll\((\d+)\)", site.text):
                yield kernel.text.replace(match[0], f"ring({int(filled[1]) + 1},")


def _uncommitted(kernel: Kernel) -> Iterator[str]:
    """A commit after a run of copies that has none; a ring's fill closes its group by itself."""
    if ".fill()" in kernel.text:
        return
    for i, line in enumerate(kernel.lines):
        following = kernel.lines[i + 1].strip() if i + 1 < len(kernel.lines) else ""
        if line.strip().startswith("copy_async(") and not following.startswith(("copy_async(", "commit()")):
            yield sites.insert(kernel, i + 2, "commit()", like=i + 1)


def _partners(kernel: Kernel, found: Counterexample) -> list[int]:
    """Another line that touches the buffer, when the witness names one access only."""
    known = near(kernel, found)
    touching = [s.line for s in kernel.sites if s.owner == owner(found) and s.line not in known]
    return [*known[1:2], *touching[-1:]][:1]
