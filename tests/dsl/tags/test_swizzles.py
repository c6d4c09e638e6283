"""Swizzles that are advised: none where nothing conflicts, the best where something does, checked and exact."""

from __future__ import annotations

from pathlib import Path

from argus.dsl.check import check
from argus.dsl.diagnostics import apply

GOOD = Path(__file__).parents[2] / "kernels" / "good"
LINEAR = (GOOD / "start_single_stage.py").read_text("utf-8")


def test_conflicting_buffers_get_a_swizzle_that_frees_them() -> None:
    report = check(LINEAR, advise=True)
    assert report.bank_conflicts["read_way"] == 8
    assert [a.line for a in report.advice] == [6, 6]
    better = check(apply([e for a in report.advice for e in a.edits], LINEAR), advise=True)
    assert better.ok
    assert better.bank_conflicts["read_way"] == better.bank_conflicts["write_way"] == 1
    assert not better.advice
    text = report.render(LINEAR)
    assert (
        "advice: As has up to 8-way bank conflicts, then 1-way (288 and 64 LDS cycles): shared(bf16, 64, 32, " in text
    )


def test_nothing_is_advised_unasked_or_for_padded_rows() -> None:
    assert not check(LINEAR).advice
    assert not check(LINEAR.replace("shared(bf16, 64, 32)", "shared(bf16, 64, 32, pad=8)"), advise=True).advice


def test_the_edit_of_a_ring_is_an_edit_of_its_text() -> None:
    text = """
@kernel(target="gfx942", waves=2)
def staged(X: f32[r:R, c:C], Y: f32[c:C, r:R]):
    ensures(Y[c, r], uses=(X,))
    br, bc = block(cdiv(R, 32), cdiv(C, 32))
    t = ring(2, S=shared(f32, 32, 32))
    with t.fill() as st:
        copy_async(st.S, X.tile(32, 32)[br, bc], via="dma")
    with t.use() as st:
        store(Y.tile(32, 32)[bc, br], load(st.S.T, map=linear(4)))
"""
    report = check(text, advise=True)
    assert report.ok
    for a in report.advice:
        assert a.line == 6
        assert check(apply(a.edits, text)).ok
    assert report.advice
