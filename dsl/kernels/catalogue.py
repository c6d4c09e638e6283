"""Every family of the library, and its kernels at several schedules: what evaluations and benches work on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol

from pydantic import BaseModel

from argus.dsl.kernels import (
    attention,
    conv2d,
    decoding,
    elementwise,
    gemm_examples,
    gemm_forms,
    hopper_attention,
    hopper_decoding,
    moe,
    norms,
    reductions,
    tiled_gemm,
    tiled_schedule,
    transpose,
)
from argus.dsl.kernels.hopper_gemm import HopperGemmSchedule
from argus.dsl.kernels.schedule import GemmSchedule
from argus.dsl.kernels.subject import FamilyInputs, FamilyReference, LibraryFamily, Subject
from argus.dsl.kernels.task import Sizes, Target

GFX942: tuple[Target, ...] = ("gfx942",)
SM_90A: tuple[Target, ...] = ("sm_90a",)
BOTH: tuple[Target, ...] = ("gfx942", "sm_90a")


class _Module(Protocol):
    """A module that is one family."""

    @property
    def text(self) -> Callable[[Any], str]: ...
    @property
    def reference(self) -> FamilyReference: ...
    @property
    def sizes(self) -> Callable[[Any], tuple[Sizes, ...]]: ...
    @property
    def EXAMPLES(self) -> Mapping[str, BaseModel]: ...


def _alone(
    name: str,
    module: _Module,
    schedule: type[BaseModel],
    summary: str,
    *,
    targets: tuple[Target, ...] = BOTH,
    make_inputs: FamilyInputs | None = None,
) -> LibraryFamily:
    """The family of a module that holds no other."""
    return LibraryFamily(
        name=name,
        summary=summary,
        targets=targets,
        schedule=schedule,
        text=module.text,
        reference=module.reference,
        sizes=module.sizes,
        examples=module.EXAMPLES,
        make_inputs=make_inputs,
    )


def _tiled(
    name: str,
    schedule: type[tiled_schedule.TiledSchedule],
    examples: Mapping[str, BaseModel],
    summary: str,
    *,
    make_inputs: FamilyInputs | None = None,
) -> LibraryFamily:
    """A form of the tiled GEMM: what differs from the others is the schedule's class."""
    return LibraryFamily(
        name=name,
        summary=summary,
        targets=BOTH,
        schedule=schedule,
        text=tiled_gemm.text,
        reference=tiled_gemm.reference,
        sizes=tiled_gemm.sizes,
        examples=examples,
        make_inputs=make_inputs,
    )


