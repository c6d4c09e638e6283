"""Index expressions as text, with the fewest parentheses that read back as the same tree."""

from __future__ import annotations

from argus.dsl.layout import Const, Expr, Op, Var

# Stands for the dot of generated names, which is no part of a Python identifier.
DOT = "·"

# How tightly Python binds; fragments use the same scale.
OR, AND, NOT, COMPARE, BIT_OR, BIT_AND, SUM, PRODUCT, UNARY, ATOM = range(1, 11)
PRECEDENCE: dict[str, int] = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), COMPARE),
    "|": BIT_OR,
    "&": BIT_AND,
    "+": SUM,
    "-": SUM,
    **dict.fromkeys(("*", "/", "//", "%"), PRODUCT),
}


def show_name(name: str) -> str:
    """A name as one Python identifier."""
    return name.replace(".", DOT)


def show_expr(e: Expr) -> str:
    """`e` as kernel text."""
    return bound_expr(e)[0]


def bound_expr(e: Expr) -> tuple[str, int]:
    """Text and how tightly it binds."""
    match e:
        case Const(value):
            return str(value), ATOM if value >= 0 else UNARY
        case Var(name):
            return show_name(name), ATOM
        case Op("cdiv" | "min" | "max" as kind, args):
            return f"{kind}({', '.join(show_expr(a) for a in args)})", ATOM
        case Op("not", (arg,)):
            return f"not {wrap(bound_expr(arg), NOT)}", NOT
        case Op(kind, (lhs, rhs)):
            return infix(kind, bound_expr(lhs), bound_expr(rhs))
        case _:
            raise AssertionError(f"{e} has the wrong number of arguments")


def infix(kind: str, lhs: tuple[str, int], rhs: tuple[str, int]) -> tuple[str, int]:
    """`lhs kind rhs`; chains lean left, comparisons do not chain."""
    level = PRECEDENCE[kind]
    left = level + 1 if level == COMPARE else level
    return f"{wrap(lhs, left)} {kind} {wrap(rhs, level + 1)}", level


def wrap(text: tuple[str, int], level: int) -> str:
    """In parentheses, if it binds less tightly than its place demands."""
    return text[0] if text[1] >= level else f"({text[0]})"
