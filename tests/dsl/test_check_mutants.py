"""Single edits of good kernels: each mistake is refuted with its kind, line and fix class, each harmless edit proved.

What the interpreter says of every edit is compared as well, so that neither a wrong kernel is proved nor a right one
refuted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pytest

from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport, FixClass
from argus.dsl.frontend import parse
from argus.dsl.interp import POLICIES, trip_sizes, wrong
from argus.dsl.ir import Kernel
from argus.dsl.transform import to_core

KERNELS = Path(__file__).parents[1] / "kernels"
SINGLE, DOUBLE = "reference/gemm_single", "reference/gemm_double"
RING, DRAIN = "reference/gemm_dma_ring", "reference/gemm_dma_swapped_drain"
HALVES, TWO, GUARDED = "good/row_halves", "good/two_accumulators", "good/guarded_prefetch"

Edit = tuple[str, str]
Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Mistake:
    """`edits` of a kernel, and the obligation that must be refuted: its kind, a piece of its line, its fix class."""

    name: str
    kernel: str
    edits: tuple[Edit, ...]
    kind: str
    line: str
    fix_class: FixClass | None
    fix: str = ""


def text_of(kernel: str, edits: tuple[Edit, ...]) -> str:
    text = (KERNELS / f"{kernel}.py").read_text("utf-8")
    for old, new in edits:
        assert old in text, f"{kernel} has no {old!r}"
        text = text.replace(old, new, 1)
    return text


def a_times_bt(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


def transposed(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    return {"C": a_times_bt(inputs, sizes)["C"].T}


def batched(inputs: Arrays, sizes: Mapping[str, int]) -> Arrays:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].transpose(0, 2, 1)}


REFERENCES = {"good/transposed_output": transposed, "good/batched": batched}


def core_of(text: str) -> Kernel:
    return to_core(parse(text))


BARRIER_AND_LOOP = ("            acc += mma(x, y)\n        barrier()\n", "            acc += mma(x, y)\n")
WAIT = "        wait(0)\n        barrier()\n"

# Tiles as deep as they are wide, so that a transposed view has the right shape.
SQUARE: tuple[Edit, ...] = (
    ("shared(bf16, 64, 32), shared(bf16, 64, 32)", "shared(bf16, 64, 64), shared(bf16, 64, 64)"),
    ("cdiv(K, 32)", "cdiv(K, 64)"),
    ("unroll(4)", "unroll(8)"),
    ("A.tile(64, 32)", "A.tile(64, 64)"),
    ("B.tile(64, 32)", "B.tile(64, 64)"),
)

MISTAKES = (
    # ------------------------------------------------------------------------------ operands and the MMA
    Mistake(
        "operands from each other's buffer",
        SINGLE,
        (('As.operand("a", acc, ks), Bs.operand("b"', 'Bs.operand("a", acc, ks), As.operand("b"'),),
        "epilogue",
        "store(C",
        "operand transposed",
    ),
    Mistake(
        "k-step of one operand fixed",
        SINGLE,
        (('Bs.operand("b", acc, ks)', 'Bs.operand("b", acc, 0)'),),
        "conformity",
        "acc += mma",
        "k incomplete",
        "use the same k-step",
    ),
    Mistake(
        "k-step of both operands fixed",
        SINGLE,
        (('As.operand("a", acc, ks), Bs.operand("b", acc, ks)', 'As.operand("a", acc, 0), Bs.operand("b", acc, 0)'),),
        "completeness",
        "store(C",
        "k incomplete",
    ),
    Mistake("k-step left out", SINGLE, (("unroll(4)", "unroll(3)"),), "completeness", "store(C", "k incomplete"),
    Mistake(
        "MMA repeated",
        SINGLE,
        (("            acc += mma(x, y)\n", "            acc += mma(x, y)\n" * 2),),
        "completeness",
        "store(C",
        "k incomplete",
    ),
    Mistake(
        "one operand read transposed",
        SINGLE,
        (*SQUARE, ("Bs.operand", "Bs.T.operand")),
        "conformity",
        "acc += mma",
        "operand transposed",
        "rows by k",
    ),
    Mistake(
        "rows of an operand move",
        SINGLE,
        (("A.tile(64, 32)[bm, kt]", "A.tile(64, 32)[bm + kt, kt]"),),
        "conformity",
        "acc += mma",
        "stage off by n",
    ),
    Mistake(
        "buffers exchanged in the loop",
        DOUBLE,
        (
            ("store(As[(kt + 1) % 2], a)", "store(Bs[(kt + 1) % 2], a)"),
            ("store(Bs[(kt + 1) % 2], b)", "store(As[(kt + 1) % 2], b)"),
        ),
        "conformity",
        "acc += mma",
        "operand transposed",
    ),
    Mistake(
        "operands of different batches",
        "good/batched",
        (("A[bz]", "A[0]"),),
        "conformity",
        "acc += mma",
        "stage off by n",
        "the same b",
    ),
    Mistake(
        "a batch stored for another",
        "good/batched",
        (("store(C[bz]", "store(C[0]"),),
        "epilogue",
        "store(C[0]",
        "bounds guard",
    ),
    Mistake(
        "another accumulator",
        TWO,
        (("low += mma", "top += mma"),),
        "conformity",
        "top += mma(As[1]",
        "stage off by n",
    ),
    Mistake(
        "the last MMA guarded away",
        SINGLE,
        (
            (
                "            acc += mma(x, y)\n",
                "            if kt + 1 < cdiv(K, 32):\n                acc += mma(x, y)\n",
            ),
        ),
        "completeness",
        "store(C",
        "k incomplete",
    ),
    # -------------------------------------------------------------------------------- tiles, stages, trips
    Mistake(
        "k tile of one operand ahead",
        SINGLE,
        (("B.tile(64, 32)[bn, kt]", "B.tile(64, 32)[bn, kt + 1]"),),
        "conformity",
        "acc += mma",
        "stage off by n",
        "k is off by 32",
    ),
    Mistake(
        "k tiles of both operands ahead",
        SINGLE,
        (("[bm, kt]", "[bm, kt + 1]"), ("[bn, kt]", "[bn, kt + 1]")),
        "completeness",
        "store(C",
        "k incomplete",
    ),
    Mistake(
        "prefetch of the tile at hand",
        DOUBLE,
        (("load(A.tile(128, 64)[bm, kt + 1]", "load(A.tile(128, 64)[bm, kt]"),),
        "conformity",
        "acc += mma",
        "stage off by n",
    ),
    Mistake(
        "ring filled one tile short",
        RING,
        (("A.tile(128, 32)[bm, kt + 2]", "A.tile(128, 32)[bm, kt + 1]"),),
        "conformity",
        "acc += mma",
        "stage off by n",
    ),
    Mistake(
        "prologue loads one tile twice",
        RING,
        (("B.tile(128, 32)[bn, kt]", "B.tile(128, 32)[bn, 0]"),),
        "conformity",
        "acc += mma",
        "stage off by n",
    ),
    Mistake(
        "stage read one ahead",
        DOUBLE,
        (("As[kt % 2].operand", "As[(kt + 1) % 2].operand"),),
        "init",
        "As[(kt + 1) % 2].operand",
        "stage off by n",
    ),
    Mistake(
        "stage filled one behind",
        DOUBLE,
        (("store(As[(kt + 1) % 2], a)", "store(As[kt % 2], a)"),),
        "init",
        "As[kt % 2].operand",
        "stage off by n",
    ),
    Mistake(
        "copy into the stage in use",
        DRAIN,
        (("copy_async(As[(kt + 1) % 2]", "copy_async(As[kt % 2]"),),
        "wait",
        "As[kt % 2].operand",
        "stage off by n",
    ),
    Mistake(
        "no prologue",
        DOUBLE,
        (("    store(As[0], load(A.tile(128, 64)[bm, 0], map=linear(8)))\n", ""),),
        "init",
        "As[kt % 2].operand",
        "stage off by n",
    ),
    Mistake(
        "guard off by one",
        GUARDED,
        (("if kt + 1 <", "if kt + 2 <"),),
        "init",
        "acc += mma(As",
        "bounds guard",
    ),
    Mistake(
        "tail left out", SINGLE, (("range(cdiv(K, 32))", "range(K // 32)"),), "completeness", "store(C", "k incomplete"
    ),
    Mistake(
        "one trip short",
        SINGLE,
        (("range(cdiv(K, 32))", "range(cdiv(K, 32) - 1)"),),
        "completeness",
        "store(C",
        "k incomplete",
    ),
    Mistake(
        "padding that does not vanish",
        SINGLE,
        (("B.tile(64, 32)", "B.tile(64, 32, pad=1.0)"), ("A.tile(64, 32)", "A.tile(64, 32, pad=1.0)")),
        "completeness",
        "store(C",
        "bounds guard",
        "pad=0",
    ),
    # ---------------------------------------------------------------------------------- barriers and waits
    Mistake(
        "no barrier before the reads",
        SINGLE,
        (("        store(Bs, b)\n        barrier()\n", "        store(Bs, b)\n"),),
        "race",
        "As.operand",
        "missing barrier",
        "barrier() before line 13",
    ),
    Mistake(
        "no barrier after the reads",
        SINGLE,
        (BARRIER_AND_LOOP,),
        "race",
        "store(As, a)",
        "missing barrier",
        "barrier() before line 11",
    ),
    Mistake(
        "no barrier after the prologue",
        DOUBLE,
        (("    barrier()\n    for kt", "    for kt"),),
        "race",
        "As[kt % 2].operand",
        "missing barrier",
        "barrier() before line 13",
    ),
    Mistake(
        "no barrier in the loop",
        DOUBLE,
        (("        store(Bs[(kt + 1) % 2], b)\n        barrier()\n", "        store(Bs[(kt + 1) % 2], b)\n"),),
        "race",
        "As[kt % 2].operand",
        "missing barrier",
        "barrier() before line 14",
    ),
    Mistake(
        "no barrier after the wait",
        DRAIN,
        ((WAIT, "        wait(0)\n"),),
        "wait",
        "Bs[kt % 2].operand",
        "missing barrier",
        "barrier() before line 13",
    ),
    Mistake(
        "copies over cells that are read",
        DRAIN,
        ((WAIT, "        wait(0)\n"),),
        "race",
        "copy_async(As[(kt + 1) % 2]",
        "missing barrier",
    ),
    Mistake(
        "wait after the barrier",
        DRAIN,
        ((WAIT, "        barrier()\n        wait(0)\n"),),
        "wait",
        "As[kt % 2].operand",
        "missing barrier",
        "barrier() before line 18",
    ),
    Mistake(
        "no wait",
        DRAIN,
        ((WAIT, "        barrier()\n"),),
        "wait",
        "As[kt % 2].operand",
        "missing wait",
        "wait(0) and barrier()",
    ),
    Mistake(
        "wait for one group too few",
        DRAIN,
        ((WAIT, "        wait(1)\n        barrier()\n"),),
        "wait",
        "As[kt % 2].operand",
        "missing wait",
        "wait(0) instead of wait(1) at line 12",
    ),
    Mistake(
        "group never closed",
        DRAIN,
        (('kt + 1], via="dma")\n        commit()\n', 'kt + 1], via="dma")\n'),),
        "wait",
        "As[kt % 2].operand",
        "missing wait",
        "commit() after line 15",
    ),
    # ---------------------------------------------------------------------------------- stores and the grid
    Mistake(
        "store transposed", SINGLE, (("[bm, bn], acc", "[bm, bn].T, acc"),), "epilogue", "store(C", "operand transposed"
    ),
    Mistake(
        "store not transposed",
        "good/transposed_output",
        ((".T, acc", ", acc"),),
        "epilogue",
        "store(C",
        "operand transposed",
    ),
    Mistake(
        "load by the other block index",
        SINGLE,
        (("A.tile(64, 32)[bm, kt]", "A.tile(64, 32)[bn, kt]"),),
        "epilogue",
        "store(C",
        "operand transposed",
        "bm or bn",
    ),
    Mistake(
        "store by the other block index",
        SINGLE,
        (("C.tile(64, 64)[bm, bn]", "C.tile(64, 64)[bn, bm]"),),
        "epilogue",
        "store(C",
        "operand transposed",
    ),
    Mistake(
        "one tensor multiplied by itself",
        SINGLE,
        (("load(B.tile(64, 32)[bn, kt]", "load(A.tile(64, 32)[bn, kt]"),),
        "epilogue",
        "store(C",
        "operand transposed",
    ),
    Mistake(
        "half of an operand stored for another",
        TWO,
        (('mma(As[1].operand("a", low', 'mma(As[0].operand("a", low'),),
        "epilogue",
        "store(C.tile(64, 64)[2 * bm + 1, bn]",
        "stage off by n",
    ),
    Mistake(
        "block index dropped",
        SINGLE,
        (("C.tile(64, 64)[bm, bn]", "C.tile(64, 64)[bm, 0]"),),
        "epilogue",
        "store(C",
        "bounds guard",
    ),
    Mistake(
        "grid without the ragged tile",
        SINGLE,
        (("block(cdiv(M, 64)", "block(M // 64"),),
        "coverage",
        "store(C",
        "bounds guard",
    ),
    Mistake(
        "half of the output never stored",
        TWO,
        (("    store(C.tile(64, 64)[2 * bm + 1, bn], low)\n", ""),),
        "coverage",
        "store(C",
        "bounds guard",
    ),
    Mistake(
        "stored twice",
        SINGLE,
        (("    store(C.tile(64, 64)[bm, bn], acc)\n", "    store(C.tile(64, 64)[bm, bn], acc)\n" * 2),),
        "coverage",
        "store(C",
        None,
        "deleted: store(C",
    ),
)
# A few that run in every quick test: one of each kind.
QUICK = {
    "k-step of one operand fixed",
    "tail left out",
    "stage filled one behind",
    "no barrier after the reads",
    "wait after the barrier",
    "store by the other block index",
    "stored twice",
}


def cases() -> list[object]:
    return [pytest.param(m, id=m.name, marks=() if m.name in QUICK else (pytest.mark.slow,)) for m in MISTAKES]


@pytest.mark.parametrize("mistake", cases())
@pytest.mark.slow
def test_a_mistake_is_refuted_where_it_shows(mistake: Mistake) -> None:
    text = text_of(mistake.kernel, mistake.edits)
    report = check(text)
    lines = text.splitlines()
    assert not report.ok
    found = [o for o in report.obligations if o.verdict == "refuted" and o.kind == mistake.kind]
    here = [o for o in found if mistake.line in lines[o.line - 1]]
    assert here, f"refuted instead: {[(o.kind, o.line) for o in report.obligations if o.verdict == 'refuted']}"
    counterexample = here[0].counterexample
    assert counterexample is not None
    assert counterexample.fix_class == mistake.fix_class
    assert mistake.fix in counterexample.fix
    assert_no_disagreement(report)
    # The interpreter's own judgement, at the sizes of the witness.
    assert (
        wrong(
            core_of(text),
            REFERENCES.get(mistake.kernel, a_times_bt),
            sizes_list=[counterexample.sizes],
        )
        is not None
    )


def assert_no_disagreement(report: CheckReport) -> None:
    assert not [o.reason for o in report.obligations if o.reason and o.reason.startswith("internal")]


HARMLESS: tuple[tuple[str, str, tuple[Edit, ...]], ...] = (
    ("an over-run", SINGLE, (("range(cdiv(K, 32))", "range(cdiv(K, 32) + 1)"),)),
    ("a pad on one side", SINGLE, (("B.tile(64, 32)", "B.tile(64, 32, pad=1.0)"),)),
    (
        "a barrier too many",
        DOUBLE,
        (("        store(Bs[(kt + 1) % 2], b)\n", "        store(Bs[(kt + 1) % 2], b)\n        barrier()\n"),),
    ),
    (
        "a swizzle on one buffer",
        SINGLE,
        (("shared(bf16, 64, 32), sh", "shared(bf16, 64, 32, swizzle=xor(4, unit=8)), sh"),),
    ),
    ("padded rows", SINGLE, (("shared(bf16, 64, 32), sh", "shared(bf16, 64, 32, pad=8), sh"),)),
    ("another vector", SINGLE, (("[bm, kt], map=linear(4)", "[bm, kt], map=linear(8)"),)),
    (
        "k-steps backwards",
        SINGLE,
        (('"a", acc, ks), Bs.operand("b", acc, ks)', '"a", acc, 3 - ks), Bs.operand("b", acc, 3 - ks)'),),
    ),
    ("a stage numbered otherwise", DOUBLE, (("Bs[kt % 2].operand", "Bs[(kt + 2) % 2].operand"),)),
    (
        "copies exchanged",
        DRAIN,
        (("bm, bn = block(cdiv(M, 256), cdiv(N, 224))", "bm, bn = block(cdiv(M, 256), cdiv(N, 224), order=columns)"),),
    ),
    ("a wait in the epilogue dropped", DRAIN, (("    wait(0)\n    store", "    store"),)),
    (
        "a guard that always holds",
        SINGLE,
        (("            acc += mma(x, y)\n", "            if kt < cdiv(K, 32):\n                acc += mma(x, y)\n"),),
    ),
    (
        "a guard by parity on both paths",
        SINGLE,
        (
            (
                "            acc += mma(x, y)\n",
                "            if kt % 2 == 0:\n                acc += mma(x, y)\n"
                "            if kt % 2 == 1:\n                acc += mma(x, y)\n",
            ),
        ),
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "edits"), [c[1:] for c in HARMLESS], ids=[c[0] for c in HARMLESS])
def test_a_harmless_edit_is_proved(kernel: str, edits: tuple[Edit, ...]) -> None:
    text = text_of(kernel, edits)
    report = check(text)
    assert report.ok, report.render(text)
    core = core_of(text)
    assert wrong(core, a_times_bt, sizes_list=trip_sizes(core)[:3], policies=POLICIES[:4]) is None
