"""Every family of the library, and its kernels at several schedules: what evaluations and benches work on."""

from __future__ import annotations

from functools import cache

from argus.dsl.kernels import (
    attention,
    decoding,
    elementwise,
    gemm_examples,
    hopper_attention,
    moe,
    norms,
    reductions,
    transpose,
)
from argus.dsl.kernels.hopper_gemm import HopperGemmSchedule
from argus.dsl.kernels.schedule import GemmSchedule
from argus.dsl.kernels.subject import LibraryFamily, Subject

FAMILIES: tuple[LibraryFamily, ...] = (
    LibraryFamily(
        name="gemm",
        summary="one to four stages through registers or directly into LDS; what `argus optimize` searches",
        targets=("gfx942",),
        schedule=GemmSchedule,
        text=gemm_examples.text,
        reference=gemm_examples.reference,
        sizes=gemm_examples.sizes,
        examples=gemm_examples.GFX942,
    ),
    LibraryFamily(
        name="hopper_gemm",
        summary="TMA ring, wgmma, one or two consumers on a persistent grid",
        targets=("sm_90a",),
        schedule=HopperGemmSchedule,
        text=gemm_examples.hopper_text,
        reference=gemm_examples.reference,
        sizes=gemm_examples.sizes,
        examples=gemm_examples.SM_90A,
    ),
    LibraryFamily(
        name="attention",
        summary="flash attention, forward: causal or not, grouped queries, any length",
        targets=("gfx942",),
        schedule=attention.AttentionSchedule,
        text=attention.text,
        reference=attention.reference,
        sizes=attention.sizes,
        examples=attention.EXAMPLES,
    ),
    LibraryFamily(
        name="hopper_attention",
        summary="flash attention, forward: TMA rings, wgmma, weights in registers",
        targets=("sm_90a",),
        schedule=hopper_attention.HopperAttentionSchedule,
        text=hopper_attention.text,
        reference=hopper_attention.reference,
        sizes=hopper_attention.sizes,
        examples=hopper_attention.EXAMPLES,
    ),
    LibraryFamily(
        name="attention_split",
        summary="attention for decoding: blocks take parts of the keys and leave partial outputs",
        targets=("gfx942",),
        schedule=decoding.SplitSchedule,
        text=decoding.split_text,
        reference=decoding.split_reference,
        sizes=decoding.split_sizes,
        examples=decoding.SPLIT_EXAMPLES,
    ),
    LibraryFamily(
        name="attention_combine",
        summary="the parts of attention_split weighed and added",
        targets=("gfx942",),
        schedule=decoding.CombineSchedule,
        text=decoding.combine_text,
        reference=decoding.combine_reference,
        sizes=decoding.combine_sizes,
        examples=decoding.COMBINE_EXAMPLES,
    ),
    LibraryFamily(
        name="norm",
        summary="RMSNorm, LayerNorm, softmax: a row in a wave, or across the block",
        targets=("gfx942", "sm_90a"),
        schedule=norms.NormSchedule,
        text=norms.text,
        reference=norms.reference,
        sizes=norms.sizes,
        examples=norms.EXAMPLES,
    ),
    LibraryFamily(
        name="elementwise",
        summary="pointwise chains: SwiGLU, bias and ReLU, a x + y, GELU",
        targets=("gfx942", "sm_90a"),
        schedule=elementwise.ElementwiseSchedule,
        text=elementwise.text,
        reference=elementwise.reference,
        sizes=elementwise.sizes,
        examples=elementwise.EXAMPLES,
    ),
    LibraryFamily(
        name="reduction",
        summary="sums and maxima of rows or columns; in parts that blocks add up",
        targets=("gfx942", "sm_90a"),
        schedule=reductions.ReductionSchedule,
        text=reductions.text,
        reference=reductions.reference,
        sizes=reductions.sizes,
        examples=reductions.EXAMPLES,
    ),
    LibraryFamily(
        name="transpose",
        summary="transpose through shared memory, padded or swizzled",
        targets=("gfx942", "sm_90a"),
        schedule=transpose.TransposeSchedule,
        text=transpose.text,
        reference=transpose.reference,
        sizes=transpose.sizes,
        examples=transpose.EXAMPLES,
    ),
    LibraryFamily(
        name="moe_up",
        summary="mixture of experts: tokens gathered, gate and up products, SwiGLU",
        targets=("gfx942",),
        schedule=moe.UpSchedule,
        text=moe.up_text,
        reference=moe.up_reference,
        sizes=moe.sizes,
        examples=moe.UP_EXAMPLES,
        make_inputs=moe.make_inputs,
    ),
    LibraryFamily(
        name="moe_down",
        summary="mixture of experts: second product; weighed and added to tokens",
        targets=("gfx942",),
        schedule=moe.DownSchedule,
        text=moe.down_text,
        reference=moe.down_reference,
        sizes=moe.sizes,
        examples=moe.DOWN_EXAMPLES,
        make_inputs=moe.make_inputs,
    ),
    LibraryFamily(
        name="moe_combine",
        summary="mixture of experts: rows of a token weighed and added",
        targets=("gfx942",),
        schedule=moe.CombineSchedule,
        text=moe.combine_text,
        reference=moe.combine_reference,
        sizes=moe.combine_sizes,
        examples=moe.COMBINE_EXAMPLES,
        make_inputs=moe.combine_inputs,
    ),
)


@cache
def subjects() -> tuple[Subject, ...]:
    """The kernels of every family at its example schedules."""
    return tuple(family.subject(label, s) for family in FAMILIES for label, s in family.examples.items())
