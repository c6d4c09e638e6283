"""Text to Python's syntax tree, with limits that hold before the parser runs, and spans that count characters."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from argus.dsl.diagnostics import Code, Span
from argus.dsl.ir.report import kernel_error

MAX_BYTES = 1_000_000
MAX_BRACKETS = 60
MAX_STATEMENT_CHARS = 20_000
# The printer's stand-in for the dot of generated names: an identifier to Python, refused in kernel text.
CORE_DOT = "·"

_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
  | (?P<string>[A-Za-z]{0,2}(?:
        \"\"\"[\s\S]*?\"\"\" | '''[\s\S]*?'''
      | "[^"\\\n]*(?:\\.[^"\\\n]*)*" | '[^'\\\n]*(?:\\.[^'\\\n]*)*'))
  | (?P<open>[(\[{]) | (?P<close>[)\]}]) | (?P<newline>\n) | (?P<backslash>\\)
    """,
    re.VERBOSE,
)
# What ends a line for `str.splitlines` but not for Python, and controls: carets would point at the wrong place.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
# `warnings.catch_warnings` edits process-wide state.
_WARNINGS = threading.Lock()


@dataclass(frozen=True, slots=True)
class Source:
    """Text that can say where a node of its syntax tree was written.

    Attributes:
        first_line: Line of `file` at which `text` starts.
        indent: Columns that were cut from the left of each line.
        core: Whether generated names, printed with a middle dot, are read back.
    """

    text: str
    file: str
    lines: tuple[str, ...]
    first_line: int = 1
    indent: int = 0
    core: bool = False

    def span(self, node: ast.AST) -> Span:
        """Where `node` stands. Python counts columns in UTF-8 bytes from 0."""
        place = cast("Any", node)
        line, end_line = cast("int", place.lineno), cast("int", place.end_lineno)
        return Span(
            self.file,
            line + self.first_line - 1,
            self._column(line, place.col_offset),
            end_line + self.first_line - 1,
            self._column(end_line, place.end_col_offset),
        )

    def header(self, node: ast.AST, last: ast.AST) -> Span:
        """From the start of a statement that holds others to the end of its first line's last part."""
        start, end = self.span(node), self.span(last)
        return Span(self.file, start.line, start.col, end.end_line, end.end_col)

    def _column(self, line: int, byte: int) -> int:
        text = self.lines[line - 1]
        if not text.isascii():
            byte = len(text.encode()[:byte].decode(errors="replace"))
        return byte + 1 + self.indent

    def at(self, line: int, column: int, width: int = 1) -> Span:
        """A span on one line; `column` counts characters from 0."""
        line = min(max(line, 1), max(len(self.lines), 1))
        column = min(max(column, 0), len(self.lines[line - 1]) if self.lines else 0) + 1 + self.indent
        return Span(self.file, line + self.first_line - 1, column, line + self.first_line - 1, column + width)

    def at_offset(self, offset: int, width: int = 1) -> Span:
        """Likewise, from an offset into the text."""
        line = self.text.count("\n", 0, offset) + 1
        return self.at(line, offset - (self.text.rfind("\n", 0, offset) + 1), width)


