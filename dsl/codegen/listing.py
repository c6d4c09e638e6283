"""PTX and SASS with line information as instructions: which line of the CUDA text each is of, and whether in a loop.

A loop is what lies between a label and a branch back to it. An instruction of an inlined function counts for the line
that called the outermost one: the kernel's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LOC = re.compile(r"\.loc\s+(\d+ \d+ \d+)(?:,.*inlined_at\s+(\d+ \d+ \d+))?")
_PTX_LABEL = re.compile(r"(\$\w+):")
_PTX_BRANCH = re.compile(r"\bbra(?:\.uni)?\s+(\$\w+)")
_FILE = re.compile(r'//## File "[^"]*\.cu", line (\d+)$')
_SASS_LABEL = re.compile(r"(\.L_x_\d+):")
_SASS_BRANCH = re.compile(r"\bBRA(?:\.\w+)*\b.*`\((\.L_x_\d+)\)")
_SASS = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?);")


@dataclass(frozen=True, slots=True)
class Instruction:
    """`line` of the CUDA text, from 1; 0 where it is not known."""

    text: str
    line: int
    in_loop: bool


def read_ptx(text: str) -> tuple[Instruction, ...]:
    """PTX that was made with `-lineinfo`."""
    callers: dict[str, str] = {}
    items: list[tuple[str, int]] = []
    line = 0
    for raw in text.splitlines():
        stripped = raw.strip()
        if found := _LOC.match(stripped):
            place, caller = found.groups()
            if caller is None:
                callers.pop(place, None)
            else:
                callers[place] = caller
            line = int(_outermost(place, callers).split()[1])
        elif stripped and not stripped.startswith("//"):
            items.append((stripped, line))
    return _instructions(items, _PTX_LABEL, _PTX_BRANCH)


def without_lines(ptx: str) -> str:
    """The same PTX as it is without `-lineinfo`: nothing in it depends on where the CUDA text lay."""
    kept: list[str] = []
    for line in ptx.splitlines(keepends=True):
        if re.match(r"\s*\.file\b", line):
            break
        if not re.match(r"\s*\.loc\b", line):
            kept.append(line)
    return "".join(kept).rstrip() + "\n"


def read_sass(text: str) -> tuple[Instruction, ...]:
    """What `nvdisasm -gi` prints of a cubin with line information: callers follow the functions inlined into them."""
    items: list[tuple[str, int]] = []
    line = 0
    for raw in text.splitlines():
        stripped = raw.strip()
        if found := _FILE.match(stripped):
            line = int(found[1])
        elif found := _SASS.match(stripped):
            items.append((found[1].strip(), line))
        elif _SASS_LABEL.match(stripped):
            items.append((stripped, line))
    return _instructions(items, _SASS_LABEL, _SASS_BRANCH)


def _outermost(place: str, callers: dict[str, str]) -> str:
    seen = {place}
    while place in callers and callers[place] not in seen:
        place = callers[place]
        seen.add(place)
    return place


def _instructions(
    items: Sequence[tuple[str, int]], label: re.Pattern[str], branch: re.Pattern[str]
) -> tuple[Instruction, ...]:
    labels = {found[1]: i for i, (text, _) in enumerate(items) if (found := label.match(text))}
    depth = [0] * (len(items) + 1)
    for i, (text, _) in enumerate(items):
        found = branch.search(text)
        start = labels.get(found[1], i) if found else i
        # A branch of SASS to itself ends a kernel; it is no loop.
        if found and start < i - 1:
            depth[start] += 1
            depth[i + 1] -= 1
    out: list[Instruction] = []
    inside = 0
    for (text, line), change in zip(items, depth, strict=False):
        inside += change
        if not label.match(text):
            out.append(Instruction(text, line, inside > 0))
    return tuple(out)
