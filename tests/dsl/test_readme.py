"""The guide, the import layers and the disk name the same folders."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from argus.dsl.kernels.catalogue import FAMILIES

ROOT = Path(__file__).parents[2]
README = (ROOT / "dsl" / "README.md").read_text("utf-8")
FOLDERS = {p.parent.name for p in (ROOT / "dsl").glob("*/__init__.py")}


def test_every_folder_is_in_the_guide() -> None:
    named = set(re.findall(r"`(\w+)/`", README)) - {"tests"}
    assert named == FOLDERS


def test_every_folder_is_in_the_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (compiler,) = [c for c in contracts if c["name"] == "the compiler"]
    # Optional layers, in parentheses, may be missing on disk.
    required = {layer for layer in compiler["layers"] if not layer.startswith("(")}
    optional = {layer.strip("()") for layer in compiler["layers"]}
    assert required - {"check"} <= FOLDERS <= optional


def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    text = (ROOT / "tests" / "kernels" / "reference" / "gemm_single.py").read_text("utf-8")
    exec(compile(example, "README.md", "exec"), {"text": text})


def test_every_kernel_family_is_in_the_guide() -> None:
    assert re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE) == [f.name for f in FAMILIES]
