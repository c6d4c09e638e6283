"""The report of a run: whole, true to the folder, safe to open, and written even when parts are missing."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from graph_fakes import FakeToolbox, cards, family
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import argus.graph.context
import argus.graph.sitting
from argus.agents.attempt import Attempt
from argus.dsl.codegen.artifact import Manifest
from argus.graph.record import RunRecord
from argus.graph.report import RandomSearch, write_report
from argus.graph.report.figures import ways
from argus.graph.report.markup import Html, h, markup
from argus.graph.run import aoptimize
from argus.tools.results import TestReport

TITLES = [
    "Verdict", "Path to the winner", "Every candidate", "Best so far", "Proof", "Machine view", "Numerics",
    "What the policy learned", "Trust", "Reproduce",
]  # fmt: skip
VOID = {"br", "col", "hr", "img", "link", "meta"}
HOSTILE = '<script>alert("x")</script> & more'


class Page(HTMLParser):
    """A strict reader: every element is closed in order, ids are unique, and nothing outside the file is named."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.heads: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src", "action", "xlink:href"):
                self.links.append(value or "")
            assert not name.startswith("on"), f"inline handler {name}"
        if tag not in VOID:
            self.open.append(tag)
        if tag == "h2":
            self.heads.append("")
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1:] == [tag], f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if "script" in self.open or "style" in self.open:
            return
        self.text += data
        if "h2" in self.open:
            self.heads[-1] += data
        if "td" in self.open:
            self.rows[-1][-1] += data


def lowering(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Forgets a barrier at first; the second candidate never mends it and the third is hostile."""
    prompt = str(messages[0].parts[0].content)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    number = int(re.findall(r'"seed": ?(\d+)', prompt)[-1])
    text = '@kernel(target="gfx942", waves=4)\ndef gemm(A: bf16[m:M, k:K]):\n    barrier()\n' + f"    # {number}"
    if number == 2 or (number == 1 and len(messages) == 1):
        text += " BUG"
    if number == 3:
        text += f" {HOSTILE}"
    return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"text": text + "\n"})])


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which one kernel was mended, one stayed refuted and one is full of markup, then an offline one."""
    root = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argus.graph.context, "families", lambda: {"gemm": family()})
        toolbox = FakeToolbox(wrong=lambda text: HOSTILE in text)
        options: dict[str, Any] = {"toolbox": toolbox, "cards": cards(), "track": False}
        models = {"lowering": FunctionModel(lowering, model_name="forgetful")}
        asyncio.run(aoptimize("gemm", out=root / "model", rounds=1, candidates=3, models=models, **options))
        asyncio.run(aoptimize("gemm", out=root / "offline", rounds=3, candidates=9, **options))
    assert all((root / name / "report.html").is_file() for name in ("model", "offline")), "the run itself writes it"
    return root


@pytest.fixture
def folder(ran: Path, tmp_path: Path) -> Path:
    """A copy of the offline run, to be damaged."""
    shutil.copytree(ran / "offline", tmp_path / "run")
    return tmp_path / "run"


def record(folder: Path) -> RunRecord:
    return RunRecord.model_validate_json((folder / "run.json").read_bytes())


def report(folder: Path, told: RunRecord | None = None, random: RandomSearch | None = None) -> Page:
    path = write_report(folder, told or record(folder), random=random)
    assert path == folder / "report.html"
    return Page(path.read_text("utf-8"))


@pytest.mark.slow
def test_ten_parts_in_order_in_one_file(ran: Path) -> None:
    for name in ("model", "offline"):
        page = report(ran / name)
        assert page.heads == [f"{i}{title}" for i, title in enumerate(TITLES, 1)]
        assert len(page.ids) == len(set(page.ids))
        assert page.links == [f"#{i}" for i in page.ids], "links lead to the parts and nowhere else"
        assert page.tags["link"] == page.tags["img"] == page.tags["iframe"] == 0
        text = (ran / name / "report.html").read_text("utf-8")
        assert "http://" not in text
        assert "https://" not in text
        assert "url(" not in text
        assert "@import" not in text


def test_the_figures_are_the_folders(folder: Path) -> None:
    told = record(folder).result
    assert told is not None
    best = next(a for a in told.attempts if a.id == told.best)
    assert best.time_us is not None
    page = report(folder)
    assert f"{best.time_us:,.1f} µs est" in page.text
    assert f"{told.lower_bound_us:,.1f} µs est" in page.text
    assert f"{best.speedup:,.2f}×" in page.text
    assert told.stop_reason in page.text
    assert str(best.kernel_sha) in page.text
    rows = {row[0]: row for row in page.rows if len(row) == 14}
    assert list(rows) == [str(a.id) for a in told.attempts]
    for a in told.attempts:
        assert rows[str(a.id)][7] == f"{a.time_us:,.1f}"
        assert rows[str(a.id)][5] == f"{a.obligations.proved}/1"
        assert all(technique in rows[str(a.id)][3] for technique in a.techniques)


