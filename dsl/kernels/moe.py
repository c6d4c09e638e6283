"""A mixture of experts, in three kernels.

Tokens were sorted by expert beforehand: slot s works for token `slot[s]` (-1: padding), and the slots of a block all go
to expert `expert[b]`. `moe_up` gathers tokens and gives silu(X Wg^T) * (X Wu^T) for each slot. `moe_down` multiplies
by the second weights and leaves a row for each slot, or weighs it and adds it to its token. `moe_combine` adds up the
rows of each token, for those who want no atomics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from argus.dsl.kernels.library_schedule import LANES, LibrarySchedule, grid_text, kernel_text, multiple, wide
from argus.dsl.kernels.mma_tile import stage_problems, tile_problems
from argus.dsl.kernels.staged_loop import Source, StagedLoop
from argus.dsl.kernels.task import Array, Sizes, Target
from argus.dsl.targets.atoms import ATOMS


class ExpertSchedule(LibrarySchedule):
    """A product with the weights of each block's expert. The first two fields choose what is computed, the others how.

    Attributes:
        block: Slots that share an expert: the rows of a block.
        dtype: Of all tensors but the routing and sums.
        columns: Of a block.
        depth: k of a stage.
        grid: Waves along slots and columns; warpgroups for wgmma.
        atom: The matrix instruction.
        stages: Of the ring; 1 passes tiles through registers and has no ring.
        swizzle: Chunks of 16 bytes that `xor` permutes in a shared row on gfx942; 0: none.
    """

    block: int = 64
    dtype: Literal["bf16", "f16"] = "bf16"
    target: Target = "gfx942"
    columns: int = 64
    depth: int = 64
    grid: tuple[int, int] = (2, 2)
    atom: str = "16x16x16"
    stages: int = 2
    swizzle: Literal[0, 2, 4, 8] = 8

    buffers: ClassVar[int] = 2  # one for slots, the rest for weights

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        tile = self.block, self.columns, self.depth
        size = 2 * self.depth * (self.block + (self.buffers - 1) * self.columns)
        return tile_problems(
            self.target, self.atom, self.dtype, tile=tile, grid=self.grid, swizzle=self.swizzle
        ) + stage_problems(self.target, self.stages, size)

    @property
    def waves(self) -> int:
        return self.grid[0] * self.grid[1] * ATOMS[self.atom].waves

    @property
    def steps(self) -> int:
        """k-steps of the atom in a stage."""
        return self.depth // ATOMS[self.atom].k


class UpSchedule(ExpertSchedule):
    """The gated first product: two tiles of weights for one of tokens."""

    buffers: ClassVar[int] = 3


class DownSchedule(ExpertSchedule):
    """The second product. `scatter` chooses what is computed: a row for each slot, or sums for each token."""

    scatter: bool = False


# ---------------------------------------------------------------------------------------------- text


def _loop(s: ExpertSchedule, sources: Mapping[str, str]) -> StagedLoop:
    """The first source has a row for each slot, the others one for each column."""
    rows = {name: s.columns if turn else s.block for turn, name in enumerate(sources)}
    tiles = {name: Source(rows[name], tile) for name, tile in sources.items()}
    return StagedLoop(
        tiles, s.dtype, s.depth, s.stages, s.swizzle, stop=f"cdiv(K, {s.depth})",
        target=s.target, pending=ATOMS[s.atom].warpgroup,
    )  # fmt: skip


def up_text(s: UpSchedule) -> str:
    """Kernel text of a schedule."""
    weights = f"tile({s.columns}, {s.depth})[bn, {{kt}}]"
    sources = {
        "X": f"x.tile({s.block}, {s.depth})[0, {{kt}}]",
        "G": f"Wg[e].{weights}",
        "U": f"Wu[e].{weights}",
    }
    compute = [
        f"for ks in unroll({s.steps}):",
        '    a, b, c = {X}.operand("a", g, ks), {G}.operand("b", g, ks), {U}.operand("b", u, ks)',
        "    assert_match(expert_of(a.s), b.e)",
        "    assert_match(expert_of(a.s), c.e)",
        "    g += mma(a, b)",
        "    u += mma(a, c)",
    ]
    loop = _loop(s, sources)
    acc = f'mma_acc("{s.atom}", {s.block}, {s.columns}{grid_text(*s.grid)})'
    body = [
        f"bs, bn = block(P // {s.block}, cdiv(N, {s.columns}))",
        f"x, e = X.gather(load(slot.tile({s.block})[bs])), expert[bs]",
        *loop.allocate(),
        f"g, u = {acc}, {acc}",
        *loop.body(compute),
        f"store(Y.tile({s.block}, {s.columns})[bs, bn], (silu(g) * u).to({s.dtype}))",
    ]
    t = s.dtype
    contract = (
        f"def moe_up(X: {t}[t:T, k:K], Wg: {t}[e:E, n:N, k:K], Wu: {t}[e:E, n:N, k:K],"
        f" slot: i32[s:P], expert: i32[b:P // {s.block}], Y: {t}[s:P, n:N]):\n"
        f"    where(K % 8 == 0, P % {s.block} == 0)\n"
        f"    assume(expert[s // {s.block}] == expert_of(s), 0 <= expert[b] < E, -1 <= slot[s] < T)\n"
        "    ensures(Y[s, n], over(k, K), uses=(X, Wg, Wu))\n"
    )
    return kernel_text(s.target, s.waves, contract, body)


def down_text(s: DownSchedule) -> str:
    """Kernel text of a schedule.

    Adding rows to tokens is a product with a one-hot matrix of slots and tokens, so the set that an element of the
    result is reduced over is all slots.
    """
    sources = {
        "H": f"H.tile({s.block}, {s.depth})[bs, {{kt}}]",
        "W": f"W[e].tile({s.columns}, {s.depth})[bn, {{kt}}]",
    }
    compute = [
        f"for ks in unroll({s.steps}):",
        '    a, b = {H}.operand("a", acc, ks), {W}.operand("b", acc, ks)',
        "    assert_match(a.k, b.k)",
        "    assert_match(expert_of(a.s), b.e)",
        "    acc += mma(a, b)",
    ]
    loop = _loop(s, sources)
    tile = f"tile({s.block}, {s.columns})"
    leave = [f"store(Y.{tile}[bs, bn], acc.to({s.dtype}))"]
    if s.scatter:
        leave = [
            f"f = load(weight.tile({s.block})[bs], like=acc)",
            "assert_match(acc.s, f.s)",
            f"atomic_add(Y.scatter(load(slot.tile({s.block})[bs])).{tile}[0, bn], acc * f)",
        ]
    body = [
        f"bs, bn = block(P // {s.block}, cdiv(N, {s.columns}))",
        "e = expert[bs]",
        *loop.allocate(),
        f'acc = mma_acc("{s.atom}", {s.block}, {s.columns}{grid_text(*s.grid)})',
        *loop.body(compute),
        *leave,
    ]
    t = s.dtype
    routing, out, slots = ("", f"Y: {t}[s:P, n:N]", "")
    ensures = "ensures(Y[s, n], over(k, K), uses=(H, W))"
    if s.scatter:
        routing, out, slots = "slot: i32[s:P], weight: f32[s:P], ", "Y: f32[t:T, n:N]", ", -1 <= slot[s] < T"
        ensures = "ensures(Y[t, n], over(s, P), over(k, K), uses=(H, W, weight))"
    contract = (
        f"def moe_down(H: {t}[s:P, k:K], W: {t}[e:E, n:N, k:K], {routing}expert: i32[b:P // {s.block}], {out}):\n"
        f"    where(K % 8 == 0, P % {s.block} == 0)\n"
        f"    assume(expert[s // {s.block}] == expert_of(s), 0 <= expert[b] < E{slots})\n"
        f"    {ensures}\n"
    )
    return kernel_text(s.target, s.waves, contract, body)


# ----------------------------------------------------------------------------------------- reference


def up_reference(s: UpSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64; padding slots are zero."""
    del sizes
    slot, expert = inputs["slot"], np.repeat(inputs["expert"], s.block)
    x = np.where(slot[:, None] >= 0, inputs["X"][slot], 0.0)
    gate = np.einsum("sk,snk->sn", x, inputs["Wg"][expert])
    return {"Y": gate / (1 + np.exp(-gate)) * np.einsum("sk,snk->sn", x, inputs["Wu"][expert])}


