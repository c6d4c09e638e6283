"""Matrix kernels treat their two operands alike: a statement for A stands beside its image for B.

Where the two differ beyond the names, one of them is a likely mistake, and the other shows how to mend it; where an
image is missing, it can be written. The names' pairing is read off the kernel: no name has a meaning here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from argus.agents.repair import sites
from argus.dsl.diagnostics import Span

# Statements that move or read one operand.
_STEPS = ("load", "store", "copy_async", "copy", "operand", "shared")
_WORDS = re.compile(r'"[^"]*"|\w+')


@dataclass(frozen=True, slots=True)
class Phrase:
    """A statement, or one value of a tuple assignment: `text` at its place, `name` what it is assigned to.

    Attributes:
        shape: Names of the calls within, in reading order.
        block: Line of the statement that opens the block.
    """

    line: int
    start: int
    stop: int
    text: str
    name: str
    shape: tuple[str, ...]
    block: int

    @property
    def whole(self) -> str:
        return f"{self.name} = {self.text}" if self.name else self.text

    def holds(self, span: Span) -> bool:
        """Whether the span begins inside; spans count columns from 1."""
        return span.line == self.line and self.start < span.col <= self.stop


@dataclass(frozen=True, slots=True)
class Mirror:
    """The pairing of names (A and B, As and Bs, bm and bn, ...) and of tile rows, both ways."""

    names: Mapping[str, str]
    rows: Mapping[str, str]
    left: frozenset[str]

    def image(self, text: str) -> str:
        swapped = _WORDS.sub(lambda m: self.names.get(m[0], m[0]), text)
        return re.sub(r"(tile\()(\d+)", lambda m: m[1] + self.rows.get(m[2], m[2]), swapped)

    def mixed(self, phrase: Phrase) -> bool:
        """Whether the phrase names something of either side: of the pairs, it should keep to one.

        Letters of operands do not count: they stand for a side of the matrix unit, and a swapped product crosses them.
        """
        words = [w for w in _WORDS.findall(phrase.whole) if w in self.names and not w.startswith('"')]
        sides = {word in self.left for word in words}
        return len(sides) == 2


def mended(kernel: sites.Kernel, near: Sequence[int], blamed: Span | None = None) -> list[str]:
    """Texts in which one statement became its sibling's image, the likeliest first: near the witness, mixed names.

    Args:
        kernel: The kernel.
        near: Lines that the witness names.
        blamed: Where the wrong value of two that differ came from, if the witness tells.
    """
    tree = _parsed(kernel.text)
    if tree is None:
        return []
    phrases = list(_phrases(tree, kernel))
    mirror = _mirror(tree, phrases)
    found: list[tuple[tuple[bool, bool, int], str]] = []
    for a, b in siblings(phrases):
        if _same(mirror.image(a.text), b.text):
            continue
        far = not {a.line, b.line} & set(near)
        for wrong, right in ((a, b), (b, a)):
            doubt = _doubt(wrong, right, mirror, kernel.text)
            innocent = blamed is not None and not wrong.holds(blamed)
            found.append(
                ((far, innocent, doubt), _put(kernel, wrong, _keep_rows(mirror.image(right.text), wrong.text)))
            )
    found.sort(key=lambda f: f[0])
    return [text for _, text in found]


def completed(kernel: sites.Kernel) -> Iterator[str]:
    """Texts with an image written beside a statement that has none."""
    tree = _parsed(kernel.text)
    if tree is None:
        return
    phrases = list(_phrases(tree, kernel))
    mirror = _mirror(tree, phrases)
    paired = {id(p) for pair in siblings(phrases) for p in pair}
    for p in phrases:
        alone = id(p) not in paired and p.shape[0] in _STEPS and not mirror.mixed(p)
        if not alone or mirror.image(p.whole) == p.whole:
            continue
        lines = list(kernel.lines)
        indent = " " * sites.indent(lines[p.line - 1])
        for at in (p.line, p.line - 1) if mirror.image(p.whole) > p.whole else (p.line - 1, p.line):
            yield sites.join([*lines[:at], indent + mirror.image(p.whole), *lines[at:]])


def siblings(phrases: Sequence[Phrase]) -> Iterator[tuple[Phrase, Phrase]]:
    """Neighbours in a block that make the same calls, each phrase once."""
    i = 0
    while i + 1 < len(phrases):
        a, b = phrases[i], phrases[i + 1]
        if a.block == b.block and a.shape == b.shape and a.shape and a.shape[0] in _STEPS:
            yield a, b
            i += 2
        else:
            i += 1


def _doubt(wrong: Phrase, right: Phrase, mirror: Mirror, text: str) -> int:
    """Small when `wrong` is the odd one of the two: it mixes the sides, or says what is said nowhere else."""
    if mirror.mixed(wrong) != mirror.mixed(right):
        return 0 if mirror.mixed(wrong) else 3
    if (repeats := _repeats(wrong, text)) != _repeats(right, text):
        return 0 if repeats else 3
    odd = set(_WORDS.findall(wrong.text)) - set(_WORDS.findall(mirror.image(right.text)))
    if odd:
        rare = max(len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text)) for word in odd)
        return 1 if rare <= 1 else 2
    return 1 if len(wrong.text) > len(right.text) else 2


def _repeats(phrase: Phrase, text: str) -> bool:
    """Whether the phrase moves a tile that another one moves as well."""
    tile = re.search(r"\w+\.tile\([^()]*\)\[[^\[\]]*\]", phrase.text)
    return tile is not None and text.count(tile[0]) > 1


def _mirror(tree: ast.Module, phrases: Sequence[Phrase]) -> Mirror:
    names: dict[str, str] = {'"a"': '"b"', '"b"': '"a"'}
    left: set[str] = set()

    def pair(a: str, b: str) -> None:
        if a and b and a != b and a not in names and b not in names:
            names[a], names[b] = b, a
            left.add(a)

    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="ensures"), keywords=keywords):
                for k in keywords:
                    if k.arg == "uses" and isinstance(k.value, ast.Tuple) and len(k.value.elts) == 2:
                        pair(*(e.id if isinstance(e, ast.Name) else "" for e in k.value.elts))
            case ast.Assign(
                targets=[ast.Tuple(elts=[ast.Name(id=a), ast.Name(id=b)])], value=ast.Call(func=ast.Name(id="block"))
            ):
                pair(a, b)
            case ast.Call(func=ast.Name(id="ring"), keywords=[ast.keyword(arg=str(a)), ast.keyword(arg=str(b))]):
                pair(a, b)
            case _:
                pass
    for a, b in siblings(phrases):
        pair(a.name, b.name)
    return Mirror(names, _rows(phrases), frozenset(left))


def _rows(phrases: Sequence[Phrase]) -> dict[str, str]:
    """Rows of A's tiles and of B's, from the shared buffers."""
    for a, b in siblings(phrases):
        if a.shape[0] == "shared":
            one, two = re.findall(r"\b\d+\b", a.text), re.findall(r"\b\d+\b", b.text)
            if len(one) == len(two):
                return {x: y for x, y in zip(one, two, strict=True) if x != y} | {
                    y: x for x, y in zip(one, two, strict=True) if x != y
                }
    return {}


def _phrases(tree: ast.Module, kernel: sites.Kernel) -> Iterator[Phrase]:
    for node in ast.walk(tree):
        body: list[ast.stmt] = getattr(node, "body", [])
        for stmt in body:
            yield from _of(stmt, getattr(node, "lineno", 0), kernel)


def _of(stmt: ast.stmt, block: int, kernel: sites.Kernel) -> Iterator[Phrase]:
    pairs: list[tuple[str, ast.expr]] = []
    match stmt:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            pairs = [(t.id if isinstance(t, ast.Name) else "", v) for t, v in zip(targets, values, strict=True)]
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pairs = [(name, value)]
        case ast.AugAssign(value=ast.Call(func=ast.Name(id="mma"), args=args)):
            pairs = [("", arg) for arg in args]
        case ast.Expr(value=value) if not _stores_result(value, kernel):
            pairs = [("", value)]
        case _:
            pass
    for name, value in pairs:
        if value.end_lineno == value.lineno and value.end_col_offset is not None:
            text = kernel.lines[value.lineno - 1][value.col_offset : value.end_col_offset]
            shape = tuple(_calls(value))
            if shape:
                yield Phrase(value.lineno, value.col_offset, value.end_col_offset, text, name, shape, block)


def _calls(node: ast.expr) -> Iterator[str]:
    for n in ast.walk(node):
        if isinstance(n, ast.Call):
            func = n.func
            name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
            if name in (*_STEPS, "tile"):
                yield name


def _stores_result(node: ast.expr, kernel: sites.Kernel) -> bool:
    """Stores of the result have no image: they belong to both sides."""
    out = re.search(r"ensures\((\w+)\[", kernel.text)
    return out is not None and any(isinstance(n, ast.Name) and n.id == out[1] for n in ast.walk(node))


def _put(kernel: sites.Kernel, phrase: Phrase, new: str) -> str:
    lines = list(kernel.lines)
    row = lines[phrase.line - 1]
    lines[phrase.line - 1] = row[: phrase.start] + new + row[phrase.stop :]
    return sites.join(lines)


def _keep_rows(new: str, old: str) -> str:
    """Rows of tiles and buffers are each side's own."""
    for pattern in (r"(tile\()(\d+)", r"(shared\(\w+, (?:\d+, )?)(\d+)(?=, \d+[,)])"):
        if (own := re.search(pattern, old)) and re.search(pattern, new):
            new = re.sub(pattern, lambda m, own=own: m[1] + own[2], new)
    return new


def _same(a: str, b: str) -> bool:
    return _keep_rows(a, b).replace(" ", "") == b.replace(" ", "")


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
