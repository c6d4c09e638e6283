"""Index expressions as C. Every variable is an `int`; quotients and remainders floor, as the language has them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from argus.dsl.layout import Const, Expr, Op, Var
from argus.dsl.lower.facts import never_negative, resolve

# How tightly C binds.
_COMPARE, _AND_OR, _SUM, _PRODUCT, _ATOM = 1, 0, 2, 3, 4
_INFIX = {"+": _SUM, "-": _SUM, "*": _PRODUCT} | dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARE)
_LOGIC = {"and": "&&", "or": "||"}


# Names that the printed text has of its own; C's keywords, and types that it uses.
_OWN = (
    "lane warp tile place group group_rows matrix_row chunk i j dynamic_shared shared_start turn part row column rank"
)
_WORDS = "auto bool char const double else enum extern float for if int long register return short signed static struct"
_RESERVED = frozenset(f"{_OWN} {_WORDS} switch template this typedef union unsigned void volatile while".split(" "))


def c_name(name: str) -> str:
    """A name of core form as a C identifier: generated names hold dots."""
    made = re.sub(r"\W", "_", name)
    return f"{made}_" if made in _RESERVED else made


def c_expr(e: Expr, known: Mapping[str, Expr], *, factor: bool = False) -> str:
    """`e`, with what is known of variables put in; in parentheses where a `factor` needs them."""
    return _wrap(resolve(e, known), _PRODUCT + 1 if factor else 0)


def _text(e: Expr) -> tuple[str, int]:
    """C and how tightly it binds."""
    match e:
        case Const(value):
            return (str(value), _ATOM) if value >= 0 else (f"({value})", _ATOM)
        case Var(name):
            return c_name(name), _ATOM
        case Op("not", (a,)):
            return f"!({_text(a)[0]})", _ATOM
        case Op("and" | "or" as kind, args):
            return f" {_LOGIC[kind]} ".join(f"({_text(a)[0]})" for a in args), _AND_OR
        case Op("%", (a, Const(c))) if _power_of_two(c):
            return f"({_wrap(a, _PRODUCT)} & {c - 1})", _ATOM
        case Op("//", (a, Const(c))) if _power_of_two(c):
            return f"({_wrap(a, _PRODUCT)} >> {c.bit_length() - 1})", _ATOM
        case Op("%" | "//" | "cdiv" | "min" | "max" as kind, (a, b)):
            positive = never_negative(a) and never_negative(b)
            return f"{_function(kind, positive=positive)}({_text(a)[0]}, {_text(b)[0]})", _ATOM
        case Op(kind, (a, b)):
            level = _INFIX[kind]
            return f"{_wrap(a, level)} {kind} {_wrap(b, level + 1)}", level
        case _:
            raise AssertionError(f"{e} has the wrong number of arguments")


def _wrap(e: Expr, level: int) -> str:
    text, binds = _text(e)
    return text if binds >= level else f"({text})"


def _power_of_two(c: int) -> bool:
    return c > 0 and c & (c - 1) == 0


def _function(kind: str, *, positive: bool) -> str:
    match kind:
        case "%":
            return "rem" if positive else "floor_rem"
        case "//":
            return "quo" if positive else "floor_quo"
        case "cdiv":
            return "cdiv"
        case _:
            return kind
