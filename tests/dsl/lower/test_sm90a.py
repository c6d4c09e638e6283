"""Hopper kernels: the family's texts are right in the interpreter, and lower to CUDA C; what is not lowered says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from argus.dsl.diagnostics import Code, KernelError
from argus.dsl.frontend import parse
from argus.dsl.interp import POLICIES, run, wrong
from argus.dsl.ir import Kernel
from argus.dsl.ir.verify import verify
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.lower import CudaKernel, lower
from argus.dsl.transform import to_core

SMALL = HopperGemmSchedule(tile=(128, 64, 64), stages=2)
SCHEDULES = {
    "128x256, 4 stages": HopperGemmSchedule(tile=(128, 256, 64), stages=4),
    "128x128, 6 stages": HopperGemmSchedule(tile=(128, 128, 64), stages=6),
    "256x128, 3 stages": HopperGemmSchedule(tile=(256, 128, 64), stages=3),
    "128x192, one epilogue buffer": HopperGemmSchedule(tile=(128, 192, 64), stages=5, group_m=2),
    "swapped 16x64, one consumer": HopperGemmSchedule(tile=(16, 64, 64), stages=4, consumers=1, swap=True),
    "swapped 128x128": HopperGemmSchedule(tile=(128, 128, 64), stages=3, swap=True),
    "128x64, nothing kept, rows": HopperGemmSchedule(tile=(128, 64, 64), stages=3, keep=0, group_m=1),
}
SWAPPED = HopperGemmSchedule(tile=(16, 128, 64), stages=3, swap=True)
# Tails in every dimension; the ring wraps; blocks take several tiles.
SIZES = {"M": 136, "N": 328, "K": 200}


def text(schedule: HopperGemmSchedule, dtype: str = "bf16") -> str:
    return hopper_gemm.text(schedule, make_problem(task_named("gemm"), dtype=dtype, target="sm_90a"))


def core_of(source: str) -> Kernel:
    core = to_core(parse(source))
    verify(core)
    return core


def cuda(source: str) -> CudaKernel:
    made = lower(core_of(source))
    assert isinstance(made, CudaKernel)
    return made


def reference(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.slow
def test_the_family_is_right_in_the_interpreter(name: str) -> None:
    core = core_of(text(SCHEDULES[name]))
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((SIZES["M"], SIZES["K"])), rng.standard_normal((SIZES["N"], SIZES["K"]))
    found = run(core, SIZES, {"A": a, "B": b})
    assert not found.faults
    np.testing.assert_allclose(found.outputs["C"], a @ b.T, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_family_is_right_under_every_schedule(name: str) -> None:
    core = core_of(text(SCHEDULES[name]))
    sizes = [{"M": 136, "N": 72, "K": 64 * trips + 8} for trips in (0, 1, 2, 7)]
    assert wrong(core, reference, sizes_list=sizes, policies=POLICIES) is None


# Each edit makes the text wrong; the interpreter must say so, or the tests above show nothing.
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wait(1)\n", "wait(2)\n"),
        ('fence("async")\n', ""),
        ("4 * q + j))", "4 * q + (j + 1) % 4))"),
        ("[2 * bm + g, 2 * bn + q], out[2 * g + q % 2]", "[2 * bm + g, 2 * bn + q], out[2 * g]"),
    ],
)
def test_a_broken_text_is_wrong(old: str, new: str) -> None:
    source = text(HopperGemmSchedule(tile=(128, 128, 64), stages=3))
    assert old in source
    try:
        core = to_core(parse(source.replace(old, new)))
    except KernelError:
        return  # refused before it could be wrong
    sizes = [{"M": 136, "N": 264, "K": 200}]
    assert wrong(core, reference, sizes_list=sizes, policies=POLICIES[::2]) is not None


def test_swapped_operands_are_right_in_the_interpreter() -> None:
    core = core_of(text(SWAPPED))
    rng = np.random.default_rng(2)
    sizes = {"M": 24, "N": 136, "K": 200}
    a, b = rng.standard_normal((24, 200)), rng.standard_normal((136, 200))
    found = run(core, sizes, {"A": a, "B": b})
    assert not found.faults
    np.testing.assert_allclose(found.outputs["C"], a @ b.T, atol=1e-9)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('st.Bs.rows(g * 64, 64).operand("a"', 'st.Bs.rows(0, 64).operand("a"'),
        ("[bm, 2 * bn + g]", "[bm, bn + g]"),
        ('y.as_operand("a", acc, j)', 'y.as_operand("a", acc, 0)'),
    ],
)
def test_a_broken_swapped_text_is_wrong(old: str, new: str) -> None:
    source = text(HopperGemmSchedule(tile=(32, 128, 64), stages=3, swap=True))
    assert old in source
    core = to_core(parse(source.replace(old, new)))
    assert wrong(core, reference, sizes_list=[{"M": 40, "N": 264, "K": 72}], policies=POLICIES[:1]) is not None


@pytest.mark.parametrize("dtype", ["bf16", "f16"])
def test_a_kernel_is_launched_with_tensor_maps_and_sizes(dtype: str) -> None:
    made = cuda(text(SCHEDULES["128x256, 4 stages"], dtype))
    kind = {"bf16": "bfloat16", "f16": "float16"}[dtype]
    assert [(m.tensor, m.box, m.dims, m.swizzle, m.dtype) for m in made.maps] == [
        ("A", (64, 128), ("K", "M"), "b128", kind),
        ("B", (64, 256), ("K", "N"), "b128", kind),
        ("C", (64, 64), ("N", "M"), "b128", kind),
    ]
    assert made.threads == 384
    assert made.shared_bytes == 4 * (128 + 256) * 64 * 2 + 4 * 64 * 64 * 2 + 2 * 4 * 8 + 1024
    assert made.where == ("K % 8 == 0", "N % 8 == 0")
    assert f"mma_m64n256k16_{dtype}(acc[0]," in made.source


def test_every_line_knows_its_origin() -> None:
    source = text(SMALL)
    made = cuda(source)
    lines, texts = made.source.splitlines(), source.splitlines()
    assert len(lines) == len(made.lines)
    for printed, construct in (("tma_load(r_As", "copy_async(st.As"), ("mma_m64n64k16_bf16(acc[0]", "acc += mma")):
        at = next(i for i, line in enumerate(lines) if line.strip().startswith(printed))
        assert construct in texts[made.lines[at] - 1]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([("acc.to(bf16)", "(acc * 2.0).to(bf16)")], "not lowered"),
        ([('"m64n64k16", 64, 64', '"m64n32k16", 64, 64')], "an atom as wide"),
        ([("order=group_m(8)", "order=columns")], None),
    ],
)
def test_what_is_not_lowered_says_so(edits: list[tuple[str, str]], said: str | None) -> None:
    source = text(SMALL)
    for old, new in edits:
        assert old in source
        source = source.replace(old, new)
    if said is None:
        lower(to_core(parse(source)))
        return
    with pytest.raises(KernelError) as caught:
        lower(core_of(source))
    assert said in caught.value.diagnostic.message
    assert caught.value.diagnostic.span.line > 0


def test_a_scalar_argument_is_refused_with_a_caret() -> None:
    source = text(SMALL).replace("C: bf16[m:M, n:N]):", "C: bf16[m:M, n:N], scale: f32):")
    with pytest.raises(KernelError) as caught:
        lower(core_of(source))
    assert caught.value.diagnostic.code is Code.UNSUPPORTED
    assert "scale" in caught.value.diagnostic.render(source.splitlines())
