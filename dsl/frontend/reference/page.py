"""The reference as a page, and in short."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from argus.dsl.frontend.reference.construct import Construct, Section
from argus.dsl.frontend.reference.contract import CONTRACT, GRID
from argus.dsl.frontend.reference.kernels import SHARED
from argus.dsl.frontend.reference.matrix import MATRIX
from argus.dsl.frontend.reference.memory import MEMORY
from argus.dsl.frontend.reference.sync import WAITING
from argus.dsl.frontend.reference.values import ASSERTIONS, POLICIES, VALUES

SECTIONS: tuple[Section, ...] = (CONTRACT, GRID, MEMORY, WAITING, MATRIX, VALUES, ASSERTIONS, POLICIES)

_INTRODUCTION = """\
Kernels are written in a small tile language with Python's syntax; their text is read, never run. `argus docs language`
prints this page, `argus docs language --compact` the short form that prompts hold; both come from one table. Tests run
every example.

A file holds one or more functions marked `@kernel(…)`. `from argus.dsl.lang import *` tells editors the words; then the
file also needs `from __future__ import annotations`, since `f16[m:M]` is no Python type. Both lines are optional.

**Values.** An *integer* is equal in all lanes: sizes, block indices, loop variables. A *view* is memory and holds no
data. A *fragment* is data in registers: dtype, shape, axis names and a map from (lane, slot) to coordinates. Shapes,
dtypes and memory spaces are checked before anything else.

**Tags.** Every element carries the tensors that it came from, a coordinate for each axis that is free, and the set of
coordinates along axes that were summed. `x.k` is the component `k` of `x`. Axes of one name are one space. What lies
outside a tensor is padding.

**Obligations.** The checker proves what each construct below says, for all sizes that `where` admits, or names a
counterexample. *Sugar* is expanded into other constructs before anything is checked. A construct that one target lacks
is an error there, with a caret.
"""

RULES = (
    "Conditions of `if` are equal in all waves; no `else` around barriers, fills or uses.",
    "Nothing drains by itself: reading pending cells or registers is refuted.",
    "A `wait` speaks for this wave alone; other waves see the data after a later `barrier`.",
    "Fills may run past the last use; uses that nothing fills are refuted.",
    "Zero padding vanishes in `mma` only against initialised data.",
    "Signature, `where`, `assume`, `ensures` are the task's; assertions may be added.",
    "No import, class, lambda, comprehension, `while`, `return`, slice or call beyond these words.",
)


def constructs() -> tuple[Construct, ...]:
    """All of them, in the order of the page."""
    return tuple(c for section in SECTIONS for c in section.constructs)


def example(construct: Construct) -> str:
    """The text of a construct's example."""
    return SHARED.get(construct.example, construct.example).strip("\n") + "\n"


def page() -> str:
    """`docs/language.md`."""
    out = ["# The language\n", _INTRODUCTION]
    for section in SECTIONS:
        out.append(f"## {section.title}\n")
        for construct in section.constructs:
            out.append("\n".join(_entry(construct)))
    out.append("## Shared examples\n")
    out += [f"### {name}\n\n```python\n{text.strip()}\n```\n" for name, text in SHARED.items()]
    out.append("## Rules\n\n" + "\n".join(f"{i}. {rule}" for i, rule in enumerate(RULES, 1)) + "\n")
    return "\n".join(out)


def compact() -> str:
    """Every construct in a line, for prompts."""
    out = [
        "Kernels look like Python and are never run. Integers are equal in all lanes; views are memory; fragments are "
        "registers. Every element carries its coordinates along named axes as tags.",
    ]
    for section in SECTIONS:
        out.append(f"\n{section.title}:")
        out += [f"{c.form}  # {_only(c)}{c.brief}" for c in section.constructs]
    out.append("\nRules:")
    out += [f"- {rule}" for rule in RULES]
    out.append(f"\nExample:\n```python{SHARED['GEMM']}```")
    return "\n".join(out) + "\n"


def _only(c: Construct) -> str:
    return "" if c.target == "both" else f"{c.target}: "


def _wrapped(text: str) -> str:
    return fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n"


def _entry(c: Construct) -> Iterator[str]:
    title = ", ".join(f"`{word}`" for word in c.words) or '`store(…, via="tma")`'
    notes = [*(["sugar"] if c.sugar else []), *([f"{c.target} only"] if c.target != "both" else [])]
    yield f"### {title}\n"
    yield f"`{c.form}`" + (f" ({', '.join(notes)})" if notes else "") + "\n"
    yield _wrapped(c.meaning)
    if c.obligations:
        yield _wrapped(f"*Obligations.* {c.obligations}")
    if c.example in SHARED:
        yield f"Example: [{c.example}](#{c.example.lower()}) below.\n"
    else:
        yield f"```python\n{example(c)}```\n"
