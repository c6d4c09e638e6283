"""Where a kernel's text holds what repairs change: stage indices, k-steps, waits, operands. Read, never executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "stage",  # X of As[X]
    "k_tile",  # X of A.tile(m, k)[i, X]
    "block_index",  # X of A.tile(m, k)[X, j]
    "depth",  # X of A.tile(m, X)
    "side",  # X of operand(X, acc, ks)
    "ks",  # X of operand(side, acc, X)
    "pack",  # X of operand(..., pack=X)
    "linear",  # X of map=linear(X)
    "swizzle",  # X of shared(..., swizzle=X)
    "loop",  # range(...) or unroll(...)
    "count",  # X of block(X, ...)
    "wait",  # X of wait(X)
    "keep",  # X of use(keep=X)
    "mma",  # mma(x, y)
    "acc",  # mma_acc(...)
    "out",  # the view of a global store
]


_TASKS = ("@kernel", "def ", "where(", "assume(", "ensures(")


@dataclass(frozen=True, slots=True)
class Site:
    """A piece of text by line (from 1) and columns (from 0, end exclusive), with what it belongs to.

    Attributes:
        owner: The buffer or tensor concerned; empty where there is none.
        writes: Whether the statement fills the buffer.
        loops: Lines of the enclosing loops, outermost first.
    """

    kind: Kind
    line: int
    start: int
    stop: int
    text: str
    owner: str = ""
    writes: bool = False
    loops: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Buffer:
    """A shared buffer: its extents as text, so that symbols survive; the last is the row."""

    name: str
    shape: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the finder knows of a kernel text."""

    text: str
    lines: tuple[str, ...]
    sites: tuple[Site, ...]
    buffers: tuple[Buffer, ...]
    atom: tuple[int, int, int] | None

    @property
    def first(self) -> int:
        """The first line that is the kernel's own: signature and contract stand before it."""
        head = [n for n, row in enumerate(self.lines, 1) if row.strip().startswith(_TASKS)]
        return max(head, default=0) + 1

    def of(self, *kinds: Kind) -> list[Site]:
        return [s for s in self.sites if s.kind in kinds]

    @property
    def row(self) -> str:
        """Elements of one k-tile: the shared buffers' rows; empty when they differ."""
        rows = {b.shape[-1] for b in self.buffers if b.shape}
        return rows.pop() if len(rows) == 1 else ""


