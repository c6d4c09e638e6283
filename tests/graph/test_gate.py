"""The gate of a prompt, on a run of the fakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from graph_fakes import FakeToolbox, cards, family

import argus.evals.gate
from argus.evals.gate import GateReport, Pair, decide, evaluate_gate, prompt_of, sign_flip
from argus.graph.errors import RunError
from argus.graph.events import Learned, read
from argus.graph.run import aoptimize
from argus.graph.store import Store

SHAPES = ({"m": 1024}, {"m": 8192})


@pytest.fixture
async def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(argus.evals.gate, "load_corpus", cards)
    monkeypatch.setattr(argus.evals.gate, "families", lambda: {"gemm": family()})
    out = tmp_path / "run"
    await aoptimize("gemm", toolbox=FakeToolbox(), cards=cards(), out=out, rounds=4, candidates=16, track=False)
    return out


def searched(factor: float) -> argus.evals.gate.Search:
    """A search in which lessons change the time by a factor, and the seed by a little."""

    def search(shape: Mapping[str, int], seed: int, learn_from: Path | None) -> float | None:
        return (100.0 + shape["m"] / 1000 + seed) * (factor if learn_from else 1.0)

    return search


def gated(run: Path, factor: float) -> GateReport:
    return evaluate_gate(run, SHAPES, runs=3, search=searched(factor))


async def test_the_prompt_is_the_one_that_the_run_ended_with(run: Path) -> None:
    _, prompt, count = prompt_of(run)
    last = [e for e in read(run / "events.jsonl") if isinstance(e, Learned)][-1]
    assert (prompt.sha, count) == (last.prompt_sha, last.lessons)
    assert count > 0


async def test_lessons_that_help_are_promoted(run: Path) -> None:
    report = gated(run, 0.9)
    assert report.promoted
    assert report.p_value == pytest.approx(1 / 64)
    decide(run, report)
    kept = next(row for row in Store(run / "episodes.sqlite").rows("prompt") if row["sha"] == report.prompt_sha)
    assert kept["status"] == "promoted"
    assert len(json.loads(kept["gate"])["pairs"]) == 6


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 1.1])
async def test_others_are_not(run: Path, factor: float) -> None:
    report = gated(run, factor)
    assert not report.promoted
    decide(run, report)
    statuses = {row["sha"]: row["status"] for row in Store(run / "episodes.sqlite").rows("prompt")}
    assert statuses[report.prompt_sha] == "refused"


async def test_the_evidence_is_no_gate(run: Path) -> None:
    with pytest.raises(RunError, match="outside the evidence"):
        evaluate_gate(run, [{"m": 4096}], runs=1, search=searched(0.5))


def test_flipped_signs() -> None:
    assert sign_flip([]) == 1.0
    assert sign_flip([0.1]) == 0.5
    assert sign_flip([0.1, 0.1, 0.1]) == pytest.approx(1 / 8)
    assert sign_flip([-0.1, -0.1]) == 1.0
    assert sign_flip([0.01] * 20) < 0.01


def test_a_search_without_a_kernel_counts() -> None:
    found, none = 100.0, None
    assert Pair(shape={}, seed=0, without_us=none, with_us=found).gain > 0
    assert Pair(shape={}, seed=0, without_us=found, with_us=none).gain < 0
    assert Pair(shape={}, seed=0, without_us=none, with_us=none).gain == 0
