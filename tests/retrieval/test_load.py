from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from argus.retrieval.load import load_corpus, load_sources, parse_card, read_card, read_corpus
from argus.retrieval.problem import CardError

MINIMAL = """\
---
id: demo
title: Demo
kind: enabling
level: tile
targets: [gfx942]
change: null
sources:
  - {id: S01, supports: all of it}
status: prose
---
## When
Always.

## How
So.
"""

# Which edit of MINIMAL (old, new) gives which message at which line.
FAULTS = [
    pytest.param("---\nid", "id", 1, "no front matter", id="no front matter"),
    pytest.param("---\n## When", "## When", 1, "has no end", id="unclosed front matter"),
    pytest.param("title: Demo", "title: [Demo", 4, "no YAML", id="bad YAML"),
    pytest.param("level: tile", "level: tile\nlevel: global", 6, "given twice", id="duplicate field"),
    pytest.param("level: tile", "level: tile\ncolour: red", 6, "colour: Extra inputs", id="unknown field"),
    pytest.param("level: tile", "level: warp", 5, "level: Input should be 'global', 'tile'", id="bad value"),
    pytest.param("title: Demo\n", "", 1, "title: Field required", id="missing field"),
    pytest.param("change: null\n", "", 1, "change: Field required", id="missing change"),
    pytest.param("id: demo", "id: other", 2, "must agree", id="id differs from the file's name"),
    pytest.param("id: demo", "id: Demo_1", 2, "id: String should match", id="no slug"),
    pytest.param("## When", "Some text\n## When", 12, "before the first section", id="text before the sections"),
    pytest.param("Always.\n", "", 12, "'When' is empty", id="empty section"),
    pytest.param("## When\nAlways.\n\n## How\nSo.\n", "", 1, "the body: Tuple should have", id="no body"),
    pytest.param("{id: S01,", "{id: S01, page: 3,", 9, "page: Extra inputs", id="unknown field in a list"),
    pytest.param("targets: [gfx942]", "targets: &t [gfx942]\nfamilies: *t", 7, "aliases", id="alias"),
    pytest.param("status: prose", "status: prose\nsections: []", 11, "stand in the body", id="sections"),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), FAULTS)
def test_faults_name_file_line_and_reason(old: str, new: str, line: int, message: str) -> None:
    assert old in MINIMAL
    with pytest.raises(CardError) as caught:
        parse_card(MINIMAL.replace(old, new, 1), Path("demo.md"))
    problem = caught.value.problems[0]
    assert (problem.file, problem.line) == ("demo.md", line)
    assert message in problem.message
    assert f"demo.md:{line}: " in str(caught.value)


def test_a_card_keeps_its_sections_and_their_lines() -> None:
    file = parse_card(MINIMAL, Path("demo.md"))
    assert [(s.heading, s.text, s.line) for s in file.card.sections] == [("When", "Always.", 12), ("How", "So.", 15)]
    assert file.line("sources", 0, "supports") == 9
    assert not file.card.changes_schedules


def test_words_that_yaml_1_1_takes_for_booleans_stay_words() -> None:
    change = 'change:\n  set: {swizzle: "xor($on)"}\n  params:\n    on: {values: [no, yes], default: no}'
    card = parse_card(MINIMAL.replace("change: null", change), Path("demo.md")).card
    assert card.change is not None
    assert card.change.params["on"].values == ("no", "yes")


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("{values: [1, 2], default: 3}", "default 3 is not one of [1, 2]"),
        ("{values: [1, 2], default: true}", "default True is not one of [1, 2]"),
        ("{values: [1, 1], default: 1}", "hold one twice"),
    ],
)
def test_a_domain_holds_its_default_once(param: str, message: str) -> None:
    change = f"change:\n  set: {{stages: $n}}\n  params:\n    n: {param}"
    with pytest.raises(CardError) as caught:
        parse_card(MINIMAL.replace("change: null", change), Path("demo.md"))
    assert message in caught.value.problems[0].message
    assert caught.value.problems[0].line == 10


def test_every_fault_of_a_card_is_told() -> None:
    with pytest.raises(CardError) as caught:
        parse_card(MINIMAL.replace("level: tile", "level: warp\nkind2: x"), Path("demo.md"))
    assert {p.line for p in caught.value.problems} == {5, 6}


def test_an_effect_without_basis_does_not_load() -> None:
    relief = "relieves:\n  - {resource: lds, effect: {low: 1, mid: 2, high: 3}, source: S01}\nchange: null"
    with pytest.raises(CardError, match=r"relieves\.0\.basis: Field required"):
        parse_card(MINIMAL.replace("change: null", relief), Path("demo.md"))


def test_effects_are_ordered() -> None:
    relief = (
        "relieves:\n  - {resource: lds, effect: {low: 3, mid: 2, high: 1}, basis: derived, source: S01}\nchange: null"
    )
    with pytest.raises(CardError, match="low <= mid <= high does not hold"):
        parse_card(MINIMAL.replace("change: null", relief), Path("demo.md"))


def test_unreadable_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(CardError, match="is no folder"):
        load_corpus(tmp_path / "nowhere")
    with pytest.raises(CardError, match="holds no cards"):
        load_corpus(tmp_path)
    (tmp_path / "latin.md").write_bytes(b"---\nid: caf\xe9\n---\n")
    with pytest.raises(CardError, match=r"latin\.md:1: .*cannot be read"):
        load_corpus(tmp_path)
    with pytest.raises(CardError, match="cannot be read"):
        read_card(tmp_path / "gone.md")


def test_one_bad_card_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "demo.md").write_text(MINIMAL)
    (tmp_path / "bad.md").write_text("nothing")
    files, problems = read_corpus(tmp_path)
    assert [f.card.id for f in files] == ["demo"]
    assert [p.file for p in problems] == ["bad.md"]


@pytest.mark.parametrize("text", ["[", '{"S01": {"title": "only"}}', "[1]"])
def test_a_broken_source_table_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "sources.json").write_text(text)
    with pytest.raises(CardError, match=r"sources\.json:1: .*no source table"):
        load_sources(tmp_path)


@pytest.mark.slow
def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    deep: Any = "[" * 3000
    with pytest.raises(CardError, match="no YAML"):
        parse_card(MINIMAL.replace("[gfx942]", deep), Path("demo.md"))
