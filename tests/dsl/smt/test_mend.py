"""Edits that mend: each is tried by the checker, and the text with it is proved when it is checked anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from argus.dsl.check import check
from argus.dsl.diagnostics import Counterexample, Edit, FixClass, KernelError, Span, apply
from argus.dsl.frontend import parse
from argus.dsl.ir import Kernel
from argus.dsl.smt import mend as mending
from argus.dsl.smt.mend import CANDIDATES, MOST_TRIALS, Key, counts, mend, sync, views
from argus.dsl.smt.mend.change import Change
from argus.dsl.transform import to_core
from argus.evals import planted_hopper
from argus.evals.planted import BUGS, PlantedBug, sources

KERNELS = Path(__file__).parents[2] / "kernels"
SOURCES = sources()


@dataclass(frozen=True)
class Slip:
    """A right kernel's text changed, and the edit that is to be found."""

    kernel: str
    old: str
    new: str
    tried: str

    @property
    def text(self) -> str:
        text = (KERNELS / "good" / f"{self.kernel}.py").read_text("utf-8")
        assert self.old in text
        return text.replace(self.old, self.new, 1)


SLIPS = {
    "barrier at a line": Slip(
        "start_single_stage",
        "        store(Bs, b)\n        barrier()\n",
        "        store(Bs, b)\n",
        "barrier() before line 13",
    ),
    "wait and barrier": Slip(
        "mixed_staging",
        "        wait(0)\n        barrier()\n",
        "        barrier()\n",
        "wait(0) and barrier() before line 13",
    ),
    "permuted rows of an operand": Slip(
        "row_halves",
        "As.rows(64, 64).operand",
        "As.rows(0, 64).operand",
        "As.rows(64, 64) instead of As.rows(0, 64) at line 15",
    ),
    "permuted rows of the output": Slip(
        "row_halves",
        ".rows(64, 64), low)",
        ".rows(0, 64), low)",
        "C.tile(128, 64)[bm, bn].rows(64, 64) instead of C.tile(128, 64)[bm, bn].rows(0, 64) at line 18",
    ),
    "k-step": Slip(
        "start_single_stage",
        'As.operand("a", acc, ks)',
        'As.operand("a", acc, 0)',
        'As.operand("a", acc, ks) instead of As.operand("a", acc, 0) at line 15',
    ),
    "k-steps": Slip(
        "start_single_stage",
        "unroll(4)",
        "unroll(2)",
        "for ks in unroll(4) instead of for ks in unroll(2) at line 14",
    ),
    "k-tiles": Slip(
        "start_single_stage",
        "range(cdiv(K, 32))",
        "range(K // 32)",
        "for kt in range(cdiv(K, 32)) instead of for kt in range(K // 32) at line 8",
    ),
    "stage": Slip(
        "guarded_prefetch",
        "store(As[(kt + 1) % 2]",
        "store(As[kt % 2]",
        "As[(kt + 1) % 2] instead of As[kt % 2] at line 13",
    ),
    "tile": Slip(
        "guarded_prefetch",
        "load(B.tile(64, 32)[bn, kt + 1]",
        "load(B.tile(64, 32)[bn, kt]",
        "B.tile(64, 32)[bn, kt + 1] instead of B.tile(64, 32)[bn, kt] at line 14",
    ),
    "guard": Slip(
        "guarded_prefetch",
        "if kt + 1 < cdiv(K, 32)",
        "if kt + 2 < cdiv(K, 32)",
        "if kt + 1 < cdiv(K, 32) instead of if kt + 2 < cdiv(K, 32) at line 12",
    ),
    "block index": Slip(
        "start_single_stage",
        "B.tile(64, 32)[bn, kt]",
        "B.tile(64, 32)[bm, kt]",
        "B.tile(64, 32)[bn, kt] instead of B.tile(64, 32)[bm, kt] at line 10",
    ),
    "output turned over": Slip(
        "start_single_stage",
        "C.tile(64, 64)[bm, bn], acc",
        "C.tile(64, 64)[bm, bn].T, acc",
        "C.tile(64, 64)[bm, bn] instead of C.tile(64, 64)[bm, bn].T at line 19",
    ),
    "grid": Slip(
        "start_single_stage",
        "block(cdiv(M, 64)",
        "block(M // 64",
        "block(cdiv(M, 64), cdiv(N, 64)) instead of block(M // 64, cdiv(N, 64)) at line 5",
    ),
    "stored twice": Slip(
        "start_single_stage",
        "    store(C.tile(64, 64)[bm, bn], acc)\n",
        "    store(C.tile(64, 64)[bm, bn], acc)\n" * 2,
        "line 20 deleted: store(C.tile(64, 64)[bm, bn], acc)",
    ),
    "first trip left out": Slip(
        "start_single_stage",
        "range(cdiv(K, 32))",
        "range(1, cdiv(K, 32))",
        "for kt in range(cdiv(K, 32)) instead of for kt in range(1, cdiv(K, 32)) at line 8",
    ),
    "wrong buffer": Slip(
        "start_single_stage",
        'Bs.operand("b", acc, ks)',
        'As.operand("b", acc, ks)',
        "Bs instead of As at line 15",
    ),
    "stage count": Slip(
        "guarded_prefetch",
        "store(As[(kt + 1) % 2]",
        "store(As[(kt + 1) % 1]",
        "As[(kt + 1) % 2] instead of As[(kt + 1) % 1] at line 13",
    ),
    "grid of the tile": Slip(
        "start_single_stage",
        "block(cdiv(M, 64)",
        "block(cdiv(M, 96)",
        "block(cdiv(M, 64), cdiv(N, 64)) instead of block(cdiv(M, 96), cdiv(N, 64)) at line 5",
    ),
}
QUICK = {"barrier at a line", "permuted rows of an operand"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SLIPS])
def test_the_edit_that_mends_a_slip_is_found_and_mends_it(name: str) -> None:
    slip = SLIPS[name]
    found = [c for c in check(slip.text).counterexamples if c.edits]
    assert slip.tried in {c.tried for c in found}
    for c in found:
        assert check(apply(c.edits, slip.text)).ok
        assert "(tried: then it is proved)" in c.render(()) or f"= tried: {c.tried}; then it is proved" in c.render(())


