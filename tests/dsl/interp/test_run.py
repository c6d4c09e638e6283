"""The interface: what a run takes, refuses and returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from argus.dsl.diagnostics import KernelError
from argus.dsl.interp import POLICIES, Policy, run, trip_sizes, wrong
from argus.dsl.ir import Kernel

Core = Callable[[str], Kernel]
Text = Callable[[str], str]
RNG = np.random.default_rng(0)
A, B = RNG.standard_normal((70, 40)), RNG.standard_normal((72, 40))
SIZES = {"M": 70, "N": 72, "K": 40}


def test_twenty_one_policies() -> None:
    assert len(set(POLICIES)) == 21
    assert {p.landing for p in POLICIES} == {"earliest", "latest", "random"}


def test_runs_are_reproducible(text: Text, core: Core) -> None:
    kernel = core(text("gemm_dma_swapped_drain").replace("        wait(0)\n", ""))
    policy = Policy("random", "random", 7)
    first, second = (run(kernel, SIZES, {"A": A, "B": B}, policy=policy) for _ in range(2))
    assert first.faults == second.faults
    assert np.array_equal(first.outputs["C"], second.outputs["C"], equal_nan=True)


def test_some_blocks(text: Text, core: Core) -> None:
    outcome = run(core(text("gemm_single")), SIZES, {"A": A, "B": B}, blocks=[(1, 0)])
    assert outcome.faults == ()
    assert outcome.written["C"].sum() == 6 * 64
    np.testing.assert_allclose(outcome.outputs["C"][64:, :64], A[64:] @ B[:64].T)
    assert np.isnan(outcome.outputs["C"][:64]).all()


def test_elements_that_no_block_writes(text: Text, core: Core) -> None:
    kernel = core(text("gemm_single").replace("block(cdiv(M, 64)", "block(M // 64"))
    outcome = run(kernel, SIZES, {"A": A, "B": B})
    (fault,) = outcome.faults
    assert (fault.kind, fault.buffer, fault.element, fault.count) == ("write-set", "C", (64, 0), 6 * 72)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"M": 70, "N": 72}, "no value for size K"),
        ({**SIZES, "Q": 1}, "no size Q"),
        ({**SIZES, "M": 0}, "at least 1, not M = 0"),
        ({**SIZES, "K": 36}, "precondition of gemm does not hold for K = 36"),
    ],
)
def test_sizes_must_satisfy_the_preconditions(sizes: dict[str, int], message: str, text: Text, core: Core) -> None:
    with pytest.raises(KernelError, match=message):
        run(core(text("gemm_single")), sizes, {"A": A, "B": B})


@pytest.mark.parametrize(
    ("inputs", "message"), [({"A": A}, "no input B"), ({"A": A.T, "B": B}, r"A has shape \[40, 70\], not \[70, 40\]")]
)
def test_inputs_must_fit(inputs: dict[str, Any], message: str, text: Text, core: Core) -> None:
    with pytest.raises(ValueError, match=message):
        run(core(text("gemm_single")), SIZES, inputs)


def test_first_fault_stops(text: Text, core: Core) -> None:
    kernel = core(text("gemm_dma_swapped_drain").replace("        wait(0)\n", "").replace("    wait(0)\n", ""))
    assert len(run(kernel, SIZES, {"A": A, "B": B}).faults) > 1
    assert len(run(kernel, SIZES, {"A": A, "B": B}, first_fault=True).faults) == 1


def test_wrong_says_which_element(text: Text, core: Core, gemm: Callable[..., Any]) -> None:
    kernel = core(text("gemm_single").replace("unroll(4)", "unroll(3)"))
    found = wrong(kernel, gemm, sizes_list=[SIZES])
    assert found is not None
    assert (found.output, found.element, found.total) == ("C", (0, 0), 70 * 72)
    assert found.count > 5000
    assert found.got != found.want


def test_a_slightly_wrong_value_is_wrong(text: Text, core: Core) -> None:
    kernel = core(text("gemm_single"))

    def nearly(inputs: Any, _: Any) -> dict[str, Any]:  # noqa: ANN401
        c = inputs["A"] @ inputs["B"].T
        c[5, 7] += 1e-7
        return {"C": c}

    found = wrong(kernel, nearly, sizes_list=[SIZES])
    assert found is not None
    assert (found.element, found.count) == ((5, 7), 1)


def test_trip_sizes_realise_trips_tails_and_unequal_grids(text: Text, core: Core) -> None:
    sizes = trip_sizes(core(text("gemm_dma_ring")))
    trips = [-(-s["K"] // 32) for s in sizes]
    assert set(trips) == {1, 2, 3, 7}
    assert any(s["K"] % 32 for s in sizes)
    assert any(s["K"] % 32 == 0 for s in sizes)
    assert all(s["K"] % 8 == 0 and s["N"] % 4 == 0 for s in sizes)
    assert all(s["M"] % 128 for s in sizes)
    assert {(-(-s["M"] // 128), -(-s["N"] // 128)) for s in sizes} >= {(1, 2), (2, 1), (2, 3)}


def test_trip_sizes_of_a_peeled_loop_include_none(core: Core) -> None:
    text = """
@kernel(target="gfx942", waves=1)
def total(X: f32[r:R, c:64], Y: f32[c:64]):
    ensures(Y[c], over(r, R), uses=(X,))
    y = load(X[0], map=linear(1))
    for i in range(1, R):
        y = y + load(X[i], map=linear(1))
    store(Y, y)
"""
    kernel = core(text)
    assert [s["R"] for s in trip_sizes(kernel)] == [1, 2, 3, 4]
    assert wrong(kernel, lambda i, _: {"Y": i["X"].sum(axis=0)}, sizes_list=trip_sizes(kernel)) is None