FAMILIES: tuple[LibraryFamily, ...] = (
    LibraryFamily(
        name="gemm",
        summary="one to four stages through registers or directly into LDS; what `argus optimize` searches",
        targets=GFX942,
        schedule=GemmSchedule,
        text=gemm_examples.text,
        reference=gemm_examples.reference,
        sizes=gemm_examples.sizes,
        examples=gemm_examples.GFX942,
    ),
    LibraryFamily(
        name="hopper_gemm",
        summary="TMA ring, wgmma, one or two consumers on a persistent grid",
        targets=SM_90A,
        schedule=HopperGemmSchedule,
        text=gemm_examples.hopper_text,
        reference=gemm_examples.reference,
        sizes=gemm_examples.sizes,
        examples=gemm_examples.SM_90A,
    ),
    _alone(
        "attention",
        attention,
        attention.AttentionSchedule,
        "flash attention, forward: causal or not, grouped queries, any length",
        targets=GFX942,
    ),
    _alone(
        "hopper_attention",
        hopper_attention,
        hopper_attention.HopperAttentionSchedule,
        "flash attention, forward: TMA rings, wgmma, weights in registers",
        targets=SM_90A,
    ),
    LibraryFamily(
        name="attention_split",
        summary="attention for decoding: blocks take parts of the keys and leave partial outputs",
        targets=GFX942,
        schedule=decoding.SplitSchedule,
        text=decoding.split_text,
        reference=decoding.split_reference,
        sizes=decoding.split_sizes,
        examples=decoding.SPLIT_EXAMPLES,
    ),
    _alone(
        "hopper_split",
        hopper_decoding,
        hopper_decoding.HopperSplitSchedule,
        "attention for decoding with TMA and wgmma: partial outputs as attention_split leaves them",
        targets=SM_90A,
    ),
    LibraryFamily(
        name="attention_combine",
        summary="the parts of attention_split weighed and added",
        targets=BOTH,
        schedule=decoding.CombineSchedule,
        text=decoding.combine_text,
        reference=decoding.combine_reference,
        sizes=decoding.combine_sizes,
        examples=decoding.COMBINE_EXAMPLES,
    ),
    _alone("norm", norms, norms.NormSchedule, "RMSNorm, LayerNorm, softmax: a row in a wave, or across the block"),
    _alone(
        "elementwise",
        elementwise,
        elementwise.ElementwiseSchedule,
        "pointwise chains: SwiGLU, bias and ReLU, a x + y, GELU",
    ),
    _alone(
        "reduction",
        reductions,
        reductions.ReductionSchedule,
        "sums and maxima of rows or columns; in parts that blocks add up",
        make_inputs=reductions.make_inputs,
    ),
    _alone("transpose", transpose, transpose.TransposeSchedule, "transpose through shared memory, padded or swizzled"),
    LibraryFamily(
        name="moe_up",
        summary="mixture of experts: tokens gathered, gate and up products, SwiGLU",
        targets=BOTH,
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
        targets=BOTH,
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
        targets=BOTH,
        schedule=moe.CombineSchedule,
        text=moe.combine_text,
        reference=moe.combine_reference,
        sizes=moe.combine_sizes,
        examples=moe.COMBINE_EXAMPLES,
        make_inputs=moe.combine_inputs,
    ),
    LibraryFamily(
        name="gemm_naive",
        summary="operands straight from global memory; every element type",
        targets=GFX942,
        schedule=gemm_forms.NaiveSchedule,
        text=gemm_forms.naive_text,
        reference=gemm_forms.reference,
        sizes=gemm_forms.naive_sizes,
        examples=gemm_forms.NAIVE_EXAMPLES,
    ),
    _tiled(
        "gemm_typed",
        tiled_schedule.TiledSchedule,
        tiled_gemm.PLAIN_EXAMPLES,
        "8-bit and 32-bit elements, through registers or a ring",
    ),
    _tiled(
        "gemm_epilogue",
        tiled_schedule.EpilogueSchedule,
        tiled_gemm.EPILOGUE_EXAMPLES,
        "bias and ReLU, row and column factors, a residual: applied in registers",
    ),
    _tiled(
        "gemm_batched",
        tiled_schedule.BatchedSchedule,
        tiled_gemm.BATCHED_EXAMPLES,
        "one product for each member of a batch",
    ),
    _tiled(
        "gemm_grouped",
        tiled_schedule.GroupedSchedule,
        tiled_gemm.GROUPED_EXAMPLES,
        "rows sorted by group, each group with weights of its own",
        make_inputs=tiled_gemm.grouped_inputs,
    ),
    _tiled(
        "gemm_split_k", tiled_schedule.SplitSchedule, tiled_gemm.SPLIT_EXAMPLES, "blocks share k and add up atomically"
    ),
    _tiled(
        "gemm_partials",
        tiled_schedule.PartialsSchedule,
        tiled_gemm.PARTIALS_EXAMPLES,
        "blocks share k and leave partial products for gemm_reduce",
    ),
    LibraryFamily(
        name="gemm_reduce",
        summary="the partial products of gemm_partials added",
        targets=BOTH,
        schedule=gemm_forms.ReduceSchedule,
        text=gemm_forms.reduce_text,
        reference=gemm_forms.reduce_reference,
        sizes=gemm_forms.reduce_sizes,
        examples=gemm_forms.REDUCE_EXAMPLES,
    ),
    _tiled(
        "gemm_stream_k",
        tiled_schedule.StreamSchedule,
        tiled_gemm.STREAM_EXAMPLES,
        "every block an equal share of all tiles, added up atomically",
    ),
    _tiled(
        "gemm_persistent",
        tiled_schedule.PersistentSchedule,
        tiled_gemm.PERSISTENT_EXAMPLES,
        "blocks that walk over tiles, remapped to dies",
    ),
    LibraryFamily(
        name="gemm_skinny",
        summary="few rows: waves share k, weights go straight to registers",
        targets=GFX942,
        schedule=gemm_forms.SkinnySchedule,
        text=gemm_forms.skinny_text,
        reference=gemm_forms.reference,
        sizes=gemm_forms.skinny_sizes,
        examples=gemm_forms.SKINNY_EXAMPLES,
    ),
    LibraryFamily(
        name="gemm_pingpong",
        summary="eight waves, halves that take turns at memory and MFMA",
        targets=GFX942,
        schedule=gemm_forms.PingPongSchedule,
        text=gemm_forms.pingpong_text,
        reference=gemm_forms.reference,
        sizes=gemm_forms.pingpong_sizes,
        examples=gemm_forms.PINGPONG_EXAMPLES,
    ),
    _alone(
        "conv2d",
        conv2d,
        conv2d.Conv2dSchedule,
        "2-D convolution as implicit GEMM, channels last, any stride and padding",
        targets=GFX942,
        make_inputs=conv2d.make_inputs,
    ),
)


@cache
def subjects() -> tuple[Subject, ...]:
    """The kernels of every family at its example schedules."""
    return tuple(family.subject(label, s) for family in FAMILIES for label, s in family.examples.items())
