"""Barriers, roles, async copies and mbarriers: who orders what, and who waits for ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from argus.dsl.interp import POLICIES, Outcome, Policy, run, wrong
from argus.dsl.ir import Kernel

Execute = Callable[..., Outcome]
Core = Callable[[str], Kernel]
NONE: set[str] = set()
RNG = np.random.default_rng(3)
X = RNG.standard_normal((64, 64))

HEAD = """
@kernel(target="gfx942", waves=4)
def f(X: f32[r:64, c:64], Y: f32[r:64, c:64]):
    ensures(Y[r, c], uses=(X,))
    s = shared(f32, 64, 64)
"""


def same(inputs: Mapping[str, Any], _: Mapping[str, int]) -> dict[str, Any]:
    return {"Y": inputs["X"]}


def kinds(core: Core, text: str, reference: Callable[..., dict[str, Any]] = same) -> set[str]:
    """Kinds of the first fault under each policy, `value` for a wrong value.

    Whoever reads too early stores poison before the write comes that races with it: where there is another kind,
    poison is left out.
    """
    kernel = core(text)
    found: set[str] = set()
    for policy in POLICIES:
        result = wrong(kernel, reference, sizes_list=[{}], policies=[policy])
        if result is not None:
            found.add("value" if result.fault is None else result.fault.kind)
    return found - {"poison"} or found


def test_a_wave_sees_its_own_stores_others_need_a_barrier(core: Core) -> None:
    own = HEAD + "    store(s, load(X, map=linear(4)))\n    store(Y, load(s, map=linear(4)))\n"
    assert kinds(core, own) == set()
    foreign = own.replace("load(s, map=linear(4))", "load(s.T, map=linear(4))").replace("store(Y,", "store(Y.T,")
    assert kinds(core, foreign) == {"race"}
    ordered = foreign.replace("    store(Y.T", "    barrier()\n    store(Y.T")
    assert kinds(core, ordered) == set()


COPY = HEAD + '    copy_async(s, X, via="dma")\n    commit()\n'


@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("    wait(0)\n    barrier()\n", NONE),
        ("    wait(1)\n    barrier()\n", {"pending"}),
        ("    barrier()\n    wait(0)\n", {"race", "pending"}),  # pending for whoever reads before the owner waits
        ("    barrier()\n", {"pending"}),
        ("    wait(0)\n", {"race", "pending"}),
    ],
)
def test_copies_are_seen_after_the_wait_and_a_barrier(core: Core, tail: str, expected: set[str]) -> None:
    assert kinds(core, COPY + tail + "    store(Y.T, load(s.T, map=linear(4)))\n") == expected


def test_only_committed_groups_can_be_waited_for(core: Core) -> None:
    text = COPY.replace("    commit()\n", "") + "    wait(0)\n    barrier()\n    store(Y, load(s, map=linear(4)))\n"
    assert kinds(core, text) == {"pending"}


def test_program_order_does_not_order_a_copy_after_the_waves_own_store(core: Core) -> None:
    text = HEAD + (
        '    store(s, load(X, map=linear(1)))\n{}    copy_async(s, X, via="dma")\n    commit()\n'
        "    wait(0)\n    barrier()\n    store(Y, load(s, map=linear(4)))\n"
    )
    assert kinds(core, text.format("")) == {"race"}
    assert kinds(core, text.format("    barrier()\n")) == set()


def test_copies_of_one_wave_into_the_same_cells_race(core: Core) -> None:
    twice = COPY.replace("    commit()\n", '    copy_async(s, X, via="dma")\n    commit()\n')
    tail = "    wait(0)\n    barrier()\n    store(Y, load(s, map=linear(4)))\n"
    assert kinds(core, twice + tail) == {"pending"}


def test_a_copy_that_nobody_uses_may_be_in_flight_at_the_end(core: Core) -> None:
    text = HEAD + '    store(Y, load(X, map=linear(4)))\n    copy_async(s, X, via="dma")\n    commit()\n'
    assert kinds(core, text) == set()


def test_when_copies_land(core: Core) -> None:
    """A reader that does not wait gets the data early, poison late."""
    kernel = core(COPY + "    barrier()\n    store(Y, load(s, map=linear(4)))\n")
    early = run(kernel, {}, {"X": X}, policy=Policy("earliest"))
    late = run(kernel, {}, {"X": X}, policy=Policy("latest"))
    assert np.array_equal(early.outputs["Y"], X)
    assert np.isnan(late.outputs["Y"]).all()
    assert {f.kind for f in early.faults} == {"pending"}
    assert {f.kind for f in late.faults} == {"pending", "poison"}


ROLES = """
@kernel(target="gfx942", waves=4)
def f(X: f32[r:64, c:64], Y: f32[r:64, c:64]):
    ensures(Y[r, c], uses=(X,))
    s = shared(f32, 64, 64)
    with role("fill", waves=1):
        store(s, load(X, map=linear(4)))
        {fill}
    with role("drain", waves=3):
        {drain}
        store(Y, load(s, map=linear(4)))
