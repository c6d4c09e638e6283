"""Attention, mixture of experts, norms, split-K: kernels with sugar, coordinates, gathers, reductions and atomics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argus.dsl.interp import POLICIES, Wrong, trip_sizes, wrong
from argus.dsl.ir import Kernel

Core = Callable[[str], Kernel]
Text = Callable[[str], str]
Values = Mapping[str, Any]
Sizes = Mapping[str, int]
FEW = (*POLICIES[:3], POLICIES[-1])
GOOD = sorted((Path(__file__).parents[2] / "kernels" / "good").glob("*.py"))


def causal_attention(inputs: Values, sizes: Sizes) -> dict[str, Any]:
    q, k, v = inputs["Q"], inputs["K"], inputs["V"]
    group = np.arange(sizes["H"]) // (sizes["H"] // sizes["G"])
    scores = np.einsum("hqd,hjd->hqj", q, k[group]) * inputs["scale"]
    scores = np.where(np.tril(np.ones(scores.shape[1:])) > 0, scores, -np.inf)
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    return {"O": np.einsum("hqj,hje->hqe", p / p.sum(axis=2, keepdims=True), v[group])}


def attention(kernel: Kernel, size: int) -> Wrong | None:
    return wrong(kernel, causal_attention, sizes_list=[{"H": 4, "G": 2, "S": size}], policies=FEW)


@pytest.mark.parametrize("size", [20, pytest.param(150, marks=pytest.mark.slow)])
def test_attention(size: int, text: Text, core: Core) -> None:
    assert attention(core(text("attention")), size) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(s.j <= s.q) & (s.j < S)", "s.j < S"),
        ("(s.j <= s.q)", "(s.j < s.q)"),
        ("            o *= c\n", ""),
        ("(o / l)", "o"),
        ("bh // (H // G)", "bh // H"),
        ("min((bq + 1) * 128, S)", "min(bq * 128 + 64, S)"),
        ('"b", o, js)\n', '"b", o, 3 - js)\n'),
        ("unroll(16)", "unroll(15)"),
    ],
)
def test_planted_mistakes_of_attention(old: str, new: str, text: Text, core: Core) -> None:
    changed = text("attention").replace(old, new)
    assert changed != text("attention")
    assert attention(core(changed), 150) is not None


def silu_gate(inputs: Values, _: Sizes) -> dict[str, Any]:
    slot, expert = inputs["slot"], np.repeat(inputs["expert"], 64)
    x = np.where(slot[:, None] >= 0, inputs["X"][slot], 0.0)
    gate = np.einsum("sk,snk->sn", x, inputs["Wg"][expert])
    return {"Y": gate / (1 + np.exp(-gate)) * np.einsum("sk,snk->sn", x, inputs["Wu"][expert])}


def routed(sizes: Sizes, rng: np.random.Generator) -> dict[str, Any]:
    slot = np.where(rng.random(sizes["P"]) < 0.2, -1, rng.integers(0, sizes["T"], sizes["P"]))
    weights = (sizes["E"], sizes["N"], sizes["K"])
    return {
        "X": rng.standard_normal((sizes["T"], sizes["K"])),
        "Wg": rng.standard_normal(weights),
        "Wu": rng.standard_normal(weights),
        "slot": slot,
        "expert": rng.integers(0, sizes["E"], sizes["P"] // 64),
    }


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("", "", True),
        ("Wu[e]", "Wg[e]", False),
        ("expert[bs]", "expert[0]", False),
        ("slot.tile(64)[bs]", "slot.tile(64)[0]", False),
        ("silu(g) * u", "silu(u) * g", False),
    ],
)
@pytest.mark.slow
def test_mixture_of_experts(old: str, new: str, text: Text, core: Core, *, right: bool) -> None:
    kernel = core(text("moe_up").replace(old, new))
    sizes = {"P": 128, "T": 50, "E": 3, "N": 72, "K": 100}
    assert (wrong(kernel, silu_gate, sizes_list=[sizes], policies=FEW, inputs=routed) is None) is right


def rms(inputs: Values, _: Sizes) -> dict[str, Any]:
    x = inputs["X"]
    return {"Y": x / np.sqrt((x * x).mean(axis=1, keepdims=True) + inputs["eps"]) * inputs["W"]}


@pytest.mark.parametrize("columns", [100, 2048, 4400])
def test_rmsnorm(columns: int, text: Text, core: Core) -> None:
    assert wrong(core(text("rmsnorm")), rms, sizes_list=[{"R": 3, "C": columns}]) is None


def test_rmsnorm_reduced_within_waves_only(text: Text, core: Core) -> None:
    kernel = core(text("rmsnorm").replace(', across="block"', ""))
    assert wrong(kernel, rms, sizes_list=[{"R": 3, "C": 2048}], policies=FEW) is not None


SPLIT_K = """
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    begin, end = split(cdiv(K, 32), 3)
    As, Bs = shared(bf16, 64, 32), shared(bf16, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range(begin, end):
        store(As, load(A.tile(64, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(4):
            acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
        barrier()
    atomic_add(C.tile(64, 64)[bm, bn], acc)
"""


def test_trip_sizes_of_split_k(core: Core) -> None:
    assert {math.ceil(math.ceil(s["K"] / 32) / 3) for s in trip_sizes(core(SPLIT_K))} == {1, 2, 3}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("", "", None),
        ("atomic_add(", "store(", "write-set"),
        ("range(begin, end)", "range(begin, end + 1)", "value"),
        ("range(begin, end)", "range(0, end)", "value"),
    ],
)
def test_split_k(old: str, new: str, kind: str | None, core: Core, gemm: Callable[..., Any]) -> None:
    found = wrong(core(SPLIT_K.replace(old, new)), gemm, sizes_list=[{"M": 70, "N": 72, "K": 200}], policies=FEW)
    got = None if found is None else "value" if found.fault is None else found.fault.kind
    assert got == kind


@pytest.mark.slow
@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_hand_written_kernels_are_right(path: Path, core: Core) -> None:
    kernel = core(path.read_text("utf-8"))
    relu, transposed = "relu" in path.stem, "transposed" in path.stem
    by_k = "k_major" in path.stem

    def reference(inputs: Values, _: Sizes) -> dict[str, Any]:
        b = inputs["B"] if by_k else np.swapaxes(inputs["B"], -1, -2)
        c = inputs["A"] @ b
        c = np.maximum(c * 0.5, 0) if relu else c
        return {"C": c.T if transposed else c}

    assert wrong(kernel, reference, sizes_list=trip_sizes(kernel)[:4], policies=POLICIES[:5]) is None
