"""Each rule earns its keep: with the rule taken out, a mistake that it alone sees is no longer refuted as such."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argus.dsl.check import check
from argus.dsl.frontend import parse
from argus.dsl.ir import Kernel
from argus.dsl.ir.infer import infer
from argus.dsl.layout.affine import FALSE, Formula
from argus.dsl.smt.z3_door import Door
from argus.dsl.tags import access, induction
from argus.dsl.tags.analysis import analyse
from argus.dsl.tags.memory import Buffer
from argus.dsl.transform import to_core

REFERENCE = Path(__file__).parents[1] / "kernels" / "reference"
GOOD = REFERENCE.with_name("good")
SINGLE, DRAIN, DOUBLE = (
    (REFERENCE / f"{name}.py").read_text("utf-8") for name in ("gemm_single", "gemm_dma_swapped_drain", "gemm_double")
)
BATCHED, TWO = ((GOOD / f"{name}.py").read_text("utf-8") for name in ("batched", "two_accumulators"))
WAIT = "        wait(0)\n        barrier()\n"


def nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    return None


def no_padding(_: object) -> list[list[Formula]]:
    return []


def never(*_: object) -> list[Formula]:
    return [FALSE]


def none_of_them(_: Buffer, cells: np.ndarray[Any, Any], *__: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    return np.zeros(cells.shape, np.bool_)


def edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


def refuted(text: str, kind: str) -> bool:
    return any(o.kind == kind and o.verdict == "refuted" for o in check(text).obligations)


HIDDEN_ROWS = edited(SINGLE, ("A.tile(64, 32)", "A.rows(0, 64).tile(64, 32)"), ("N % 4 == 0", "N % 4 == 0, M >= 64"))
TAGS, MEMORY = "argus.dsl.tags", "argus.dsl.tags.memory.Buffer"
RULES: dict[str, tuple[str, Callable[..., Any], str, str]] = {
    "read after another wave's write": (
        f"{MEMORY}.reads_unseen_write", none_of_them,
        edited(SINGLE, ("        store(Bs, b)\n        barrier()\n", "        store(Bs, b)\n")), "race",
    ),
    "write over another wave's read": (
        f"{MEMORY}.overwrites_read", none_of_them,
        edited(SINGLE, ("            acc += mma(x, y)\n        barrier()\n", "            acc += mma(x, y)\n")), "race",
    ),
    "use of a copy in flight": (
        f"{MEMORY}.unread_pending", none_of_them, edited(DRAIN, (WAIT, "        wait(1)\n        barrier()\n")), "wait",
    ),
    "a wait says nothing to other waves": (
        f"{MEMORY}.reads_unseen_copy", none_of_them,
        edited(DRAIN, (WAIT, "        barrier()\n        wait(0)\n")), "wait",
    ),
    "a copy may land at once": (
        f"{TAGS}.access._check_overwrite", nothing, edited(DRAIN, (WAIT, "        wait(0)\n")), "race",
    ),
    "indices inside their extent": (
        f"{TAGS}.transfer._out_of_bounds", nothing, edited(BATCHED, ("A[bz]", "A[bz + 1]")), "bounds",
    ),
    "equal k": (
        f"{TAGS}.mma._Mma._check_k", nothing,
        edited(SINGLE, ("B.tile(64, 32)[bn, kt]", "B.tile(64, 32)[bn, kt + 1]")), "conformity",
    ),
    "an accumulator keeps its coordinates": (
        f"{TAGS}.mma._Mma._check_kept", nothing, edited(TWO, ("low += mma", "top += mma")), "conformity",
    ),
    "each k once": (
        f"{TAGS}.epilogue.complete", nothing, edited(SINGLE, ("unroll(4)", "unroll(3)")), "completeness",
    ),
    "free tags are the destination": (
        f"{TAGS}.epilogue._Store._check_coordinates", nothing,
        edited(SINGLE, ("[bm, bn], acc", "[bm, bn].T, acc")), "epilogue",
    ),
    "padding is no data": (f"{TAGS}.epilogue._Store._check_windows", nothing, HIDDEN_ROWS, "epilogue"),
    "padding must vanish in sums": (
        "argus.dsl.smt.discharge.padding_summed", no_padding,
        edited(SINGLE, ("A.tile(64, 32)", "A.tile(64, 32, pad=1.0)"), ("B.tile(64, 32)", "B.tile(64, 32, pad=1.0)")),
        "completeness",
    ),
    "all of the output once": (
        "argus.dsl.smt.discharge.output_violated", never, edited(SINGLE, ("block(cdiv(M, 64)", "block(M // 64")),
        "coverage",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", RULES.values(), ids=RULES)
def test_the_mistake_is_seen_by_this_rule(
    monkeypatch: pytest.MonkeyPatch, case: tuple[str, Callable[..., Any], str, str]
) -> None:
    rule, without, text, kind = case
    assert refuted(text, kind)
    monkeypatch.setattr(rule, without)
    assert not refuted(text, kind)


@pytest.mark.parametrize("rule", ["barrier", "commit", "wait"])
@pytest.mark.slow
def test_a_good_kernel_needs_each_synchronisation_rule(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setattr(f"{MEMORY}.{rule}", nothing)
    assert not check(DRAIN, replay=False).ok


def test_origins_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    text = edited(SINGLE, ("load(B.tile(64, 32)[bn, kt]", "load(A.tile(64, 32)[bn, kt]"))
    assert "made without B" in " ".join(c.text for c in check(text).counterexamples)
    monkeypatch.setattr(f"{TAGS}.epilogue._Store._check_origins", nothing)
    assert "made without B" not in " ".join(c.text for c in check(text).counterexamples)


def test_uninitialised_cells_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = edited(SINGLE, ("        store(Bs, b)\n", ""))
    assert refuted(text, "init")
    hazard: Callable[..., None] = getattr(access, "_hazard")  # noqa: B009 - the rule is no part of the interface

    def but_init(cx: Any, state: Any, touch: Any, kind: str, bad: Any, **more: Any) -> None:  # noqa: ANN401
        if kind != "init":
            hazard(cx, state, touch, kind, bad, **more)

    monkeypatch.setattr(access, "_hazard", but_init)
    assert not refuted(text, "init")


def goals_of(core: Kernel, kind: str) -> int:
    analysis = analyse(core, infer(core), Door(("M", "N", "K"), ()))
    return sum(len(o.goals) for o in analysis.registry.all if o.kind == kind)


def test_operands_must_lie_in_the_registers_of_the_accumulator(monkeypatch: pytest.MonkeyPatch) -> None:
    # The verifier refuses such text, so the rule is asked directly.
    swapped = to_core(parse(edited(SINGLE, ("mma(x, y)", "mma(y, x)"))))
    assert goals_of(swapped, "conformity") > 0
    monkeypatch.setattr(f"{TAGS}.mma._Mma._check_registers", nothing)
    assert goals_of(swapped, "conformity") == 0


def test_a_state_that_does_not_recur_is_no_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(SINGLE).ok
    monkeypatch.setattr(f"{TAGS}.induction.Induction._same", nothing)
    report = check(SINGLE)
    assert not report.ok
    assert report.widened
    assert report.count("refuted") == 0
    assert any("not understood" in (o.reason or "") for o in report.obligations)


def test_short_trip_counts_are_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    # With no trip at all, nothing has filled stage 1 when it is read after the loop.
    text = edited(
        DOUBLE, ("range(cdiv(K, 64))", "range(cdiv(K, 64) - 1)"),
        ("    store(C", "    z = load(As[1], map=linear(8))\n    store(C"),
    )  # fmt: skip
    (read,) = [o for o in check(text).obligations if o.kind == "init" and "load" in o.text]
    assert read.verdict != "proved"
    note = getattr(induction.Induction, "_note_exit")  # noqa: B009 - the rule is no part of the interface

    def late(self: Any, path: Any, form: Any, known: int | None, phase: int) -> None:  # noqa: ANN401
        if known is None or phase > 0:
            note(self, path, form, known, phase)

    monkeypatch.setattr(induction.Induction, "_note_exit", late)
    (read,) = [o for o in check(text).obligations if o.kind == "init" and "load" in o.text]
    assert read.verdict == "proved"
