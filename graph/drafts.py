"""What a branch made: the lowering's answer as a draft, the tools' findings as an attempt."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from argus.agents.ask import Answer
from argus.agents.attempt import Attempt, Fault, TimeKind, Verdicts, sha
from argus.agents.lowering import Check, LoweringDeps
from argus.agents.messages import Declined, Failure, LoweredKernel
from argus.agents.validation import Judgement
from argus.graph.events import Refused, Validated
from argus.graph.state import Candidate, Draft


@dataclass(frozen=True, slots=True)
class Outcome:
    """A draft with the texts that the checker refused on the way."""

    draft: Draft
    refused: tuple[Check, ...]


def outcome(
    candidate: Candidate, answer: Answer[LoweredKernel | Declined], fault: Fault, deps: LoweringDeps
) -> Outcome:
    """The lowering's answer as a draft; `fault` is whose it is when there is no kernel."""
    refused = tuple(c for c in deps.checks if not c.answer.ok)
    if not isinstance(answer.value, LoweredKernel):
        note = answer.value.reason if answer.value else answer.refusal
        return Outcome(Draft(candidate=candidate, fault=fault, note=note, tokens=answer.tokens), refused)
    text = answer.value.text
    draft = Draft(
        candidate=candidate,
        text=text,
        schedule=candidate.schedule if _prints_as(candidate, text, deps) else None,
        tokens=answer.tokens,
        repairs=sum(c.text != text for c in refused),
    )
    return Outcome(draft, refused)


def refusals(found: Outcome) -> Iterator[Refused]:
    """One event for each refused text, in order."""
    for number, check in enumerate(found.refused):
        a = check.answer
        fix = next((str(c.get("fix_class", "")) for c in a.counterexamples), "")
        yield Refused(
            id=found.draft.candidate.id,
            attempt=number,
            obligations=Verdicts(proved=a.proved, refuted=a.refuted, unknown=a.unknown),
            fix_class=fix,
            text=a.text,
        )


def no_kernel(draft: Draft, kind: TimeKind) -> Attempt:
    """The record of a candidate that nobody wrote."""
    status = "broken" if draft.fault == "toolchain" else "no_kernel"
    return _attempt(draft).model_copy(
        update={"status": status, "fault": draft.fault, "note": draft.note[:400], "time_kind": kind}
    )


def attempt(draft: Draft, found: Judgement) -> Attempt:
    """The record of a candidate as the tools found it."""
    return _attempt(draft).model_copy(
        update={
            "status": found.status,
            "fault": found.fault,
            "text": draft.text,
            "kernel_sha": sha(draft.text),
            "schedule": draft.schedule,
            "report": found.report,
            "bank_conflicts": found.bank_conflicts,
            "obligations": found.obligations,
            "tests": found.tests,
            "time_us": found.time_us,
            "time_kind": found.time_kind,
        }
    )


def failure(draft: Draft, found: Judgement) -> Failure:
    """What the validator agent explains."""
    return Failure(
        techniques=draft.candidate.techniques,
        status=found.status,
        messages=tuple(m[:1200] for m in found.messages[:4]),
        fix_classes=found.fix_classes[:4],
    )


def validated(
    a: Attempt, *, change: str, parent_us: float | None, lower_bound_us: float | None, reused: bool = False
) -> Validated:
    """The event of a candidate's result; `lower_bound_us` is the run's, where the attempt's own report has none."""
    estimate = a.report.estimate if a.report else None
    return Validated(
        id=a.id,
        round=a.round,
        parent=a.parent,
        techniques=a.techniques,
        change=change,
        status=a.status,
        fault=a.fault,
        obligations=a.obligations,
        tests=a.tests,
        time_us=a.time_us,
        time_kind=a.time_kind,
        parent_us=parent_us,
        lower_bound_us=estimate.lower_bound_us if estimate else lower_bound_us,
        peer_ratio=a.peer_ratio,
        bound=a.bound,
        repairs=a.repairs,
        note=a.note,
        seconds=a.seconds,
        reused=reused,
    )


def _attempt(draft: Draft) -> Attempt:
    c = draft.candidate
    return Attempt(
        id=c.id,
        round=c.round,
        parent=c.parent,
        techniques=c.techniques,
        params=c.params,
        status="no_kernel",
        bottleneck=c.bottleneck,
        prior=c.prior,
        score=c.score,
        confidence=c.confidence,
        prompt_sha=c.prompt_sha,
        tokens=draft.tokens,
        repairs=draft.repairs,
    )


def _prints_as(candidate: Candidate, text: str, deps: LoweringDeps) -> bool:
    """Whether the text is the program that the family prints for the candidate's schedule, layout aside."""
    if candidate.schedule is None:
        return False
    printed = deps.family.text(deps.family.parse_schedule(candidate.schedule), deps.problem)
    return printed == text or _program(printed) == _program(text)


def _program(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
