"""The order that pipelined matrix kernels keep: what each loop and index would be if the rest of the kernel is right.

Tiles filled before the loop set how far its loads run ahead; the row of a stage sets how many k-steps and k-tiles there
are; k-steps are counted by their own loop.
"""

from __future__ import annotations

import re

from argus.agents.repair import sites
from argus.agents.repair.blocks import block_after
from argus.agents.repair.sites import Kernel, Site

# One slip shows at one index, or at its image for the other operand too; more differ where another order is kept.
_SLIPS = 2


def keeps_order(kernel: Kernel) -> bool:
    """Whether so little is out of order that it may be a slip: else the kernel is of another kind."""
    indices = [*_steps(kernel), *_pipeline(kernel)]
    return len({site.line for site, _ in indices}) <= _SLIPS and not _several_a_trip(kernel)


def disciplined(kernel: Kernel) -> list[str]:
    """The kernel with every loop and index in order, if that differs; then with loops alone, and indices alone."""
    loops, indices = _loops(kernel), [*_steps(kernel), *_pipeline(kernel)]
    found = [sites.replace_all(kernel, changes) for changes in ([*loops, *indices], loops, indices) if changes]
    return list(dict.fromkeys(found))


def loop_fixes(kernel: Kernel) -> list[str]:
    """One loop at a time."""
    return [sites.replace(kernel, site, new) for site, new in _loops(kernel)]


def _loops(kernel: Kernel) -> list[tuple[Site, str]]:
    """Loops around operands: k-steps from the row and the atom, k-tiles from the row."""
    row, atom = kernel.row, kernel.atom
    packs = [int(s.text) for s in kernel.of("pack") if s.text.isdigit()]
    found: list[tuple[Site, str]] = []
    for site in kernel.of("loop"):
        mine = [s for s in kernel.of("ks") if site.line in s.loops]
        if not mine or not row:
            continue
        new = site.text
        if any(s.loops[-1] == site.line for s in mine) and site.text.startswith("unroll("):
            if atom and row.isdigit():
                new = f"unroll({int(row) // (atom[2] * max(packs, default=1))})"
        elif site.text.startswith("range("):
            new = f"range(cdiv(K, {row}))"
        if new != site.text:
            found.append((site, new))
    return found


def _steps(kernel: Kernel) -> list[tuple[Site, str]]:
    """k-steps that are not the variable of the loop around them."""
    return [(site, name) for site in kernel.of("ks") if (name := loop_variable(kernel, site)) and name != site.text]


def _pipeline(kernel: Kernel) -> list[tuple[Site, str]]:
    """k-tiles and stages of the main loop, from what is filled before it."""
    main = next((s for s in kernel.of("loop") if s.text.startswith("range(") and not s.loops), None)
    if main is None:
        return []
    body = set(block_after(kernel, main.line))
    name = _variable(kernel, main.line)
    ahead = _filled_before(kernel, body)
    found: list[tuple[Site, str]] = []
    for site in kernel.of("k_tile", "stage"):
        if site.line not in body or not re.search(rf"\b{name}\b", site.text):
            continue
        offset = ahead if site.kind == "k_tile" or site.writes else 0
        moved = f"{name} + {offset}" if offset else name
        if site.kind == "stage":
            if not (match := re.search(r"% (\d+)$", site.text)):
                continue
            moved = f"({moved}) % {match[1]}" if offset else f"{moved} % {match[1]}"
        if moved != site.text:
            found.append((site, moved))
    return found


def _several_a_trip(kernel: Kernel) -> bool:
    """Whether an iteration takes several k-tiles: `2 * kt`, `2 * kt + 1`."""
    return any(re.search(r"\d+ \* [a-z]|[a-z]\w* \* \d+", s.text) for s in kernel.of("k_tile"))


def _filled_before(kernel: Kernel, body: set[int]) -> int:
    """Tiles of an operand that are on their way before the loop."""
    counts: dict[str, int] = {}
    for site in kernel.of("k_tile"):
        if site.line in body:
            continue
        times = 1
        for line in site.loops:
            match = re.search(r"unroll\((\d+)\)", kernel.lines[line - 1])
            times *= int(match[1]) if match else 1
        counts[site.owner] = counts.get(site.owner, 0) + times
    stored = {s.owner for s in kernel.of("out")}
    return max((n for owner, n in counts.items() if owner not in stored), default=0)


def loop_variable(kernel: Kernel, site: Site) -> str:
    """The variable of the innermost unrolled loop around a site; empty without one."""
    for line in reversed(site.loops):
        if "unroll(" in kernel.lines[line - 1] and site.line in block_after(kernel, line):
            return _variable(kernel, line)
    return ""


def _variable(kernel: Kernel, line: int) -> str:
    match = re.match(r"\s*for (\w+) in", kernel.lines[line - 1])
    return match[1] if match else ""
