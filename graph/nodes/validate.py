"""Node: one draft goes through the tools and becomes an attempt."""

from __future__ import annotations

import tempfile
from pathlib import Path

from langgraph.runtime import Runtime

from argus.agents.ask import ask
from argus.agents.attempt import Attempt, sha
from argus.agents.messages import Failure, render
from argus.agents.offline import explain
from argus.agents.prompts import load
from argus.agents.validation import judge
from argus.agents.validator import ValidatorDeps, validator
from argus.dsl.diagnostics import ToolchainError
from argus.graph.context import Bench, RunContext, bench
from argus.graph.drafts import attempt, failure, no_kernel, validated
from argus.graph.state import Draft, Update, ValidateInput


async def validate(state: ValidateInput, runtime: Runtime[RunContext]) -> Update:
    """Judge a draft, unless the run folder shows that it was judged before a crash."""
    context, draft = runtime.context, state["draft"]
    if draft.skipped:
        return {}
    candidate, folder = draft.candidate, context.folder
    reused = folder.finished(candidate.id, sha(draft.text)) if folder and draft.text else None
    found = reused or await _judged(draft, context, bench(context, state["task"]))
    if found.status != "pending":  # else it is told when its time is known
        context.sink.emit(
            validated(
                found,
                change=candidate.change,
                parent_us=candidate.parent_us,
                lower_bound_us=candidate.lower_bound_us,
                reused=reused is not None,
            )
        )
    return {"attempts": [found], "tokens": found.tokens - draft.tokens}


async def _judged(draft: Draft, context: RunContext, b: Bench) -> Attempt:
    measured = context.executor is not None
    if not draft.text:
        return no_kernel(draft, "measured" if measured else "estimated")
    began, folder, number = context.watch.clock(), context.folder, draft.candidate.id
    with tempfile.TemporaryDirectory(prefix="argus-") as scratch:
        directory = folder.attempt(number) if folder else Path(scratch)
        kernel = folder.write_kernel(number, draft.text) if folder else ""
        judgement = await judge(
            draft.text, b.toolbox, b.problem, directory, checking=context.config.tags, measured=measured
        )
        report_path = folder.write_findings(number, judgement) if folder else ""
    found = attempt(draft, judgement)
    update: dict[str, object] = {"kernel": kernel, "report_path": report_path}
    if not found.valid and found.status != "pending":
        note, tokens = await _explained(failure(draft, judgement), b)
        update |= {"note": note, "tokens": draft.tokens + tokens}
    update["seconds"] = draft.seconds + context.watch.clock() - began
    found = found.model_copy(update=update)
    if folder:
        folder.write_attempt(found)
    return found


async def _explained(told: Failure, b: Bench) -> tuple[str, int]:
    """Why a candidate failed, in a sentence, and what it cost; the tools' first line when nobody says it better."""
    plain = explain(told).note
    try:
        answer = await ask(
            validator, render(told), deps=ValidatorDeps(load("validator").text), model=b.models["validator"]
        )
    except ToolchainError:
        return plain, 0
    return (answer.value.note if answer.value else plain), answer.tokens
