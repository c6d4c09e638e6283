"""Techniques that lose alone and pay together are proposed together."""

from __future__ import annotations

import math

import pytest

from argus.agents.attempt import Attempt
from argus.agents.policy.arms import Catalogue, eligible, realise
from argus.agents.policy.pairs import MARGIN, promising_pairs
from argus.dsl.codegen.report import Estimate, MainLoop, Registers, Report
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named
from argus.retrieval.load import load_corpus

CATALOGUE = Catalogue(load_corpus(), families()["gemm"], make_problem(task_named("gemm")))
START = GemmSchedule().model_dump(mode="json")


# A kernel that waits for memory half its time.
REPORT = Report(
    kernel="gemm",
    target="gfx942",
    registers=Registers(vgpr=64, agpr=0, sgpr=32),
    spills=0,
    scratch_bytes=0,
    lds_bytes=8192,
    occupancy_waves=4,
    main_loop=MainLoop(mfma=4, lds_read=4, lds_write=2, vmem_read=4, barriers=2),
    estimate=Estimate(
        shape={"m": 4096, "n": 4096, "k": 4096},
        time_us=190.0,
        lower_bound_us=109.0,
        bound="latency",
        next_bound="mfma",
        resources_us={"mfma": 105.0, "lds": 60.0, "latency": 85.0, "launch": 4.0},
        model_version="test",
    ),
)


def parent() -> Attempt:
    return Attempt(
        id=0,
        round=0,
        parent=None,
        status="valid",
        fault="none",
        schedule=START,
        time_us=190.0,
        report=REPORT,
        bank_conflicts={"read_way": 8.0, "write_way": 1.0},
    )


@pytest.mark.slow
def test_pairs_promise_more_than_their_members() -> None:
    arms = eligible(CATALOGUE, parent(), frozenset(), lambda _, some, n: list(some)[:n])
    pairs = promising_pairs(CATALOGUE, parent(), arms, frozenset())
    assert pairs
    best = {arm.card: max(option.gain for option in arm.options) for arm in arms if arm.options}
    for pair in pairs:
        assert len(pair.techniques) <= 3
        assert pair.gain > max(best[t] for t in pair.techniques if t in best) + MARGIN * 0.99
    assert [p.gain for p in pairs] == sorted((p.gain for p in pairs), reverse=True)


@pytest.mark.slow
def test_a_pair_s_gain_is_the_closed_form_s() -> None:
    arms = eligible(CATALOGUE, parent(), frozenset(), lambda _, some, n: list(some)[:n])
    pair = promising_pairs(CATALOGUE, parent(), arms, frozenset())[0]
    fields = realise(CATALOGUE, START, pair.techniques, pair.params)
    assert fields is not None
    assert math.isclose(pair.gain, math.log(CATALOGUE.predicted(START) / CATALOGUE.predicted(fields)))
