"""Registers: arithmetic without rounding, poison, reductions and cross-lane moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from argus.dsl.interp import Outcome

Array = npt.NDArray[Any]
Execute = Callable[..., Outcome]
RNG = np.random.default_rng(2)


def kinds(outcome: Outcome) -> set[str]:
    return {f.kind for f in outcome.faults}


def pointwise(execute: Execute, expression: str, x: Array, y: Array) -> Array:
    text = f"""
@kernel(target="gfx942", waves=2)
def f(X: f32[r:16, c:64], Y: f32[r:16, c:64], Z: f32[r:16, c:64], n: i32, t: f32):
    ensures(Z[r, c], uses=(X, Y))
    x, y = load(X, map=linear(4)), load(Y, map=linear(4))
    store(Z, {expression})
"""
    outcome = execute(text, X=x, Y=y, n=3, t=0.25)
    assert outcome.faults == ()
    return outcome.outputs["Z"]


ROW, COLUMN = np.arange(16)[:, None], np.arange(64)
CASES: list[tuple[str, Callable[[Array, Array], Array]]] = [
    ("x + y * t", lambda x, y: x + y * 0.25),
    ("max(x, y) - min(x, 0.5)", lambda x, y: np.maximum(x, y) - np.minimum(x, 0.5)),
    ("exp2(x) / sqrt(abs(y))", lambda x, y: np.exp2(x) / np.sqrt(np.abs(y))),
    ("rsqrt(abs(x) + 1.0) * rcp(y)", lambda x, y: 1 / np.sqrt(np.abs(x) + 1) / y),
    ("silu(x) + sigmoid(y)", lambda x, y: x / (1 + np.exp(-x)) + 1 / (1 + np.exp(-y))),
    ("relu(-x) + tanh(y) + log2(abs(x))", lambda x, y: np.maximum(-x, 0) + np.tanh(y) + np.log2(np.abs(x))),
    ("select((x > 0.0) & (y <= 0.5), x, y)", lambda x, y: np.where((x > 0) & (y <= 0.5), x, y)),
    ("select((x > 0.0) | ~(y > 0.0), 1.0, 0.0)", lambda x, y: ((x > 0) | ~(y > 0)) * 1.0),
    ("x.to(bf16).to(f32)", lambda x, _: x),
    ("mask(x, y > 0.0, -1.0)", lambda x, y: np.where(y > 0, x, -1)),
    ("mask(x, (x.c < 10) & (x.r >= n), 0.0)", lambda x, _: x * (COLUMN < 10) * (ROW >= 3)),
    ("relayout(x, linear(4))", lambda x, _: x),
]


@pytest.mark.parametrize(("expression", "function"), CASES)
def test_pointwise(execute: Execute, expression: str, function: Callable[[Array, Array], Array]) -> None:
    x, y = RNG.standard_normal((16, 64)), RNG.standard_normal((16, 64))
    np.testing.assert_allclose(pointwise(execute, expression, x, y), function(x, y), rtol=1e-14)


def test_an_explicit_tag_changes_coordinates_only(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=1)
def f(X: f32[c:64], Z: f32[c:64]):
    ensures(Z[c], uses=(X,))
    x = tag(load(X, map=linear(1)), c=c // 2 + 3)
    store(Z, select(x.c < 10, x, 0.0))
"""
    x = RNG.standard_normal(64)
    outcome = execute(text, X=x)
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Z"], np.where(np.arange(64) < 14, x, 0))


POISON = """
@kernel(target="gfx942", waves=1)
def f(X: f32[c:64], Z: f32[c:64]):
    ensures(Z[c], uses=(X,))
    s = shared(f32, 64)
    x, p = load(X, map=linear(1)), load(s, map=linear(1))
    store(Z, {})
"""


@pytest.mark.parametrize(
    ("expression", "poisons"),
    [
        ("p", True),
        ("x + p * 0.0", True),
        ("max(x, p)", True),
        ("select(x > 5000.0, p, x)", False),
        ("select(x > 0.0, p, x)", True),
        ("select(p > 0.0, x, x)", True),
        ("mask(p, x > 5000.0, 1.0)", False),
        ("select(p == p, 1.0, 0.0)", True),
        ("p.to(i32).to(f32)", True),
    ],
)
def test_poison_reaches_an_output_only_where_it_matters(execute: Execute, expression: str, *, poisons: bool) -> None:
    outcome = execute(POISON.format(expression), X=RNG.standard_normal(64))
    assert kinds(outcome) == ({"poison"} if poisons else set())


