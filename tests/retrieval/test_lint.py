"""Each fault that lint promises to find, planted in a corpus of two faultless cards."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from argus.retrieval import wordpieces
from argus.retrieval.lint import LintReport, lint, write_statuses
from argus.retrieval.load import load_corpus
from argus.retrieval.rules import Families

from .conftest import BODY, Corpus, Edit, Fields, front


def put(*keys: str | int, value: object) -> Edit:
    """Sets one field of `alpha`."""

    def edit(alpha: Fields, beta: Fields) -> None:
        del beta
        at: Any = alpha
        for key in keys[:-1]:
            at = at[key]
        at[keys[-1]] = value

    return edit


def found(report: LintReport) -> list[tuple[str, str]]:
    return [(p.file, p.rule) for p in report.problems]


def test_a_faultless_corpus_has_no_problems(corpus: Corpus, families: Families) -> None:
    report = lint(corpus(), families=families)
    assert report.problems == ()
    assert report.ok
    assert report.documentation == ("beta",)


# edit, rule, part of the message, a text that stands on the reported line
PLANTED = [
    pytest.param(put("colour", value=1), "schema", "colour: Extra inputs", "colour:", id="unknown field"),
    pytest.param(put("applies_when", 0, value="spilled >= 1"), "metric", "spilled", "spilled", id="unknown metric"),
    pytest.param(put("avoid_when", 0, value="schedule.colour == 1"), "metric", "colour", "colour", id="unknown knob"),
    pytest.param(put("applies_when", 0, value="schedule.swizzle == 0"), "metric", "swizzle", "swizzle", id="text knob"),
    pytest.param(
        put("applies_when", 0, value="spills"), "expression", "metric op number", "- spills", id="no condition"
    ),
    pytest.param(put("expect", "report", 0, value="schedule.pad == 1"), "metric", "pad", "pad", id="knob expected"),
    pytest.param(put("expect", "report", 0, value="spills < old"), "expression", "old", "old", id="no expectation"),
    pytest.param(put("expect", "counters", value={"gfx942": ["a b"]}), "expression", "`a b`", "a b", id="no counter"),
    pytest.param(put("requires", "all", 0, value="gamma"), "reference", "gamma", "gamma", id="dangling requirement"),
    pytest.param(put("conflicts", value=["gamma"]), "reference", "gamma", "gamma", id="dangling conflict"),
    pytest.param(put("conflicts", value=["beta"]), "symmetry", "beta", "- beta", id="one-sided conflict"),
    pytest.param(put("sources", 0, "id", value="S99"), "reference", "S99", "S99", id="unknown source"),
    pytest.param(put("relieves", 0, "source", value="S02"), "reference", "S02", "resource", id="effect not cited"),
    pytest.param(put("relieves", 0, "basis", value="hearsay"), "schema", "basis", "hearsay", id="unknown basis"),
    pytest.param(put("relieves", value=[]), "effect", "relieves", "relieves", id="no effect"),
    pytest.param(put("applies_when", value=[]), "effect", "applies_when", "applies_when", id="no detection rule"),
    pytest.param(put("mistakes", value=[]), "effect", "mistakes", "mistakes", id="no mistakes"),
    pytest.param(put("invariants", value=[]), "effect", "invariants", "invariants", id="no invariants"),
    pytest.param(put("expect", value={}), "effect", "expects of the report", "expect", id="no expectation at all"),
    pytest.param(put("mistakes", 0, "fix_class", value="typo"), "schema", "fix_class", "typo", id="unknown fix class"),
    pytest.param(put("change", "set", "colour", value=1), "change", "colour", "colour", id="unknown field set"),
    pytest.param(put("change", "set", "tile[3]", value=1), "change", "tile[3]", "tile[3]", id="no such element"),
    pytest.param(put("change", "set", "stages", value="$n"), "change", "$n is no parameter", "set", id="no such param"),
    pytest.param(
        put("change", "params", "idle", value={"values": [1], "default": 1}),
        "change",
        "never used",
        "idle",
        id="unused",
    ),
    pytest.param(
        put("change", "params", value={"stages": {"values": [2], "default": 2}}),
        "change",
        "hides a schedule field",
        "stages:",
        id="hidden field",
    ),
    pytest.param(
        put("change", "constraints", 0, value="colour == 1"), "expression", "no colour", "colour", id="constraint name"
    ),
    pytest.param(
        put("change", "constraints", 0, value="f(1) > 0"), "expression", "f(1)", "f(1)", id="constraint is a call"
    ),
    pytest.param(
        put("change", "set", value={"stages": 2, "prefetch": False, "pad": 0, "swap": False, "vector": 8}),
        "change",
        "sets 5 fields",
        "set",
        id="half a schedule",
    ),
    pytest.param(put("example", value=None), "example", "needs an example", "change", id="no example"),
    pytest.param(put("example", "family", value="conv"), "example", "no family", "family: conv", id="no such family"),
    pytest.param(put("example", "after", value={"stages": 9}), "example", "1 to 4 stages", "after", id="illegal after"),
    pytest.param(put("example", "before", value={"pad": 1}), "example", "alignment", "before", id="illegal before"),
    pytest.param(put("example", "before", value={"x": 1}), "example", "x", "before", id="no field of the schedule"),
    pytest.param(
        put("example", "after", value={"stages": 2, "pad": 8}), "example", "does not lead", "after", id="not reached"
    ),
    pytest.param(put("example", "after", value={"stages": 1}), "example", "same schedule", "example", id="no change"),
    pytest.param(put("status", value="prose"), "status", "not `prose`", "status", id="change in prose"),
    pytest.param(put("targets", value=["gfx90a"]), "schema", "targets.0: Input", "gfx90a", id="unknown target"),
]


@pytest.mark.parametrize(("edit", "rule", "message", "line"), PLANTED)
def test_planted_faults(corpus: Corpus, families: Families, *, edit: Edit, rule: str, message: str, line: str) -> None:
    folder = corpus(edit)
    report = lint(folder, families=families)
    problems = [p for p in report.problems if p.rule == rule and message in p.message]
    assert problems, report.problems
    assert problems[0].file == "alpha.md"
    assert line in (folder / "alpha.md").read_text().splitlines()[problems[0].line - 1]


def test_a_complete_schedule_is_an_answer_and_not_a_technique(corpus: Corpus, families: Families) -> None:
    everything = families["gemm"]({}).model_dump(mode="json")
    report = lint(corpus(put("example", "before", value=everything)), families=families)
    assert ("alpha.md", "example") in found(report)
    assert "complete schedule" in report.problems[0].message


def test_documentation_with_a_status_of_its_own(corpus: Corpus, families: Families) -> None:
    report = lint(corpus(lambda _, beta: beta.update(status="draft")), families=families)
    assert found(report) == [("beta.md", "status")]
    report = lint(corpus(lambda a, beta: beta.update(example=a["example"])), families=families)
    assert found(report) == [("beta.md", "example")]


@pytest.mark.parametrize(
    ("field", "value", "lack"),
    [("targets", ["sm_90a"], "target gfx942"), ("families", ["conv"], "family gemm")],
)
def test_a_prerequisite_serves_the_cards_target_and_family(
    corpus: Corpus, families: Families, field: str, value: list[str], lack: str
) -> None:
    report = lint(corpus(lambda _, beta: beta.update({field: value})), families=families)
    assert found(report) == [("alpha.md", "prerequisite")]
    assert lack in report.problems[0].message


def test_a_card_for_all_families_needs_prerequisites_for_all(corpus: Corpus, families: Families) -> None:
    def edit(alpha: Fields, beta: Fields) -> None:
        alpha["families"] = []
        beta["families"] = ["gemm"]

    assert found(lint(corpus(edit), families=families)) == [("alpha.md", "prerequisite")]


def test_nothing_requires_what_it_excludes(corpus: Corpus, families: Families) -> None:
    def edit(alpha: Fields, beta: Fields) -> None:
        alpha["conflicts"], beta["conflicts"] = ["beta"], ["alpha"]

    assert found(lint(corpus(edit), families=families)) == [("alpha.md", "prerequisite")]


def test_cycles_are_told_once(corpus: Corpus, families: Families) -> None:
    def edit(alpha: Fields, beta: Fields) -> None:
        beta.update(requires={"all": [], "any": ["gamma"]}, targets=["gfx942"], families=["gemm"])

    gamma = {**front("gamma"), "requires": {"all": ["alpha"], "any": []}}
    report = lint(corpus(edit, gamma=gamma), families=families)
    assert found(report) == [("alpha.md", "cycle")]
    assert "alpha → beta → gamma → alpha" in report.problems[0].message


BODIES = [
    pytest.param("## When\nx\n", "schema", "no section `## How`", id="no How"),
    pytest.param(f"{BODY}\n## How\nagain\n", "schema", "two sections", id="two How"),
    pytest.param(f"{BODY}\n## Mistakes\n{'stage ' * 260}\n", "length", "word pieces", id="too long"),
    pytest.param(f"{BODY}\n## Evidence\nTime falls by 30 % then.\n", "figure", "30 %", id="figure without source"),
    pytest.param(f"{BODY}\n## Evidence\nReads run 4\u00d7 faster.\n", "figure", "4\u00d7", id="factor without source"),
    pytest.param(f"{BODY}\n## Evidence\nIt reaches 4.0 TB/s.\n", "figure", "4.0 TB/s", id="rate without source"),
    pytest.param(f"{BODY}\n## Evidence\nIt gains 30 % [S77].\n", "reference", "[S77]", id="cites too much"),
]


@pytest.mark.parametrize(("body", "rule", "message"), BODIES)
def test_bodies(corpus: Corpus, families: Families, body: str, rule: str, message: str) -> None:
    report = lint(corpus(body=body), families=families)
    assert found(report) == [("alpha.md", rule)]
    assert message in report.problems[0].message


@pytest.mark.parametrize(
    "text", ["It gains 30 % [S01].", "Gains of 30 % are folklore.", "Tiles of 256\u00d7256, 16 bytes."]
)
def test_figures_with_a_witness_and_sizes_pass(corpus: Corpus, families: Families, text: str) -> None:
    assert lint(corpus(body=f"{BODY}\n## Evidence\n{text}\n"), families=families).ok


def test_a_broken_source_table_is_a_fault(corpus: Corpus, families: Families) -> None:
    folder = corpus()
    (folder / "sources.json").write_text(json.dumps({"S01": {}}))
    assert ("sources.json", "syntax") in found(lint(folder, families=families))


class TestVerification:
    """What needs the checker and the parser."""

    @staticmethod
    def proves(family: str, schedule: BaseModel) -> bool:
        return family == "gemm" and schedule.model_dump()["stages"] < 3

    def test_without_them_lint_says_what_it_left_out(self, corpus: Corpus, families: Families) -> None:
        report = lint(corpus(), families=families)
        assert [text.split(":")[0] for text in report.not_checked] == [
            "examples were not proved",
            "invariants were not parsed",
        ]
        assert report.statuses == {"alpha": "draft", "beta": "prose"}
        assert lint(corpus(put("status", value="checked")), families=families).statuses["alpha"] == "draft"

    def test_with_both_a_faultless_card_is_checked(self, corpus: Corpus, families: Families) -> None:
        folder = corpus()
        report = lint(folder, families=families, prove=self.proves, parse_invariant=lambda text: None)
        assert report.ok
        assert report.not_checked == ()
        assert report.statuses == {"alpha": "checked", "beta": "prose"}
        assert write_statuses(folder, report) == ["alpha"]
        assert load_corpus(folder)["alpha"].status == "checked"
        assert write_statuses(folder, report) == []

    def test_an_example_that_is_not_proved(self, corpus: Corpus, families: Families) -> None:
        edit = put("example", "after", value={"stages": 3})
        report = lint(corpus(edit), families=families, prove=self.proves, parse_invariant=lambda text: None)
        assert found(report) == [("alpha.md", "example")]
        assert report.problems[0].message == "after is not proved"
        assert report.statuses["alpha"] == "draft"

    def test_an_invariant_that_does_not_parse(self, corpus: Corpus, families: Families) -> None:
        report = lint(corpus(), families=families, parse_invariant=lambda text: "no such name")
        assert found(report) == [("alpha.md", "invariant")]
        assert "`assert_match(x.k, y.k)` does not parse: no such name" in report.problems[0].message
        assert [text.split(":")[0] for text in report.not_checked] == ["examples were not proved"]

    def test_a_card_may_not_call_itself_checked(self, corpus: Corpus, families: Families) -> None:
        edit = put("status", value="checked")
        report = lint(corpus(edit), families=families, prove=lambda f, s: False, parse_invariant=lambda t: None)
        assert ("alpha.md", "status") in found(report)


def test_without_the_vocabulary_lengths_are_estimates(
    corpus: Corpus, families: Families, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordpieces, "exact", lambda: False)
    report = lint(corpus(), families=families)
    assert report.ok
    assert any("section lengths were estimated" in text for text in report.not_checked)
    report = lint(corpus(body=f"{BODY}\n## Mistakes\n{'stage ' * 260}\n"), families=families)
    assert found(report) == [("alpha.md", "length")]
