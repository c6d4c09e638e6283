"""What is given to code generation, executed by the simulator and compared with fp64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named

from .lowering import Run, run

GOOD = Path(__file__).parents[2] / "kernels" / "good"
XOR4, XOR8 = "xor(4, unit=8, rows=2)", "xor(8, unit=8, rows=1)"

SCHEDULES: dict[str, dict[str, Any]] = {
    "single stage": {},
    "16 bytes a lane": {"vector": 16},
    "prefetch": {"tile": (64, 64, 64), "prefetch": True, "swizzle": XOR8, "pack": 2, "vector": 16},
    "two stages": {"tile": (64, 64, 64), "stages": 2, "swizzle": XOR8, "pack": 2, "regs": "agpr"},
    "swizzle beyond an atom": {
        "tile": (64, 64, 64),
        "atom": "16x16x16",
        "swizzle": "xor(8, unit=8, rows=4)",
        "pack": 2,
        "vector": 16,
    },
    "padded rows": {"tile": (64, 64, 32), "stages": 2, "pad": 8, "pack": 2, "vector": 16},
    "three stages": {"tile": (64, 64, 32), "stages": 3, "interleave": 2},
    "direct to LDS": {"tile": (64, 96, 32), "atom": "16x16x16", "staging": "dma", "stages": 2, "swizzle": XOR4},
    "counted waits": {"tile": (64, 64, 32), "staging": "dma", "stages": 3, "wait": "count", "swizzle": XOR4, "pack": 2},
    "four stages": {"tile": (64, 32, 32), "grid": (2, 1), "staging": "dma", "stages": 4, "wait": "count"},
    "swapped": {"tile": (96, 64, 32), "grid": (2, 2), "atom": "16x16x16", "swap": True, "priority": True},
    "uneven waves": {"tile": (64, 96, 32), "grid": (2, 3), "stages": 2, "vector": 16},
    "uneven copies": {
        "tile": (48, 32, 32),
        "grid": (3, 2),
        "atom": "16x16x16",
        "staging": "dma",
        "stages": 3,
        "wait": "count",
    },
}
RAGGED = {"M": 101, "N": 68, "K": 136}
SIZES = (
    {"M": 33, "N": 4, "K": 8},
    pytest.param(RAGGED, marks=pytest.mark.slow),
    pytest.param({"M": 64, "N": 64, "K": 96}, marks=pytest.mark.slow),
)


def gemm_text(fields: dict[str, Any], dtype: str = "bf16") -> str:
    problem = make_problem(task_named("gemm"), shape={"m": 64, "n": 64, "k": 64}, dtype=dtype)
    return families()["gemm"].text(GemmSchedule.model_validate(fields), problem)


def assert_gemm(got: Run, want: str = "mk,nk->mn", scale: float = 1.0, rounding: float = 0.0) -> None:
    a, b, c = got.wide("A"), got.wide("B"), got.wide("C")
    exact = scale * np.einsum(want, a, b)
    magnitude = abs(scale) * np.einsum(want, abs(a), abs(b))
    # Accumulating n products in f32, and one rounding of the result.
    assert np.all(abs(c - exact) <= 2e-6 * magnitude + rounding * abs(exact)), np.nanmax(abs(c - exact))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.slow
def test_schedules_on_ragged_problems(name: str, sizes: dict[str, int]) -> None:
    assert_gemm(run(gemm_text(SCHEDULES[name]), sizes))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two stages", "counted waits"])
def test_f16(name: str) -> None:
    assert_gemm(run(gemm_text(SCHEDULES[name], "f16"), RAGGED))


@pytest.mark.slow
@pytest.mark.parametrize("trips", range(7))
@pytest.mark.parametrize("name", ["three stages", "counted waits"])
def test_every_remainder_of_trips_by_stages(name: str, trips: int) -> None:
    depth = GemmSchedule.model_validate(SCHEDULES[name]).tile[2]
    assert_gemm(run(gemm_text(SCHEDULES[name]), {"M": 64, "N": 64, "K": max(8, depth * trips - 8)}))


@pytest.mark.slow
@pytest.mark.parametrize("order", ["rows", "columns", "xcd(8)", "xcd(3)", "group_m(1)", "group_m(3)", "group_m(64)"])
@pytest.mark.parametrize("grid", [(1, 1), (3, 4), *(pytest.param(x, marks=pytest.mark.slow) for x in ((5, 7), (8, 8)))])
def test_block_orders_cover_the_grid_once(order: str, grid: tuple[int, int]) -> None:
    text = gemm_text({"tile": (16, 16, 16), "grid": (1, 1), "atom": "16x16x16", "vector": 4})
    text = text.replace("cdiv(N, 16))", f"cdiv(N, 16), order={order})")
    got = run(text, {"M": 16 * grid[0] - 3, "N": 16 * grid[1] - 4, "K": 16})
    assert got.stats.blocks == grid[0] * grid[1]
    assert_gemm(got)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(GOOD.glob("*.py")), ids=lambda p: p.stem)
def test_hand_written_kernels(path: Path) -> None:
    text = path.read_text("utf-8")
    sizes = {"M": 76, "N": 72, "K": 72} | ({"Z": 2} if "Z" in text else {})
    got = run(text, sizes)
    if path.stem == "relu_epilogue":
        want = np.maximum(0.5 * got.wide("A") @ got.wide("B").T, 0)
        assert np.allclose(got.wide("C"), want, atol=1e-4)
        return
    order = {"k_major_b": "mk,kn->mn", "batched": "bmk,bnk->bmn", "transposed_output": "mk,nk->nm"}
    assert_gemm(got, order.get(path.stem, "mk,nk->mn"))


NARROW = """
@kernel(target="gfx942", waves=4)
def gemm(A: f16[m:M, k:K], B: f16[n:N, k:K], C: {out}[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(f16, 64, 32), shared(f16, 64, 32)
    acc = mma_acc("16x16x16", 64, 64, grid=(2, 2))
    for kt in range(cdiv(K, 32)):
        store(As, load(A.tile(64, 32)[bm, kt], map=linear(8)))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier()
        for ks in unroll(2):
            acc += mma({a}.operand("a", acc, ks), {b}.operand("b", acc, ks))
        barrier()
    store({view}, (acc * 0.25).to({out}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize(("out", "rounding"), [("bf16", 2**-8), ("f16", 2**-11)])
def test_narrow_outputs_round_once(out: str, rounding: float, *, swap: bool) -> None:
    a, b, view = ("Bs", "As", "C.tile(64, 64)[bm, bn].T") if swap else ("As", "Bs", "C.tile(64, 64)[bm, bn]")
    text = NARROW.format(out=out, a=a, b=b, view=view)
    assert_gemm(run(text, {"M": 77, "N": 76, "K": 40}), scale=0.25, rounding=rounding)


ONE_WAVE = """
@kernel(target="gfx942", waves=1)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 32))
    As, Bs = shared(bf16, 32, 8), shared(bf16, 32, 8)
    acc = mma_acc("32x32x8", 32, 32)
    store(As, load(A.tile(32, 8)[bm, 0], map=linear(4)))
    store(Bs, load(B.tile(32, 8)[bn, 0], map=linear(4)))
    barrier()
    for kt in range(cdiv(K, 8)):
        x, y = As.operand("a", acc, 0), Bs.operand("b", acc, 0)
        store(As, load(A.tile(32, 8)[bm, kt + 1], map=linear(4)))
        store(Bs, load(B.tile(32, 8)[bn, kt + 1], map=linear(4)))
        acc += mma(x, y)
        barrier()
    store(C.tile(32, 32)[bm, bn], acc)
"""


def test_operands_are_read_before_their_cells_are_overwritten() -> None:
    assert_gemm(run(ONE_WAVE, {"M": 32, "N": 32, "K": 40}))
