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
from argus.dsl.smt import discharge
from argus.dsl.smt.z3_door import Door
from argus.dsl.tags import access, epilogue, loops, mma, transfer
from argus.dsl.tags.analysis import analyse
from argus.dsl.tags.memory import Buffer
from argus.dsl.transform import to_core

REFERENCE = Path(__file__).parents[1] / "kernels" / "reference"
GOOD = REFERENCE.with_name("good")
SINGLE, DRAIN, RING = (
    (REFERENCE / f"{name}.py").read_text("utf-8") for name in ("gemm_single", "gemm_dma_swapped_drain", "gemm_dma_ring")
)
BATCHED, TWO = ((GOOD / f"{name}.py").read_text("utf-8") for name in ("batched", "two_accumulators"))
WAIT = "        wait(0)\n        barrier()\n"


def nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    return None


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
RULES: tuple[tuple[str, object, str, Callable[..., Any], str, str], ...] = (
    ("read after another wave's write", Buffer, "reads_unseen_write", none_of_them,
     edited(SINGLE, ("        store(Bs, b)\n        barrier()\n", "        store(Bs, b)\n")), "race"),
    ("write over another wave's read", Buffer, "overwrites_read", none_of_them,
     edited(SINGLE, ("            acc += mma(x, y)\n        barrier()\n", "            acc += mma(x, y)\n")), "race"),
    ("use of a copy in flight", Buffer, "unread_pending", none_of_them,
     edited(DRAIN, (WAIT, "        wait(1)\n        barrier()\n")), "wait"),
    ("a wait says nothing to other waves", Buffer, "reads_unseen_copy", none_of_them,
     edited(DRAIN, (WAIT, "        barrier()\n        wait(0)\n")), "wait"),
    ("a copy may land at once", access, "_check_overwrite", nothing,
     edited(DRAIN, (WAIT, "        wait(0)\n")), "race"),
    ("indices inside their extent", transfer, "_out_of_bounds", nothing, edited(BATCHED, ("A[bz]", "A[bz + 1]")), "bounds"),
    ("equal k", mma._Mma, "_check_k", nothing,  # noqa: SLF001
     edited(SINGLE, ("B.tile(64, 32)[bn, kt]", "B.tile(64, 32)[bn, kt + 1]")), "conformity"),
    ("an accumulator keeps its coordinates", mma._Mma, "_check_kept", nothing,  # noqa: SLF001
     edited(TWO, ("low += mma", "top += mma")), "conformity"),
    ("each k once", epilogue, "complete", nothing, edited(SINGLE, ("unroll(4)", "unroll(3)")), "completeness"),
    ("free tags are the destination", epilogue._Store, "_check_coordinates", nothing,  # noqa: SLF001
     edited(SINGLE, ("[bm, bn], acc", "[bm, bn].T, acc")), "epilogue"),
    ("padding is no data", epilogue._Store, "_check_windows", nothing, HIDDEN_ROWS, "epilogue"),  # noqa: SLF001
    ("padding must vanish in sums", discharge, "padding_summed", lambda _: [],
     edited(SINGLE, ("A.tile(64, 32)", "A.tile(64, 32, pad=1.0)"), ("B.tile(64, 32)", "B.tile(64, 32, pad=1.0)")),
     "completeness"),
    ("all of the output once", discharge, "output_violated", lambda *_: [discharge.ge(discharge.Affine(-1))],
     edited(SINGLE, ("block(cdiv(M, 64)", "block(M // 64")), "coverage"),
)  # fmt: skip


@pytest.mark.parametrize(("owner", "rule", "without", "text", "kind"), [r[1:] for r in RULES], ids=[r[0] for r in RULES])
def test_the_mistake_is_seen_by_this_rule(
    monkeypatch: pytest.MonkeyPatch, owner: object, rule: str, without: Callable[..., Any], text: str, kind: str
) -> None:
    assert refuted(text, kind)
    monkeypatch.setattr(owner, rule, without)
    assert not refuted(text, kind)


