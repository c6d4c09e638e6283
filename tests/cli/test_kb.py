from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from argus.cli.kb import app
from argus.retrieval import embed
from argus.retrieval.load import load_corpus

CARDS = load_corpus()
CARD = """\
---
id: demo
title: Demo
kind: enabling
level: tile
targets: [gfx942]
change: null
sources: [{id: S01, supports: all of it}]
status: prose
---
## When
Always.

## How
So.
"""


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def answer(*args: str, code: int = 0) -> dict[str, Any]:
    result = run(*args, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def error(*args: str, code: int) -> dict[str, Any]:
    failure = answer(*args, code=code)
    assert set(failure) == {"schema_version", "error"}
    return failure["error"]


@pytest.fixture
def cards(tmp_path: Path) -> Path:
    folder = tmp_path / "cards"
    folder.mkdir()
    (folder / "demo.md").write_text(CARD)
    (folder / "sources.json").write_text('{"S01": {"title": "t", "gives": "g", "how": "read"}}')
    return folder


def test_list_tells_documentation_from_techniques() -> None:
    result = run("list")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert set(CARDS) <= set(rows)
    assert rows["xor-swizzle"].split()[1:] == [
        "tile",
        "optimisation",
        "gfx942",
        CARDS["xor-swizzle"].status,
        "changes",
        "it",
    ]
    assert rows["winograd"].split()[-1] == "documentation"
    listed = answer("list")
    assert {c["id"]: c["changes_schedules"] for c in listed["cards"]} == {
        name: card.changes_schedules for name, card in CARDS.items()
    }
    assert listed["schema_version"] == 1


def test_show_prints_the_card() -> None:
    result = run("show", "xor-swizzle")
    assert result.exit_code == 0
    assert result.stdout.startswith("---\nid: xor-swizzle\n")
    assert answer("show", "xor-swizzle")["card"]["change"]["params"]["width"]["default"] == 8


def test_show_suggests_what_was_meant() -> None:
    result = run("show", "xor-swizle")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "did you mean xor-swizzle" in result.stderr
    assert error("show", "nothing-like-it", code=2)["code"] == "input"


def test_search_by_words() -> None:
    found = answer(
        "search", "bank conflicts when reading fragments", "--mode", "bm25", "--family", "gemm", "--top", "3"
    )
    assert found["mode"] == "bm25"
    assert found["hits"][0]["id"] == "xor-swizzle"
    assert len(found["hits"]) == 3
    text = run("search", "bank conflicts when reading fragments", "--mode", "bm25").stdout
    assert text.splitlines()[0] == "5 cards, mode bm25"
    assert "xor-swizzle: XOR swizzle" in text.splitlines()[1]


def test_search_filters() -> None:
    found = answer("search", "swizzle", "--mode", "bm25", "--target", "sm_90a", "--status", "prose", "--level", "tile")
    assert found["hits"][0]["id"] == "swizzle-128b"
    assert "xor-swizzle" not in {h["id"] for h in found["hits"]}


@pytest.mark.parametrize(
    ("args", "where"),
    [
        (("--target", "gfx90a"), "--target"),
        (("--family", "gem"), "--family"),
        (("--dtype", "f64x"), "--dtype"),
        (("--level", "warp"), "--level"),
        (("--kind", "idea"), "--kind"),
        (("--status", "done"), "--status"),
        (("--mode", "magic"), "--mode"),
        (("--top", "0"), "--top"),
    ],
)
def test_search_refuses_unknown_values(args: tuple[str, ...], where: str) -> None:
    told = error("search", "bank", *args, code=2)
    assert (told["code"], told["where"]) == ("usage", where)
    assert told["hint"]
    result = run("search", "bank", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told["message"] in result.stderr


def test_search_for_nothing() -> None:
    assert error("search", "  ", code=2)["message"] == "the query is empty"


def test_search_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "available", lambda: False)
    embed.minilm.cache_clear()
    assert "not installed" in answer("search", "bank conflicts")["note"]
    assert "not installed" in run("search", "bank conflicts").stdout.splitlines()[0]
    assert error("search", "bank", "--mode", "vector", code=3)["code"] == "toolchain"


def test_search_in_a_broken_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "available", lambda: True)
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "chroma.sqlite3").write_bytes(b"no database" * 400)
    told = error("search", "bank", "--store", str(tmp_path / "kb"), code=3)
    assert told["code"] == "store"
    assert told["where"] == str(tmp_path / "kb")
    assert "--mode bm25" in told["hint"]


@pytest.mark.slow
def test_lint_says_what_it_did_not_check() -> None:
    result = run("lint")
    assert result.exit_code == 0
    assert f"{len(CARDS)} cards" in result.stdout
    assert answer("lint")["ok"] is True


def test_lint_names_faults_and_fails(cards: Path) -> None:
    assert run("lint", "--cards", str(cards)).exit_code == 0
    (cards / "demo.md").write_text(CARD.replace("[gfx942]", "[gfx942]\nrequires: {all: [gone], any: []}"))
    result = run("lint", "--cards", str(cards))
    assert result.exit_code == 1
    assert "demo.md:7: [reference] requires 'gone', which is no card" in result.stdout
    report = answer("lint", "--cards", str(cards), code=1)
    assert report["ok"] is False
    assert report["problems"][0]["line"] == 7


def test_lint_writes_statuses(cards: Path) -> None:
    (cards / "demo.md").write_text(CARD.replace("status: prose", "status: draft"))
    assert run("lint", "--cards", str(cards), "--write-status").exit_code == 1
    assert "status: prose" in (cards / "demo.md").read_text()
    assert run("lint", "--cards", str(cards)).exit_code == 0


@pytest.mark.parametrize("command", [("list",), ("show", "demo"), ("search", "x", "--mode", "bm25")])
def test_cards_that_do_not_load(cards: Path, command: tuple[str, ...]) -> None:
    (cards / "demo.md").write_text(CARD.replace("level: tile", "level: warp"))
    told = error(*command, "--cards", str(cards), code=2)
    assert told["code"] == "input"
    assert told["where"] == "demo.md:5"
    assert error(*command, "--cards", str(cards / "gone"), code=2)["message"].endswith("is no folder")
    assert error("lint", "--cards", str(cards / "gone"), code=2)["where"] == "--cards"


def test_listing_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from argus.cli.kb import app\n"
        "assert CliRunner().invoke(app, ['list']).exit_code == 0\n"
        "heavy = ('torch', 'chromadb', 'tvm', 'mlflow', 'z3', 'bm25s', 'langgraph', 'pydantic_ai')\n"
        "print([m for m in heavy if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