def test_the_run_itself_writes_it(ran: Path) -> None:
    for name in ("model", "offline"):
        written = (ran / name / "report.html").read_bytes()
        assert write_report(ran / name, record(ran / name)).read_bytes() == written
        assert b'"kind":"warned"' not in (ran / name / "events.jsonl").read_bytes()


def test_a_report_that_fails_does_not_cost_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(argus.graph.sitting, "write_report", fails)
    found = asyncio.run(
        aoptimize("gemm", toolbox=FakeToolbox(), cards=cards(), out=tmp_path / "run", rounds=0, track=False)
    )
    assert found.best == 0
    events = (tmp_path / "run" / "events.jsonl").read_text().splitlines()
    assert "no report was written: OSError: disk full" in events[-2]


def test_it_is_the_same_when_written_again(folder: Path) -> None:
    first = write_report(folder, record(folder)).read_bytes()
    assert write_report(folder, record(folder)).read_bytes() == first


def test_every_time_says_how_it_was_found(folder: Path) -> None:
    """In the prose a time carries its label; in tables the heading does."""
    text = report(folder).text
    assert len(re.findall(r"[\d,.]+ µs est", text)) > 20
    assert re.findall(r"[\d,.]+ µs(?! est)", text) == []
    winner = folder / "attempts" / str(record(folder).result.best) / "attempt.json"  # pyright: ignore[reportOptionalMemberAccess]
    measured = Attempt.model_validate_json(winner.read_bytes()).model_copy(update={"time_kind": "measured"})
    winner.write_text(measured.model_dump_json())
    again = report(folder)
    assert "µs measured" in again.text
    assert "The time is measured: on a GPU." in again.text
    assert "no time of this run was measured" in text
    assert "no time of this run was measured" not in again.text


def test_what_was_not_executed_is_said(folder: Path) -> None:
    page = report(folder)
    assert "Executed: the kernel's IR, in the interpreter (1 test case)." in page.text
    assert "GPU ran it" not in page.text, "without an object nothing is said of one"
    manifest = Manifest(
        symbol="gemm", target="gfx942", params=(), grid=("1", "1", "1"), threads=256, arguments=(), kernarg_bytes=36,
        lds_bytes=0, scratch_bytes=0, kernel_sha="5ha", files={"object": "0bj"}, versions={"llvmlite": "1.2.3"},
    )  # fmt: skip
    winner = folder / "attempts" / str(record(folder).result.best)  # pyright: ignore[reportOptionalMemberAccess]
    (winner / "manifest.json").write_text(manifest.model_dump_json())
    page = report(folder)
    assert "Not executed: the gfx942 object." in page.text
    assert "llvmlite 1.2.3" in page.text
    assert "0bj" in page.text
    tests = TestReport.model_validate_json((winner / "tests.json").read_bytes())
    on_gpu = TestReport(cases=tuple(c.model_copy(update={"executed": "object"}) for c in tests.cases))
    (winner / "tests.json").write_text(on_gpu.model_dump_json())
    assert "Not executed" not in report(folder).text


def test_the_way_shows_each_step_with_promise_gain_and_changes(folder: Path) -> None:
    told = record(folder).result
    assert told is not None
    way = [next(a for a in told.attempts if a.id == told.best)]
    while way[-1].parent is not None:
        way.append(told.attempts[way[-1].parent])
    assert len(way) > 2, "the fixture needs a way of several steps"
    page = report(folder)
    for new, old in pairwise(way):
        assert old.time_us
        assert new.time_us
        assert f"{old.id} → {new.id} {' + '.join(new.techniques)}" in page.text
        assert f"obtained {old.time_us / new.time_us:,.2f}×" in page.text
    assert page.text.count("predicted ") == len(way) - 1
    assert re.search(r"^\+# schedule ", page.text, re.MULTILINE), "the source of a step is shown as a difference"


def test_counterexamples_met_and_mended(ran: Path) -> None:
    page = report(ran / "model")
    assert "2 candidates met a refusal; 1 went on" in page.text
    assert "mended after 1 refusal" in page.text
    assert "not mended: refuted" in page.text
    assert "refuted[race]: overwritten before it was read" in page.text
    assert "wants: missing barrier" in page.text
    assert "refused no kernel text of this run" in report(ran / "offline").text


