"""Times from a GPU: parked rounds, what comes back, and what was stored."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from graph_fakes import FakeToolbox, cards, planted, schedule_of

from argus.dsl.codegen.cuda_report import CudaRegisters, CudaReport
from argus.dsl.codegen.nvcc import FILES, MANIFEST, REPORT, CudaManifest
from argus.dsl.kernels import Problem
from argus.graph.errors import RunError
from argus.graph.events import Parked, read
from argus.graph.result import RunResult
from argus.graph.run import aoptimize, aresume
from argus.graph.timing import FileExecutor, LocalExecutor, StoredExecutor, TimedSchedule, TimeTable
from argus.graph.timing.table import Source
from argus.tools.bundle import CHECK_SIZES, read_plan
from argus.tools.results import CompileResult

LIBRARY_US = 200.0


@dataclass
class CudaToolbox(FakeToolbox):
    """The fake tools, whose kernels are folders as nvcc leaves them."""

    lint: tuple[str, ...] = ()

    async def compile_kernel(self, text: str, problem: Problem, directory: Path) -> CompileResult:
        made = await super().compile_kernel(text, problem, directory)
        write_artifact(directory, text)
        return made.model_copy(update={"report": made.report.model_copy(update={"lint": self.lint})})


def write_artifact(directory: Path, text: str) -> None:
    contents = {FILES["cu"]: text.encode(), FILES["asm"]: b"ptx", FILES["object"]: b"\x7fELF" + text.encode()}
    for name, content in contents.items():
        (directory / name).write_bytes(content)
    report = CudaReport(
        kernel="gemm",
        registers=CudaRegisters(regs=128),
        spills=0,
        scratch_bytes=0,
        lds_bytes=1024,
        occupancy_waves=8,
    )
    manifest = CudaManifest(
        symbol="gemm",
        tensors=(),
        sizes=(),
        maps=(),
        grid="1",
        threads=128,
        shared_bytes=1024,
        where=(),
        kernel_sha=hashlib.sha256(text.encode()).hexdigest(),
        files={name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        versions={},
    )
    (directory / REPORT).write_text(report.model_dump_json())
    (directory / MANIFEST).write_text(manifest.model_dump_json())


async def parked(out: Path, toolbox: FakeToolbox | None = None, **options: Any) -> RunResult:  # noqa: ANN401
    """A run that waits for its first times."""
    chosen: dict[str, Any] = {"rounds": 2, "candidates": 4, "track": False, "executor": FileExecutor(), **options}
    return await aoptimize("gemm", toolbox=toolbox or CudaToolbox(), cards=cards(), out=out, **chosen)


async def go_on(out: Path, times: Path | None = None) -> RunResult:
    return await aresume(out, toolbox=CudaToolbox(), cards=cards(), track=False, times=times)


def gpu(bundle: Path, to: Path, **edit: Any) -> Path:  # noqa: ANN401
    """What the runner would write: times by the planted function, the library at 200 us whatever the clock."""
    plan, clock = read_plan(bundle), 1.0 + len(bundle.parts) / 100 + int(bundle.parent.name) / 10
    results: list[dict[str, Any]] = []
    for e in plan.entries:
        told: dict[str, Any] = {"id": e.id, "kind": e.kind, "status": "ok", "checks": [{"ok": True, "sizes": e.sizes}]}
        us = LIBRARY_US * clock
        if e.kind == "candidate":
            text = (bundle / e.directory / "kernel.py").read_text()
            schedule = schedule_of(text)
            assert schedule is not None
            us = planted(schedule) * clock
            told |= {"kernel_sha": e.kernel_sha, "cubin_sha": e.cubin_sha}
        ratio = LIBRARY_US * clock / us
        results.append({**told, "time_us": [us] * 3, "ratio": [ratio] * 3, **(edit if e.kind == "candidate" else {})})
    whole = {"schema_version": 1, "bundle_sha": plan.bundle_sha, "task": plan.task, "date": "", "results": results}
    to.write_text(json.dumps(whole))
    return to


@pytest.mark.slow
async def test_a_round_parks_with_a_bundle_and_goes_on_with_its_times(tmp_path: Path) -> None:
    out = tmp_path / "run"
    found = await parked(out)
    assert (found.status, found.exit_code) == ("parked", 0)
    entries = read_plan(out / "rounds" / "0" / "bundle").entries
    assert [e.kind for e in entries] == ["peer", "candidate"]
    assert len(entries[1].check_sizes) == len(CHECK_SIZES)
    (event,) = [e for e in read(out / "events.jsonl") if isinstance(e, Parked)]
    assert event.kernels == 1

    found = await go_on(out, gpu(out / "rounds" / "0" / "bundle", tmp_path / "t0"))
    assert found.status == "parked"
    assert found.attempts[0].time_kind == "measured"
    entries = read_plan(out / "rounds" / "1" / "bundle").entries
    assert len(entries) == 3
    found = await go_on(out, gpu(out / "rounds" / "1" / "bundle", tmp_path / "t1"))
    found = await go_on(out, gpu(out / "rounds" / "2" / "bundle", tmp_path / "t2"))
    assert found.status == "improved"
    assert [a.status for a in found.attempts] == ["valid"] * 5
    assert all(a.tests.passed == 1 for a in found.attempts)
    # Clocks differ from round to round; ratios to the library do not.
    whole = await aoptimize(
        "gemm", toolbox=FakeToolbox(), cards=cards(), out=tmp_path / "w", rounds=2, candidates=4, track=False
    )
    first = read_plan(out / "rounds" / "0" / "bundle")
    assert first.entries[0].kind == "peer"
    factor = (found.attempts[0].time_us or 0.0) / (whole.attempts[0].time_us or 1.0)
    assert found.attempts[1].time_us == pytest.approx(factor * planted_of(out, 1))


def planted_of(out: Path, number: int) -> float:
    schedule = schedule_of((out / "attempts" / str(number) / "kernel.py").read_text())
    assert schedule is not None
    return planted(schedule)


async def test_resuming_without_times_keeps_waiting(tmp_path: Path) -> None:
    await parked(tmp_path / "run")
    before = (tmp_path / "run" / "rounds" / "0" / "bundle" / "bundle.json").read_text()
    assert (await go_on(tmp_path / "run")).status == "parked"
    assert (tmp_path / "run" / "rounds" / "0" / "bundle" / "bundle.json").read_text() == before


async def test_a_run_that_was_killed_after_its_times_came_uses_them(tmp_path: Path) -> None:
    out = tmp_path / "run"
    await parked(out)
    gpu(out / "rounds" / "0" / "bundle", out / "rounds" / "0" / "times.json")
    found = await go_on(out)
    assert found.attempts[0].status == "valid"


@pytest.mark.parametrize("edit", [{"cubin_sha": "0" * 64}, {"kernel_sha": "0" * 64}])
async def test_times_of_other_kernels_are_refused(tmp_path: Path, edit: dict[str, str]) -> None:
    out = tmp_path / "run"
    await parked(out)
    times = gpu(out / "rounds" / "0" / "bundle", tmp_path / "t", **edit)
    with pytest.raises(RunError, match="ran another cubin, or one of another kernel text"):
        await go_on(out, times)
    assert not (out / "rounds" / "0" / "times.json").exists()


async def test_times_of_another_round_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "run"
    await parked(out)
    times = gpu(out / "rounds" / "0" / "bundle", tmp_path / "t0")
    await go_on(out, times)
    with pytest.raises(RunError, match="another bundle"):
        await go_on(out, times)


async def test_times_for_a_run_that_waits_for_none(tmp_path: Path) -> None:
    out = tmp_path / "run"
    await aoptimize("gemm", toolbox=FakeToolbox(), cards=cards(), out=out, rounds=0, track=False)
    with pytest.raises(RunError, match="no round of this run waits"):
        await aresume(out, toolbox=FakeToolbox(), cards=cards(), track=False, times=tmp_path / "t")


@pytest.mark.parametrize(
    ("edit", "status", "fault"),
    [
        ({"checks": [{"ok": False, "sizes": {"M": 1}, "error": 7.5}], "status": "wrong"}, "wrong", "lowering"),
        ({"checks": [{"ok": False, "sizes": {"M": 1}, "error": 7.5}], "status": "ok"}, "broken", "toolchain"),
        ({"status": "killed", "message": "took longer than 20 s"}, "wrong", "lowering"),
        ({"status": "failed", "message": "CudaError"}, "broken", "toolchain"),
        ({"status": "ok", "checks": []}, "broken", "toolchain"),
    ],
)
async def test_what_a_gpu_says_of_a_kernel(tmp_path: Path, edit: dict[str, Any], status: str, fault: str) -> None:
    out = tmp_path / "run"
    await parked(out)
    found = await go_on(out, gpu(out / "rounds" / "0" / "bundle", tmp_path / "t", **edit))
    assert (found.attempts[0].status, found.attempts[0].fault) == (status, fault)
    assert found.status == "no_valid"


async def test_what_a_lint_finds_is_not_timed(tmp_path: Path) -> None:
    found = await parked(tmp_path / "run", CudaToolbox(lint=("wgmma instructions are serialised",)))
    assert (found.status, found.attempts[0].status) == ("no_valid", "rejected")
    assert not (tmp_path / "run" / "rounds").exists()


def table(*texts_us: tuple[str, float]) -> TimeTable:
    source = Source(gpu="H200", driver="1", torch="2", date="", library="cublas", library_us=LIBRARY_US)
    entries = tuple(
        TimedSchedule(
            schedule={},
            kernel_sha=hashlib.sha256(text.encode()).hexdigest(),
            cubin_sha="",
            ratio=(LIBRARY_US / us, LIBRARY_US / us, LIBRARY_US / us),
            time_us=us,
            checks=2,
        )
        for text, us in texts_us
    )
    return TimeTable(
        task="gemm",
        target="sm_90a",
        dtype="bf16",
        shape={},
        reference_us=LIBRARY_US,
        sources=(source,),
        entries=entries,
    )


async def test_stored_times_answer_and_the_rest_is_asked_for(tmp_path: Path) -> None:
    await parked(tmp_path / "first")
    start = (tmp_path / "first" / "attempts" / "0" / "kernel.py").read_text()
    known = StoredExecutor(table((start, 640.0)), rest=FileExecutor())
    found = await parked(tmp_path / "run", executor=known)
    assert found.status == "parked"
    assert found.attempts[0].time_us == pytest.approx(640.0)
    assert not (tmp_path / "run" / "rounds" / "0" / "bundle").exists()
    assert (tmp_path / "run" / "rounds" / "1" / "bundle" / "bundle.json").exists()


async def test_what_is_not_stored_is_not_guessed(tmp_path: Path) -> None:
    found = await parked(tmp_path / "run", executor=StoredExecutor(table()))
    assert (found.attempts[0].status, found.attempts[0].time_us) == ("broken", None)


RUNNER = """
import json, sys
from pathlib import Path
plan = json.loads((Path(__file__).parent / "bundle.json").read_text())
out = Path(sys.argv[sys.argv.index("--out") + 1])
results = []
for e in plan["entries"]:
    us = 200.0 if e["kind"] == "peer" else 500.0
    told = {k: e[k] for k in ("id", "kind", "kernel_sha", "cubin_sha") if e.get(k)}
    results.append({**told, "status": "ok", "checks": [{"ok": True}], "time_us": [us] * 3, "ratio": [200.0 / us] * 3})
whole = {"schema_version": 1, "bundle_sha": plan["bundle_sha"], "task": "gemm", "date": "", "results": results}
out.write_text(json.dumps(whole))
"""


async def test_a_gpu_of_this_machine_is_asked_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("argus.tools.bundle.RUN", RUNNER)
    found = await parked(tmp_path / "run", executor=LocalExecutor(), candidates=2, rounds=1)
    assert {(a.status, a.time_us) for a in found.attempts} == {("valid", 500.0)}
    assert len(found.attempts) == 3
    # Going on repeats nothing that was measured.
    before = (tmp_path / "run" / "rounds" / "1" / "times.json").stat().st_mtime_ns
    await go_on(tmp_path / "run")
    assert (tmp_path / "run" / "rounds" / "1" / "times.json").stat().st_mtime_ns == before


async def test_a_runner_that_measures_nothing_breaks_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("argus.tools.bundle.RUN", "print('no CUDA device'); raise SystemExit(3)")
    found = await parked(tmp_path / "run", executor=LocalExecutor())
    assert (found.status, found.exit_code) == ("no_valid", 3)
    assert "no CUDA device" in found.stop_reason
