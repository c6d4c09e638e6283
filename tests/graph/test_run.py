"""A run's folder, its result, and going on with it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from graph_fakes import FakeToolbox, cards
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from argus.agents import ask
from argus.agents.attempt import Attempt
from argus.agents.models import ModelConfigError
from argus.agents.offline import answer
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.graph.context import Config
from argus.graph.errors import RunError
from argus.graph.events import Event, RunFinished, Validated, read
from argus.graph.folder import RunFolder
from argus.graph.result import RunResult
from argus.graph.run import aoptimize, aresume
from argus.graph.store import Store


async def small(out: Path, toolbox: FakeToolbox | None = None, **options: Any) -> RunResult:  # noqa: ANN401
    """A run of few candidates without MLflow."""
    chosen: dict[str, Any] = {"rounds": 2, "candidates": 6, "track": False, **options}
    return await aoptimize("gemm", toolbox=toolbox or FakeToolbox(), cards=cards(), out=out, **chosen)


async def test_the_result_is_the_contract(tmp_path: Path) -> None:
    found = await small(tmp_path / "run", seed=3)
    told = json.loads(found.model_dump_json())
    assert list(told) == [
        "schema_version", "run_id", "task", "target", "seed", "status", "stop_reason", "seconds", "lower_bound_us",
        "baseline", "best", "attempts",
    ]  # fmt: skip
    assert list(told["attempts"][0]) == [
        "id", "round", "parent", "techniques", "params", "status", "kernel", "report", "kernel_sha", "obligations",
        "tests", "time_us", "time_kind", "speedup", "reward", "prompt_sha", "fault", "tokens",
    ]  # fmt: skip
    assert told["attempts"][0]["obligations"] == {"proved": 1, "refuted": 0, "unknown": 0}
    assert told["attempts"][0]["tests"] == {"passed": 1, "failed": 0}
    assert (found.status, found.baseline, found.seed, found.exit_code) == ("improved", 0, 3, 0)
    assert len(found.attempts) == 7
    best = next(a for a in found.attempts if a.id == found.best)
    assert best.time_us is not None
    assert best.speedup == pytest.approx((found.attempts[0].time_us or 0.0) / best.time_us)
    assert best.time_us == min(a.time_us for a in found.attempts if a.time_us)


async def test_the_folder_holds_everything(tmp_path: Path) -> None:
    found = await small(tmp_path / "run")
    root = tmp_path / "run"
    assert {p.name for p in root.iterdir()} >= {
        "run.json", "events.jsonl", "checkpoints.sqlite", "episodes.sqlite", "attempts", "best"
    }  # fmt: skip
    for a in found.attempts:
        assert a.kernel
        assert a.report
        names = {p.name for p in (root / a.kernel).parent.iterdir()}
        assert names == {
            "kernel.py",
            "check.json",
            "report.json",
            "tests.json",
            "attempt.json",
            "kernel.s",
            "kernel.hsaco",
        }
        assert (root / a.report).is_file()
    assert (root / "best" / "kernel.py").read_text() == (root / "attempts" / str(found.best) / "kernel.py").read_text()
    assert RunResult.model_validate(json.loads((root / "run.json").read_text())["result"]) == found


async def test_events_are_typed_and_numbered_without_gaps(tmp_path: Path) -> None:
    seen: list[Event] = []
    found = await small(tmp_path / "run", on_event=seen.append, events=tmp_path / "more.jsonl")
    written = read(tmp_path / "run" / "events.jsonl")
    assert written == seen == read(tmp_path / "more.jsonl")
    assert [e.number for e in seen] == list(range(1, len(seen) + 1))
    assert seen[0].kind == "run_started"
    assert isinstance(seen[-1], RunFinished)
    assert seen[-1].best == found.best
    assert {e.id for e in seen if isinstance(e, Validated)} == {a.id for a in found.attempts}


async def test_the_store_holds_the_facts_once(tmp_path: Path) -> None:
    found = await small(tmp_path / "run", rounds=3, candidates=12)
    store = Store.open(tmp_path / "run" / "episodes.sqlite")
    steps = store.rows("step")
    assert [s["id"] for s in steps] == [f"{found.run_id}/{a.id}" for a in found.attempts]
    assert [s["reward"] for s in steps] == [a.reward for a in found.attempts]
    assert all(s["estimator_version"] == "fake" and s["reward_version"] for s in steps)
    (episode,) = store.rows("episode")
    assert (episode["task"], episode["model"]) == ("gemm", "offline")
    assert json.loads(episode["switches"])["feedback"] is True
    lessons = store.rows("lesson")
    assert lessons
    known = {s["id"] for s in steps}
    assert all(len(json.loads(x["step_ids"])) >= 2 and set(json.loads(x["step_ids"])) <= known for x in lessons)
    prompts = {p["sha"]: p for p in store.rows("prompt")}
    assert {s["prompt_sha"] for s in found.model_dump()["attempts"] if s["prompt_sha"]} <= set(prompts)
    await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards(), track=False)
    assert store.rows("step") == steps
    assert store.rows("episode") == [episode]


async def test_a_finished_run_goes_on_with_a_larger_budget(tmp_path: Path) -> None:
    first = await small(tmp_path / "run", rounds=1, candidates=9)
    again = await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards(), track=False)
    assert again.attempts == first.attempts
    assert again.stop_reason == first.stop_reason == "1 rounds are done"
    toolbox = FakeToolbox()
    more = await aresume(tmp_path / "run", rounds=2, candidates=18, toolbox=toolbox, cards=cards(), track=False)
    assert more.run_id == first.run_id
    assert more.attempts[: len(first.attempts)] == first.attempts
    assert max(a.round for a in more.attempts) == 2
    assert toolbox.log.count("compile") == len(more.attempts) - len(first.attempts)
    numbers = [e.number for e in read(tmp_path / "run" / "events.jsonl")]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.slow
async def test_an_interrupted_run_is_the_same_run_when_it_goes_on(tmp_path: Path) -> None:
    """Stop after some candidates, go on, and compare with the run that was never stopped."""

    class Stop(Exception):
        pass

    def stop_at_four(event: Event) -> None:
        if event.kind == "validated" and event.id == 4:
            raise Stop

    whole = await small(tmp_path / "whole", seed=2)
    with pytest.raises(Stop):
        await small(tmp_path / "cut", seed=2, on_event=stop_at_four)
    kept = json.loads((tmp_path / "cut" / "run.json").read_text())["result"]
    assert kept["status"] in ("improved", "no_gain")
    assert kept["stop_reason"].startswith("stopped by an error")
    toolbox = FakeToolbox()
    rest = await aresume(tmp_path / "cut", toolbox=toolbox, cards=cards(), track=False)
    assert toolbox.log.count("compile") < 7
    assert [(a.techniques, a.params, a.time_us) for a in rest.attempts] == [
        (a.techniques, a.params, a.time_us) for a in whole.attempts
    ]


@pytest.mark.slow
async def test_finished_kernels_are_found_in_the_folder_even_without_checkpoints(tmp_path: Path) -> None:
    first = await small(tmp_path / "run", seed=4)
    for path in (tmp_path / "run").glob("checkpoints.sqlite*"):
        path.unlink()
    toolbox = FakeToolbox()
    seen: list[Event] = []
    again = await aresume(tmp_path / "run", toolbox=toolbox, cards=cards(), track=False, on_event=seen.append)
    assert toolbox.log.count("compile") == 0
    assert all(e.reused for e in seen if isinstance(e, Validated))
    assert [(a.techniques, a.time_us) for a in again.attempts] == [(a.techniques, a.time_us) for a in first.attempts]
    # Another text under the same number is judged anew.
    (tmp_path / "run" / "attempts" / "1" / "attempt.json").write_text("{}")
    for path in (tmp_path / "run").glob("checkpoints.sqlite*"):
        path.unlink()
    await aresume(tmp_path / "run", toolbox=toolbox, cards=cards(), track=False)
    assert toolbox.log.count("compile") == 1


# LangGraph drops branches that waited for a place; the garbage collector finds their coroutines at some later time.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_an_interrupt_keeps_the_best_so_far(tmp_path: Path) -> None:
    def stop(event: Event) -> None:
        if event.kind == "validated" and event.id == 2:
            task.cancel()

    task = asyncio.create_task(small(tmp_path / "run", on_event=stop))
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = json.loads((tmp_path / "run" / "run.json").read_text())["result"]
    assert kept["stop_reason"] == "interrupted"
    assert kept["best"] is not None
    assert (tmp_path / "run" / "best" / "kernel.py").exists()
    rest = await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards(), track=False)
    assert len(rest.attempts) == 7


@pytest.mark.slow
async def test_a_provider_that_is_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "PAUSE_SECONDS", 0.0)

    def down(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        raise ModelHTTPError(status_code=503, model_name="m", body="overloaded")

    # Of one candidate it is that candidate's trouble; of the plan it is the run's, which can go on later.
    found = await small(tmp_path / "a", models={"lowering": FunctionModel(down)}, rounds=1, candidates=2)
    assert [(a.status, a.fault, a.reward) for a in found.attempts[1:]] == [("broken", "toolchain", None)] * 2
    up = FunctionModel(answer, model_name="m")
    with pytest.raises(ToolchainError, match="failed 3 times"):
        await small(tmp_path / "b", models={"planner": FunctionModel(down, model_name="m")})
    rest = await aresume(tmp_path / "b", models={"planner": up}, toolbox=FakeToolbox(), cards=cards(), track=False)
    assert len(rest.attempts) == 7


async def test_only_budgets_may_change(tmp_path: Path) -> None:
    await small(tmp_path / "run", rounds=1, candidates=1)
    changes: dict[str, Any] = {
        "seed": 5,
        "target": "sm_90a",
        "dtype": "f16",
        "shape": {"m": 8},
        "config": Config(tags=False),
    }
    for name, value in changes.items():
        with pytest.raises(RunError, match=f"cannot change {name}"):
            await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards(), **{name: value})
    with pytest.raises(RunError, match="no option 'colour'"):
        await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards(), colour="red")
    scripted = FunctionModel(_nonsense, model_name="scripted")
    with pytest.raises(RunError, match="cannot change the planner"):
        await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards(), models={"planner": scripted})
    same = await aresume(
        tmp_path / "run",
        toolbox=FakeToolbox(),
        cards=cards(),
        track=False,
        seed=0,
        target="gfx942",
        shape={},
        dtype="bf16",
        out=tmp_path / "run",
        task="gemm",
        minutes=None,
        models=None,
    )
    assert same.seed == 0


def _nonsense(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    del messages, info
    return ModelResponse(parts=[TextPart("colourless green ideas sleep furiously")])


async def test_a_planner_that_answers_nonsense_ends_in_a_recorded_fault(tmp_path: Path) -> None:
    found = await small(tmp_path / "run", models={"planner": FunctionModel(_nonsense)}, rounds=5)
    assert found.status == "no_gain"
    assert "no usable answer" in found.stop_reason
    missed = found.attempts[1:]
    assert [(a.fault, a.status, a.reward) for a in missed] == [("proposal", "no_kernel", None)] * 2
    assert all(a.tokens > 0 for a in missed)
    steps = Store.open(tmp_path / "run" / "episodes.sqlite").rows("step")
    assert [s["fault"] for s in steps] == ["none", "proposal", "proposal"]


async def test_a_lowering_that_answers_nonsense_ten_times_is_survived(tmp_path: Path) -> None:
    calls = 0

    def nonsense(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal calls
        calls += 1
        return _nonsense(messages, info)

    found = await small(tmp_path / "run", models={"lowering": FunctionModel(nonsense)}, rounds=1, candidates=3)
    assert calls >= 10
    assert [(a.fault, a.status) for a in found.attempts[1:]] == [("lowering", "no_kernel")] * 3
    assert found.status == "no_gain"
    # Another model can be told what happened.
    assert all("Exceeded maximum" in a.note for a in _kept(tmp_path / "run")[1:])


async def test_a_broken_toolchain_earns_no_reward(tmp_path: Path) -> None:
    toolbox = FakeToolbox(broken=lambda text: 'stages":2' in text.replace(" ", ""))
    found = await small(tmp_path / "run", toolbox, candidates=12)
    broken = [a for a in found.attempts if a.fault == "toolchain"]
    assert broken
    assert all(a.status == "broken" and a.reward is None and a.time_us is None for a in broken)
    assert all(a.note == "the linker died" for a in _kept(tmp_path / "run") if a.fault == "toolchain")


async def test_a_start_kernel_that_fails_ends_the_run(tmp_path: Path) -> None:
    found = await small(tmp_path / "a", FakeToolbox(broken=lambda text: True))
    assert (found.status, found.best, found.exit_code) == ("no_valid", None, 3)
    assert "the linker died" in found.stop_reason
    found = await small(tmp_path / "b", FakeToolbox(wrong=lambda text: True))
    assert (found.status, found.exit_code) == ("no_valid", 1)
    assert found.attempts[0].status == "wrong"
    assert not (tmp_path / "b" / "best").exists()


async def test_requests_that_cannot_begin_leave_nothing(tmp_path: Path) -> None:
    tools: Any = {"toolbox": FakeToolbox(), "cards": cards(), "track": False}
    wrong: list[dict[str, Any]] = [{"target": "x"}, {"dtype": "i8"}, {"shape": {"q": 4}}, {"shape": {"m": 0}}]
    for options in wrong:
        with pytest.raises(KernelError):
            await aoptimize("gemm", out=tmp_path / "run", **{**tools, **options})
    with pytest.raises(KernelError):
        await aoptimize("gem", out=tmp_path / "run", **tools)
    for models in ({"planner": "nope:x"}, {"painter": "offline"}, {"default": "gpt"}):
        with pytest.raises(ModelConfigError):
            await aoptimize("gemm", out=tmp_path / "run", models=models, **tools)
    assert list(tmp_path.iterdir()) == []


async def test_folders_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot write"):
        await small(tmp_path / "file" / "run")
    await small(tmp_path / "run", rounds=1, candidates=1)
    with pytest.raises(RunError, match="already holds a run"):
        await small(tmp_path / "run")
    with pytest.raises(RunError, match="no run in"):
        await aresume(tmp_path / "nowhere")
    kernel = (tmp_path / "run" / "best" / "kernel.py").read_text()
    (tmp_path / "run" / "episodes.sqlite").write_text("no database at all, but long enough to be read as one")
    with pytest.raises(RunError, match="cannot use the store"):
        await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards())
    (tmp_path / "run" / "episodes.sqlite").unlink()
    (tmp_path / "run" / "checkpoints.sqlite").write_text("no database at all, but long enough to be read as one")
    with pytest.raises(RunError, match=r"checkpoints\.sqlite"):
        await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards())
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(RunError, match=r"run\.json"):
        await aresume(tmp_path / "run")
    assert (tmp_path / "run" / "best" / "kernel.py").read_text() == kernel


async def test_one_process_at_a_time(tmp_path: Path) -> None:
    await small(tmp_path / "run", rounds=1, candidates=1)
    with FileLock(RunFolder(tmp_path / "run").lock), pytest.raises(RunError, match="another process"):
        await aresume(tmp_path / "run", toolbox=FakeToolbox(), cards=cards())


async def test_checkpoints_are_synchronous(tmp_path: Path) -> None:
    """Every finished step is in the database, with the writes of single branches beside."""
    await small(tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "checkpoints.sqlite") as db:
        (steps,) = db.execute("select count(*) from checkpoints").fetchone()
    assert steps >= 10


def _kept(root: Path) -> list[Attempt]:
    paths = sorted((root / "attempts").glob("*/attempt.json"), key=lambda p: int(p.parent.name))
    return [Attempt.model_validate_json(p.read_text()) for p in paths]


async def test_beliefs_of_an_earlier_run_are_taken_along(tmp_path: Path) -> None:
    await small(tmp_path / "first", candidates=8)
    found = await small(tmp_path / "second", learn_from=tmp_path / "first", rounds=0)
    assert found.status == "no_gain"
    first, second = (Store(tmp_path / name / "episodes.sqlite") for name in ("first", "second"))
    assert first.rows("step")
    # Nothing was tried yet: the lessons are the first run's, and cite its steps.
    taught = second.rows("lesson")
    assert taught
    known = {row["id"] for row in first.rows("step")}
    assert {s for row in taught for s in json.loads(row["step_ids"])} <= known
    record = json.loads((tmp_path / "second" / "run.json").read_text())
    assert record["learned_from"] == str((tmp_path / "first").resolve())
    (event,) = [e for e in read(tmp_path / "second" / "events.jsonl") if e.kind == "learned"]
    assert event.arms > 0


async def test_there_is_no_run_to_learn_from(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="no run in"):
        await small(tmp_path / "run", learn_from=tmp_path / "nowhere")
    assert not (tmp_path / "run").exists()
