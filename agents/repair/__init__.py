"""Edits that mend a refuted kernel: text and counterexample in, candidate texts out, the likeliest first.

They read the kernel as text, so they work on kernels that no schedule expresses. Each is a guess that the checker
judges; none is trusted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import get_args

from argus.agents import sites
from argus.agents.sites import Kernel, Site
from argus.dsl.diagnostics import Counterexample, FixClass, Span

Edit = Callable[[Kernel, Counterexample], Iterable[str]]

# Kinds of obligations without a fix class, and what usually breaks them.
_BY_KIND: dict[str, tuple[FixClass, ...]] = {
    "race": ("missing barrier", "stage off by n", "missing wait"),
    "wait": ("missing wait", "stage off by n"),
    "init": ("missing barrier", "missing wait", "stage off by n"),
    "conformity": ("stage off by n", "operand transposed", "lane map", "swizzle mismatch"),
    "completeness": ("k incomplete", "stage off by n"),
    "epilogue": ("operand transposed", "bounds guard", "lane map"),
    "coverage": ("bounds guard", "k incomplete"),
    "bounds": ("bounds guard",),
    "divergence": ("trip counts differ",),
    "deadlock": ("trip counts differ", "phase aliasing"),
    "proxy": ("missing fence",),
    "contract": ("contract missing",),
}


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
    classes = [found.fix_class] if found.fix_class else []
    classes += [c for c in _BY_KIND.get(found.kind, ()) if c not in classes]
    edits: list[str] = []
    for name in classes:
        edits += with_contract(text, contract) if name == "contract missing" else list(_EDITS[name](kernel, found))
    return [edit for edit in dict.fromkeys(edits) if edit.strip() != text.strip()]


def blind(text: str, contract: str = "") -> list[str]:
    """Every edit at every place: what is left to someone who is told that the kernel is wrong, and not why."""
    kernel = sites.read(text)
    if kernel is None:
        return []
    span_of = [Counterexample(kind="", text="", consumer=_span(i)) for i in range(1, len(kernel.lines) + 1)]
    edits = [e for name in _EDITS for found in span_of for e in _EDITS[name](kernel, found)]
    edits += with_contract(text, contract)
    return [edit for edit in dict.fromkeys(edits) if edit.strip() != text.strip()]


def with_contract(text: str, contract: str) -> list[str]:
    """The decorator, the task's contract, and the body without its own."""
    lines = text.splitlines()
    start = next((i for i, row in enumerate(lines) if row.startswith("def ")), None)
    if start is None or not contract:
        return []
    own = ("where(", "assume(", "ensures(")
    body = [row for row in lines[start + 1 :] if not row.strip().startswith(own)]
    return [sites.join([*lines[:start], *contract.rstrip("\n").splitlines(), *body])]


# ---------------------------------------------------------------------------------- synchronisation


