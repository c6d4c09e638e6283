"""Types of the state, through a checkpoint and back."""

from __future__ import annotations

from typing import Any, cast

from graph_fakes import FakeToolbox, cards
from langgraph.checkpoint.memory import InMemorySaver

from argus.agents.attempt import Attempt
from argus.agents.messages import LoweringTask, Plan, Proposal
from argus.agents.policy.lessons import Arm
from argus.dsl.codegen.report import Estimate, Report
from argus.graph.build import build_graph
from argus.graph.context import Budget, RunContext
from argus.graph.routes import after_learn, after_plan, after_select, stop_reason
from argus.graph.state import Candidate, RunState, TaskKey, best_of, by_id


async def test_a_checkpoint_gives_every_type_back() -> None:
    """Under LANGGRAPH_STRICT_MSGPACK a type that the state does not name comes back as a bare mapping."""
    graph = build_graph(InMemorySaver())
    settings: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 60}
    context = RunContext(toolbox=FakeToolbox(), cards=cards(), budget=Budget(rounds=2, candidates=4))
    await graph.ainvoke({"task": TaskKey(name="gemm", seed=1)}, settings, context=context)  # pyright: ignore[reportUnknownMemberType]
    state = cast("RunState", (await graph.aget_state(settings)).values)
    assert isinstance(state["task"], TaskKey)
    assert isinstance(state["plan"], Plan)
    assert isinstance(state["plan"].proposals[0], Proposal)
    assert all(isinstance(a, Attempt) for a in state["attempts"])
    report = state["attempts"][1].report
    assert isinstance(report, Report)
    assert isinstance(report.estimate, Estimate)
    assert isinstance(state["attempts"][1].techniques, tuple)
    assert all(isinstance(arm, Arm) for arm in state["arms"].values())
    assert isinstance(state["candidates"][0], Candidate)
    assert isinstance(state["candidates"][0].task, LoweringTask)


def attempt(number: int, time_us: float | None = None, **more: Any) -> Attempt:  # noqa: ANN401 - fields
    return Attempt(id=number, round=0, status="valid" if time_us else "refuted", time_us=time_us, **more)


def test_attempts_join_by_number_and_later_records_win() -> None:
    first, second = attempt(2, 9.0), attempt(1, 8.0)
    joined = by_id([first], [second])
    assert [a.id for a in joined] == [1, 2]
    assert by_id(joined, [attempt(1, 7.0)])[0].time_us == 7.0
    assert by_id(by_id([], [first]), [second]) == by_id(by_id([], [second]), [first])


def test_the_best_is_valid_and_the_earliest_of_equals() -> None:
    assert best_of([attempt(0), attempt(1)]) is None
    found = best_of([attempt(3, 5.0), attempt(1, 5.0), attempt(2)])
    assert found is not None
    assert found.id == 1


def going(**changes: Any) -> RunState:  # noqa: ANN401 - fields
    """A search in its first round."""
    full: dict[str, Any] = {
        "task": "gemm",
        "round": 1,
        "plan": Plan(proposals=()),
        "candidates": [],
        "attempts": [attempt(0, 200.0)],
        "arms": {},
        "best_by_round": [200.0],
        "open": (),
        "allowance": None,
        "misses": 0,
        "tokens": 0,
        "seconds": 0.0,
        "stop_reason": "",
    }
    return cast("RunState", {**full, **changes})


def test_routes() -> None:
    assert after_plan(going()) == "select"
    assert after_plan(going(plan=None)) == "learn"
    assert after_plan(going(stop_reason="x")) == "__end__"
    assert after_learn(going()) == "plan"
    assert after_learn(going(stop_reason="x")) == "__end__"
    assert after_select(going()) == "learn"
    sends = after_select(going(candidates=[Candidate(id=1, round=1), Candidate(id=2, round=1)]))
    assert [s.arg["candidate"].id for s in sends if not isinstance(s, str)] == [1, 2]


def test_stop_reasons() -> None:
    budget = Budget(rounds=5, candidates=3, tokens=100, minutes=1)
    assert stop_reason(going(), budget) == ""
    assert "start kernel" in stop_reason(going(attempts=[attempt(0)]), budget)
    assert "no usable answer" in stop_reason(going(misses=2), budget)
    every = ("global", "tile", "instruction")
    assert "two rounds" in stop_reason(going(best_by_round=[200.0] * 3, open=every), budget)
    assert stop_reason(going(best_by_round=[200.0] * 3, open=("global",)), budget) == ""
    assert stop_reason(going(best_by_round=[210.0, 205.0, 200.0], open=every), budget) == ""
    assert "5 rounds" in stop_reason(going(round=5), budget)
    tried = [attempt(0, 200.0), *(attempt(n, 201.0, parent=0) for n in (1, 2, 3))]
    assert "3 candidates" in stop_reason(going(attempts=tried), budget)
    assert "100 tokens" in stop_reason(going(tokens=100), budget)
    assert "1 minutes" in stop_reason(going(seconds=60.0), budget)