def test_poison_times_a_zero_pad_is_poison(execute: Execute) -> None:
    """A zero absorbs initialised data only."""
    text = """
@kernel(target="gfx942", waves=1)
def f(A: f16[m:M, k:K], C: f32[m:M, n:32]):
    ensures(C[m, n], over(k, K), uses=(A,))
    Bs = shared(f16, 32, 8)
    acc = mma_acc("32x32x8", 32, 32)
    acc += mma(A.tile(32, 8)[0, 1].operand("a", acc, 0), Bs.operand("b", acc, 0))
    store(C.tile(32, 32)[0, 0], acc)
"""
    outcome = execute(text, {"M": 32, "K": 8}, A=RNG.standard_normal((32, 8)))
    assert kinds(outcome) == {"poison"}


@pytest.mark.parametrize("across", ["wave", "block"])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_reductions(execute: Execute, op: str, across: str) -> None:
    """Within a wave a row must lie in one wave; across the block it need not."""
    columns = 256 if across == "wave" else 2048
    text = f"""
@kernel(target="gfx942", waves=4)
def f(X: f32[r:R, c:{columns}], Z: f32[r:R, c:{columns}], M: f32[r:R]):
    ensures(Z[r, c], uses=(X,))
    ensures(M[r], over(c, {columns}), uses=(X,))
    b = block(cdiv(R, 4))
    x = load(X.tile(4, {columns})[b, 0], map=linear(4))
    m = reduce("{op}", x, "c", across="{across}")
    store(M.tile(4)[b], m)
    store(Z.tile(4, {columns})[b, 0], x - m)
"""
    x = np.abs(RNG.standard_normal((8, columns)))
    outcome = execute(text, {"R": 8}, X=x)
    want = {"sum": np.sum, "max": np.max, "min": np.min}[op](x, axis=1)
    assert outcome.faults == ()
    np.testing.assert_allclose(outcome.outputs["M"], want, rtol=1e-14)
    np.testing.assert_allclose(outcome.outputs["Z"], x - want[:, None], rtol=1e-13, atol=1e-13)


def test_a_wave_reduction_of_a_row_in_two_waves_is_partial(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=2)
def f(X: f32[r:1, c:128], M: f32[c:128]):
    x = load(X, map=linear(1))
    store(M, x * 0.0 + reduce("sum", x, "c"))
"""
    text = text.replace("M: f32[c:128]", "M: f32[r:1, c:128]")
    x = RNG.standard_normal((1, 128))
    outcome = execute(text, X=x)
    np.testing.assert_allclose(outcome.outputs["M"][0, [0, 127]], [x[0, :64].sum(), x[0, 64:].sum()])


def test_shuffle_takes_a_lanes_value(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=2)
def f(X: f32[c:128], L: i32[c:128], Y: f32[c:128], Z: f32[c:128]):
    ensures(Y[c], uses=(X,))
    ensures(Z[c], uses=(X,))
    x, lane = load(X, map=linear(1)), load(L, map=linear(1))
    store(Y, shuffle(x, 5))
    store(Z, shuffle(x, lane))
"""
    x, lanes = RNG.standard_normal(128), RNG.integers(0, 64, 128)
    outcome = execute(text, X=x, L=lanes)
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Y"], np.repeat(x[[5, 69]], 64))
    assert np.array_equal(outcome.outputs["Z"], x[lanes + np.repeat([0, 64], 64)])
    lanes[3] = 64
    assert kinds(execute(text, X=x, L=lanes)) == {"poison"}


def test_relayout_moves_elements_between_lanes(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves={})
def f(X: f32[c:256], Y: f32[c:256], Z: f32[c:256]):
    ensures(Z[c], uses=(X, Y))
    x, y = load(X, map=linear(1)), load(Y, map=linear(4))
    store(Z, relayout(x, linear(4)) + y)
"""
    x, y = RNG.standard_normal(256), RNG.standard_normal(256)
    outcome = execute(text.format(1), X=x, Y=y)
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Z"], x + y)
    # linear(1) deals to two waves what linear(4) gives to one: values of another wave cannot be had.
    assert kinds(execute(text.format(2), X=x, Y=y)) == {"poison"}
