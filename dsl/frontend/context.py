"""What every reader carries: the source, the names in scope, and coercions with their diagnostics."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from argus.dsl.diagnostics import Code, KernelError, Span
from argus.dsl.frontend import words
from argus.dsl.frontend.scope import Item, Kind, Scope
from argus.dsl.frontend.source import CORE_DOT, Source
from argus.dsl.ir.nodes import Dtype, Frag, Index, Ref, Scalar, View
from argus.dsl.ir.report import did_you_mean, kernel_error
from argus.dsl.layout import Const, Expr, evaluate

MAX_DEPTH = 60
MAX_STATEMENTS = 2_000
MAX_INT = 2**31 - 1
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_CORE_IDENTIFIER = re.compile(rf"[A-Za-z_][A-Za-z0-9_{CORE_DOT}]*\Z")


@dataclass(slots=True)
class Context:
    """State of reading one kernel.

    Attributes:
        read: Reads any expression; the readers call each other through it.
        fixed: Names that may not be assigned: parameters, size symbols.
        tags: Axis names of the contract.
        open_names: Take unknown names for integers or fragments, by their place, to read a statement on its own.
    """

    source: Source
    read: Callable[[Context, ast.expr], Item]
    scope: Scope = field(default_factory=Scope)
    fixed: dict[str, str] = field(default_factory=dict[str, str])
    tags: dict[str, None] = field(default_factory=dict[str, None])
    open_names: bool = False
    depth: int = 0
    statements: int = 0
    target: str = ""

    # ------------------------------------------------------------------------------------- errors

    def span(self, node: ast.AST) -> Span:
        return self.source.span(node)

    def error(self, code: Code, node: ast.AST, message: str, hint: str = "") -> KernelError:
        return kernel_error(code, self.source.span(node), message, hint)

    def unpacked(self, node: ast.expr) -> KernelError:
        return self.error(Code.FORBIDDEN, node, "arguments are not unpacked with *", "write them out")

    def wrong_kind(self, node: ast.expr, want: str, got: Item) -> KernelError:
        hint = ""
        if got.kind is Kind.VIEW and want == Kind.FRAG:
            hint = "load(…) brings a view into registers"
        elif got.kind is Kind.VIEW and want == Kind.INDEX and got.rank == 0:
            hint = "give the loaded integer a name first: `e = table[i]`"
        elif got.kind is Kind.FRAG and want == Kind.VIEW:
            hint = "a view is memory: a parameter, a shared buffer or part of one"
        return self.error(Code.BAD_SPACE, node, f"{want} is needed, this is {got.kind}", hint)

    # -------------------------------------------------------------------------------------- names

    def identifier(self, name: str, node: ast.AST) -> str:
        """`name` as the IR spells it."""
        if name.startswith("__"):
            raise self.error(
                Code.FORBIDDEN, node, f"`{name}`: the language has no double-underscore names", "use a plain name"
            )
        if _IDENTIFIER.match(name):
            return name
        if self.source.core and _CORE_IDENTIFIER.match(name):
            return name.replace(CORE_DOT, ".")
        raise self.error(Code.FORBIDDEN, node, f"`{name}`: names are ASCII letters, digits and _", "rename it")

    def name_of(self, node: ast.expr, what: str) -> str:
        if not isinstance(node, ast.Name):
            raise self.error(Code.BAD_CALL, node, f"{what} is a plain name", "")
        return self.identifier(node.id, node)

    def lookup(self, node: ast.Name) -> Item:
        name = self.identifier(node.id, node)
        item = self.scope.get(name)
        if item is not None:
            return item
        if self.open_names and name not in words.RESERVED:
            return Item(Kind.FRAG)
        if name in words.RESERVED:
            hint = f"call it: `{name}(…)`" if name in words.FUNCTIONS else ""
            raise self.error(Code.BAD_CALL, node, f"`{name}` is a word of the language, not a value", hint)
        known = (*self.scope.names(), *words.RESERVED)
        hint = did_you_mean(name, known) or "names are parameters, sizes of the signature, and what is assigned before"
        raise self.error(Code.UNKNOWN_NAME, node, f"`{name}` is not defined here", hint)

    def bind(self, node: ast.Name, item: Item) -> str:
        """Assign a name.

        Raises:
            KernelError: If the name is taken by the language or the signature, or stood for another kind of thing.
        """
        name = self.identifier(node.id, node)
        if name in words.RESERVED:
            raise self.error(Code.FORBIDDEN, node, f"`{name}` is a word of the language", "use another name")
        if name in self.fixed:
            raise self.error(
                Code.FORBIDDEN, node, f"`{name}` is {self.fixed[name]} and keeps its meaning", "use another name"
            )
        old = self.scope.get(name)
        if old is not None and old.kind is not item.kind:
            message = f"`{name}` is {old.kind} and cannot become {item.kind}"
            hint = "write 0.0 where a number is meant" if old.kind is Kind.INDEX else "use another name"
            raise self.error(Code.BAD_SPACE, node, message, hint)
        self.scope.bind(name, item)
        return name

    # ---------------------------------------------------------------------------------- coercions

    def index(self, node: ast.expr) -> Expr:
        if self.open_names:
            self._take_for_integers(node)
        item = self.read(self, node)
        if item.kind is not Kind.INDEX:
            raise self.wrong_kind(node, Kind.INDEX, item)
        return cast("Expr", item.value)

    def _take_for_integers(self, node: ast.expr) -> None:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and inner.id not in words.RESERVED and self.scope.get(inner.id) is None:
                self.scope.bind(inner.id, Item(Kind.INDEX))

    def frag(self, node: ast.expr) -> Frag:
        return self.as_frag(node, self.read(self, node))

    def as_frag(self, node: ast.expr, item: Item) -> Frag:
        match item.kind:
            case Kind.FRAG:
                return cast("Frag", item.value)
            case Kind.INDEX:
                return Index(expr=cast("Expr", item.value), span=self.span(node))
            case _:
                raise self.wrong_kind(node, Kind.FRAG, item)

    def view(self, node: ast.expr) -> View:
        return cast("View", self.view_item(node).value)

    def view_item(self, node: ast.expr) -> Item:
        item = self.read(self, node)
        if item.kind is not Kind.VIEW:
            raise self.wrong_kind(node, Kind.VIEW, item)
        return item

    def ref(self, node: ast.expr, kind: Kind) -> Ref:
        """A name that stands for something of `kind`."""
        name = self.name_of(node, str(kind))
        item = self.lookup(cast("ast.Name", node))
        if item.kind is not kind:
            raise self.wrong_kind(node, kind, item)
        return Ref(name=name, span=self.span(node))

    def constant(self, node: ast.expr, what: str, low: int = 1, high: int = MAX_INT) -> int:
        try:
            value = evaluate(self.index(node), {})
        except (KeyError, ZeroDivisionError):
            message = f"{what} is a constant"
            raise self.error(
                Code.BAD_CALL, node, message, "write the number: kernels are specialised in their tile sizes"
            ) from None
        if not low <= value <= high:
            bound = f"at least {low}" if value < low else f"at most {high}"
            raise self.error(Code.BAD_CALL, node, f"{what} is {value}, but must be {bound}")
        return value

    def number(self, node: ast.expr, what: str) -> float:
        item = self.read(self, node)
        if isinstance(item.value, Const):
            return float(item.value.value)
        if isinstance(item.value, Scalar):
            return item.value.value
        raise self.error(Code.BAD_CALL, node, f"{what} is a number", "for example 0.0 or -inf")

    def text(self, node: ast.expr, what: str, choices: Iterable[str] = ()) -> str:
        choices = tuple(choices)
        listed = " or ".join(f'"{c}"' for c in choices)
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            raise self.error(Code.BAD_CALL, node, f"{what} is a text in quotes", f"write {listed}" if choices else "")
        if choices and node.value not in choices:
            hint = did_you_mean(node.value, choices) or f"write {listed}"
            raise self.error(Code.BAD_CALL, node, f'{what} is not "{node.value}"', hint)
        return node.value

    def dtype(self, node: ast.expr) -> Dtype:
        if isinstance(node, ast.Name) and node.id in words.DTYPES:
            return node.id
        hint = did_you_mean(node.id, words.DTYPES) if isinstance(node, ast.Name) else ""
        raise self.error(Code.BAD_DTYPE, node, "a dtype is needed", hint or f"one of {', '.join(words.DTYPES)}")

    # ---------------------------------------------------------------------------------- arguments

    def arguments(self, call: ast.Call, signature: str) -> Arguments:
        """Match a call with a signature such as `view, *shape, map=`; `=` marks what may be left out.

        Raises:
            KernelError: BAD_CALL for missing, surplus or unknown arguments, FORBIDDEN for `*x` and `**x`.
        """
        required, optional, rest_name = _signature(signature)
        positional = required + optional
        given: dict[str, ast.expr] = {}
        rest: list[ast.expr] = []
        shown = f"{_callee(call)}({signature})"
        for i, value in enumerate(call.args):
            if isinstance(value, ast.Starred):
                raise self.unpacked(value)
            limit = len(required) if rest_name else len(positional)
            if i < limit:
                given[positional[i]] = value
            elif rest_name:
                rest.append(value)
            else:
                raise self.error(Code.BAD_CALL, value, f"one argument too many for {shown}")
        for keyword in call.keywords:
            if keyword.arg is None:
                raise self.unpacked(keyword.value)
            if keyword.arg not in positional:
                hint = did_you_mean(keyword.arg, positional)
                raise self.error(Code.BAD_CALL, keyword, f"{shown} takes no `{keyword.arg}`", hint)
            if keyword.arg in given:
                raise self.error(Code.BAD_CALL, keyword, f"`{keyword.arg}` is given twice")
            given[keyword.arg] = keyword.value
        if missing := [name for name in required if name not in given]:
            raise self.error(Code.BAD_CALL, call, f"`{missing[0]}` is missing: {shown}")
        return Arguments(given, tuple(rest))


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments by parameter name, and those of a starred parameter."""

    given: dict[str, ast.expr]
    rest: tuple[ast.expr, ...]

    def __getitem__(self, name: str) -> ast.expr:
        return self.given[name]

    def get(self, name: str) -> ast.expr | None:
        return self.given.get(name)


@lru_cache(maxsize=256)
def _signature(text: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    parts = [p.strip() for p in text.split(",") if p.strip()]
    required = tuple(p for p in parts if p[0] != "*" and not p.endswith("="))
    optional = tuple(p[:-1] for p in parts if p.endswith("="))
    rest = next((p[1:] for p in parts if p[0] == "*"), "")
    return required, optional, rest


def _callee(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
        case _:
            return "this call"
