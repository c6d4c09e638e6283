"""Lines and blocks of a kernel text, and the lines that a counterexample names."""

from __future__ import annotations

from argus.agents.repair.sites import Kernel, indent
from argus.dsl.diagnostics import Counterexample


def near(kernel: Kernel, found: Counterexample) -> list[int]:
    """Lines the witness names, the use first."""
    spans = [found.consumer, found.producer, found.other.span if found.other else None, *(h.span for h in found.hops)]
    return list(dict.fromkeys(s.line for s in spans if s is not None and 1 <= s.line <= len(kernel.lines)))


def owner(found: Counterexample) -> str:
    """The buffer concerned, without its ring's name."""
    return (found.buffer or "").rsplit(".", 1)[-1]


def lines_of(kernel: Kernel, statement: str) -> list[int]:
    """Numbers of the lines, from 1, that are this statement."""
    return [n for n, row in enumerate(kernel.lines, 1) if row.strip() == statement]


def head(kernel: Kernel, line: int, depth: int) -> int:
    """The statement at this indentation that `line` belongs to."""
    while line > 1 and indent(kernel.lines[line - 1]) > depth:
        line -= 1
    return line


def block_after(kernel: Kernel, line: int) -> list[int]:
    """Lines of the block that the statement at `line` opens."""
    depth = indent(kernel.lines[line - 1])
    found: list[int] = []
    for n in range(line + 1, len(kernel.lines) + 1):
        row = kernel.lines[n - 1]
        if row.strip() and indent(row) <= depth:
            break
        found.append(n)
    return found


def common_block(kernel: Kernel, first: int, last: int) -> tuple[int, int, int]:
    """Indentation, first and last line of the innermost block that holds both lines."""
    blocks = [block_after(kernel, n) for n, row in enumerate(kernel.lines, 1) if row.rstrip().endswith(":")]
    holding = [b for b in blocks if b and b[0] <= first and last <= b[-1]]
    if not holding:
        return 0, 1, len(kernel.lines)
    inner = max(holding, key=lambda b: b[0])
    return indent(kernel.lines[inner[0] - 1]), inner[0], inner[-1]