"""


@pytest.mark.parametrize(
    ("fill", "drain", "expected"),
    [
        ("barrier()", "barrier()", NONE),
        ("barrier(waves=4)", "barrier(waves=4)", NONE),
        ("barrier(waves=1)", "barrier(waves=3)", {"race"}),
        ("barrier(waves=4)", "barrier(waves=3)", {"deadlock", "race"}),
        ("priority(0)", "barrier()", {"race", "divergence"}),
        ("barrier()", "priority(0)", {"race", "divergence"}),
    ],
)
def test_barriers_order_their_participants(core: Core, fill: str, drain: str, expected: set[str]) -> None:
    found = kinds(core, ROLES.format(fill=fill, drain=drain))
    assert found <= expected
    assert bool(found) == bool(expected)


def test_deadlock_names_those_who_wait(execute: Execute) -> None:
    text = ROLES.format(fill="barrier(waves=4)", drain="barrier(waves=3)")
    outcome = execute(text, X=X, policy=Policy("latest", "first"))
    fault = next(f for f in outcome.faults if f.kind == "deadlock")
    assert "wave 0 at barrier(waves=4)" in fault.message
    assert "ended: 1, 2, 3" in fault.message


def test_groups_of_a_role_meet_apart(core: Core) -> None:
    text = """
@kernel(target="gfx942", waves=4)
def f(X: f32[r:64, c:64], Y: f32[r:64, c:64]):
    ensures(Y[r, c], uses=(X,))
    s = shared(f32, 2, 32, 64)
    with role("all", waves=4, groups=2) as g:
        store(s[g], load(X.rows(32 * g, 32), map=linear(4)))
        barrier(waves={})
        store(Y.rows(32 * {}, 32).T, load(s[{}].T, map=linear(4)))
"""
    assert kinds(core, text.format(2, "g", "g")) == set()
    assert kinds(core, text.format(2, "(1 - g)", "(1 - g)")) == {"race"}
    assert kinds(core, text.format(4, "(1 - g)", "(1 - g)")) == set()


def test_a_branch_that_some_waves_take_diverges(core: Core) -> None:
    text = """
@kernel(target="gfx942", waves=4)
def f(X: f32[r:64, c:64], Y: f32[r:64, c:64]):
    ensures(Y[r, c], uses=(X,))
    with role("all", waves=4, groups=2) as g:
        if g == 0:
            barrier()
        barrier()
        store(Y.rows(32 * g, 32), load(X.rows(32 * g, 32), map=linear(4)))
"""
    assert kinds(core, text) == {"divergence"}
    assert kinds(core, text.replace("if g == 0:", "if g < 2:")) == set()


PING_PONG = """
@kernel(target="gfx942", waves=4)
def f(X: f32[n:5, r:64, c:64], Y: f32[n:5, r:64, c:64]):
    ensures(Y[n, r, c], uses=(X,))
    s = shared(f32, 2, 64, 32)
    with role("all", waves=4, groups=2) as g:
        {shift}
        for i in range(5):
            store(s[g], load(X[i].cols(32 * g, 32), map=linear(4)))
            barrier()
            store(Y[i].cols(32 * g, 32).T, load(s[g].T, map=linear(4)))
            barrier()
"""


def test_shifted_halves_keep_their_phase(core: Core) -> None:
    """Each barrier of one half meets the next one of the other: still enough, since the halves share no cell."""
    assert kinds(core, PING_PONG.format(shift="shift(2)")) == set()
    assert kinds(core, PING_PONG.format(shift="priority(0)")) == set()


def test_halves_that_share_cells_notice_the_shift(core: Core) -> None:
    text = PING_PONG.replace("s[g]", "s[0]").replace("shared(f32, 2, 64, 32)", "shared(f32, 2, 64, 32)")
    text = text.replace("s[0], load(X[i].cols(32 * g", "s[i % 2], load(X[i].cols(32 * g")
    assert kinds(core, text.format(shift="shift(2)")) != set()


def test_a_loop_that_does_not_end_in_time(core: Core) -> None:
    text = HEAD + "    for i in range(1000):\n        barrier()\n    store(Y, load(X, map=linear(4)))\n"
    outcome = run(core(text), {}, {"X": X}, max_steps=500)
    assert [f.kind for f in outcome.faults if f.kind == "deadlock"] == ["deadlock"]


@pytest.mark.parametrize(
    ("neighbour", "message"),
    [("max(b - 1, 0)", "reads what another block writes"), ("min(b + 1, 2)", "writes what another block reads")],
)
def test_nothing_orders_two_blocks(neighbour: str, message: str, core: Core) -> None:
    """Whether the other block ran before or runs later."""
    text = f"""
@kernel(target="gfx942", waves=1)
def f(X: f32[r:3, c:64], Y: f32[r:3, c:64], Z: f32[r:3, c:64]):
    ensures(Y[r, c], uses=(X,))
    b = block(3)
    store(Y[b], load(X[b], map=linear(1)))
    store(Z[b], load(Y[{neighbour}], map=linear(1)))
"""
    x = RNG.standard_normal((3, 64))
    outcome = run(core(text), {}, {"X": x, "Y": np.zeros((3, 64))})
    assert [(f.kind, f.message) for f in outcome.faults] == [("race", message)]
    own = run(core(text.replace(neighbour, "b")), {}, {"X": x})
    assert own.faults == ()
    assert np.array_equal(own.outputs["Z"], x)