def test_failed_candidates_say_why(ran: Path) -> None:
    page = report(ran / "model")
    verdicts = {row[0]: row[4] for row in page.rows if len(row) == 14}
    assert verdicts["1"].startswith("validrepaired 1×")
    assert verdicts["2"].startswith("refutedlowering: ")
    assert verdicts["3"].startswith("wronglowering: ")
    assert [row[5:7] for row in page.rows if len(row) == 14][1:] == [["1/1", "1/1"], ["1/2", "–"], ["1/1", "0/1"]]
    assert page.tags["path"] >= 2, "failed candidates are crosses in the chart"


def test_text_of_others_is_no_markup(ran: Path, folder: Path) -> None:
    assert report(ran / "model").tags["script"] == 1
    winner = folder / "attempts" / str(record(folder).result.best)  # pyright: ignore[reportOptionalMemberAccess]
    attempt = Attempt.model_validate_json((winner / "attempt.json").read_bytes())
    hostile = attempt.model_copy(update={"text": f"{attempt.text}\n# {HOSTILE}\n", "note": HOSTILE})
    (winner / "attempt.json").write_text(hostile.model_dump_json())
    page = report(folder)
    assert page.tags["script"] == 1
    assert HOSTILE in page.text


def test_random_choice_is_a_line_of_the_chart(folder: Path) -> None:
    assert "Random: " not in report(folder).text
    random = RandomSearch((400.0, 300.0, 262.5), seeds=20, stored=2000, best_us=125.0, model_version="fake")
    page = report(folder, random=random)
    assert "the median of 20 random searches over 2,000 stored schedules" in page.text
    assert "random 262.5 µs est" in page.text
    assert page.tags["polyline"] == 3
    # Estimates of another version say nothing about this run.
    assert "Random: " not in report(folder, random=replace(random, model_version="older")).text


def test_a_run_that_has_not_ended_is_reported_as_far_as_it_got(folder: Path) -> None:
    done = record(folder)
    page = report(folder, done.model_copy(update={"result": None}))
    assert done.result is not None
    assert f"Candidate {done.result.best} " in page.text
    assert "The run has not ended." in page.text


def test_a_run_without_a_valid_kernel(tmp_path: Path) -> None:
    toolbox = FakeToolbox(wrong=lambda _: True)
    asyncio.run(aoptimize("gemm", toolbox=toolbox, cards=cards(), out=tmp_path / "run", rounds=1, track=False))
    page = report(tmp_path / "run")
    assert "No valid kernel among 1 attempt (1 wrong)." in page.text
    assert "Machine view" not in page.text
    assert "Numerics" not in page.text
    assert [head[-11:] for head in page.heads[:2]] == ["1Verdict"[-11:], "y candidate"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["check.json", "tests.json", "attempt.json", "events.jsonl", "episodes.sqlite"])
@pytest.mark.parametrize("damage", ["gone", "broken"])
def test_a_missing_or_damaged_file_costs_its_part_alone(folder: Path, name: str, damage: str) -> None:
    told = record(folder).result
    assert told is not None
    home = folder if name in ("events.jsonl", "episodes.sqlite") else folder / "attempts" / str(told.best)
    (home / name).unlink()
    if damage == "broken":
        (home / name).write_bytes(b'{"kind": "no such event"}\n' * 40)
    page = report(folder)
    assert page.heads[0] == "1Verdict"
    assert page.heads[-1] == "10Reproduce"
    assert f"Candidate {told.best} " in page.text
    assert ("Could not be read" in page.text) == (damage == "broken")
    if damage == "broken":
        assert str((home / name).relative_to(folder)) in page.text
    assert not (folder / "episodes.sqlite").exists() or name != "episodes.sqlite" or damage == "broken"


def test_names_of_conflicts() -> None:
    assert [ways(n) for n in ("read_way", "write_way_mean")] == ["LDS reads, worst ways", "LDS writes, mean ways"]


def test_markup_escapes_all_but_markup() -> None:
    assert (
        h("p", "a < b", class_="x", title='"&', hidden=True, lang=None)
        == '<p class="x" title="&quot;&amp;" hidden>a &lt; b</p>'
    )
    assert h("meta", charset="utf-8") == '<meta charset="utf-8">'
    assert markup(["<", h("b", 3), None]) == "&lt;<b>3</b>"
    assert markup(Html("<b>") + "<i>") == "&lt;b&gt;&lt;i&gt;", "markup joined with text is text"
