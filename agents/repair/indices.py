"""Edits of indices, operands and layouts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from argus.agents.repair import sites
from argus.agents.repair.blocks import block_after, near
from argus.agents.repair.discipline import loop_fixes, loop_variable
from argus.agents.repair.mirror import completed, mended
from argus.agents.repair.sites import Kernel, Site
from argus.dsl.diagnostics import Counterexample, Span


def stage(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Each stage and k-tile index near the witness takes the forms that the same index takes elsewhere."""
    if found.kind == "init":
        yield from completed(kernel)
    lines = near(kernel, found)
    places = [s for s in kernel.of("stage", "k_tile") if s.line in lines] or kernel.of("stage", "k_tile")
    places.sort(key=lambda s: lines.index(s.line) if s.line in lines else len(lines))
    seen: set[tuple[str, str, tuple[int, ...], bool]] = set()
    for site in places:
        key = (site.kind, site.text, site.loops, site.writes)
        if key in seen:
            continue
        seen.add(key)
        group = [s for s in kernel.of(site.kind) if (s.kind, s.text, s.loops, s.writes) == key]
        for new in _indices(kernel, site):
            yield sites.replace_all(kernel, [(s, new) for s in group])
    for site in places:
        for new in _indices(kernel, site):
            yield sites.replace(kernel, site, new)


