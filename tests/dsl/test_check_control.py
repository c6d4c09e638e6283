"""Persistent grids, split sums, gathers: right kernels are proved, each slip is refuted with its kind and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.check import check
from argus.dsl.kernels.catalogue import subjects

FOLDER = Path(__file__).parents[1] / "kernels" / "control"
KERNELS = {p.stem: p.read_text("utf-8") for p in sorted(FOLDER.glob("*.py"))}

DRAIN = "        wait(0)\n        barrier()\n        store(C"
ACC = '        acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))\n'
PHASES = "    for kt in range(cdiv(K, 32)):\n        shift(4)\n"
LOOP = "    for bm, bn in tiles"

# Kernel, edits (each `old, new`), the kind that must be refuted, and a piece of its line.
Slip = tuple[str, tuple[tuple[str, str], ...], str, str]
SLIPS: dict[str, Slip] = {
    "the last row of tiles is skipped": (
        "persistent_gemm", (("tiles(cdiv(M, 64),", "tiles(M // 64,"),), "coverage", "store(C",
    ),
    "a tile is stored again and again": (
        "persistent_gemm", (("C.tile(64, 64)[bm, bn]", "C.tile(64, 64)[bm, 0]"),), "coverage", "store(C",
    ),
    "the rows of another tile": (
        "persistent_gemm", (("A.tile(64, 32)[bm, kt]", "A.tile(64, 32)[bm + 1, kt]"),), "epilogue", "store(C",
    ),
    "sums of the tile before": (
        "persistent_gemm", ((ACC, ""), (LOOP, ACC[4:] + LOOP)), "conformity", "acc += mma",
    ),
    "the next tile overwrites what is read": (
        "persistent_gemm", (("            barrier()\n        store(C", "        store(C"),), "race", "store(As",
    ),
    "the second tile fills a stage that a slow wave reads": (
        "persistent_stages", ((DRAIN, "        wait(0)\n        store(C"),), "race", "copy_async(As[0]",
    ),
    "the second tile fills a stage with a copy in flight": (
        "persistent_stages", ((DRAIN, "        barrier()\n        store(C"),), "wait", "copy_async(Bs[0]",
    ),
    "each tile begins in another stage": (
        "persistent_stages", (("copy_async(As[0]", "copy_async(As[1]"),), "init", "acc += mma",
    ),
    # ------------------------------------------------------------------------------------- split ranges
    "parts with gaps": ("split_k", (("range(begin, end)", "range(begin, end - 1)"),), "completeness", "atomic_add("),
    "parts that overlap": ("split_k", (("range(begin, end)", "range(begin, end + 1)"),), "completeness", "atomic_add("),
    "each part sums all": (
        "split_k",
        (("range(begin, end)", "range(cdiv(K, 32))"), ("[bm, begin]", "[bm, 0]"), ("[bn, begin]", "[bn, 0]")),
        "completeness", "atomic_add(",
    ),
    "the parts leave out the tail": (
        "split_k", (("split(cdiv(K, 32)", "split(K // 32"),), "completeness", "atomic_add(",
    ),
    "parts are stored, not added": ("split_k", (("atomic_add(", "store("),), "coverage", "store("),
    "the prologue of a part begins at 0": ("split_k", (("[bm, begin]", "[bm, 0]"),), "conformity", "acc += mma"),
    "rows that no part copies": ("split_rows", (("range(begin, end)", "range(begin, end - 1)"),), "coverage", "store("),
    "rows that two parts copy": ("split_rows", (("range(begin, end)", "range(begin, end + 1)"),), "coverage", "store("),
    "every part copies all": ("split_rows", (("range(begin, end)", "range(cdiv(M, 64))"),), "coverage", "store("),
    "every part adds all": (
        "split_rows", (("range(begin, end)", "range(cdiv(M, 64))"), ("store(", "atomic_add(")), "coverage", "atomic_",
    ),
    # ------------------------------------------------------------------------------- shares of all tiles
    "every share begins with a tile": ("stream_k", (("max(begin - t * kts, 0)", "0"),), "completeness", "atomic_add("),
    "every share ends with a tile": ("stream_k", (("min(end - t * kts, kts)", "kts"),), "completeness", "atomic_add("),
    "shares without their last step": (
        "stream_k", (("min(end - t * kts, kts)", "min(end - t * kts, kts) - 1"),), "completeness", "atomic_add(",
    ),
    "tiles numbered by columns and read by rows": (
        "stream_k",
        (("t // cdiv(N, 32), t % cdiv(N, 32)", "t % cdiv(N, 32), t // cdiv(N, 32)"),), "coverage", "atomic_add(",
    ),
    "the tile before is still read": (
        "stream_k", (("            barrier()\n        atomic", "        atomic"),), "race", "store(As",
    ),
    # ------------------------------------------------------------------------------- gathers and experts
    "the tokens of another block": ("moe_up", (("slot.tile(64)[bs]", "slot.tile(64)[bs + 1]"),), "epilogue", "store("),
    "rows beyond the index": (
        "moe_up", (("x.tile(64, 64)[0, kt + 1]", "x.tile(64, 64)[1, kt + 1]"),), "conformity", "g += mma",
    ),
    "the expert of another block": ("moe_up", (("expert[bs]\n", "expert[bs // 2]\n"),), "epilogue", "store("),
    "always the first expert": ("moe_up", (("expert[bs]\n", "expert[0]\n"),), "written", "assert_match"),
    "an expert out of range": ("moe_up", (("expert[b] < E, ", ""),), "bounds", "Wg[e]"),
    "a token out of range": ("moe_up", (("slot[s] < T, ", ""),), "bounds", "x.tile"),
    "a token below the padding": ("moe_up", (("-1 <= slot[s], ", ""),), "bounds", "x.tile"),
    "gate weights from the other tensor, after the first tile": (
        "moe_up", (("copy_async(nx.Gs, Wg[e]", "copy_async(nx.Gs, Wu[e]"),), "conformity", "g += mma",
    ),
    "the gate twice": ("moe_up", (("silu(g) * u", "silu(g) * g"),), "epilogue", "store("),
    "up weights of the tile before": (
        "moe_up", (("Wu[e].tile(64, 64)[bn, kt + 1]", "Wu[e].tile(64, 64)[bn, kt]"),), "conformity", "u += mma",
    ),
    # ------------------------------------------------------------------------------------------ scatters
    "rows that may share a place": (
        "permute", ((" origin(to[s]) == s, to[origin(t)] == t,", ""),), "coverage", "store(",
    ),
    "the first half of a permutation": ("permute", (("block(P // 64", "block(P // 128"),), "coverage", "store("),
    "rows that share a token are stored": ("moe_down", (("atomic_add(", "store("),), "coverage", "store("),
    "rows of another block's tokens": (
        "moe_down", (("load(slot.tile(64)[bs])", "load(slot.tile(64)[bs // 2])"),), "epilogue", "atomic_add(",
    ),
    "the first rows of the index only": ("moe_down", (("block(P // 64", "block(P // 128"),), "coverage", "atomic_add("),
    "rows added without their token": ("moe_down", ((".scatter(load(slot.tile(64)[bs]))", ""),), "epilogue", "atomic_"),
    # ----------------------------------------------------------------------------------- shifted waves
    "no shift": ("pingpong_rows", (("    shift(4)\n", ""),), "race", "store(As.rows(32, 32), high)"),
    "a second shift": ("pingpong_rows", (("    shift(4)\n", "    shift(4)\n    shift(4)\n"),), "race", "a0, b0"),
    "a shift of other waves": ("pingpong_rows", (("shift(4)", "shift(5)"),), "race", "store(As.rows(32, 32), high)"),
    "a shift in each iteration": (
        "pingpong_rows", (("    shift(4)\n    for kt in range(cdiv(K, 32)):\n", PHASES),), "race", "store(Bs, y)",
    ),
    "one barrier short for those behind": (
        "pingpong_rows", (("        barrier()\n        barrier()\n", "        barrier()\n"),), "race", "a0, b0",
    ),
    # ------------------------------------------------------------------------------- groups of waves
    "all groups into one buffer": (
        "groups_of_waves", (("store(part[g], acc)", "store(part[0], acc)"),), "race", "store(part",
    ),
    "a group's slice of k twice": (
        "groups_of_waves", (("[bn, 3 * kt + g]", "[bn, 3 * kt + 1]"),), "conformity", "acc += mma",
    ),
    "a part left out": ("groups_of_waves", ((" + load(part[2])", ""),), "completeness", "store(C"),
    "parts read before they are there": ("groups_of_waves", (("    barrier()\n", ""),), "race", "load(part[0])"),
    "the second group of waves waits for too few": (
        "wave_groups", (("                wait(1)\n", "                wait(2)\n"),), "wait", "acc += mma",
    ),
    "the second group of waves does not wait": (
        "wave_groups", (("            if g == 1:\n                wait(1)\n", ""),), "wait", "acc += mma",
    ),
    # ------------------------------------------------------------------------- parts for another kernel
    "parts that begin too early": ("split_k_partials", (("bp * 3", "bp * 2"),), "completeness", "store("),
    "parts that are too long": ("split_k_partials", (("min(3,", "min(4,"),), "completeness", "store("),
    "parts that are too short": ("split_k_partials", (("min(3,", "min(2,"),), "completeness", "store("),
    "all parts in one place": ("split_k_partials", (("W[bp]", "W[0]"),), "coverage", "store("),
    # --------------------------------------------------------------------------------- convolutions
    "the offset of the other axis": ("conv2d", (("y, x = r + du", "y, x = r + dv"),), "conformity", "acc += mma"),
    "pixels above the image": ("conv2d", (("(y >= 0) & ", ""),), "bounds", "X.gather(at)"),
    "pixels right of the image": ("conv2d", (("(x < W)", "(x <= W)"),), "bounds", "X.gather(at)"),
    "the filter transposed": ("conv2d", (("F[du, dv]", "F[dv, du]"),), "conformity", "acc += mma"),
    "two rows of the filter": ("conv2d", (("for du in unroll(3)", "for du in unroll(2)"),), "completeness", "store("),
}  # fmt: skip


def edited(kernel: str, edits: tuple[tuple[str, str], ...]) -> str:
    text = KERNELS[kernel]
    for old, new in edits:
        assert old in text, f"{kernel} has no {old!r}"
        text = text.replace(old, new, 1)
    return text


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_is_proved(name: str) -> None:
    report = check(KERNELS[name])
    assert report.ok, report.render(KERNELS[name])
    assert not report.widened
    assert report.assumed == ("assume(" in KERNELS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_refuted(name: str) -> None:
    kernel, edits, kind, line = SLIPS[name]
    text = edited(kernel, edits)
    report = check(text, fixes=False)
    found = [(o.kind, text.splitlines()[o.line - 1]) for o in report.obligations if o.verdict == "refuted"]
    assert any(k == kind and line in where for k, where in found), report.render(text)
    assert not [o.reason for o in report.obligations if (o.reason or "").startswith("internal")]


# Wrong, and not for the reason that one share shows: what all shares of a tile do together.
ADD = "        atomic_add(C.tile(32, 32)[bm, bn], acc)"
LOOP_OVER_TILES = "range(begin // kts, cdiv(end, kts))"
SHARES: dict[str, tuple[str, str]] = {
    "only the first share of a tile adds": (ADD, f"        if max(begin - t * kts, 0) == 0:\n    {ADD}"),
    "only the first share of all adds": (ADD, f"        if begin == 0:\n    {ADD}"),
    "shares are stored": ("atomic_add(", "store("),
    "where a share adds depends on its length": (ADD, ADD.replace("[bm, ", "[bm + max(begin - t * kts, 0), ")),
    "the last tile of a share is left out": (LOOP_OVER_TILES, "range(begin // kts, end // kts)"),
    "a step of all is left out": ("* kts, 3)", "* kts - 1, 3)"),
    "tiles in another order than their number": ("t // cdiv(N, 32), t %", "t // cdiv(M, 32), t %"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARES)
def test_what_shares_do_together_is_not_proved(name: str) -> None:
    text = edited("stream_k", (SHARES[name],))
    assert not check(text, fixes=False).ok


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("shares are stored", "only what they add is counted together"),
        ("where a share adds depends on its length", "depends on what it holds of the tile"),
    ],
)
def test_shares_that_differ_are_not_counted_together(name: str, reason: str) -> None:
    report = check(edited("stream_k", (SHARES[name],)), fixes=False)
    assert any(reason in (o.reason or "") for o in report.obligations if o.kind == "coverage")


# -------------------------------------------------------------------------------------------- the library

RINGS = {s.name: s.text for s in subjects() if s.name in ("conv2d/ring", "conv2d/one-tap")}
RING_SLIPS = {
    "the filter transposed": ("F[u, v]", "F[v, u]"),
    "channels of the tile before": (".tile(64, 32)[bo, ct + (t + 1) // 9]", ".tile(64, 32)[bo, ct]"),
}


@pytest.mark.parametrize("name", [pytest.param("conv2d/ring", marks=pytest.mark.slow), "conv2d/one-tap"])
def test_a_ring_over_taps_is_proved(name: str) -> None:
    report = check(RINGS[name])
    assert report.ok, report.render(RINGS[name])
    assert not report.widened


@pytest.mark.slow
@pytest.mark.parametrize("name", RING_SLIPS)
def test_a_slip_in_a_ring_over_taps_is_refuted(name: str) -> None:
    old, new = RING_SLIPS[name]
    assert old in RINGS["conv2d/ring"]
    text = RINGS["conv2d/ring"].replace(old, new, 1)
    report = check(text, fixes=False)
    found = [(o.kind, text.splitlines()[o.line - 1]) for o in report.obligations if o.verdict == "refuted"]
    assert any(k == "conformity" and "acc += mma" in where for k, where in found), report.render(text)
