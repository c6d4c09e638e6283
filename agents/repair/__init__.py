"""Edits that mend a refuted kernel: text and counterexample in, candidate texts out, the likeliest first.

They read the kernel as text, so they work on kernels that no schedule expresses. Each is a guess that the checker
judges; none is trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from argus.agents.repair import indices, sites, sync
from argus.agents.repair.discipline import disciplined, keeps_order
from argus.agents.repair.mirror import completed
from argus.dsl.diagnostics import Counterexample, FixClass, Span, apply

__all__ = ["blind", "candidates", "misfit", "ranked", "with_contract"]

Edit = Callable[[sites.Kernel, Counterexample], Iterable[str]]

_EDITS: dict[FixClass, Edit] = {
    "missing barrier": sync.barrier,
    "missing wait": sync.wait,
    "missing fence": sync.fence,
    "trip counts differ": sync.trip_counts,
    "stage off by n": indices.stage,
    "lane map": indices.lane_map,
    "swizzle mismatch": indices.swizzle,
    "operand transposed": indices.transposed,
    "k incomplete": indices.k_incomplete,
    "bounds guard": indices.bounds,
    "phase aliasing": indices.phase,
    "contract missing": lambda kernel, found: (),
}
assert set(_EDITS) == set(get_args(FixClass))

# What usually breaks an obligation of a kind, beside what the counterexample says.
_BY_KIND: dict[str, tuple[FixClass, ...]] = {
    "race": ("missing barrier", "stage off by n", "missing wait"),
    "wait": ("missing wait", "missing barrier", "stage off by n"),
    "init": ("stage off by n", "missing barrier", "missing wait"),
    "conformity": ("stage off by n", "operand transposed", "k incomplete", "lane map", "swizzle mismatch"),
    "written": ("stage off by n", "k incomplete", "operand transposed", "lane map"),
    "completeness": ("k incomplete", "stage off by n"),
    "epilogue": ("operand transposed", "bounds guard", "lane map"),
    "coverage": ("bounds guard", "k incomplete"),
    "bounds": ("bounds guard",),
    "divergence": ("trip counts differ",),
    "deadlock": ("trip counts differ", "phase aliasing"),
    "proxy": ("missing fence",),
    "contract": ("contract missing",),
}
# Obligations that fail when the wrong data is read, or none.
_MISPLACED = ("init", "wait", "conformity", "written", "completeness")

# Causes before effects: a kernel that misses a k-step also writes wrong sums.
_ORDER = ("contract", "init", "race", "wait", "conformity", "completeness", "bounds", "written", "coverage", "epilogue")


def ranked(found: Sequence[Counterexample]) -> list[Counterexample]:
    """Counterexamples in the order in which they are worth mending."""

    def place(c: Counterexample) -> tuple[bool, int]:
        return c.fix_class is None, _ORDER.index(c.kind) if c.kind in _ORDER else len(_ORDER)

    return sorted(found, key=place)


def candidates(text: str, found: Counterexample, contract: str = "") -> list[str]:
    """Edited kernels, likeliest first, without repeats; empty when nothing is known to help.

    Args:
        text: The refuted kernel.
        found: Why it was refuted.
        contract: The task's contract, for kernels that lost theirs.
    """
    kernel = sites.read(text)
    if kernel is None:
        return []
    told: tuple[FixClass, ...] = () if found.fix_class is None else (found.fix_class,)
    classes = list(dict.fromkeys((*told, *_BY_KIND.get(found.kind, ()))))
    if classes[:1] == ["contract missing"]:
        return with_contract(text, contract)
    by_class = [list(_EDITS[name](kernel, found)) for name in classes]
    own, others = (by_class[0], by_class[1:]) if by_class else ([], [])
    mirrored = indices.mirrored(kernel, found)
    in_order = disciplined(kernel)[:1] if keeps_order(kernel) else []
    # What stands out of the kernel's own pattern explains more than a class alone does.
    edits = [*indices.unrepeated(kernel), *indices.unguarded(kernel, found)]
    if found.fix_class in ("missing wait", "missing barrier"):
        edits += [*own[:1], *in_order, *mirrored[:1], *own]
    elif found.kind in _MISPLACED:
        edits += [*in_order, *mirrored[:2], *completed(kernel), *own]
    else:
        edits += [*mirrored[:2], *own]
    edits += [edit for listed in others for edit in listed]
    tried = [apply(found.edits, text)] if found.edits else []
    return _fresh([*tried, *edits, *disciplined(kernel), *mirrored, *completed(kernel)], text)


def misfit(line: int) -> Counterexample:
    """A witness for text that was refused before any obligation arose: an operand that does not fit, most likely."""
    here = Span("<kernel>", line, 1, line, 1)
    return Counterexample(kind="conformity", text="", consumer=here, fix_class="operand transposed")


def blind(text: str, contract: str = "") -> list[str]:
    """Every edit at every place: what is left to someone who is told that the kernel is wrong, and not why."""
    kernel = sites.read(text)
    if kernel is None:
        return []
    edits: list[str] = []
    for line in range(1, len(kernel.lines) + 1):
        nowhere = Counterexample(kind="", text="", consumer=Span("<kernel>", line, 1, line, 1))
        for edit in _EDITS.values():
            edits += edit(kernel, nowhere)
        edits += indices.mirrored(kernel, nowhere)
    edits += completed(kernel)
    edits += with_contract(text, contract)
    return _fresh(edits, text)


def with_contract(text: str, contract: str) -> list[str]:
    """The decorator, the task's contract, and the body without its own."""
    lines = text.splitlines()
    start = next((i for i, row in enumerate(lines) if row.startswith("def ")), None)
    if start is None or not contract:
        return []
    own = ("where(", "assume(", "ensures(")
    body = [row for row in lines[start + 1 :] if not row.strip().startswith(own)]
    return [sites.join([*lines[:start], *contract.rstrip("\n").splitlines(), *body])]


def _fresh(edits: Sequence[str], text: str) -> list[str]:
    return [edit for edit in dict.fromkeys(edits) if edit.strip() != text.strip()]