def lane_map(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """One depth of k-steps for both operands, operands on their own sides."""
    yield from _packs(kernel)
    yield from _sides(kernel, found)


def swizzle(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """One permutation for all buffers, as wide as the row allows."""
    del found
    all_of = kernel.of("swizzle")
    for site in all_of:
        yield sites.replace_all(kernel, [(s, site.text) for s in all_of])
    if all_of and kernel.row.isdigit():
        chunks = max(2, min(8, int(kernel.row) // 8))
        yield sites.replace_all(kernel, [(s, f"xor({chunks}, unit=8)") for s in all_of])


def transposed(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Operands on their own sides; the stored tile the right way round."""
    if "same index" in found.fix:
        yield from _crossed(kernel, found)
    if found.kind == "epilogue":
        yield from _outputs(kernel)
        yield from _sides(kernel, found)
    else:
        yield from _sides(kernel, found)
        yield from _outputs(kernel)
    yield from _crossed(kernel, found)
    yield from _accumulators(kernel)


def k_incomplete(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Loops that cover K once: k-steps from the row and the atom, k-tiles from the row; no step twice or left out."""
    if found.kind == "init":
        yield from completed(kernel)
    yield from loop_fixes(kernel)
    yield from _products(kernel)
    row = kernel.row
    for site in kernel.of("ks"):
        if (name := loop_variable(kernel, site)) and name != site.text:
            yield sites.replace_all(kernel, [(s, name) for s in kernel.of("ks") if s.text == site.text])
    for site in kernel.of("depth"):
        if row and site.text != row and site.owner not in _stored(kernel):
            yield sites.replace(kernel, site, row)
    yield from _packs(kernel)
    yield from stage(kernel, found)


def bounds(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Every tile stored once: counts rounded up, indices of the block, one store."""
    if found.kind == "bounds":
        yield from loop_fixes(kernel)
    yield from _stores(kernel)
    for site in kernel.of("count", "loop"):
        if (new := re.sub(r"(\w+) // (\w+)", r"cdiv(\1, \2)", site.text)) != site.text:
            yield sites.replace(kernel, site, new)
        if (new := re.sub(r"cdiv\((\w+), (\w+)\) [+-] \d+", r"cdiv(\1, \2)", site.text)) != site.text:
            yield sites.replace(kernel, site, new)
    yield from _counts(kernel, found)
    if len(counts := kernel.of("count")) == 2:
        yield sites.replace_all(kernel, [(counts[0], counts[1].text), (counts[1], counts[0].text)])
    yield from loop_fixes(kernel)
    yield from _crossed(kernel, found)
    yield from _outputs(kernel)


def phase(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Another completion of the barrier awaited."""
    for line in near(kernel, found):
        row = kernel.lines[line - 1]
        if match := re.search(r"await_phase\((\w+), (.+)\)$", row.rstrip()):
            for new in _shifted(match[2]):
                lines = list(kernel.lines)
                lines[line - 1] = row.replace(match[0], f"await_phase({match[1]}, {new})")
                yield sites.join(lines)


def unguarded(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """What the witness names without the branch around it."""
    lines = near(kernel, found)
    for n, row in enumerate(kernel.lines, 1):
        inside = block_after(kernel, n) if row.lstrip().startswith("if ") else []
        if inside and (set(lines) & set(inside) or any(_is_sync(kernel.lines[i - 1]) for i in inside)):
            kept = [(i, other) for i, other in enumerate(kernel.lines, 1) if i != n]
            yield sites.join([other[4:] if i in inside else other for i, other in kept])


def _is_sync(row: str) -> bool:
    return row.strip().startswith(("wait(", "barrier(", "commit("))


def mirrored(kernel: Kernel, found: Counterexample) -> list[str]:
    """One operand's statement after the other's: see `mirror`."""
    return mended(kernel, near(kernel, found), _blamed(found))


# ------------------------------------------------------------------------------------------- pieces


def _blamed(found: Counterexample) -> Span | None:
    """Where the value that is not of this iteration came from; None if neither or both are."""
    offset = re.compile(r" [+-] \d+$")
    strays = bool(offset.search(found.got)) and not offset.search(found.want)
    return found.producer if strays else None


def unrepeated(kernel: Kernel) -> Iterator[str]:
    """One of two equal statements in a row is one too many."""
    for i in range(len(kernel.lines) - 1):
        if kernel.lines[i].strip() and kernel.lines[i] == kernel.lines[i + 1]:
            yield sites.join([*kernel.lines[:i], *kernel.lines[i + 1 :]])


def _products(kernel: Kernel) -> Iterator[str]:
    """The product of the two operands, where none is taken or of other fragments."""
    names = _operands(kernel)
    if names is None:
        return
    for site in kernel.of("mma"):
        if site.text != f"mma({names[0]}, {names[1]})":
            yield sites.replace(kernel, site, f"mma({names[0]}, {names[1]})")
    acc = re.search(r"^\s*(\w+) = mma_acc\(", kernel.text, re.MULTILINE)
    if acc and not kernel.of("mma") and (last := kernel.of("ks")[-1:]):
        line = last[0].line
        after = line + (kernel.lines[line].strip().startswith("assert_match(") if line < len(kernel.lines) else 0)
        yield sites.insert(kernel, after + 1, f"{acc[1]} += mma({names[0]}, {names[1]})", like=line)


def _operands(kernel: Kernel) -> tuple[str, str] | None:
    """Names of the fragments read as operand "a" and as operand "b"."""
    found: dict[str, str] = {}
    for line in kernel.lines:
        targets, is_assigned, value = line.partition(" = ")
        letters = re.findall(r'\.operand\("([ab])"', value)
        if is_assigned and letters:
            found |= dict(zip(letters, (t.strip() for t in targets.split(",")), strict=False))
    return (found["a"], found["b"]) if len(found) == 2 else None


def _sides(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """The fragments where they belong in the product, else operand letters exchanged."""
    yield from _products(kernel)
    lines = near(kernel, found)
    letters = kernel.of("side")
    pairs = [(a, b) for a, b in itertools.pairwise(letters) if b.line - a.line <= 1]
    for a, b in sorted(pairs, key=lambda p: p[0].line not in lines):
        if a.text == b.text:
            for site, other in ((b, '"b"'), (a, '"a"')):
                if site.text != other:
                    yield sites.replace(kernel, site, other)
            yield sites.replace_all(kernel, [(a, '"b"'), (b, '"a"')])
        else:
            yield sites.replace_all(kernel, [(a, b.text), (b, a.text)])


def _packs(kernel: Kernel) -> Iterator[str]:
    """One operand packed and the other not: both as the packed one, or neither."""
    packs, steps = kernel.of("pack"), kernel.of("ks")
    if packs and len(packs) < len(steps):
        bare = [s for s in steps if not any(p.line == s.line and p.owner == s.owner for p in packs)]
        yield sites.replace_all(kernel, [(s, f"{s.text}, pack={packs[0].text}") for s in bare])
        yield sites.join([re.sub(r", pack=\w+", "", row) for row in kernel.lines])


def _outputs(kernel: Kernel) -> Iterator[str]:
    """The stored view turned over, its block indices in order, its tile the other way round."""
    blocks = _block_names(kernel)
    for site in kernel.of("out"):
        if blocks and (match := re.search(r"\[[^\[\]]*\](?=(\.T)?$)", site.text)):
            ordered = site.text.replace(match[0], f"[{', '.join(blocks)}]")
            if ordered != site.text:
                yield sites.replace(kernel, site, ordered)
        over = site.text.removesuffix(".T") if site.text.endswith(".T") else f"{site.text}.T"
        yield sites.replace(kernel, site, over)
        if match := re.search(r"tile\((\w+), (\w+)\)", site.text):
            yield sites.replace(kernel, site, site.text.replace(match[0], f"tile({match[2]}, {match[1]})"))


def _stores(kernel: Kernel) -> Iterator[str]:
    """The stored tile at the block's indices, of the accumulator's size; stored at all."""
    blocks = _block_names(kernel)
    sizes = re.search(r"^(\s*)(\w+) = mma_acc\(\"[^\"]+\", (\w+), (\w+)", kernel.text, re.MULTILINE)
    tensor = re.search(r"ensures\((\w+)\[", kernel.text)
    if not (blocks and sizes and tensor):
        return
    indent, acc, m, n = sizes.groups()
    plain = f"{tensor[1]}.tile({m}, {n})[{', '.join(blocks)}]"
    over = f"{tensor[1]}.tile({n}, {m})[{', '.join(blocks)}].T"
    outs = [s for s in kernel.of("out") if s.owner == tensor[1]]
    if not outs:
        for view in (plain, over):
            yield sites.join([*kernel.lines, f"{indent}store({view}, {acc})"])
        return
    for site in (s for s in outs if s.loops):
        rows = [row for n, row in enumerate(kernel.lines, 1) if n != site.line]
        yield sites.join([*rows, indent + kernel.lines[site.line - 1].strip()])
    for site in (s for s in outs if s.text not in (plain, over)):
        for view in (over, plain) if site.text.endswith(".T") else (plain, over):
            yield sites.replace(kernel, site, view)


def _counts(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """Block counts that match the tiles of the stored view; first along the axes in which the witness is not at 0."""
    for out in kernel.of("out"):
        if match := re.search(r"tile\((\w+), (\w+)\)", out.text):
            pairs = list(zip(kernel.of("count"), match.groups(), strict=False))
            if found.element is not None and len(found.element) == len(pairs):
                pairs = [pairs[i] for i in sorted(range(len(pairs)), key=lambda i, e=found.element: e[i] == 0)]
            for site, size in pairs:
                inner = re.match(r"cdiv\((\w+), (\w+)\)", site.text)
                if inner and inner[2] != size:
                    yield sites.replace(kernel, site, f"cdiv({inner[1]}, {size})")


def _crossed(kernel: Kernel, found: Counterexample) -> Iterator[str]:
    """An input read at the other block index; first the tensor along whose axis the witness is off."""
    blocks = _block_names(kernel)
    inputs = [s for s in kernel.of("block_index") if s.owner not in _stored(kernel)]
    along = set(re.findall(rf"(\w+): \w+\[[^\]]*\b{found.component}:", kernel.text)) if found.component else set[str]()
    inputs.sort(key=lambda s: s.owner not in along)
    for site in inputs:
        for name in (b for b in blocks if b != site.text):
            same = [s for s in inputs if s.owner == site.owner and s.text == site.text]
            yield sites.replace_all(kernel, [(s, name) for s in same])


def _accumulators(kernel: Kernel) -> Iterator[str]:
    for site in kernel.of("acc"):
        if match := re.match(r'mma_acc\(("[^"]+"), (\w+), (\w+)', site.text):
            turned = site.text.replace(match[0], f"mma_acc({match[1]}, {match[3]}, {match[2]}")
            yield sites.replace(kernel, site, turned)
        if match := re.search(r"grid=\((\w+), (\w+)\)", site.text):
            yield sites.replace(kernel, site, site.text.replace(match[0], f"grid=({match[2]}, {match[1]})"))


def _indices(kernel: Kernel, site: Site) -> list[str]:
    """What an index could have been: forms it takes elsewhere that are a step away, its shifts, other forms."""
    others = [s.text for s in kernel.of(site.kind) if s.text != site.text]
    shifts = _shifted(site.text)
    return list(dict.fromkeys([*(s for s in shifts if s in others), *shifts, *others]))


def _shifted(index: str) -> list[str]:
    """`kt + 1`, `(kt + 1) % 2` and constants, moved by one both ways."""
    if index.isdigit():
        return [str(int(index) + 1), *([str(int(index) - 1)] if int(index) else [])]
    match = re.fullmatch(r"\(?(\w+)((?: [+-] \d+)*)\)?(?: % (\w+))?", index)
    if match is None:
        return []
    offset = sum(int(t.replace(" ", "")) for t in re.findall(r"[+-] \d+", match[2]))
    return [_index(match[1], offset + step, match[3]) for step in (-1, 1)]


def _index(name: str, offset: int, modulus: str | None) -> str:
    moved = name if offset == 0 else f"{name} {'+' if offset > 0 else '-'} {abs(offset)}"
    if modulus is None:
        return moved
    return f"{moved} % {modulus}" if offset == 0 else f"({moved}) % {modulus}"


def _block_names(kernel: Kernel) -> tuple[str, ...]:
    match = re.search(r"^\s*([\w, ]+) = block\(", kernel.text, re.MULTILINE)
    return tuple(name.strip() for name in match[1].split(",")) if match else ()


def _stored(kernel: Kernel) -> set[str]:
    return {s.owner for s in kernel.of("out")}
