from __future__ import annotations

from typing import get_args

from argus.dsl.codegen.report import Estimate, MainLoop, Registers, Report, Resource, Wait
from argus.dsl.diagnostics import counterexample
from argus.dsl.kernels import GemmSchedule
from argus.retrieval import card
from argus.retrieval.expressions import lookup, path_text
from argus.retrieval.metrics import COUNTS, REPORT_METRICS, RESOURCES, metrics, vocabulary

REPORT = Report(
    kernel="gemm",
    target="gfx942",
    registers=Registers(vgpr=96, agpr=64, sgpr=30),
    spills=0,
    scratch_bytes=0,
    lds_bytes=8192,
    occupancy_waves=3,
    main_loop=MainLoop(
        mfma=32, lds_read=16, barriers=2, tiles=2, waits=(Wait(vmcnt=0), Wait(lgkmcnt=0), Wait(vmcnt=4, lgkmcnt=0))
    ),
    estimate=Estimate(
        shape={"m": 1},
        time_us=200.0,
        lower_bound_us=100.0,
        bound="latency",
        next_bound="mfma",
        resources_us={"latency": 150.0, "mfma": 100.0},
        model_version="1",
    ),
).model_dump()


def test_every_metric_that_cards_may_name_has_a_value() -> None:
    estimate = {**REPORT["estimate"], "resources_us": dict.fromkeys(RESOURCES, 1.0)}
    known = metrics(GemmSchedule(), {**REPORT, "estimate": estimate}, {"read_way": 2, "write_way": 1})
    missing = [path_text(p) for p in vocabulary(GemmSchedule()) if lookup(known, p) is None]
    assert missing == []


def test_the_lists_follow_the_compilers_models() -> None:
    assert set(RESOURCES) == set(get_args(Resource))
    assert set(COUNTS) == set(MainLoop.model_fields) - {"waits", "tiles"}
    assert {p[1] for p in REPORT_METRICS if p[0] == "registers"} == set(Registers.model_fields)
    assert set(get_args(card.FixClass)) == set(get_args(counterexample.FixClass))


def test_derived_metrics() -> None:
    known = metrics(GemmSchedule(tile=(128, 64, 32)), REPORT)
    assert lookup(known, ("main_loop", "waits")) == 3
    assert lookup(known, ("main_loop", "vmcnt_drains")) == 1
    assert lookup(known, ("per_tile", "mfma")) == 16
    assert lookup(known, ("per_mfma", "lds_read")) == 0.5
    assert lookup(known, ("estimate", "share", "latency")) == 0.75
    assert lookup(known, ("estimate", "share", "hbm")) is None
    assert lookup(known, ("schedule", "tile", 0)) == 128
    assert lookup(known, ("schedule", "lds_row_bytes")) == 64


def test_without_report_only_the_schedule_speaks() -> None:
    known = metrics(GemmSchedule())
    assert set(known) == {"schedule"}
    assert lookup(known, ("spills",)) is None


def test_a_loop_without_mfma_has_no_ratio() -> None:
    loop = {**REPORT["main_loop"], "mfma": 0}
    assert "per_mfma" not in metrics(GemmSchedule(), {**REPORT, "main_loop": loop, "estimate": None})


def test_text_fields_are_no_metrics() -> None:
    names = {path_text(p) for p in vocabulary(GemmSchedule())}
    assert "schedule.stages" in names
    assert "schedule.tile[2]" in names
    assert not {"schedule.swizzle", "schedule.tile", "schedule.model_extra", "schedule.model_fields_set"} & names
