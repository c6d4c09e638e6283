"""Examples on documentation pages run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argus.dsl.layout.algebra import Inadmissible, compose, layout

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_on_layouts_is_right() -> None:
    page = (DOCS / "layout.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "layout.md", "exec"), {})
    (printed,) = re.findall(r"```text\n>>> .*?\n(.*?)```", page, re.DOTALL)
    with pytest.raises(Inadmissible) as refused:
        compose(layout("(2,8):(0,8)"), layout("(4,4):(1,1)"))
    assert str(refused.value) == " ".join(printed.split())
