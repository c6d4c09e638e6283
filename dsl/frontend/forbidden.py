"""What Python has and the language has not, in words, with the way out."""

from __future__ import annotations

import ast

from argus.dsl.diagnostics import Code, KernelError
from argus.dsl.frontend.context import Context

_LOOP = "loops are `for i in range(n)`, `for i in unroll(n)` and `for i, j in tiles(m, n)`"
_NODES: dict[type[ast.AST], tuple[str, str]] = {
    ast.Import: ("imports", "delete it: the language's words need no import"),
    ast.ImportFrom: ("imports", "only `from argus.dsl.lang import …` is tolerated, at the top of the file"),
    ast.ClassDef: ("classes", "write one function with @kernel(…)"),
    ast.FunctionDef: ("functions inside kernels", "write its statements where they are needed"),
    ast.AsyncFunctionDef: ("async functions", "write `def`"),
    ast.Return: ("return", "results are stored: `store(C.tile(…)[…], x)`"),
    ast.Delete: ("del", "delete it"),
    ast.While: ("while", _LOOP),
    ast.AsyncFor: ("async for", _LOOP),
    ast.AsyncWith: ("async with", "write `with`"),
    ast.Match: ("match", "use `if`"),
    ast.Raise: ("raise", "state it: `where(…)`, `assert_match(…)`"),
    ast.Try: ("try", "delete it: kernels raise nothing"),
    ast.TryStar: ("try", "delete it: kernels raise nothing"),
    ast.Assert: ("assert", "use assert_match, assert_differ or assert_complete"),
    ast.Global: ("global", "delete it"),
    ast.Nonlocal: ("nonlocal", "delete it"),
    ast.Break: ("break", "give the loop its bound"),
    ast.Continue: ("continue", "use `if`, or a pad"),
    ast.AnnAssign: ("annotated assignments", "write `x = …`; types are inferred"),
    ast.NamedExpr: ("`:=`", "assign in a line of its own"),
    ast.Lambda: ("lambda", "write the expression where it is needed"),
    ast.IfExp: ("`x if c else y`", "use select(c, x, y) on fragments, min, max or `if` on integers"),
    ast.Dict: ("dictionaries", "name the values one by one"),
    ast.Set: ("sets", "name the values one by one"),
    ast.List: ("lists", "name the values one by one, or use a shared buffer"),
    ast.Tuple: ("tuples as values", "name the values one by one"),
    ast.ListComp: ("comprehensions", _LOOP),
    ast.SetComp: ("comprehensions", _LOOP),
    ast.DictComp: ("comprehensions", _LOOP),
    ast.GeneratorExp: ("comprehensions", _LOOP),
    ast.Await: ("await", "use await_phase(…) or wait(n)"),
    ast.Yield: ("yield", "delete it"),
    ast.YieldFrom: ("yield", "delete it"),
    ast.JoinedStr: ("f-strings", "write a plain string"),
    ast.FormattedValue: ("f-strings", "write a plain string"),
    ast.Starred: ("`*x`", "write the values out"),
    ast.Slice: ("slices", "use .tile(…)[…], .rows(i, n) or .cols(i, n)"),
    ast.Pow: ("`**`", "write the product"),
    ast.MatMult: ("`@`", "use `acc += mma(a, b)`"),
    ast.BitXor: ("`^`", "a swizzle is written `swizzle=xor(chunks, unit=8)`"),
    ast.LShift: ("shifts", "multiply by the power of two"),
    ast.RShift: ("shifts", "divide with `//` by the power of two"),
    ast.Is: ("`is`", "compare with `==`"),
    ast.IsNot: ("`is not`", "compare with `!=`"),
    ast.In: ("`in`", "compare with `==`, `<` …"),
    ast.NotIn: ("`not in`", "compare with `!=`, `<` …"),
}


def forbidden(ctx: Context, node: ast.AST, at: ast.AST | None = None) -> KernelError:
    """The diagnostic for a construct outside the allow-list; `at` places operators, which carry no position."""
    what, hint = _NODES.get(type(node), (f"Python's {type(node).__name__}", "see the language reference"))
    return ctx.error(Code.FORBIDDEN, at or node, f"the language has no {what}", hint)