def read(text: str) -> Kernel | None:
    """The kernel's sites in reading order; None when the text is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    finder = _Finder(text)
    finder.visit(tree)
    finder.sites.sort(key=lambda s: (s.line, s.start))
    return Kernel(text, tuple(text.splitlines()), tuple(finder.sites), tuple(finder.buffers), finder.atom)


def replace(kernel: Kernel, site: Site, new: str) -> str:
    """The text with one site rewritten."""
    return replace_all(kernel, [(site, new)])


def replace_all(kernel: Kernel, changes: list[tuple[Site, str]]) -> str:
    """The text with several sites rewritten; they must not overlap."""
    lines = list(kernel.lines)
    for site, new in sorted(changes, key=lambda c: (c[0].line, -c[0].start)):
        row = lines[site.line - 1]
        lines[site.line - 1] = row[: site.start] + new + row[site.stop :]
    return join(lines)


def insert(kernel: Kernel, line: int, statement: str, *, like: int) -> str:
    """The text with a statement before `line`, indented as line `like` is; never within the contract."""
    lines = list(kernel.lines)
    place, model = max(line, kernel.first), max(like, min(kernel.first, len(lines)))
    lines.insert(place - 1, " " * indent(lines[model - 1]) + statement)
    return join(lines)


def join(lines: list[str]) -> str:
    """Lines as a text."""
    return "\n".join(lines) + "\n"


def indent(line: str) -> int:
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip())


class _Finder(ast.NodeVisitor):
    """Collects sites; `_mode` tells whether the current view is being filled."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.sites: list[Site] = []
        self.buffers: list[Buffer] = []
        self.atom: tuple[int, int, int] | None = None
        self._loops: list[int] = []
        self._writes = False

    # ------------------------------------------------------------------------------- statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """The body alone: the signature is the task's."""
        for child in node.body:
            self.visit(child)

    def visit_For(self, node: ast.For) -> None:
        if isinstance(node.iter, ast.Call) and _name(node.iter) in ("range", "unroll"):
            self._add("loop", node.iter)
        self.visit(node.iter)
        self._loops.append(node.lineno)
        for child in node.body:
            self.visit(child)
        self._loops.pop()

    def visit_Assign(self, node: ast.Assign) -> None:
        for target, value in _pairs(node):
            if isinstance(target, ast.Name) and isinstance(value, ast.Call):
                self._allocation(target.id, value)
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        match _name(node):
            case "where" | "assume" | "ensures":
                return
            case "store" | "copy_async" | "copy" if node.args:
                self._filling(node)
                return
            case "operand" if isinstance(node.func, ast.Attribute):
                self._operand(node, _root(node.func.value))
            case "linear" if node.args:
                self._add("linear", node.args[0])
            case "wait" if node.args:
                self._add("wait", node.args[0])
            case "use":
                for keyword in node.keywords:
                    self._add("keep", keyword.value)
            case "mma":
                self._add("mma", node)
            case "mma_acc":
                self._accumulator(node)
            case "block":
                for arg in node.args:
                    self._add("count", arg)
            case "tile" if len(node.args) == 2 and isinstance(node.func, ast.Attribute):
                self._add("depth", node.args[1], owner=_root(node.func.value))
            case _:
                pass
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Call) and _name(node.value) == "tile":
            index = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            self._add("block_index", index[0], owner=_root(node.value))
            if len(index) == 2:
                self._add("k_tile", index[1], owner=_root(node.value))
        elif isinstance(node.value, ast.Name):
            self._add("stage", node.slice, owner=node.value.id)
        self.generic_visit(node)

    # ----------------------------------------------------------------------------------- pieces

    def _filling(self, node: ast.Call) -> None:
        target = node.args[0]
        owner = _root(target)
        if not any(b.name == owner for b in self.buffers) and _name(node) == "store":
            self._add("out", target, owner=owner)
        self._writes = True
        self.visit(target)
        self._writes = False
        for rest in (*node.args[1:], *(k.value for k in node.keywords)):
            self.visit(rest)

    def _operand(self, node: ast.Call, owner: str) -> None:
        for kind, arg in zip(("side", None, "ks"), node.args, strict=False):
            if kind == "side":
                self._add("side", arg, owner=owner)
            elif kind == "ks":
                self._add("ks", arg, owner=owner)
        for keyword in node.keywords:
            if keyword.arg == "pack":
                self._add("pack", keyword.value, owner=owner)

    def _accumulator(self, node: ast.Call) -> None:
        self._add("acc", node)
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            sizes = node.args[0].value.split("x")
            if len(sizes) == 3 and all(s.isdigit() for s in sizes):
                self.atom = (int(sizes[0]), int(sizes[1]), int(sizes[2]))

    def _allocation(self, name: str, node: ast.Call) -> None:
        if _name(node) == "shared":
            self.buffers.append(Buffer(name, tuple(self._source(a) for a in node.args[1:])))
            for keyword in node.keywords:
                if keyword.arg == "swizzle":
                    self._add("swizzle", keyword.value, owner=name)
        elif _name(node) == "ring":
            for keyword in node.keywords:
                if keyword.arg and isinstance(keyword.value, ast.Call):
                    self._allocation(keyword.arg, keyword.value)

    def _add(self, kind: Kind, node: ast.expr, owner: str = "") -> None:
        if node.end_lineno != node.lineno or node.end_col_offset is None:
            return  # repairs rewrite within a line
        self.sites.append(
            Site(
                kind,
                node.lineno,
                node.col_offset,
                node.end_col_offset,
                self._source(node),
                owner,
                self._writes,
                tuple(self._loops),
            )
        )

    def _source(self, node: ast.expr) -> str:
        return ast.get_source_segment(self.text, node) or ""


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with their values; `x, y = f(), g()` element by element."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _name(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return node.func.id
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _root(node: ast.expr) -> str:
    """The buffer or tensor that a view expression starts from; for a ring's stage, the field: `st.As` is As."""
    while True:
        match node:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=ast.Name(), attr=name) if name != "T":
                return name
            case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Call(func=inner):
                # A method: `A.tile(...)` is Call(Attribute(Name A, "tile")).
                node = inner.value if isinstance(inner, ast.Attribute) and isinstance(node, ast.Call) else inner
            case _:
                return ""
