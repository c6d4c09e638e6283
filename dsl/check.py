"""Kernel text to verdicts: front end, core form, tags, solver, replay. No lowering is involved."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from argus.dsl.diagnostics import CheckReport, Counterexample, ObligationReport
from argus.dsl.frontend import parse
from argus.dsl.ir import Kernel
from argus.dsl.ir.contract import contract_sha as sha_of
from argus.dsl.ir.infer import infer
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.ir.types import Types
from argus.dsl.ir.verify import verify
from argus.dsl.layout.affine import formula
from argus.dsl.smt.discharge import settle
from argus.dsl.smt.mend import Change, mend
from argus.dsl.smt.mend.advice import advice
from argus.dsl.smt.mend.recheck import Key, Recheck, keyed
from argus.dsl.smt.replay import Replayer, order_of
from argus.dsl.smt.search import search
from argus.dsl.smt.verdict import Proved, Refuted, Unknown, Verdict
from argus.dsl.smt.z3_door import Door
from argus.dsl.tags import contract
from argus.dsl.tags.analysis import Analysis, analyse
from argus.dsl.tags.banks import bank_conflicts
from argus.dsl.tags.obligations import Obligation
from argus.dsl.tags.resources import overflow, resources
from argus.dsl.transform import to_core


def check(
    text_or_path: str | Path,
    *,
    kernel: str | None = None,
    contract_sha: str | None = None,
    replay: bool = True,
    fixes: bool = True,
    advise: bool = False,
) -> CheckReport:
    """Prove every obligation of a kernel, or say what refutes it.

    Args:
        text_or_path: Kernel text, or a file that holds it.
        kernel: Which kernel, if there are several.
        contract_sha: Hash of the contract that the kernel must have (`argus.dsl.ir.contract`).
        replay: Execute witnesses in the interpreter. Without, a violation is reported as unknown.
        fixes: Try edits that would mend what is refuted, a few more checks of the kernel; verdicts do not depend on it.
        advise: Look for swizzles that free shared memory of bank conflicts; each is a further check.

    Raises:
        KernelError: If the text is no kernel of the language.
        OSError: If the file cannot be read.
    """
    started = time.perf_counter()
    is_path = isinstance(text_or_path, Path) or ("\n" not in text_or_path and text_or_path.endswith(".py"))
    text, file = (
        (Path(text_or_path).read_text("utf-8"), str(text_or_path)) if is_path else (str(text_or_path), "<kernel>")
    )
    report = check_kernel(
        parse(text, file, kernel=kernel), contract_sha=contract_sha, replay=replay, fixes=fixes, advise=advise
    )
    return report.model_copy(update={"seconds": time.perf_counter() - started})


def check_kernel(
    kernel: Kernel,
    *,
    contract_sha: str | None = None,
    replay: bool = True,
    fixes: bool = True,
    advise: bool = False,
) -> CheckReport:
    """As `check`, on IR.

    Raises:
        KernelError: For names out of scope and types that do not fit.
    """
    started = time.perf_counter()
    core = to_core(kernel)
    verify(core)
    types = infer(core)
    preconditions = [formula(e, {}) for e in core.where]
    known = contract.assumptions(core)
    door = Door(types.sizes, preconditions, known.about)
    vacuous = None if door.consistent(known.everywhere()) else _contradiction(core)
    analysis = analyse(core, types, door)
    assumptions = overflow(analysis.context, door)
    found_sha = sha_of(kernel)
    verdicts = _settled(core, analysis, door, types, replay=replay and vacuous is None)
    recheck = Recheck(door)
    changes = _fixes(kernel, verdicts, recheck) if fixes else {}
    unproved = frozenset(key for key, _, v in verdicts if not isinstance(v, Proved))
    obligations = [
        *_contract(kernel, found_sha, contract_sha),
        *(_report(o, _with_fix(v, changes.get(key))) for key, o, v in verdicts),
    ]
    return CheckReport(
        kernel=kernel.name,
        target=kernel.target,
        contract_sha=found_sha,
        assumed=analysis.assumed,
        seconds=time.perf_counter() - started,
        obligations=tuple(obligations),
        bank_conflicts=bank_conflicts(list(analysis.context.accesses.values())),
        resources=resources(analysis.context),
        assumptions=assumptions,
        vacuous=vacuous,
        widened=analysis.widened,
        advice=tuple(advice(kernel, analysis, recheck, unproved)) if advise else (),
    )


def _contradiction(core: Kernel) -> str:
    return " and ".join([*(show_expr(e) for e in core.where), *(a.text for a in core.assume)])


def _settled(
    core: Kernel, analysis: Analysis, door: Door, types: Types, *, replay: bool
) -> list[tuple[Key, Obligation, Verdict]]:
    blocks = tuple(name for name, _ in analysis.blocks)
    replayer = Replayer(core, analysis.blocks) if replay else None
    order = order_of(blocks, types.sizes)
    verdicts = [(key, o, _verdict(o, door, replayer, order)) for key, o in keyed(analysis.registry.all)]
    if replayer is not None and core.target == "sm_90a" and not any(isinstance(v, Refuted) for _, _, v in verdicts):
        verdicts = _searched(core, replayer, verdicts)
    stuck = next((o for _, o, v in verdicts if isinstance(v, Refuted) and o.kind == "deadlock"), None)
    return verdicts if stuck is None else [(k, o, _behind(stuck, v)) for k, o, v in verdicts]


def _behind(stuck: Obligation, verdict: Verdict) -> Verdict:
    """Executions that end in a deadlock show nothing of what would have come after it."""
    if isinstance(verdict, Unknown) and verdict.reason.startswith("internal"):
        return Unknown(verdict.tier, f"depends on {stuck.place}")
    return verdict


def _searched(
    core: Kernel, replayer: Replayer, verdicts: list[tuple[Key, Obligation, Verdict]]
) -> list[tuple[Key, Obligation, Verdict]]:
    """The verdicts with one that execution refutes, where the analysis leaves some open."""
    undecided = [o for _, o, v in verdicts if isinstance(v, Unknown)]
    found = search(core, replayer, undecided) if undecided else None
    if found is None:
        return verdicts
    return [(k, o, Refuted(o.tier, found[1]) if o is found[0] else v) for k, o, v in verdicts]


def _fixes(kernel: Kernel, verdicts: Sequence[tuple[Key, Obligation, Verdict]], recheck: Recheck) -> dict[Key, Change]:
    refuted = [(key, v.counterexample) for key, _, v in verdicts if isinstance(v, Refuted)]
    if not refuted:
        return {}
    unknown = {key: v.reason for key, _, v in verdicts if isinstance(v, Unknown)}
    dependent = frozenset(key for key, reason in unknown.items() if reason.startswith("depends on"))
    return mend(kernel, refuted, recheck, dependent=dependent, open_=frozenset(unknown) - dependent)


def _with_fix(verdict: Verdict, change: Change | None) -> Verdict:
    if change is None or not isinstance(verdict, Refuted):
        return verdict
    found = verdict.counterexample
    # Where synchronisation is missing there is nothing to say but what to put in.
    fix = change.words if change.synchronises else found.fix
    update = {"fix": fix, "tried": change.words, "edits": change.edits}
    return replace(verdict, counterexample=found.model_copy(update=update))


def _verdict(o: Obligation, door: Door, replayer: Replayer | None, order: Sequence[str]) -> Verdict:
    if not o.met:
        if o.origin == "written":
            return Unknown(o.tier, "vacuous: no execution reaches this assertion")
        return Proved(o.tier)
    return settle(o, door, replayer, order)


def _report(o: Obligation, verdict: Verdict) -> ObligationReport:
    counterexample: Counterexample | None = None
    reason: str | None = None
    match verdict:
        case Proved(tier):
            word = "proved"
        case Refuted(tier, counterexample):
            word = "refuted"
        case Unknown(tier, reason):
            word = "unknown"
    return ObligationReport(
        id=o.id, kind=o.kind, origin=o.origin, text=o.text.replace("·", "."), file=o.span.file, line=o.span.line,
        col=o.span.col, end_line=o.span.end_line, end_col=o.span.end_col, verdict=word, tier=tier,
        counterexample=counterexample, reason=None if reason is None else reason.replace("·", "."),
    )  # fmt: skip


def _contract(kernel: Kernel, found: str, wanted: str | None) -> list[ObligationReport]:
    """The comparison with the task's contract."""
    if wanted is None:
        return []
    span = kernel.span
    o = Obligation("contract", "the contract is the task's", span, -1, met=True)
    if found == wanted:
        return [_report(o, Proved("structure"))]
    text = "signature, where, assume, tag and ensures are the task's and must not be changed"
    counterexample = Counterexample(
        kind="contract", text=text, consumer=span, want=wanted, got=found, fix="restore the task's contract",
        replayed="the hashes differ",
    )  # fmt: skip
    return [_report(o, Refuted("structure", counterexample))]
