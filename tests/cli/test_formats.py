"""Reports as other tools read them: SARIF by its schema's required fields, JUnit as common readers take it apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from argus.cli.formats import junit, sarif
from argus.cli.main import app
from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport

EXAMPLE = Path(__file__).parents[2] / "examples" / "gemm_missing_barrier.py"
TEXT = EXAMPLE.read_text("utf-8")
SLIPPED = TEXT.replace("C.tile(64, 64)[bm, bn]", "C.tile(64, 64)[bm, bn].T")


@pytest.fixture(scope="module")
def report() -> CheckReport:
    return check(EXAMPLE)


# What the 2.1.0 schema requires of each object, and the types of the fields that we write.
REQUIRED: dict[str, dict[str, Any]] = {
    "log": {"version": "2.1.0", "runs": ["run"]},
    "run": {"tool": "tool", "results": ["result"], "columnKind": str},
    "tool": {"driver": "driver"},
    "driver": {"name": str, "version": str, "rules": ["rule"]},
    "rule": {"id": str},
    "result": {"message": "message", "ruleId": str, "level": str, "locations": ["location"]},
    "message": {"text": str},
    "location": {"physicalLocation": "physical"},
    "physical": {"artifactLocation": "artifact", "region": "region"},
    "artifact": {"uri": str},
    "region": {"startLine": int, "startColumn": int, "endLine": int, "endColumn": int},
    "fix": {"description": "message", "artifactChanges": ["change"]},
    "change": {"artifactLocation": "artifact", "replacements": ["replacement"]},
    "replacement": {"deletedRegion": "region", "insertedContent": "message"},
}
OPTIONAL: dict[str, dict[str, Any]] = {
    "result": {"relatedLocations": ["location"], "fixes": ["fix"]},
    "location": {"message": "message"},
}


def valid(value: Any, kind: Any) -> None:  # noqa: ANN401 - JSON
    if isinstance(kind, list):
        for member in value:
            valid(member, kind[0])
    elif isinstance(kind, type):
        assert isinstance(value, kind)
    elif kind in REQUIRED:
        for name, of in REQUIRED[kind].items():
            valid(value[name], of)
        for name, of in OPTIONAL.get(kind, {}).items():
            if name in value:
                valid(value[name], of)
    else:
        assert value == kind


@pytest.mark.parametrize("text", [TEXT, SLIPPED])
def test_sarif_has_what_its_schema_requires(text: str) -> None:
    log = json.loads(sarif(check(text), text))
    valid(log, "log")
    results = log["runs"][0]["results"]
    assert results
    assert {r["level"] for r in results} <= {"error", "warning"}
    assert {r["ruleId"] for r in results} <= {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    regions = [loc["physicalLocation"]["region"] for r in results for loc in r["locations"] + r["relatedLocations"]]
    assert all(1 <= x["startLine"] <= x["endLine"] <= len(text.splitlines()) for x in regions)
    assert all(x["startColumn"] < x["endColumn"] for x in regions)


def test_sarif_points_at_both_accesses_and_its_fix_is_the_edit(report: CheckReport) -> None:
    first = json.loads(sarif(report, TEXT))["runs"][0]["results"][0]
    lines = TEXT.splitlines()

    def shown(location: dict[str, Any]) -> str:
        region: dict[str, int] = location["physicalLocation"]["region"]
        return lines[region["startLine"] - 1][region["startColumn"] - 1 : region["endColumn"] - 1]

    assert shown(first["locations"][0]).startswith("store(As")
    other = first["relatedLocations"][0]
    assert shown(other).startswith("As.operand")
    assert "reads it" in other["message"]["text"]
    (change,) = first["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    at = replacement["deletedRegion"]["startLine"]
    mended = [*lines[: at - 1], replacement["insertedContent"]["text"].rstrip("\n"), *lines[at - 1 :]]
    assert check("\n".join(mended)).ok


def test_junit_counts_cases_and_shows_both_carets(report: CheckReport) -> None:
    suites = ElementTree.fromstring(junit(report, TEXT))
    assert suites.tag == "testsuites"
    (suite,) = suites
    cases = suite.findall("testcase")
    assert int(suite.attrib["tests"]) == len(cases) == len(report.obligations)
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == report.count("refuted") > 0
    assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error")) == report.count("unknown")
    assert float(suite.attrib["time"]) >= 0
    assert len({(c.attrib["classname"], c.attrib["name"]) for c in cases}) == len(cases)
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert failure.attrib["message"]
    shown = (failure.text or "").splitlines()
    assert sum("^^^" in line for line in shown) == 2
    assert any("barrier() before line" in line for line in shown)


def test_json_and_text_hold_tiers_and_what_was_widened(report: CheckReport) -> None:
    answer = json.loads(report.model_dump_json())
    assert sum(answer["tiers"].values()) == len(answer["obligations"])
    assert list(answer["tiers"]) == sorted(answer["tiers"], key=["structure", "affine", "gf2", "table", "smt"].index)
    assert answer["widened"] == []
    assert report.render(TEXT).splitlines()[-1].startswith("decided by structure ")
    widened = report.model_copy(update={"widened": ("the loop at line 3 may change its state for ever",)})
    assert "gemm: widened: the loop at line 3 may change its state for ever" in widened.render(TEXT)


def test_a_counterexample_is_short_and_names_places_fix_and_class(report: CheckReport) -> None:
    text = report.counterexamples[0].render(TEXT.splitlines())
    assert len(text.splitlines()) <= 8
    assert len(text) / 4 < 300  # about four characters a token
    head, first, caret, second, other = text.splitlines()[:5]
    assert head.startswith(f"{EXAMPLE}:13:9: refuted[race]: As[0, 0] is touched by two waves")
    assert "store(As" in first
    assert "As.operand" in second
    assert "thread 192 (wave 3, lane 0) at kt=1" in caret
    assert "reads it: thread" in other
    assert text.splitlines()[-1] == "    = fix [missing barrier]: barrier() before line 13 (tried: then it is proved)"


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_the_command_prints_nothing_else(form: str) -> None:
    answer = CliRunner().invoke(app, ["check", str(EXAMPLE), "--format", form])
    assert answer.exit_code == 1
    if form == "sarif":
        valid(json.loads(answer.stdout), "log")
    else:
        assert ElementTree.fromstring(answer.stdout).tag == "testsuites"