def down_reference(s: DownSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64."""
    rows = np.einsum("sk,snk->sn", inputs["H"], inputs["W"][np.repeat(inputs["expert"], s.block)])
    if not s.scatter:
        return {"Y": rows}
    out = np.zeros((sizes["T"], sizes["N"]))
    used = inputs["slot"] >= 0
    np.add.at(out, inputs["slot"][used], (rows * inputs["weight"][:, None])[used])
    return {"Y": out}


def sizes(s: ExpertSchedule) -> tuple[Sizes, ...]:
    """k-tiles 1, 2, S and 2 S + 1 times; ragged in k and columns."""
    out: list[Sizes] = []
    for turn, n in enumerate(sorted({1, 2, s.stages, 2 * s.stages + 1})):
        k = n * s.depth - (8 if turn % 2 == 0 else 0)
        columns = s.columns + 8 if turn % 2 else s.columns - 5
        out.append({"P": s.block * (1 + (turn + 1) % 2), "T": 11 + turn, "E": 3, "N": columns, "K": k})
    return tuple(_with(s, one) for one in out)


def _with(s: ExpertSchedule, given: Sizes) -> Sizes:
    """The sizes that this kernel's signature has."""
    absent = {"T"} if isinstance(s, DownSchedule) and not s.scatter else set[str]()
    return {name: value for name, value in given.items() if name not in absent}


def make_inputs(s: ExpertSchedule, given: Sizes, rng: np.random.Generator) -> dict[str, Any]:
    """Experts that differ from block to block, random tokens with some padding."""
    p, n, k, experts = given["P"], given["N"], given["K"], given["E"]
    made: dict[str, Any] = {"expert": (np.arange(p // s.block) + 1) % experts}
    if "T" in given:
        made["slot"] = np.where(rng.random(p) < 0.2, -1, rng.integers(0, given["T"], p))
    weights = (experts, n, k)
    if isinstance(s, UpSchedule):
        x = rng.standard_normal((given["T"], k))
        return {**made, "X": x, "Wg": rng.standard_normal(weights), "Wu": rng.standard_normal(weights)}
    made |= {"H": rng.standard_normal((p, k)), "W": rng.standard_normal(weights)}
    return {**made, "weight": rng.random(p)} if "T" in given else made


UP_EXAMPLES = {
    "ring": UpSchedule(columns=32, grid=(2, 1)),
    "48-slots": UpSchedule(block=48, columns=32, depth=32, grid=(3, 1), swizzle=4),
    "three-stages": UpSchedule(block=32, columns=32, depth=32, grid=(1, 1), atom="32x32x8", stages=3, swizzle=0),
    "registers": UpSchedule(columns=64, depth=32, stages=1, swizzle=4, dtype="f16"),
    "wgmma": UpSchedule(target="sm_90a", columns=32, grid=(1, 1), atom="m64n32k16"),
    "wgmma-registers": UpSchedule(target="sm_90a", columns=48, depth=32, grid=(1, 1), atom="m64n48k16", stages=1),
    "mma-sync": UpSchedule(target="sm_90a", block=32, columns=16, depth=32, grid=(2, 1), atom="m16n8k16"),
}
DOWN_EXAMPLES = {
    "slots": DownSchedule(columns=32, grid=(2, 1)),
    "scatter": DownSchedule(columns=32, grid=(2, 1), scatter=True),
    "scatter-registers": DownSchedule(block=32, columns=96, depth=32, grid=(1, 3), stages=1, swizzle=4, scatter=True),
    "wgmma": DownSchedule(target="sm_90a", columns=48, grid=(1, 1), atom="m64n48k16", stages=3),
    "wgmma-scatter": DownSchedule(target="sm_90a", columns=32, grid=(1, 1), atom="m64n32k16", scatter=True),
    "three-stages": DownSchedule(block=64, columns=32, depth=32, grid=(2, 1), atom="32x32x8", stages=3, swizzle=0),
}


# ------------------------------------------------------------------------------------------- combine


class CombineSchedule(LibrarySchedule):
    """One kernel that adds up the rows of each token. The first two fields choose what is computed, the others how.

    Attributes:
        experts: Rows of a token.
        dtype: Of rows and results.
        waves: Of a block, which has one token.
        vector: Elements a lane moves at a time; a block has as many columns as its lanes move at once.
    """

    experts: int = 8
    dtype: Literal["bf16", "f16", "f32"] = "bf16"
    target: Target = "gfx942"
    waves: int = 1
    vector: Literal[2, 4, 8] = 8

    def problems(self) -> list[str]:
        """Why the family cannot print this schedule; empty when it can."""
        found: list[str] = []
        if not 1 <= self.waves <= 16:
            found.append(f"a block has 1 to 16 waves, not {self.waves}")
        if not 1 <= self.experts <= 32:
            found.append(f"a token has 1 to 32 rows, not {self.experts}")
        if self.vector * (4 if self.dtype == "f32" else 2) > 16:
            found.append(f"{self.vector} elements of {self.dtype} exceed the 16 bytes that a lane moves")
        return found

    @property
    def columns(self) -> int:
        return LANES[self.target] * self.waves * self.vector


def combine_text(s: CombineSchedule) -> str:
    """Kernel text of a schedule."""
    convert, back = ("", "y") if s.dtype == "f32" else (".to(f32)", f"y.to({s.dtype})")
    i, n = s.experts, s.columns
    return f"""\
@kernel(target="{s.target}", waves={s.waves})
def moe_combine(Y: {s.dtype}[s:P, n:N], place: i32[t:T, i:{i}], weight: f32[t:T, i:{i}], Z: {s.dtype}[t:T, n:N]):
    where(N % {wide(s.dtype)} == 0)
    assume(-1 <= place[t, i] < P)
    ensures(Z[t, n], over(i, {i}), uses=(Y, weight))
    bt, bn = block(T, cdiv(N, {n}))
    x = load(Y.gather(load(place[bt])).tile({i}, {n})[0, bn], map=linear({s.vector})){convert}
    w = load(weight[bt], like=x)
    assert_match(x.i, w.i)
    y = reduce("sum", w * x, "i")
    assert_complete(y, i=range({i}))
    store(Z[bt].tile({n})[bn], {back})
"""


def combine_reference(s: CombineSchedule, inputs: Mapping[str, Any], sizes: Sizes) -> dict[str, Array]:
    """In fp64; a place of -1 adds nothing."""
    del s, sizes
    place = inputs["place"]
    rows = np.where(place[..., None] >= 0, inputs["Y"][place], 0.0)
    return {"Z": np.einsum("ti,tin->tn", inputs["weight"], rows)}


def combine_sizes(s: CombineSchedule) -> tuple[Sizes, ...]:
    """Less than a block of columns, one, and two with a tail."""
    n, a = s.columns, wide(s.dtype)
    return {"P": 19, "T": 5, "N": multiple(n - n // 3, a)}, {"P": 8, "T": 2, "N": n}, {"P": 40, "T": 3, "N": n + a}


def combine_inputs(s: CombineSchedule, given: Sizes, rng: np.random.Generator) -> dict[str, Any]:
    """Random places with some padding."""
    shape = given["T"], s.experts
    place = np.where(rng.random(shape) < 0.2, -1, rng.integers(0, given["P"], shape))
    return {"Y": rng.standard_normal((given["P"], given["N"])), "place": place, "weight": rng.random(shape)}


COMBINE_EXAMPLES = {
    "eight": CombineSchedule(),
    "six": CombineSchedule(experts=6, waves=3, vector=4),
    "four-hopper": CombineSchedule(target="sm_90a", experts=4, waves=2),
    "two": CombineSchedule(experts=2, waves=2, vector=4, dtype="f32"),
}