@pytest.mark.slow
@pytest.mark.parametrize("bug", [b for b in BUGS if b.fix_class != "contract missing"], ids=lambda b: b.name)
def test_every_planted_bug_is_mended(bug: PlantedBug) -> None:
    text = bug.plant(SOURCES[bug.origin].text)
    found = check(text).counterexamples
    assert found
    assert all(c.edits and check(apply(c.edits, text)).ok for c in found)


# One of each kind of edit that only Hopper kernels need.
ON_HOPPER = {
    "stage freed while MMAs read it": "mma_wait(1) instead of mma_wait(2)",
    "fill waits for the completion before": "await_phase(empty[kt % 3], kt // 3 - 1) instead of",
    "use waits for another stage": "await_phase(full[kt % 3], kt // 3) instead of",
    "no proxy fence before the TMA store": 'fence("async") before line',
    "bytes of one copy announced": "arrive(full[kt % 3], bytes=24576) instead of",
    "stage free after half of its users": "mbar(8, count=3) instead of mbar(4, count=3)",
    "TMA store before all waves have written": "barrier(waves=4) before line",
    "block ends while its stores are in flight": "wait(0) after line",
    "both consumers take the first rows": "st.As.rows(g * 64, 64) instead of st.As.rows(0, 64)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_HOPPER)
def test_planted_hopper_bugs_are_mended(name: str) -> None:
    bug = next(b for b in planted_hopper.BUGS if b.name == name)
    found = [c for c in check(bug.text).counterexamples if c.edits]
    assert any(ON_HOPPER[name] in c.tried for c in found), [c.tried for c in found]
    assert check(apply(found[0].edits, bug.text), fixes=False).ok


def test_verdicts_do_not_depend_on_fixes() -> None:
    text = SLIPS["barrier at a line"].text
    plain, explained = check(text, fixes=False), check(text)
    assert [o.verdict for o in plain.obligations] == [o.verdict for o in explained.obligations]
    assert not any(c.tried for c in plain.counterexamples)


@pytest.mark.slow
def test_two_slips_get_an_edit_each() -> None:
    text = SLIPS["barrier at a line"].text.replace("C.tile(64, 64)[bm, bn], acc", "C.tile(64, 64)[bm, bn].T, acc")
    tried = {c.kind: c.tried for c in check(text).counterexamples}
    assert tried["race"] == "barrier() before line 13"
    assert tried["epilogue"].startswith("C.tile(64, 64)[bm, bn] instead of")


# --------------------------------------------------------------------------------------------- the driver

ONE: Key = ("conformity", 14, 13, 0)
TEXT = (KERNELS / "good" / "start_single_stage.py").read_text("utf-8")
FOUND = Counterexample(
    kind="conformity", text="", consumer=Span("<kernel>", 17, 13, 17, 29), fix_class="stage off by n"
)


def test_trials_are_bounded() -> None:
    trials: list[Kernel] = []

    def never(kernel: Kernel, may_fail: frozenset[Key], wanted: frozenset[Key]) -> frozenset[Key] | None:
        trials.append(kernel)
        return may_fail

    assert mend(parse(TEXT), [(ONE, FOUND), (("race", 1, 1, 0), FOUND)], never) == {}
    assert 0 < len(trials) <= MOST_TRIALS


def test_an_edit_that_loses_another_obligation_is_not_offered() -> None:
    assert mend(parse(TEXT), [(ONE, FOUND)], lambda kernel, may_fail, wanted: None) == {}


def test_an_edit_that_only_hides_the_mistake_is_not_offered() -> None:
    sums: Key = ("completeness", 19, 5, 0)

    def hidden(kernel: Kernel, may_fail: frozenset[Key], wanted: frozenset[Key]) -> frozenset[Key] | None:
        del kernel, may_fail, wanted
        return frozenset({sums})

    assert mend(parse(TEXT), [(ONE, FOUND)], hidden, dependent=frozenset({sums})) == {}
    assert mend(parse(TEXT), [(ONE, FOUND)], hidden, open_=frozenset({sums})).keys() == {ONE}


def test_an_edit_after_which_all_holds_is_preferred() -> None:
    other: Key = ("coverage", 19, 5, 0)
    answers = iter([frozenset({other}), frozenset({other}), frozenset[Key]()])
    made = mend(parse(TEXT), [(ONE, FOUND), (other, FOUND)], lambda kernel, may_fail, wanted: next(answers))
    assert made[ONE] is made[other]


# ----------------------------------------------------------------------------------------- candidates

HOPPER = """
@kernel(target="sm_90a", waves=12)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: bf16[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    As, Bs = shared(bf16, 3, 128, 64, swizzle=b64), shared(bf16, 3, 64, 64, swizzle=b128)
    out = shared(bf16, 2, 64, 64, swizzle=b128)
    full, empty = mbar(1, count=3), mbar(8, count=3)
    bm, bn = block(cdiv(M, 128), cdiv(N, 64))
    with role("load", waves=4, regs=40):
        with elect():
            for i in range(cdiv(K, 64)):
                await_phase(empty[i % 3], i // 3 - 1)
                copy_async(As[i % 3], A.tile(128, 64)[bm, i], via="tma")
                copy_async(Bs[i % 3], B.tile(64, 64)[bn, i], via="tma")
                arrive(full[i % 3], bytes=24576)
    with role("compute", waves=8, regs=232, groups=2) as g:
        acc = mma_acc("m64n64k16", 64, 64)
        for i in range(cdiv(K, 64)):
            await_phase(full[i % 3], i // 3)
            for ks in unroll(4):
                acc += mma(As[i % 3].rows(64 * g, 64).operand("a", acc, ks), Bs[i % 3].operand("b", acc, ks))
            mma_wait(1)
            if i > 0:
                arrive(empty[(i + 2) % 3])
        mma_wait(0)
        store(out[g], acc.to(bf16))
"""


def at(line: str, text: str = HOPPER) -> Counterexample:
    """A counterexample at a line of the Hopper kernel."""
    for statement in nodes(parse(text)):
        if line in text.splitlines()[statement.line - 1]:
            return Counterexample(kind="x", text="", consumer=statement)
    raise AssertionError(line)


def nodes(kernel: Kernel) -> Iterator[Span]:
    from argus.dsl.ir.rewrite import walk_body  # noqa: PLC0415

    return (n.span for n in walk_body(kernel.body))


SHALLOW, DEEP = (f"shared(bf16, 3, 128, 64, swizzle={name})" for name in ("b64", "b128"))


@pytest.mark.parametrize(
    ("candidates", "line", "tried"),
    [
        (sync.fences, "store(out", 'fence("async") before line 27'),
        (
            sync.phases,
            "await_phase(full",
            "await_phase(full[i % 3], i // 3 - 1) instead of await_phase(full[i % 3], i // 3) at line 20",
        ),
        (sync.batches, "store(out", "mma_wait(0) instead of mma_wait(1) at line 23"),
        (views.swizzles, "As, Bs", f"{DEEP} instead of {SHALLOW} at line 6"),
    ],
)
def test_candidates_for_hopper_are_kernels_and_edits_of_the_text(
    candidates: Callable[[Kernel, Counterexample], Iterator[Change]], line: str, tried: str
) -> None:
    made = {c.words: c for c in candidates(parse(HOPPER), at(line))}
    assert tried in made
    assert parse(apply(made[tried].edits, HOPPER)) == made[tried].kernel


def test_loops_of_two_roles_take_each_others_trip_counts() -> None:
    uneven = HOPPER.replace(
        "for i in range(cdiv(K, 64)):\n            await", "for i in range(cdiv(K, 64) - 1):\n            await"
    )
    made = {c.words for c in counts.loops(parse(uneven), at("arrive(full", uneven))}
    assert "for i in range(cdiv(K, 64)) instead of for i in range(cdiv(K, 64) - 1) at line 19" in made


def test_swapped_operands_are_swapped_back() -> None:
    swapped = (
        TEXT.replace('As.operand("a"', 'As.operand("b"')
        .replace('Bs.operand("b"', 'Bs.operand("a"')
        .replace("mma(x, y)", "mma(y, x)")
    )
    assert not check(swapped).ok
    found = at("store(C", swapped)
    (change,) = [c for c in views.orientation(parse(swapped), found) if len(c.edits) > 1]
    assert check(apply(change.edits, swapped)).ok


def test_unequal_packs_are_made_equal() -> None:
    made = [c.words for c in views.packs(parse(TEXT.replace('"a", acc, ks)', '"a", acc, ks, pack=2)')), FOUND)]
    assert 'As.operand("a", acc, ks) instead of As.operand("a", acc, ks, pack=2) at line 15' in made


def test_pads_that_are_summed_are_zero() -> None:
    made = [c.words for c in counts.pads(parse(TEXT.replace("A.tile(64, 32)", "A.tile(64, 32, pad=1.0)")), FOUND)]
    assert made == ["A.tile(64, 32)[bm, kt] instead of A.tile(64, 32, pad=1.0)[bm, kt] at line 9"]


@pytest.mark.parametrize("kernel", [TEXT, HOPPER])
def test_edits_and_kernel_of_each_candidate_agree(kernel: str) -> None:
    parsed = parse(kernel)
    place = next(nodes(parsed))
    spans = [place, list(nodes(parsed))[-3]]
    found = Counterexample(kind="x", text="", consumer=spans[1], producer=spans[0])
    seen = 0
    for kinds in CANDIDATES.values():
        for make in kinds:
            for change in make(parsed, found):
                seen += 1
                try:
                    text = parse(apply(change.edits, kernel))
                except KernelError:
                    with pytest.raises(KernelError):
                        to_core(change.kernel)
                    continue
                assert text == change.kernel
    assert seen > 5


def test_each_class_but_a_missing_contract_has_candidates() -> None:
    assert set(CANDIDATES) == set(FixClass.__args__) - {"contract missing"}
    assert mending.FIRST


# ---------------------------------------------------------------------------------------------- edits


def test_edits_are_applied_from_the_end_and_new_lines_are_indented_like_their_neighbour() -> None:
    text = "if a:\n    b(1)\n    c(2)"
    edits = (
        Edit(span=Span("f", 2, 7, 2, 8), new="10"),
        Edit(span=Span("f", 2, 5, 2, 9), new="x()", where="before"),
        Edit(span=Span("f", 3, 5, 3, 9), new="y()", where="after"),
    )
    assert apply(edits, text) == "if a:\n    x()\n    b(10)\n    c(2)\n    y()\n"
    assert apply([Edit(span=Span("f", 2, 5, 2, 9), new="", where="delete")], text) == "if a:\n    c(2)\n"
    assert apply([Edit(span=Span("f", 3, 5, 3, 9), new="", where="delete")], text) == "if a:\n    b(1)\n"
