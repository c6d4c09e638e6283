"""Forms of GEMM that share tiles and a loop over k: other element types, epilogues, batches, groups, parts of k.

`argus optimize` searches the plain form (`gemm.py`); here stand the forms around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from argus.dsl.kernels.library_schedule import grid_text, kernel_text, wide
from argus.dsl.kernels.staged_loop import Source, StagedLoop
from argus.dsl.kernels.task import Array, Sizes
from argus.dsl.kernels.tiled_schedule import (
    BatchedSchedule,
    EpilogueSchedule,
    GroupedSchedule,
    PartialsSchedule,
    PersistentSchedule,
    SplitSchedule,
    StreamSchedule,
    TiledSchedule,
)
from argus.dsl.targets.atoms import ATOMS

# ---------------------------------------------------------------------------------------------- text


def text(s: TiledSchedule) -> str:
    """Kernel text of a schedule."""
    head, body = _FORMS[s.form](s)
    return kernel_text(s.target, s.waves, head, body)


def _signature(
    s: TiledSchedule,
    *,
    a: str = "m:M, k:K",
    b: str = "n:N, k:K",
    more: str = "",
    out: str = "C: {out}[m:M, n:N]",
    where: str = "",
    ensures: str = "C[m, n], over(k, K)",
    uses: str = "A, B",
) -> str:
    t = s.dtype
    return (
        f"def gemm(A: {t}[{a}], B: {t}[{b}], {more}{out.format(out=s.out)}):\n"
        f"    where(K % {wide(s.dtype)} == 0{where})\n    ensures({ensures}, uses=({uses}))\n"
    )


def _loop(
    s: TiledSchedule, a: str, b: str, *, stop: str = "", start: str = "", offset: str = "", n: str = "bn"
) -> StagedLoop:
    bm, bn, bk = s.tile
    sources = {
        "A": Source(bm, f"{a}.tile({bm}, {bk})[bm, {{kt}}]"),
        "B": Source(bn, f"{b}.tile({bn}, {bk})[{n}, {{kt}}]"),
    }
    stop = stop or f"cdiv(K, {bk})"
    return StagedLoop(
        sources, s.dtype, bk, s.stages, s.swizzle, stop=stop, start=start, offset=offset,
        target=s.target, pending=ATOMS[s.atom].warpgroup,
    )  # fmt: skip


def _acc(s: TiledSchedule) -> str:
    return f'acc = mma_acc("{s.atom}", {s.tile[0]}, {s.tile[1]}{grid_text(*s.grid)})'


def _compute(s: TiledSchedule, *more: str) -> list[str]:
    return [
        f"for ks in unroll({s.steps}):",
        '    a, b = {A}.operand("a", acc, ks), {B}.operand("b", acc, ks)',
        "    assert_match(a.k, b.k)",
        *[f"    {line}" for line in more],
        "    acc += mma(a, b)",
    ]


def _tiles(s: TiledSchedule) -> str:
    return f"cdiv(M, {s.tile[0]}), cdiv(N, {s.tile[1]})"


def _c(s: TiledSchedule, view: str = "C", at: str = "bm, bn") -> str:
    return f"{view}.tile({s.tile[0]}, {s.tile[1]})[{at}]"


Text = tuple[str, list[str]]


def _plain(s: TiledSchedule) -> Text:
    loop = _loop(s, "A", "B")
    grid = f"bm, bn = block({_tiles(s)}{s.order_text})"
    return _signature(s), [grid, *loop.allocate(), _acc(s), *loop.body(_compute(s)), f"store({_c(s)}, acc)"]


def _epilogue(s: TiledSchedule) -> Text:
    assert isinstance(s, EpilogueSchedule)
    (bm, bn, _), loop = s.tile, _loop(s, "A", "B")
    sums = "acc.to(f32)" if s.out == "i32" else "acc"
    if s.epilogue == "scaled":
        more, names, value = "rows: f32[m:M], columns: f32[n:N], ", "rows, columns", f"{sums} * f * g"
        loads = [f"f = load(rows.tile({bm})[bm], like=acc)", f"g = load(columns.tile({bn})[bn], like=acc)"]
        matches = ["assert_match(acc.m, f.m)", "assert_match(acc.n, g.n)"]
    elif s.epilogue == "residual":
        more, names, value = "R: f32[m:M, n:N], ", "R", f"{sums} + f"
        loads, matches = [f"f = load({_c(s, 'R')}, like=acc)"], ["assert_match(acc.m, f.m)"]
    else:
        more, names, value = "bias: f32[n:N], ", "bias", f"relu({sums} + f)"
        loads, matches = [f"f = load(bias.tile({bn})[bn], like=acc)"], ["assert_match(acc.n, f.n)"]
    head = _signature(s, more=more, out="C: f32[m:M, n:N]", uses=f"A, B, {names}")
    grid = f"bm, bn = block({_tiles(s)}{s.order_text})"
    steps = loop.body(_compute(s))
    return head, [grid, *loop.allocate(), _acc(s), *steps, *loads, *matches, f"store({_c(s)}, {value})"]


def _batched(s: TiledSchedule) -> Text:
    loop = _loop(s, "A[bz]", "B[bz]")
    head = _signature(
        s,
        a="z:Z, m:M, k:K",
        b="z:Z, n:N, k:K",
        out="C: {out}[z:Z, m:M, n:N]",
        ensures="C[z, m, n], over(k, K)",
    )
    grid = f"bm, bn, bz = block({_tiles(s)}, Z{s.order_text})"
    return head, [grid, *loop.allocate(), _acc(s), *loop.body(_compute(s)), f"store({_c(s, 'C[bz]')}, acc)"]


def _grouped(s: TiledSchedule) -> Text:
    bm = s.tile[0]
    loop = _loop(s, "A", "B[e]")
    head = _signature(s, b="g:G, n:N, k:K", more=f"group: i32[b:M // {bm}], ", where=f", M % {bm} == 0")
    where, ensures = head.split("    ensures")
    head = f"{where}    assume(group[m // {bm}] == group_of(m), 0 <= group[b] < G)\n    ensures{ensures}"
    grid = f"bm, bn = block(M // {bm}, cdiv(N, {s.tile[1]}){s.order_text})"
    compute = _compute(s, "assert_match(group_of(a.m), b.g)")
    return head, [
        grid,
        "e = group[bm]",
        *loop.allocate(),
        _acc(s),
        *loop.body(compute),
        f"store({_c(s)}, acc)",
    ]


def _split(s: TiledSchedule) -> Text:
    assert isinstance(s, SplitSchedule)
    loop = _loop(s, "A", "B", start="begin", stop="end")
    return _signature(s), [
        f"bm, bn = block({_tiles(s)}{s.order_text})",
        f"begin, end = split(cdiv(K, {s.tile[2]}), {s.parts})",
        *loop.allocate(),
        _acc(s),
        *loop.body(_compute(s)),
        f"atomic_add({_c(s)}, acc)",
    ]


def _partials(s: TiledSchedule) -> Text:
    assert isinstance(s, PartialsSchedule)
    per_part = s.part // s.tile[2]
    loop = _loop(s, "A", "B", stop=f"min({per_part}, cdiv(K, {s.tile[2]}) - first)", offset="first")
    head = _signature(
        s,
        out=f"W: {{out}}[p:cdiv(K, {s.part}), m:M, n:N]",
        ensures=f"W[p, m, n], over(k, K, pred=k // {s.part} == p)",
    )
    return head, [
        f"bm, bn, bp = block({_tiles(s)}, cdiv(K, {s.part}){s.order_text})",
        f"first = bp * {per_part}",
        *loop.allocate(),
        _acc(s),
        *loop.body(_compute(s)),
        f"store({_c(s, 'W[bp]')}, acc)",
    ]


def _stream(s: TiledSchedule) -> Text:
    # The checker knows shares by just these bounds of the loops (docs/decisions/0018).
    assert isinstance(s, StreamSchedule)
    bm, bn, bk = s.tile
    loop = _loop(s, "A", "B", start="max(begin - t * kts, 0)", stop="min(end - t * kts, kts)")
    inner = [
        f"bm, bn = t // cdiv(N, {bn}), t % cdiv(N, {bn})",
        _acc(s),
        *loop.body(_compute(s)),
        f"atomic_add({_c(s)}, acc)",
    ]
    return _signature(s), [
        f"kts = cdiv(K, {bk})",
        f"begin, end = split(cdiv(M, {bm}) * cdiv(N, {bn}) * kts, {s.blocks})",
        *loop.allocate(),
        "for t in range(begin // kts, cdiv(end, kts)):",
        *[f"    {line}" for line in inner],
    ]


def _persistent(s: TiledSchedule) -> Text:
    loop = _loop(s, "A", "B")
    steps = loop.peeled(_compute(s)) if s.stages == 2 else loop.body(_compute(s))
    inner = [_acc(s), *steps, f"store({_c(s)}, acc)"]
    return _signature(s), [
        *loop.allocate(),
        f"for bm, bn in tiles({_tiles(s)}{s.order_text}):",
        *[f"    {line}" for line in inner],
    ]


_FORMS = {
    "plain": _plain,
    "epilogue": _epilogue,
    "batched": _batched,
    "grouped": _grouped,
    "split": _split,
    "partials": _partials,
    "stream": _stream,
    "persistent": _persistent,
}


# ----------------------------------------------------------------------------------------- reference


def reference(s: TiledSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    del sizes
    a, b = inputs["A"], inputs["B"]
    match s:
        case EpilogueSchedule(epilogue="bias_relu"):
            return {"C": np.maximum(a @ b.T + inputs["bias"], 0.0)}
        case EpilogueSchedule(epilogue="scaled"):
            return {"C": a @ b.T * inputs["rows"][:, None] * inputs["columns"]}
        case EpilogueSchedule(epilogue="residual"):
            return {"C": a @ b.T + inputs["R"]}
        case BatchedSchedule():
            return {"C": np.einsum("zmk,znk->zmn", a, b)}
        case GroupedSchedule():
            return {"C": np.einsum("mk,mnk->mn", a, b[np.repeat(inputs["group"], s.tile[0])])}
        case PartialsSchedule():
            starts = range(0, a.shape[1], s.part)
            return {"W": np.stack([a[:, k : k + s.part] @ b[:, k : k + s.part].T for k in starts])}
        case _:
            return {"C": a @ b.T}


def sizes(s: TiledSchedule) -> tuple[Sizes, ...]:
    """k-tiles 1, 2, S and 2 S + 1 times for each part; ragged in every dimension."""
    (bm, bn, bk), a = s.tile, wide(s.dtype)
    parts = s.parts if isinstance(s, SplitSchedule) else 1
    out: list[Sizes] = []
    for turn, n in enumerate(sorted({1, 2, s.stages, 2 * s.stages + 1})):
        ragged = turn % 2 == 0
        one = {
            "M": bm - 5 if ragged else bm + bm // 3,
            "N": bn + 8 if ragged else bn - 8,
            "K": max(a, n * parts * bk - (a if ragged else 0)),
        }
        match s:
            case BatchedSchedule():
                one["Z"] = 1 + turn
            case GroupedSchedule():
                one |= {"M": bm * (1 + turn % 2), "G": 3}
            case PersistentSchedule():
                one["N"] += 2 * bn  # a block walks over several tiles
            case _:
                pass
        out.append(one)
    return tuple(out)


def grouped_inputs(s: GroupedSchedule, given: Sizes, rng: np.random.Generator) -> dict[str, Any]:
    """Groups that differ from block to block."""
    blocks = given["M"] // s.tile[0]
    return {
        "A": rng.standard_normal((given["M"], given["K"])),
        "B": rng.standard_normal((given["G"], given["N"], given["K"])),
        "group": (np.arange(blocks) + 1) % given["G"],
    }


PLAIN_EXAMPLES = {
    "f8-ring": TiledSchedule(dtype="f8", tile=(32, 64, 64), grid=(1, 2), atom="32x32x16"),
    "f8-registers": TiledSchedule(dtype="f8", tile=(48, 32, 64), grid=(3, 1), atom="16x16x32", stages=1, swizzle=2),
    "i8-ring": TiledSchedule(dtype="i8", tile=(32, 32, 64), grid=(2, 1), atom="16x16x32", stages=3),
    "i8-registers": TiledSchedule(dtype="i8", tile=(64, 32, 32), grid=(2, 1), atom="32x32x16", stages=1, swizzle=0),
    "f32-ring": TiledSchedule(dtype="f32", tile=(32, 32, 16), grid=(1, 2), atom="16x16x4", swizzle=0),
    "f8-wgmma": TiledSchedule(target="sm_90a", grid=(1, 1), dtype="f8", tile=(64, 48, 128), atom="m64n48k32"),
    "i8-wgmma": TiledSchedule(target="sm_90a", grid=(1, 1), dtype="i8", tile=(64, 32, 64), atom="m64n32k32", stages=1),
    "f16-mma-sync": TiledSchedule(target="sm_90a", dtype="f16", tile=(48, 16, 32), grid=(3, 1), atom="m16n8k16"),
}
EPILOGUE_EXAMPLES = {
    "bias-relu": EpilogueSchedule(tile=(32, 64, 32), grid=(1, 2)),
    "scaled-i8": EpilogueSchedule(
        epilogue="scaled", dtype="i8", tile=(48, 32, 64), grid=(3, 1), atom="16x16x32", stages=1, swizzle=2
    ),
    "scaled-f8": EpilogueSchedule(epilogue="scaled", dtype="f8", tile=(32, 32, 64), grid=(1, 1), atom="32x32x16"),
    "residual": EpilogueSchedule(epilogue="residual", tile=(64, 32, 32), grid=(2, 1), stages=3),
    "wgmma": EpilogueSchedule(
        target="sm_90a", epilogue="scaled", dtype="f8", tile=(64, 32, 64), grid=(1, 1), atom="m64n32k32", stages=1
    ),
}
BATCHED_EXAMPLES = {
    "ring": BatchedSchedule(tile=(32, 64, 32), grid=(1, 2)),
    "registers": BatchedSchedule(tile=(64, 32, 32), grid=(2, 1), stages=1, dtype="f16"),
    "48-rows": BatchedSchedule(tile=(48, 32, 32), grid=(3, 1), atom="16x16x16", stages=3, order="xcd(8)"),
    "wgmma": BatchedSchedule(target="sm_90a", grid=(1, 1), tile=(64, 48, 64), atom="m64n48k16"),
}
GROUPED_EXAMPLES = {
    "ring": GroupedSchedule(tile=(32, 64, 32), grid=(1, 2)),
    "registers": GroupedSchedule(tile=(64, 32, 32), grid=(2, 1), stages=1),
    "48-rows": GroupedSchedule(tile=(48, 32, 32), grid=(3, 1), atom="16x16x16", stages=3, dtype="f16"),
    "wgmma": GroupedSchedule(target="sm_90a", grid=(1, 1), tile=(64, 32, 64), atom="m64n32k16", stages=3),
}
SPLIT_EXAMPLES = {
    "ring": SplitSchedule(tile=(32, 64, 32), grid=(1, 2)),
    "registers": SplitSchedule(tile=(32, 32, 16), grid=(1, 1), stages=1, swizzle=2, parts=4),
    "i8": SplitSchedule(dtype="i8", tile=(32, 32, 64), grid=(2, 1), atom="16x16x32", parts=2),
    "wgmma": SplitSchedule(target="sm_90a", grid=(1, 1), tile=(64, 32, 64), atom="m64n32k16"),
}
PARTIALS_EXAMPLES = {
    "ring": PartialsSchedule(tile=(32, 64, 32), grid=(1, 2), part=96),
    "registers": PartialsSchedule(tile=(32, 32, 16), grid=(1, 1), stages=1, swizzle=2, part=32),
    "three-stages": PartialsSchedule(tile=(48, 32, 32), grid=(3, 1), atom="16x16x16", stages=3, part=64),
    "wgmma": PartialsSchedule(target="sm_90a", grid=(1, 1), tile=(64, 32, 64), atom="m64n32k16"),
}
STREAM_EXAMPLES = {
    "five": StreamSchedule(tile=(32, 32, 32), grid=(1, 1)),
    "three": StreamSchedule(tile=(48, 32, 16), grid=(3, 1), atom="16x16x16", blocks=3, swizzle=0),
    "seven": StreamSchedule(tile=(64, 32, 32), grid=(2, 1), blocks=7, dtype="f16"),
    "wgmma": StreamSchedule(target="sm_90a", grid=(1, 1), tile=(64, 32, 64), atom="m64n32k16", blocks=3),
}
PERSISTENT_EXAMPLES = {
    "xcd": PersistentSchedule(tile=(32, 32, 32), grid=(1, 1)),
    "registers": PersistentSchedule(tile=(48, 32, 32), grid=(3, 1), atom="16x16x16", stages=1),
    "group-m": PersistentSchedule(tile=(32, 64, 32), grid=(1, 2), order="group_m(2)", dtype="f16"),
    "wgmma": PersistentSchedule(target="sm_90a", grid=(1, 1), tile=(64, 32, 64), atom="m64n32k16", order="group_m(2)"),
}
