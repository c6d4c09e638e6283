"""The language reference: complete, up to date, short enough for prompts; its examples run; targets keep apart."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from argus.agents.prompts import load
from argus.cli.main import app
from argus.dsl.check import check
from argus.dsl.diagnostics import Code, KernelError
from argus.dsl.frontend import parse, words
from argus.dsl.frontend.reference import Construct, compact, constructs, example, page
from argus.dsl.interp import run, trip_sizes
from argus.dsl.ir import Kernel, Store, TensorParam
from argus.dsl.ir.infer import infer
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.verify import verify
from argus.dsl.layout import evaluate
from argus.dsl.tags.views import root
from argus.dsl.transform import to_core
from argus.retrieval.wordpieces import count, estimate

PAGE = Path(__file__).parents[3] / "docs" / "language.md"
MOST_TOKENS = 2500


def name_of(construct: Construct) -> str:
    return "-".join(construct.words[:3]) or "store via tma"


# ---------------------------------------------------------------------------------------------- pages


def test_the_committed_page_is_the_printed_one() -> None:
    assert PAGE.read_text("utf-8") == page(), "print it again: argus docs language > docs/language.md"


def test_the_command_prints_both_forms() -> None:
    assert CliRunner().invoke(app, ["docs", "language"]).stdout == page()
    assert CliRunner().invoke(app, ["docs", "language", "--compact"]).stdout == compact()


def test_every_word_of_the_language_has_an_entry() -> None:
    explained = [word for c in constructs() for word in c.words]
    assert len(explained) == len(set(explained))
    methods = {*words.VIEW_METHODS, *words.FRAG_METHODS, "T", "fill", "use"}
    others = {"if"}
    assert set(explained) == words.RESERVED | set(words.SWIZZLES) | methods | others


def test_the_short_form_holds_every_construct_in_few_tokens() -> None:
    text = compact()
    assert all(c.form in text and c.brief in text for c in constructs())
    # Word pieces of a small vocabulary, exact where it is installed, estimated from above otherwise.
    assert count(text) < MOST_TOKENS
    assert estimate(text) < MOST_TOKENS


def test_the_lowering_agent_reads_the_short_form() -> None:
    assert compact().strip() in load("lowering").text


# ------------------------------------------------------------------------------------------- examples

# What the checker leaves open today. It may come to prove them; it may not refute them.
OPEN = {"split", "role", "atomic_add", "gather-scatter", "shuffle"}  # the last two have no ensures
EACH = [pytest.param(c, id=name_of(c)) for c in constructs()]


def arguments(core: Kernel, sizes: dict[str, int]) -> dict[str, Any]:
    """Random tensors, indices 0, 1, 2, …; scalars of 0.5 or 1."""
    rng = np.random.default_rng(0)
    made: dict[str, Any] = {}
    written = {n.view for n in walk_body(core.body) if isinstance(n, Store)}
    outputs = {e.tensor for e in core.ensures} or {root(view) for view in written}
    for p in core.params:
        if not isinstance(p, TensorParam):
            made[p.name] = 1 if p.dtype == "i32" else 0.5
        elif p.name not in outputs:
            shape = tuple(evaluate(e, sizes) for e in p.shape)
            made[p.name] = np.arange(math.prod(shape)).reshape(shape) if p.dtype == "i32" else rng.normal(size=shape)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("construct", EACH)
def test_examples_are_kernels_that_run_without_a_fault(construct: Construct) -> None:
    core = to_core(parse(example(construct)))
    verify(core)
    infer(core)
    sizes = trip_sizes(core)[0]
    if "P" in sizes:  # slots point at tokens 0, 1, 2, …
        sizes = {**sizes, "T": sizes["P"]}
    outcome = run(core, sizes, arguments(core, sizes))
    assert not outcome.faults, [str(f) for f in outcome.faults]
    assert outcome.outputs
    assert all(np.isfinite(o).all() for o in outcome.outputs.values())


@pytest.mark.parametrize("construct", EACH)
def test_examples_use_what_they_explain(construct: Construct) -> None:
    text = example(construct)
    assert any(word in text for word in construct.words) or 'via="tma", stage=' in text
    assert (construct.target == "both") or f'target="{construct.target}"' in text


@pytest.mark.slow
@pytest.mark.parametrize("construct", EACH)
def test_examples_are_proved_where_the_checker_decides_them(construct: Construct) -> None:
    report = check(example(construct))
    assert not report.count("refuted"), report.render(example(construct))
    if name_of(construct) not in OPEN:
        assert report.ok, report.render(example(construct))


# -------------------------------------------------------------------------------------------- targets

HEADER = """@kernel(target="{target}", waves=8)
def f(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 8 == 0)
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    S = shared(bf16, 64, 64)
"""

# What only one target has: the statement that the other one refuses, and the words of the diagnostic.
ONLY: dict[str, list[tuple[str, str]]] = {
    "sm_90a": [
        ('copy_async(S, A.tile(64, 64)[bm, 0], via="tma")', 'no copies via "tma"'),
        ('copy_async(S, A.tile(64, 64)[bm, 0], via="cp")', 'no copies via "cp"'),
        ('store(C.tile(64, 64)[bm, bn], load(C.tile(64, 64)[bm, bn]), via="tma", stage=shared_f32)', "no TMA stores"),
        ('fence("async")', "no async proxy"),
        ("full = mbar(1)", "no barriers in memory"),
        ("mma_wait(0)", "no pending MMAs"),
        ("barrier(waves=4)", "no barriers of some waves"),
        ("S2 = shared(bf16, 64, 64, swizzle=b128)", "no swizzle b128"),
        ('with role("all", waves=8, regs=64):\n        barrier()', "no register budget"),
        ('acc = mma_acc("m64n64k16", 64, 64)', "belongs to sm_90a"),
        ('acc = mma_acc("m16n8k16", 64, 64, grid=(4, 2))', "belongs to sm_90a"),
    ],
    "gfx942": [
        ('copy_async(S, A.tile(64, 64)[bm, 0], via="dma")', 'no copies via "dma"'),
        ("shift(4)", "no shift of barrier phases"),
        ("sched_group(mfma=1)", "no scheduling policies"),
        ("sched_barrier()", "no scheduling policies"),
        ("priority(1)", "no scheduling policies"),
        ("S2 = shared(bf16, 64, 64, swizzle=xor(8, unit=8))", "no free swizzles"),
        ('acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))', "belongs to gfx942"),
        ('acc = mma_acc("m16n8k16", 64, 64, grid=(4, 2), regs="agpr")', "no accumulation registers"),
    ],
}
OTHER = {"sm_90a": "gfx942", "gfx942": "sm_90a"}


@pytest.mark.parametrize(
    ("target", "statement", "message"),
    [pytest.param(t, s, m, id=f"{t}: {s[:24]}") for t, cases in ONLY.items() for s, m in cases],
)
def test_what_the_other_target_has_is_refused_with_a_caret(target: str, statement: str, message: str) -> None:
    text = HEADER.format(target=OTHER[target])
    if "shared_f32" in statement:
        text += "    shared_f32 = shared(f32, 64, 64)\n"
    text += f"    {statement}\n    store(S, load(A.tile(64, 64)[bm, 0]))\n"
    with pytest.raises(KernelError) as refused:
        verify(to_core(parse(text)))
    d = refused.value.diagnostic
    assert d.code is Code.BAD_TARGET
    assert message in d.message
    assert d.hint
    line = text.splitlines()[d.span.line - 1]
    assert line.strip() == statement.split("\n", maxsplit=1)[0]
    assert f"{line}\n" in d.render(text.splitlines())
    assert "^" in d.render(text.splitlines())


def test_each_construct_of_one_target_is_among_them() -> None:
    for c in constructs():
        if c.target != "both":
            shown = " ".join(s for s, _ in ONLY[c.target])
            assert any(word in shown for word in c.words) or 'via="tma", stage=' in shown, c.words
