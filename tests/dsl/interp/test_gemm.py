"""GEMM kernels under all schedules: right ones stay right, planted mistakes are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from argus.dsl.interp import POLICIES, Landing, Policy, Wrong, run, trip_sizes, wrong
from argus.dsl.ir import Kernel

Core = Callable[[str], Kernel]
Text = Callable[[str], str]
Reference = Callable[[Mapping[str, Any], Mapping[str, int]], Mapping[str, Any]]

# Small tiles: the same schedules, faster.
SMALL: dict[str, list[tuple[str, str]]] = {
    "gemm_single": [],
    "gemm_double": [("128", "64")],
    "gemm_dma_ring": [("128", "64")],
    "gemm_dma_swapped_drain": [("256", "64"), ("224", "64"), ("waves=8", "waves=4"), ("(2, 4)", "(2, 2)")],
}


def edited(text: str, edits: list[tuple[str, str]]) -> str:
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def without_last(text: str, what: str) -> str:
    at = text.rindex(what)
    return text[:at] + "priority(0)" + text[at + len(what) :]


@pytest.mark.parametrize("name", ["gemm_single", *(pytest.param(n, marks=pytest.mark.slow) for n in list(SMALL)[1:])])
def test_right_under_every_schedule(name: str, text: Text, core: Core, gemm: Reference) -> None:
    kernel = core(edited(text(name), SMALL[name]))
    assert wrong(kernel, gemm, sizes_list=trip_sizes(kernel)) is None


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.slow
def test_right_at_full_tile_sizes(name: str, text: Text, core: Core, gemm: Reference) -> None:
    kernel = core(text(name))
    assert wrong(kernel, gemm, sizes_list=[{"M": 300, "N": 260, "K": 104}], policies=POLICIES[:3]) is None


BARRIER_FOR = "        barrier()\n        for"
MISTAKES: dict[str, tuple[str, list[tuple[str, str]], set[str]]] = {
    "barrier before reading": ("gemm_single", [(BARRIER_FOR, "        for")], {"race"}),
    "barrier after the prologue": ("gemm_double", [("    barrier()\n    for", "    for")], {"race"}),
    "wait": ("gemm_dma_swapped_drain", [("        wait(0)\n", "")], {"pending"}),
    "wait after the barrier": (
        "gemm_dma_swapped_drain",
        [("        wait(0)\n        barrier()\n", "        barrier()\n        wait(0)\n")],
        {"race"},
    ),
    "wait count": ("gemm_dma_swapped_drain", [("        wait(0)\n", "        wait(1)\n")], {"pending"}),
    "barrier after the wait": ("gemm_dma_swapped_drain", [("        barrier()\n", "")], {"race"}),
    "commit": ("gemm_dma_swapped_drain", [("        commit()\n", "")], {"pending"}),
    "early reuse": (
        "gemm_dma_swapped_drain",
        [("(kt + 1) % 2], A", "kt % 2], A"), ("(kt + 1) % 2], B", "kt % 2], B")],
        {"pending", "race"},
    ),
    "stage of one operand": ("gemm_double", [("As[kt % 2].operand", "As[(kt + 1) % 2].operand")], {"race"}),
    "stage of both": ("gemm_double", [("[kt % 2].operand", "[(kt + 1) % 2].operand")], {"race"}),
    "stage of the fill": ("gemm_double", [("store(As[(kt + 1) % 2]", "store(As[kt % 2]")], {"race"}),
    "dropped k-step": ("gemm_single", [("unroll(4)", "unroll(3)")], {"value"}),
    "repeated k-step": ("gemm_single", [("acc, ks)", "acc, ks // 2 * 2)")], {"value"}),
    "k-step of one operand": ("gemm_single", [('As.operand("a", acc, ks)', 'As.operand("a", acc, 3 - ks)')], {"value"}),
    "dropped k-tile": ("gemm_single", [("range(cdiv(K, 32))", "range(1, cdiv(K, 32))")], {"value"}),
    "k-tile of one operand": ("gemm_single", [("[bn, kt]", "[bn, kt + 1]")], {"value"}),
    "transposed store": ("gemm_single", [("[bm, bn], acc", "[bm, bn].T, acc")], {"value"}),
    "block indices swapped": ("gemm_single", [("bm, bn = block", "bn, bm = block")], {"write-set", "value"}),
    "block index of a load": ("gemm_single", [("A.tile(64, 32)[bm", "A.tile(64, 32)[bn")], {"value"}),
    "prologue": ("gemm_double", [("    store(Bs[0], load(B.tile(128, 64)[bn, 0], map=linear(8)))\n", "")], {"poison"}),
    "row out of range": ("gemm_single", [('As.operand("a"', 'As.rows(1, 64).operand("a"')], {"bounds"}),
    "double write": (
        "gemm_single",
        [("bm, bn], acc)", "bm, bn], acc)\n    store(C.tile(64, 64)[bm, bn], acc)")],
        {"write-set"},
    ),
    "overlapping blocks": ("gemm_single", [("C.tile(64, 64)[bm,", "C.tile(64, 64)[bm // 2,")], {"write-set"}),
}


def verdict(found: Wrong | None) -> str:
    if found is None:
        return "right"
    return "value" if found.fault is None else found.fault.kind


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistake_is_found(mistake: str, text: Text, core: Core, gemm: Reference) -> None:
    name, edits, kinds = MISTAKES[mistake]
    kernel = core(edited(edited(text(name), edits), SMALL[name]))
    assert verdict(wrong(kernel, gemm, sizes_list=trip_sizes(kernel))) in kinds


@pytest.mark.parametrize("name", ["gemm_single", "gemm_double"])
def test_missing_barrier_at_the_end_of_the_loop(name: str, text: Text, core: Core, gemm: Reference) -> None:
    kernel = core(edited(without_last(text(name), "barrier()"), SMALL[name]))
    assert verdict(wrong(kernel, gemm, sizes_list=trip_sizes(kernel))) == "race"


def in_chunks(text: str, buffer: str, place: str) -> str:
    """Store a tile chunk by chunk, chunk c in `place`."""
    tensor, index = ("A", "bm") if buffer == "As" else ("B", "bn")
    loop = (
        f"        for c in unroll(4):\n"
        f"            x = load({tensor}.tile(64, 8)[{index}, kt * 4 + c], map=linear(8))\n"
        f"            store({buffer}.tile(64, 8)[0, {place}], x)\n"
    )
    return edited(text, [(f"        store({buffer}, {tensor.lower()})\n", loop)])


def test_swizzle_mismatch(text: Text, core: Core, gemm: Reference) -> None:
    """A permutation of k that both operands share is harmless, one that they do not share is not."""
    one = in_chunks(text("gemm_single"), "As", "(c + 1) % 4")
    both = in_chunks(one, "Bs", "(c + 1) % 4")
    sizes = [{"M": 70, "N": 72, "K": 72}]
    assert verdict(wrong(core(one), gemm, sizes_list=sizes)) == "value"
    assert wrong(core(both), gemm, sizes_list=sizes) is None


@pytest.mark.slow
def test_a_copy_that_overtakes_readers_is_seen_in_values_only_when_it_lands_early(text: Text, core: Core) -> None:
    """The copy into the other stage is issued before the barrier that ends its last use."""
    edits = [
        ("        wait(0)\n        barrier()\n", ""),
        ("        priority(1)\n", "        wait(1)\n        barrier()\n"),
    ]
    kernel = core(edited(text("gemm_dma_swapped_drain"), [*edits, *SMALL["gemm_dma_swapped_drain"]]))
    sizes = {"M": 64, "N": 64, "K": 320}
    rng = np.random.default_rng(0)
    inputs = {"A": rng.standard_normal((64, 320)), "B": rng.standard_normal((64, 320))}
    right: dict[Landing, list[bool]] = {"earliest": [], "latest": []}
    for policy in POLICIES:
        outcome = run(kernel, sizes, inputs, policy=policy)
        assert "race" in {f.kind for f in outcome.faults}
        close = np.allclose(outcome.outputs["C"], inputs["A"] @ inputs["B"].T)
        right.setdefault(policy.landing, []).append(bool(close))
    assert right["latest"] == [True] * 7
    assert right["earliest"].count(False) >= 4


def test_faults_say_who_where_and_when(text: Text, core: Core, gemm: Reference) -> None:
    kernel = core(edited(text("gemm_single"), [(BARRIER_FOR, "        for")]))
    found = wrong(kernel, gemm, sizes_list=[{"M": 70, "N": 72, "K": 72}], policies=[Policy("latest", "first")])
    assert found is not None
    fault = found.fault
    assert fault is not None
    # Wave 0 runs through to the epilogue before wave 1 stores its share, which begins with row 8 of As.
    assert (fault.kind, fault.block, fault.buffer, fault.element) == ("race", (0, 0), "As", (8, 0))
    assert (fault.wave, fault.lane, fault.loops) == (1, 0, {"kt": 0})
    assert (fault.other_wave, fault.other_action, fault.other_loops) == (0, "reads", {"kt": 0, "ks": 0})
    assert (fault.span.line, fault.other_span and fault.other_span.line) == (11, 14)
    assert found.sizes == {"M": 70, "N": 72, "K": 72}
    assert "nothing orders the two" in str(found)
