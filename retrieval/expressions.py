"""The three small languages of a card's front matter, read through `ast` with an allow-list and never executed.

Condition      `metric op number`                       bank_conflicts.read_way >= 2
Expectation    `metric op factor * old` or `... number`  main_loop.lds_read == 1.0 * old
Constraint     arithmetic and comparisons over names    width * 16 <= lds_row_bytes
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

Path = tuple[str | int, ...]

MAX_LENGTH = 200  # a guard: conditions are short, and the parser recurses

_COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}
_OPERATION: dict[str, Callable[[Any, Any], bool]] = dict(_COMPARE.values())
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
}


class ExpressionError(ValueError):
    """The text is not of the language, or a name in it has no value; says which and where."""


def path_text(path: Path) -> str:
    """`("schedule", "tile", 2)` as `schedule.tile[2]`."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).removeprefix(".")


def lookup(metrics: Mapping[str, Any], path: Path) -> float | None:
    """The number at `path` in nested mappings; None where there is none. Booleans count as 0 and 1."""
    value: Any = metrics
    for part in path:
        if isinstance(value, Mapping):
            value = cast("Mapping[Any, Any]", value).get(part)
        elif isinstance(part, int) and isinstance(value, Sequence) and not isinstance(value, str):
            items = cast("Sequence[Any]", value)
            value = items[part] if 0 <= part < len(items) else None
        else:
            return None
    return float(value) if isinstance(value, int | float) else None


def resolve(names: Mapping[str, Any], path: Path, text: str) -> Any:  # noqa: ANN401 - whatever a schedule holds
    """The value at `path`, of any type.

    Raises:
        ExpressionError: Naming the first part that is missing, and the `text` it stands in.
    """
    value: Any = names
    for i, part in enumerate(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError) as error:
            raise ExpressionError(f"`{text}`: no {path_text(path[: i + 1])}") from error
    return value


@dataclass(frozen=True, slots=True)
class Condition:
    """A metric compared with a number."""

    text: str
    path: Path
    op: str
    number: float

    def holds(self, metrics: Mapping[str, Any]) -> bool:
        """False where the metric has no value, for instance because the parent has no report."""
        value = lookup(metrics, self.path)
        return value is not None and _OPERATION[self.op](value, self.number)


@dataclass(frozen=True, slots=True)
class Expectation:
    """A metric of the new report compared with `factor` times the old one's, or with a number."""

    text: str
    path: Path
    op: str
    factor: float
    relative: bool

    def holds(self, new: Mapping[str, Any], old: Mapping[str, Any]) -> bool | None:
        """None where a metric that is needed has no value: nothing was observed, so nothing is claimed."""
        value, base = lookup(new, self.path), lookup(old, self.path) if self.relative else 1.0
        if value is None or base is None:
            return None
        return _OPERATION[self.op](value, self.factor * base)


@dataclass(frozen=True, slots=True)
class Constraint:
    """A test over names: parameters, and fields and properties of the changed schedule; `old.` asks the parent."""

    text: str
    tree: ast.expr
    paths: frozenset[Path]

    def holds(self, names: Mapping[str, Any]) -> bool:
        """Evaluate; `names["old"]` is the parent's mapping.

        Raises:
            ExpressionError: If a name has no value, or a comparison or division makes no sense.
        """
        try:
            return bool(_evaluate(self.tree, names, self.text))
        except (TypeError, ZeroDivisionError) as error:
            raise ExpressionError(f"`{self.text}`: {error}") from error


def parse_condition(text: str) -> Condition:
    """Read `metric op number`.

    Raises:
        ExpressionError: Otherwise.
    """
    left, op, right = _comparison(text, "metric op number")
    return Condition(text, _path(left, text), op, _number(right, text))


def parse_expectation(text: str) -> Expectation:
    """Read `metric op factor * old` or `metric op number`.

    Raises:
        ExpressionError: Otherwise.
    """
    form = "metric op factor * old"
    left, op, right = _comparison(text, form)
    if isinstance(right, ast.BinOp) and isinstance(right.op, ast.Mult):
        if not (isinstance(right.right, ast.Name) and right.right.id == "old"):
            raise _unlike(text, right, form)
        return Expectation(text, _path(left, text), op, _number(right.left, text), relative=True)
    return Expectation(text, _path(left, text), op, _number(right, text), relative=False)


@lru_cache(maxsize=512)
def parse_constraint(text: str) -> Constraint:
    """Read a test over names.

    Raises:
        ExpressionError: If it holds anything but names, constants, arithmetic, comparisons, `and`, `or` and `not`.
    """
    tree = _parse(text)
    if not isinstance(tree, ast.Compare | ast.BoolOp | ast.UnaryOp):
        raise ExpressionError(f"`{text}` is no comparison")
    paths: set[Path] = set()
    _allow(tree, text, paths)
    return Constraint(text, tree, frozenset(paths))


def _parse(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"longer than {MAX_LENGTH} characters: `{text[:40]}…`")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"`{text}` cannot be read: {error}") from error


def _unlike(text: str, node: ast.expr, form: str) -> ExpressionError:
    return ExpressionError(f"`{text}`: `{ast.unparse(node)}` at column {node.col_offset + 1} does not fit `{form}`")


def _comparison(text: str, form: str) -> tuple[ast.expr, str, ast.expr]:
    tree = _parse(text)
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1 or type(tree.ops[0]) not in _COMPARE:
        raise ExpressionError(f"`{text}` is not of the form `{form}`")
    return tree.left, _COMPARE[type(tree.ops[0])][0], tree.comparators[0]


def _number(node: ast.expr, text: str) -> float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -float(value)
        case _:
            raise _unlike(text, node, "number")


def _path(node: ast.expr, text: str) -> Path:
    match node:
        case ast.Name(id=name):
            return (name,)
        case ast.Attribute(value=value, attr=name):
            return (*_path(value, text), name)
        case ast.Subscript(value=value, slice=ast.Constant(value=int() as index)) if not isinstance(index, bool):
            return (*_path(value, text), index)
        case _:
            raise _unlike(text, node, "metric")


def _allow(node: ast.expr, text: str, paths: set[Path]) -> None:
    match node:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            paths.add(_path(node, text))
        case ast.Constant(value=int() | float() | str()):
            pass
        case ast.Compare(left=left, ops=ops, comparators=right) if all(type(op) in _COMPARE for op in ops):
            for part in (left, *right):
                _allow(part, text, paths)
        case ast.BoolOp(values=parts):
            for part in parts:
                _allow(part, text, paths)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            _allow(left, text, paths)
            _allow(right, text, paths)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            _allow(operand, text, paths)
        case _:
            raise _unlike(text, node, "names, numbers, arithmetic, comparisons, and, or, not")


def _evaluate(node: ast.expr, names: Mapping[str, Any], text: str) -> Any:  # noqa: ANN401 - numbers, text or truth
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name() | ast.Attribute() | ast.Subscript():
            return resolve(names, _path(node, text), text)
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_evaluate(part, names, text) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_evaluate(part, names, text) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluate(operand, names, text)
        case ast.UnaryOp(operand=operand):
            return -_evaluate(operand, names, text)
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_evaluate(left, names, text), _evaluate(right, names, text))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            values = [_evaluate(part, names, text) for part in (left, *comparators)]
            return all(_COMPARE[type(op)][1](a, b) for op, a, b in zip(ops, values, values[1:], strict=False))
        case _:
            raise AssertionError(f"{ast.dump(node)} was let through")