def _barrier(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """A barrier between the two accesses, at the block both lie in; around the loop when it wraps."""
    if match := re.search(r"before line (\d+)", found.fix):
        line = int(match[1])
        if 1 <= line <= len(kernel.lines):
            yield sites.insert(kernel, line, "barrier()", like=line)
    lines = sorted({found.consumer.line, *([found.other.span.line] if found.other else _partners(kernel, found))})
    lines = [n for n in lines if 1 <= n <= len(kernel.lines)]
    if not lines:
        return
    first, last = lines[0], lines[-1]
    depth, begin, end = _common_block(kernel, first, last)
    heads = {_head(kernel, n, depth) for n in lines}
    for head in sorted(heads, reverse=True):
        yield sites.insert(kernel, head, "barrier()", like=head)
    if begin <= end:
        yield sites.insert(kernel, end + 1, "barrier()", like=begin)


def _wait(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Wait for more groups; wait before the barrier that publishes; wait at all."""
    waits = [s for s in kernel.of("wait") if s.text.isdigit()]
    waits.sort(key=lambda s: (s.line > found.consumer.line, abs(s.line - found.consumer.line)))
    for keep in kernel.of("keep"):
        if keep.text.isdigit() and int(keep.text) > 0:
            yield sites.replace(kernel, keep, str(int(keep.text) - 1))
    for site in waits:
        line = kernel.lines[site.line - 1]
        before = kernel.lines[site.line - 2].strip() if site.line > 1 else ""
        if before == "barrier()" and line.strip().startswith("wait("):
            lines = list(kernel.lines)
            lines[site.line - 2], lines[site.line - 1] = lines[site.line - 1], lines[site.line - 2]
            yield sites.join(lines)
    for site in waits:
        if int(site.text) > 0:
            yield sites.replace(kernel, site, str(int(site.text) - 1))
    yield from _uncommitted(kernel)
    for line in _lines_of(kernel, "barrier()"):
        if line <= found.consumer.line and "wait(" not in kernel.lines[max(0, line - 2)]:
            yield sites.insert(kernel, line, "wait(0)", like=line)
    for site in waits:
        if int(site.text) > 1:
            yield sites.replace(kernel, site, "0")
    depth, begin, _ = _common_block(kernel, found.consumer.line, found.consumer.line)
    del depth
    if begin <= len(kernel.lines):
        yield sites.insert(kernel, begin, "wait(0)", like=begin)


def _uncommitted(kernel: Kernel) -> Iterator[str]:
    """A commit after the last copy of a run that has none."""
    for i, line in enumerate(kernel.lines):
        following = kernel.lines[i + 1].strip() if i + 1 < len(kernel.lines) else ""
        alone = not following.startswith(("copy_async(", "commit()"))
        if line.strip().startswith("copy_async(") and alone and "fill()" not in kernel.text:
            yield sites.insert(kernel, i + 2, "commit()", like=i + 1)


def _fence(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    for line in (n for n in _lines_of(kernel, "barrier()") if n <= found.consumer.line):
        yield sites.insert(kernel, line, 'fence("async")', like=line)
    yield sites.insert(kernel, found.consumer.line, 'fence("async")', like=found.consumer.line)


def _trip_counts(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Barriers, fills and uses belong outside of branches."""
    del found
    for i, line in enumerate(kernel.lines):
        if line.lstrip().startswith(("if ", "with elect(")):
            inside = _block_after(kernel, i + 1)
            moved = [n for n in inside if kernel.lines[n - 1].strip() == "barrier()"]
            for n in moved:
                lines = list(kernel.lines)
                bar = " " * sites.indent(line) + "barrier()"
                del lines[n - 1]
                lines.insert(inside[-1] - 1, bar)
                yield sites.join(lines)
            if moved:
                lines = [row for n, row in enumerate(kernel.lines, 1) if n != i + 1]
                yield sites.join(
                    [row[4:] if n in inside else row for n, row in enumerate(kernel.lines, 1) if n != i + 1]
                )


# ------------------------------------------------------------------------------- indices and layouts


def _stage(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Siblings agree first; then each stage and k-tile index near the witness takes the others' forms."""
    yield from _agree(kernel, found, ("stage", "k_tile"))
    near = _near(kernel, found)
    places = [s for s in kernel.of("stage", "k_tile") if s.line in near] or kernel.of("stage", "k_tile")
    places.sort(key=lambda s: near.index(s.line) if s.line in near else len(near))
    for site in places:
        group = [
            s for s in kernel.of(site.kind) if s.text == site.text and s.writes == site.writes and s.loops == site.loops
        ]
        for new in _indices(kernel, site):
            if len(group) > 1:
                yield sites.replace_all(kernel, [(s, new) for s in group])
            yield sites.replace(kernel, site, new)


def _lane_map(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    yield from _agree(kernel, found, ("pack", "linear", "ks", "swizzle", "depth"))
    yield from _packs(kernel)
    yield from _sides(kernel, found)


def _swizzle(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    yield from _agree(kernel, found, ("swizzle",))
    all_of = kernel.of("swizzle")
    if all_of and kernel.row.isdigit():
        chunks = max(2, min(8, int(kernel.row) // 8))
        yield sites.replace_all(kernel, [(s, f"xor({chunks}, unit=8)") for s in all_of])


def _transposed(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    yield from _sides(kernel, found)
    yield from _outputs(kernel)
    yield from _agree(kernel, found, ("block_index", "ks"))
    yield from _accumulators(kernel)


def _k_incomplete(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Loops that cover K once: k-steps from the row and the atom, k-tiles from the row."""
    yield from _agree(kernel, found, ("k_tile", "stage", "ks", "pack", "depth"))
    row, atom = kernel.row, kernel.atom
    pack = {int(s.text) for s in kernel.of("pack") if s.text.isdigit()} or {1}
    operand_lines = {s.line for s in kernel.of("ks")}
    for site in kernel.of("loop"):
        inner = _block_after(kernel, site.line)
        holds_operands = any(
            s.line in operand_lines and s.loops and s.loops[-1] == site.line for s in kernel.of("ks") if s.line in inner
        )
        if holds_operands and atom and row.isdigit():
            steps = int(row) // (atom[2] * max(pack))
            yield sites.replace(kernel, site, f"unroll({steps})")
        elif site.text.startswith("range(") and row and operand_lines & set(inner):
            yield sites.replace(kernel, site, f"range(cdiv(K, {row}))")
    for site in kernel.of("ks"):
        if not site.text.isidentifier() and (names := re.findall(r"[a-z]\w*", site.text)):
            same = [s for s in kernel.of("ks") if s.text == site.text]
            yield sites.replace_all(kernel, [(s, names[0]) for s in same])
    for site in kernel.of("depth"):
        if row and site.text != row and site.owner not in _outputs_of(kernel):
            yield sites.replace(kernel, site, row)
    yield from _stage(kernel, found)


def _bounds(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Counts rounded up, tiles instead of raw rows, sizes that agree with the accumulator."""
    for site in kernel.of("count", "loop"):
        if (new := re.sub(r"(\w+) // (\w+)", r"cdiv(\1, \2)", site.text)) != site.text:
            yield sites.replace(kernel, site, new)
        if (new := re.sub(r"cdiv\((\w+), (\w+)\) [+-] 1", r"cdiv(\1, \2)", site.text)) != site.text:
            yield sites.replace(kernel, site, new)
    yield from _agree(kernel, found, ("block_index",))
    yield from _counts_from_tiles(kernel)
    yield from _outputs(kernel)


def _phase(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    near = _near(kernel, found)
    for line in near:
        row = kernel.lines[line - 1]
        for match in re.finditer(r"await_phase\((\w+), (.+?)\)$", row.strip()):
            for new in _shifted(match[2]):
                lines = list(kernel.lines)
                lines[line - 1] = row.replace(match[0], f"await_phase({match[1]}, {new})")
                yield sites.join(lines)


# ------------------------------------------------------------------------------------------- pieces


def _agree(kernel: Kernel, found: Counterexample, kinds: Sequence[sites.Kind]) -> Iterator[str]:
    """Sibling sites (one per operand, in step) that differ: each takes the other's text, the witness's side first."""
    near = set(_near(kernel, found))
    for kind in kinds:
        for a, b in _siblings(kernel.of(kind)):
            if a.text == b.text or (kind == "block_index"):
                continue
            first, second = (a, b) if _blamed(a, found, near) >= _blamed(b, found, near) else (b, a)
            yield sites.replace(kernel, first, second.text)
            yield sites.replace(kernel, second, first.text)
    if "pack" in kinds:
        yield from _packs(kernel)
    if "block_index" in kinds:
        yield from _crossed(kernel)


def _siblings(found: Sequence[Site]) -> Iterator[tuple[Site, Site]]:
    """Neighbouring sites of two owners, same loops, same direction, at most one line apart."""
    for a, b in itertools.pairwise(found):
        if a.owner != b.owner and a.loops == b.loops and a.writes == b.writes and b.line - a.line <= 1:
            yield a, b


def _blamed(site: Site, found: Counterexample, near: set[int]) -> int:
    owner = (found.buffer or "").rsplit(".", 1)[-1]
    return 2 * (site.owner == owner) + (site.line in near)


def _crossed(kernel: Kernel) -> Iterator[str]:
    """Both operands read with one block index: the second takes the other index."""
    names = dict.fromkeys(s.text for s in kernel.of("block_index"))
    inputs = [s for s in kernel.of("block_index") if s.owner not in _outputs_of(kernel)]
    for site in inputs:
        for name in names:
            if name != site.text:
                same = [s for s in inputs if s.owner == site.owner and s.text == site.text]
                yield sites.replace_all(kernel, [(s, name) for s in same])


def _packs(kernel: Kernel) -> Iterator[str]:
    """One operand packed and the other not: both as the packed one, or neither."""
    packs = kernel.of("pack")
    sides = kernel.of("ks")
    if not packs or len(packs) == len(sides):
        return
    value = packs[0].text
    bare = [s for s in sides if not any(p.line == s.line and p.owner == s.owner for p in packs)]
    yield sites.replace_all(kernel, [(s, f"{s.text}, pack={value}") for s in bare])
    lines = [re.sub(r", pack=\w+", "", row) for row in kernel.lines]
    yield sites.join(lines)


def _sides(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Operand letters exchanged, or the arguments of the mma."""
    near = _near(kernel, found)
    letters = kernel.of("side")
    both: dict[int, list[Site]] = {}
    for site in letters:
        both.setdefault(site.line, []).append(site)
    for line in sorted(both, key=lambda n: n not in near):
        if len(pair := both[line]) == 2:
            if pair[0].text == pair[1].text:
                for site, other in ((pair[0], '"a"'), (pair[1], '"b"')):
                    if site.text != other:
                        yield sites.replace(kernel, site, other)
            else:
                yield sites.replace_all(kernel, [(pair[0], pair[1].text), (pair[1], pair[0].text)])
    if len(both) == 2 and all(len(p) == 1 for p in both.values()):
        (one,), (two,) = both.values()
        yield sites.replace_all(kernel, [(one, two.text), (two, one.text)])
    for site in kernel.of("mma"):
        if match := re.fullmatch(r"mma\((\w+), (\w+)\)", site.text):
            yield sites.replace(kernel, site, f"mma({match[2]}, {match[1]})")


def _outputs(kernel: Kernel) -> Iterator[str]:
    """The stored view transposed, or not; its block indices exchanged."""
    for site in kernel.of("out"):
        yield sites.replace(
            kernel, site, site.text.removesuffix(".T") if site.text.endswith(".T") else f"{site.text}.T"
        )
        if match := re.search(r"\[(\w+), (\w+)\]", site.text):
            swapped = site.text.replace(match[0], f"[{match[2]}, {match[1]}]")
            yield sites.replace(kernel, site, swapped)
        if match := re.search(r"tile\((\w+), (\w+)\)", site.text):
            yield sites.replace(kernel, site, site.text.replace(match[0], f"tile({match[2]}, {match[1]})"))


def _accumulators(kernel: Kernel) -> Iterator[str]:
    for site in kernel.of("acc"):
        if match := re.match(r'mma_acc\(("[^"]+"), (\w+), (\w+)', site.text):
            swapped = f"mma_acc({match[1]}, {match[3]}, {match[2]}"
            yield sites.replace(kernel, site, site.text.replace(match[0], swapped))
        if match := re.search(r"grid=\((\w+), (\w+)\)", site.text):
            yield sites.replace(kernel, site, site.text.replace(match[0], f"grid=({match[2]}, {match[1]})"))


def _counts_from_tiles(kernel: Kernel) -> Iterator[str]:
    """Block counts that match the tiles of the stored view."""
    for out in kernel.of("out"):
        if match := re.search(r"tile\((\w+), (\w+)\)", out.text):
            for site, size in zip(kernel.of("count"), match.groups(), strict=False):
                if (inner := re.match(r"cdiv\((\w+), (\w+)\)", site.text)) and inner[2] != size:
                    yield sites.replace(kernel, site, f"cdiv({inner[1]}, {size})")


def _indices(kernel: Kernel, site: Site) -> list[str]:
    """What an index could have been: its shifts by one, then the forms that the same kind takes elsewhere."""
    others = [s.text for s in kernel.of(site.kind) if s.text != site.text and s.owner == site.owner]
    shifts = _shifted(site.text)
    return list(dict.fromkeys([*(s for s in shifts if s in others), *others, *shifts]))


def _shifted(index: str) -> list[str]:
    """`kt + 1`, `(kt + 1) % 2` and constants, moved by one both ways."""
    if index.isdigit():
        return [str(int(index) + 1), *([str(int(index) - 1)] if int(index) else [])]
    if match := re.fullmatch(r"\(?(\w+)(?: ([+-]) (\d+))?\)?(?: % (\w+))?", index):
        name, sign, number, modulus = match.groups()
        offset = int(number or 0) * (-1 if sign == "-" else 1)
        return [_index(name, offset + step, modulus) for step in (1, -1)]
    return []


def _index(name: str, offset: int, modulus: str | None) -> str:
    moved = name if offset == 0 else f"{name} {'+' if offset > 0 else '-'} {abs(offset)}"
    if modulus is None:
        return moved
    return f"{moved} % {modulus}" if offset == 0 else f"({moved}) % {modulus}"


def _near(kernel: Kernel, found: Counterexample) -> list[int]:
    """Lines the witness names, the use first."""
    spans = [found.consumer, found.producer, found.other.span if found.other else None, *(h.span for h in found.hops)]
    return list(dict.fromkeys(s.line for s in spans if s is not None and 1 <= s.line <= len(kernel.lines)))


def _partners(kernel: Kernel, found: Counterexample) -> list[int]:
    """Other lines that touch the buffer, when the witness names one access only."""
    owner = (found.buffer or "").rsplit(".", 1)[-1]
    touching = [s.line for s in kernel.sites if s.owner == owner and s.line != found.consumer.line]
    return touching[-1:]


def _outputs_of(kernel: Kernel) -> set[str]:
    return {s.owner for s in kernel.of("out")}


def _lines_of(kernel: Kernel, statement: str) -> list[int]:
    return [n for n, row in enumerate(kernel.lines, 1) if row.strip() == statement]


def _head(kernel: Kernel, line: int, depth: int) -> int:
    """The statement at this indentation that `line` belongs to."""
    while line > 1 and sites.indent(kernel.lines[line - 1]) > depth:
        line -= 1
    return line


def _block_after(kernel: Kernel, line: int) -> list[int]:
    """Lines of the block that the statement at `line` opens."""
    depth = sites.indent(kernel.lines[line - 1])
    found: list[int] = []
    for n in range(line + 1, len(kernel.lines) + 1):
        row = kernel.lines[n - 1]
        if row.strip() and sites.indent(row) <= depth:
            break
        found.append(n)
    return found


def _common_block(kernel: Kernel, first: int, last: int) -> tuple[int, int, int]:
    """Indentation, first and last line of the innermost block that holds both lines."""
    blocks = [_block_after(kernel, n) for n, row in enumerate(kernel.lines, 1) if row.rstrip().endswith(":")]
    holding = [b for b in blocks if b and b[0] <= first and last <= b[-1]]
    if not holding:
        return 0, 1, len(kernel.lines)
    inner = max(holding, key=lambda b: b[0])
    return sites.indent(kernel.lines[inner[0] - 1]), inner[0], inner[-1]


def _span(line: int) -> Span:
    return Span("<kernel>", line, 1, line, 1)


_EDITS: dict[FixClass, Edit] = {
    "missing barrier": _barrier,
    "missing wait": _wait,
    "missing fence": _fence,
    "trip counts differ": _trip_counts,
    "stage off by n": _stage,
    "lane map": _lane_map,
    "swizzle mismatch": _swizzle,
    "operand transposed": _transposed,
    "k incomplete": _k_incomplete,
    "bounds guard": _bounds,
    "phase aliasing": _phase,
    "contract missing": lambda kernel, found: (),
}
assert set(_EDITS) == set(get_args(FixClass))
