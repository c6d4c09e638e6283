"""Padding, vanishing writes, sub-views, gathers: memory as views see it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from argus.dsl.interp import Outcome

Execute = Callable[..., Outcome]
RNG = np.random.default_rng(1)


def kinds(outcome: Outcome) -> set[str]:
    return {f.kind for f in outcome.faults}


def test_reads_outside_any_axis_are_padding_and_writes_vanish(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=1)
def copy(X: f32[r:R, c:C], Y: f32[r:R, c:C], Z: f32[i:64, j:64]):
    ensures(Y[r, c], uses=(X,))
    ensures(Z[i, j], uses=(X,))
    x = load(X.tile(64, 64, pad=7.0)[0, 0], map=linear(4))
    store(Y.tile(64, 64)[0, 0], x)
    store(Z, x)
"""
    x = RNG.standard_normal((50, 30))
    outcome = execute(text, {"R": 50, "C": 30}, X=x)
    padded = np.full((64, 64), 7.0)
    padded[:50, :30] = x
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Y"], x)
    assert np.array_equal(outcome.outputs["Z"], padded)
    assert (outcome.written["Y"] == 1).all()


def test_tile_indices_beyond_and_before_the_tensor(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=1)
def far(X: f32[r:R, c:C], Y: f32[n:2, i:64, j:64]):
    ensures(Y[n, i, j], uses=(X,))
    store(Y[0], load(X.tile(64, 64)[3, 0], map=linear(4)))
    store(Y[1], load(X.tile(64, 64)[0 - 1, 0], map=linear(4)))
"""
    outcome = execute(text, {"R": 70, "C": 64}, X=RNG.standard_normal((70, 64)))
    assert outcome.faults == ()
    assert (outcome.outputs["Y"] == 0).all()


def test_rows_columns_and_transposes(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=2)
def parts(X: f32[r:64, c:64], Y: f32[c:32, r:16]):
    ensures(Y[c, r], uses=(X,))
    s = shared(f32, 64, 64, swizzle=xor(8, unit=4), pad=4)
    store(s.T, load(X, map=linear(4)))
    barrier()
    store(Y, load(s.rows(32, 32).cols(8, 16), map=linear(2)))
"""
    x = RNG.standard_normal((64, 64))
    outcome = execute(text, X=x)
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Y"], x.T[32:64, 8:24])


def test_rows_outside_a_tensor_are_out_of_bounds(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=1)
def beyond(X: f32[r:R, c:64], Y: f32[i:64, c:64]):
    ensures(Y[i, c], uses=(X,))
    store(Y, load(X.rows(32, 64), map=linear(4)))
"""
    assert execute(text, {"R": 96}, X=RNG.standard_normal((96, 64))).faults == ()
    outcome = execute(text, {"R": 90}, X=RNG.standard_normal((90, 64)))
    assert kinds(outcome) == {"bounds", "poison"}
    fault = outcome.faults[0]
    assert (fault.kind, fault.buffer, fault.count) == ("bounds", "X", 6 * 64)
    assert fault.element is not None
    assert fault.element[0] >= 90


def test_stage_index_out_of_range(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=1)
def stages(X: f32[r:64, c:64], Y: f32[r:64, c:64]):
    ensures(Y[r, c], uses=(X,))
    s = shared(f32, 2, 64, 64)
    for i in unroll(3):
        store(s[i], load(X, map=linear(4)))
    barrier()
    store(Y, load(s[1], map=linear(4)))
"""
    outcome = execute(text, X=RNG.standard_normal((64, 64)))
    assert [(f.kind, f.buffer, f.loops) for f in outcome.faults] == [("bounds", "s", {"i": 2})]


def test_gather_takes_rows_and_pads_minus_one(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=2)
def gathered(X: f32[t:T, c:C], slot: i32[s:S], Y: f32[s:S, c:C]):
    ensures(Y[s, c], uses=(X,))
    bs = block(cdiv(S, 32))
    x = X.gather(load(slot.tile(32, pad=-1)[bs]))
    store(Y.tile(32, 64)[bs, 0], load(x.tile(32, 64)[0, 0], map=linear(4)))
"""
    x = RNG.standard_normal((20, 60))
    slot = RNG.integers(-1, 20, 50)
    outcome = execute(text, {"T": 20, "C": 60, "S": 50}, X=x, slot=slot)
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Y"], np.where(slot[:, None] >= 0, x[slot], 0))
    wrong = execute(text, {"T": 20, "C": 60, "S": 50}, X=x, slot=np.where(slot == 3, 20, slot))
    assert "bounds" in kinds(wrong)


def test_scatter_writes_rows_and_skips_minus_one(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=2)
def scattered(X: f32[s:64, c:64], slot: i32[s:64], Y: f32[t:T, c:64]):
    y = Y.scatter(load(slot))
    store(y, load(X, map=linear(4)))
"""
    x = RNG.standard_normal((64, 64))
    slot = RNG.permutation(100)[:64]
    slot[5] = -1
    outcome = execute(text, {"T": 100}, X=x, slot=slot)
    want = np.full((100, 64), np.nan)
    want[slot[slot >= 0]] = x[slot >= 0]
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Y"], want, equal_nan=True)
    slot[6] = slot[7]
    assert kinds(execute(text, {"T": 100}, X=x, slot=slot)) == {"write-set"}


def test_a_loaded_integer_is_an_index(execute: Execute) -> None:
    text = """
@kernel(target="gfx942", waves=1)
def pick(W: f32[e:E, c:64], which: i32[b:B], Y: f32[b:B, c:64]):
    ensures(Y[b, c], uses=(W,))
    b = block(B)
    e = load(which[b])
    store(Y[b], load(W[e], map=linear(1)))
"""
    w, which = RNG.standard_normal((5, 64)), np.array([4, 0, 2])
    outcome = execute(text, {"E": 5, "B": 3}, W=w, which=which)
    assert outcome.faults == ()
    assert np.array_equal(outcome.outputs["Y"], w[which])