@pytest.mark.parametrize("rule", ["barrier", "commit", "wait"])
def test_a_good_kernel_needs_each_synchronisation_rule(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    monkeypatch.setattr(Buffer, rule, nothing)
    assert not check(DRAIN).ok


def test_origins_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    # The product of A with itself, where both tensors have the same axes.
    text = edited(SINGLE, ("load(B.tile(64, 32)[bn, kt]", "load(A.tile(64, 32)[bn, kt]"))
    assert "made without B" in next(c.text for c in check(text).counterexamples if c.kind == "epilogue")
    monkeypatch.setattr(epilogue._Store, "_check_origins", nothing)  # noqa: SLF001
    assert "made without B" not in " ".join(c.text for c in check(text).counterexamples)


def test_uninitialised_cells_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    text = edited(RING, ("for kt in unroll(2)", "for kt in unroll(1)"), ("kt + 2", "kt + 1"), ("kt + 2", "kt + 1"))
    assert check(text).ok  # a shorter lead is fine
    gap = edited(SINGLE, ("        store(Bs, b)\n", ""), ("load(B.tile(64, 32)[bn, kt], map=linear(4))", "load(B.tile(64, 32)[bn, kt], map=linear(4))"))
    assert refuted(gap, "init")
    seen = access._hazard  # noqa: SLF001
    monkeypatch.setattr(access, "_hazard", lambda cx, state, touch, kind, *rest: None if kind == "init" else seen(cx, state, touch, kind, *rest))
    assert not refuted(gap, "init")


def goals_of(core: Kernel, kind: str) -> int:
    analysis = analyse(core, infer(core), Door(("M", "N", "K"), ()))
    return sum(len(o.goals) for o in analysis.registry.all if o.kind == kind)


def test_operands_must_lie_in_the_registers_of_the_accumulator(monkeypatch: pytest.MonkeyPatch) -> None:
    # The verifier refuses such text, so the rule is asked directly.
    swapped = to_core(parse(edited(SINGLE, ("mma(x, y)", "mma(y, x)"))))
    assert goals_of(swapped, "conformity") > 0
    monkeypatch.setattr(mma._Mma, "_check_registers", nothing)  # noqa: SLF001
    assert goals_of(swapped, "conformity") == 0


def test_a_state_that_does_not_recur_is_no_invariant(monkeypatch: pytest.MonkeyPatch) -> None:
    # Right for the first rounds: the tile that is read is stuck from the third on, for both operands alike.
    text = edited(SINGLE, ("[bm, kt]", "[bm, kt]"), ("for kt", "for kt"))
    assert check(text).ok
    monkeypatch.setattr(loops._Induction, "_same", lambda *_: False)  # noqa: SLF001
    report = check(text)
    assert not report.ok
    assert report.widened
    assert any("not understood" in (o.reason or "") for o in report.obligations)
    assert report.count("refuted") == 0


def test_short_trip_counts_are_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    # Only one trip in two fills stage 1 before it is read after the loop.
    text = (REFERENCE / "gemm_double.py").read_text("utf-8")
    text = edited(text, ("    store(C", "    z = load(As[1], map=linear(8))\n    store(C"))
    assert not check(edited(text, ("As[(kt + 1) % 2], a", "As[(kt + 1) % 2], a"), ("range(cdiv(K, 64))", "range(cdiv(K, 64) - 1)"))).ok
    assert refuted(edited(text, ("range(cdiv(K, 64))", "range(cdiv(K, 64) - 1)")), "init")
    seen = loops._Induction._note_exit  # noqa: SLF001

    def late(self: Any, path: Any, form: Any, known: int | None, phase: int) -> None:  # noqa: ANN401
        if known is None or phase > 0:
            seen(self, path, form, known, phase)

    monkeypatch.setattr(loops._Induction, "_note_exit", late)  # noqa: SLF001
    assert not refuted(edited(text, ("range(cdiv(K, 64))", "range(cdiv(K, 64) - 1)")), "init")
