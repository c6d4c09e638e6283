"""Examples on documentation pages run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argus.dsl.check import check
from argus.dsl.layout.algebra import Inadmissible, compose, layout

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_the_page_on_layouts_is_right() -> None:
    page = (DOCS / "layout.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(example, "layout.md", "exec"), {})
    (printed,) = re.findall(r"```text\n>>> .*?\n(.*?)```", page, re.DOTALL)
    with pytest.raises(Inadmissible) as refused:
        compose(layout("(2,8):(0,8)"), layout("(4,4):(1,1)"))
    assert str(refused.value) == " ".join(printed.split())


def test_the_readme_shows_what_the_command_prints() -> None:
    (shown,) = re.findall(r"```text\n(examples/.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    file = ROOT / "examples" / "gemm_missing_barrier.py"
    text = file.read_text("utf-8")
    printed = check(file).counterexamples[0].render(text.splitlines())
    assert printed.replace(f"{ROOT}/", "") + "\n" == shown


def test_every_stored_measurement_says_what_prints_it() -> None:
    page = (ROOT / "evals" / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `((?:data|results)/.*?)` \|", page, re.MULTILINE)
    stored = [f"{folder}/{file.name}" for folder in ("data", "results") for file in (ROOT / "evals" / folder).iterdir()]
    assert sorted(listed) == sorted(stored)
