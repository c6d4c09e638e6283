"""What the lowered TIR says: LDS objects, barriers, waits, launch."""

from __future__ import annotations

import re

import pytest

from argus.dsl.lower.gfx942.barriers import waitcnt_bits
from argus.dsl.lower.lowered import ParamSpec

from .lowering import lowered, script

REGISTER = """
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 64, 32), shared(bf16, 2, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2){regs})
    store(As[0], load(A.tile(64, 32)[bm, 0], map=linear(8)))
    store(Bs[0], load(B.tile(64, 32)[bn, 0], map=linear(8)))
    barrier()
    for kt in range(cdiv(K, 32)):
        a, b = load(A.tile(64, 32)[bm, kt + 1], map=linear(8)), load(B.tile(64, 32)[bn, kt + 1], map=linear(8))
        for ks in unroll(4):
            acc += mma(As[kt % 2].operand("a", acc, ks), Bs[kt % 2].operand("b", acc, ks))
        store(As[(kt + 1) % 2], a)
        store(Bs[(kt + 1) % 2], b)
        barrier()
    store(C.tile(64, 64)[bm, bn], acc)
"""
RING = """
@kernel(target="gfx942", waves=4)
def gemm(A: f16[m:M, k:K], B: f16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    r = ring({stages}, As=shared(f16, 64, 32), Bs=shared(f16, 64, 32))
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in unroll({ahead}):
        with r.fill() as st:
            copy_async(st.As, A.tile(64, 32)[bm, kt], via="dma")
            copy_async(st.Bs, B.tile(64, 32)[bn, kt], via="dma")
    for kt in range(cdiv(K, 32)):
        with r.use() as st:
            with r.fill() as nx:
                copy_async(nx.As, A.tile(64, 32)[bm, kt + {ahead}], via="dma")
                copy_async(nx.Bs, B.tile(64, 32)[bn, kt + {ahead}], via="dma")
            for ks in unroll(4):
                acc += mma(st.As.operand("a", acc, ks), st.Bs.operand("b", acc, ks))
    wait(0)
    store(C.tile(64, 64)[bm, bn], acc)
"""


def test_each_stage_is_an_object_of_its_own() -> None:
    text = script(REGISTER.format(regs=""))
    assert re.findall(r"(\w+) = T\.alloc_shared\(\((\d+),\), \"uint16\"\)", text) == [
        (name, "2048") for name in ("As_0", "Bs_0", "As_1", "Bs_1")
    ]


def test_fenced_barriers_without_copies_in_flight() -> None:
    text = script(REGISTER.format(regs=""))
    assert text.count('"argus_barrier"') == 1 + 2 + 1  # prologue, two stages, the rest
    assert "s.barrier" not in text
    assert "s.waitcnt" not in text


def test_raw_barriers_with_copies_in_flight() -> None:
    text = script(RING.format(stages=2, ahead=1))
    assert "argus_barrier" not in text
    barrier = re.escape('T.call_llvm_intrin("void", "llvm.amdgcn.s.barrier")')
    fence = re.escape('T.call_llvm_intrin("void", "llvm.amdgcn.sched.barrier", 0)')
    drain = re.escape(f'T.call_llvm_intrin("void", "llvm.amdgcn.s.waitcnt", {waitcnt_bits(lgkmcnt=0)})')
    guarded = re.findall(rf"{fence}\s+{drain}\s+{barrier}\s+{fence}", text)
    assert len(guarded) == len(re.findall(barrier, text)) == 3


@pytest.mark.parametrize(("stages", "vmcnt"), [(2, 0), (3, 8), (4, 16)])
def test_waits_count_the_instructions_of_younger_groups(stages: int, vmcnt: int) -> None:
    """A group is two tiles of 4 KiB: 16 instructions of 256 bytes each, a quarter of them by each wave."""
    text = script(RING.format(stages=stages, ahead=stages - 1))
    waits = [int(n) for n in re.findall(r"llvm\.amdgcn\.s\.waitcnt\", (\d+)\)", text)]
    assert waits.count(waitcnt_bits(vmcnt=vmcnt)) >= 2 * stages - 1
    assert set(waits) <= {waitcnt_bits(vmcnt=vmcnt), waitcnt_bits(vmcnt=0), waitcnt_bits(lgkmcnt=0)}


def test_the_wait_immediate_splits_vmcnt() -> None:
    assert waitcnt_bits() == 0xCF7F
    assert waitcnt_bits(vmcnt=16, lgkmcnt=0) == 0x4070
    assert waitcnt_bits(vmcnt=200) == 0xCF7F


def test_launch() -> None:
    made = lowered(REGISTER.format(regs=', regs="agpr"'))
    assert made.symbol == "gemm"
    assert made.threads == 256
    assert made.agpr
    sizes = {"M": 65, "N": 64, "K": 8}
    assert [eval(formula, {}, sizes) for formula in made.grid] == [2, 1, 1]
    assert made.params == (
        ParamSpec("A", "tensor", "bfloat16"),
        ParamSpec("B", "tensor", "bfloat16"),
        ParamSpec("C", "tensor", "float32"),
        ParamSpec("M", "size", "int32"),
        ParamSpec("K", "size", "int32"),
        ParamSpec("N", "size", "int32"),
    )
    assert not lowered(REGISTER.format(regs="")).agpr


def test_an_lds_address_is_a_register_and_a_constant() -> None:
    """All k-steps and atoms of one operand share a register where rows are not swizzled."""
    text = script(REGISTER.format(regs=""))
    reads = set(re.findall(r"= As_\d\[T\.Ramp\(([^,]+),", text))
    assert reads == {"As_a[0] * 4" + (f" + {8 * step}" if step else "") for step in range(4)}


def test_priority_is_raised_around_the_mfmas() -> None:
    text = REGISTER.format(regs="").replace("        for ks", "        priority(1)\n        for ks")
    text = script(text.replace("        store(As[(kt", "        priority(0)\n        store(As[(kt"))
    events = re.findall(r"setprio\", T\.int16\((\d)\)|(mfma)\.f32", text)
    assert [p or m for p, m in events][:18] == [
        "1",
        *["mfma"] * 4,
        "0",
        "1",
        *["mfma"] * 4,
        "0",
        "1",
        *["mfma"] * 4,
        "0",
    ]


def test_a_pattern_without_mfmas_is_passed_on() -> None:
    text = REGISTER.format(regs="").replace(
        "        barrier()", "        sched_group(vmem=3, salu=1)\n        barrier()"
    )
    assert re.findall(r"sched\.group\.barrier\", ((?:16|4), \d), 0", script(text))[:2] == ["16, 3", "4, 1"]
