"""Wires nodes into a graph; holds no logic of its own."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false
# (LangGraph's builder is generic beyond what strict mode follows.)

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from argus.graph.context import RunContext
from argus.graph.nodes.begin import begin
from argus.graph.nodes.learn import learn
from argus.graph.nodes.lower import lower
from argus.graph.nodes.measure import measure
from argus.graph.nodes.plan import plan
from argus.graph.nodes.select import select
from argus.graph.nodes.validate import validate
from argus.graph.routes import after_learn, after_plan, after_select
from argus.graph.state import LowerInput, RunState, Start, ValidateInput

Compiled = CompiledStateGraph[RunState, RunContext, Start, RunState]


def build_graph(checkpointer: BaseCheckpointSaver[Any] | None = None) -> Compiled:
    """The optimiser's state machine.

    START → begin → validate → measure → learn → plan → select → (lower → validate) for each candidate → measure → learn
    → plan | END. Without an executor `measure` lets everything pass.

    Example:
        await build_graph().ainvoke({"task": "gemm"}, context=RunContext(models={"planner": "anthropic:NAME"}))
    """
    g = StateGraph(RunState, context_schema=RunContext, input_schema=Start)
    g.add_node("begin", begin, destinations=("validate",))
    g.add_node("plan", plan)
    g.add_node("select", select)
    g.add_node("lower", lower, input_schema=LowerInput, destinations=("validate",))
    g.add_node("validate", validate, input_schema=ValidateInput)
    g.add_node("measure", measure)
    g.add_node("learn", learn)
    g.add_edge(START, "begin")
    g.add_edge("validate", "measure")
    g.add_edge("measure", "learn")
    g.add_conditional_edges("learn", after_learn, {"plan": "plan", END: END})
    g.add_conditional_edges("plan", after_plan, {"select": "select", "learn": "learn", END: END})
    g.add_conditional_edges("select", after_select, ["lower", "learn"])
    return g.compile(checkpointer=checkpointer)
