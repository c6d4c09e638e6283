"""`load(view, like=x)`: vectors and tiles in the lanes of a fragment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from argus.dsl.check import check
from argus.dsl.interp import wrong
from argus.dsl.ir import Kernel
from argus.dsl.ir.verify import problems

# A product with everything an epilogue may add: a factor a row, an offset a column, a residual.
FUSED = """
@kernel(target="gfx942", waves=4)
def f(A: bf16[m:M, k:K], B: bf16[n:N, k:K], W: f32[m:M], b: f32[n:N], R: f32[m:M, n:N], C: f32[m:M, n:N]):
    ensures(C[m, n], over(k, K), uses=(A, B, W, b, R))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 64, 32), shared(bf16, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        copy(As, A.tile(64, 32)[bm, kt])
        copy(Bs, B.tile(64, 32)[bn, kt])
        barrier()
        for ks in unroll(4):
            acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
        barrier()
    w, c, r = load(W.tile(64)[bm], like=acc), load(b.tile(64)[bn], like=acc), load(R.tile(64, 64)[bm, bn], like=acc)
    store(C.tile(64, 64)[bm, bn], acc * w + c + r)
"""
SIZES = [{"M": 70, "N": 90, "K": 40}]


def fused(inputs: Mapping[str, Any], _: Mapping[str, int]) -> dict[str, Any]:
    product = inputs["A"] @ inputs["B"].T
    return {"C": product * inputs["W"][:, None] + inputs["b"] + inputs["R"]}


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("", "", True),
        ("W.tile(64)[bm]", "W.tile(64)[bn]", False),
        ("b.tile(64)[bn]", "b.tile(64)[bm]", False),
        ("R.tile(64, 64)[bm, bn]", "R.tile(64, 64)[bn, bm]", False),
    ],
)
def test_epilogue(old: str, new: str, core: Callable[[str], Kernel], *, right: bool) -> None:
    assert (wrong(core(FUSED.replace(old, new)), fused, sizes_list=SIZES) is None) is right


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("load(W.tile(64)[bm], like=acc)", "load(W.tile(32)[bm], like=acc)", "do not broadcast to the 64 of `acc`"),
        ("R: f32[m:M, n:N]", "R: f32[n:N, m:M]", "in another order"),
        ("W: f32[m:M]", "W: f32[k:M]", "axis `k` is no axis of `acc`"),
        ("W: f32[m:M]", "W: f32[M]", "without a name"),
    ],
)
def test_what_is_not_alike(old: str, new: str, message: str, core: Callable[[str], Kernel]) -> None:
    (found, *_) = problems(core(FUSED.replace(old, new)))
    assert message in found.message


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), [("W.tile(64)[bm]", "W.tile(64)[bn]"), ("[bm, bn], like", "[bn, bm], like")])
def test_checker_never_proves_the_wrong_one(old: str, new: str) -> None:
    """Whether or not the checker follows the broadcast."""
    assert old in FUSED
    assert not check(FUSED.replace(old, new)).ok