def read_text(path: Path) -> str:
    """A file's text.

    Raises:
        KernelError: If the file is too large or is not UTF-8.
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    whole = Span(str(path), 1, 1, 1, 2)
    if len(data) > MAX_BYTES:
        raise kernel_error(Code.LIMIT, whole, f"kernel text is longer than {MAX_BYTES:,} bytes", "split the file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as bad:
        line = data.count(b"\n", 0, bad.start) + 1
        at = Span(str(path), line, 1, line, 2)
        raise kernel_error(Code.SYNTAX, at, "kernel text is not UTF-8", "save the file as UTF-8") from None


def source_of(text: str, file: str, *, first_line: int = 1, indent: int = 0, core: bool = False) -> Source:
    """Check the limits that need no parser.

    Raises:
        KernelError: SYNTAX for text no editor writes, LIMIT for size and nesting.
    """
    if len(text) > MAX_BYTES:
        span = Span(file, 1, 1, 1, 2)
        raise kernel_error(Code.LIMIT, span, f"kernel text is longer than {MAX_BYTES:,} bytes", "split the file")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    source = Source(text, file, tuple(text.split("\n")), first_line, indent, core)
    if not text.isascii():
        for i, char in enumerate(text):
            if "\ud800" <= char <= "\udfff":
                raise kernel_error(
                    Code.SYNTAX, source.at_offset(i), "a lone surrogate is not text", "save the file as UTF-8"
                )
    if bad := _CONTROL.search(text):
        message = f"control character U+{ord(bad.group()):04X} in kernel text"
        raise kernel_error(Code.SYNTAX, source.at_offset(bad.start()), message, "delete it")
    _scan(source)
    return source


def _scan(source: Source) -> None:
    """Refuse what would make Python's parser deep or slow."""
    depth, statement = 0, 0
    for token in _TOKEN.finditer(source.text):
        at = token.start()
        if at - statement > MAX_STATEMENT_CHARS:
            message = f"a statement is longer than {MAX_STATEMENT_CHARS:,} characters"
            raise kernel_error(Code.LIMIT, source.at_offset(statement), message, "split it")
        match token.lastgroup:
            case "open":
                depth += 1
                if depth > MAX_BRACKETS:
                    message = f"brackets are nested more than {MAX_BRACKETS} deep"
                    raise kernel_error(Code.LIMIT, source.at_offset(at), message, "name the inner parts")
            case "close":
                depth = max(0, depth - 1)
            case "newline" if depth == 0:
                statement = token.end()
            case "string":
                _check_string(source, token.group(), at)
                statement = token.end() if token.group().startswith(('"""', "'''")) else statement
            case "backslash":
                message, hint = "lines are not continued by a backslash", "break the line inside parentheses"
                raise kernel_error(Code.FORBIDDEN, source.at_offset(at), message, hint)
            case _:
                pass
    if len(source.text) - statement > MAX_STATEMENT_CHARS:
        message = f"a statement is longer than {MAX_STATEMENT_CHARS:,} characters"
        raise kernel_error(Code.LIMIT, source.at_offset(statement), message, "split it")


def _check_string(source: Source, text: str, at: int) -> None:
    prefix = re.match(r"[A-Za-z]*", text)
    assert prefix is not None
    if prefix.group():
        kind = "f-strings" if "f" in prefix.group().lower() else "string prefixes"
        raise kernel_error(
            Code.FORBIDDEN,
            source.at_offset(at, len(prefix.group())),
            f"the language has no {kind}",
            "write a plain string",
        )
    if "\\" in text:
        at += text.index("\\")
        raise kernel_error(
            Code.FORBIDDEN, source.at_offset(at), "strings hold no backslash", "write the character itself"
        )


def python_tree(source: Source) -> ast.Module:
    """Python's own parse; nothing is executed.

    Raises:
        KernelError: SYNTAX with Python's message and place, LIMIT where its parser gives up.
    """
    try:
        with _WARNINGS, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source.text)
    except SyntaxError as bad:
        message = bad.msg or "invalid syntax"
        if "integer string conversion" in message:
            raise kernel_error(Code.LIMIT, _place(source, bad), "an integer literal is too large") from None
        if "too many" in message:
            raise kernel_error(Code.LIMIT, _place(source, bad), message) from None
        raise kernel_error(Code.SYNTAX, _place(source, bad), message) from None
    except (RecursionError, MemoryError):
        raise kernel_error(
            Code.LIMIT, source.at(1, 0), "an expression is nested too deeply", "name the inner parts"
        ) from None
    except ValueError as bad:  # what else Python's tokenizer refuses
        raise kernel_error(Code.SYNTAX, source.at(1, 0), str(bad)) from None


def _place(source: Source, bad: SyntaxError) -> Span:
    line, column = bad.lineno or 1, (bad.offset or 1) - 1
    same_line = bad.end_lineno == bad.lineno and (bad.end_offset or 0) > (bad.offset or 0)
    width = (bad.end_offset or 0) - (bad.offset or 0) if same_line else 1
    return source.at(line, column, width)
