"""The Hopper GEMM family: what it prints is right, at sizes of any pitch, and says which schedules it cannot print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.interp import POLICIES, run, wrong
from argus.dsl.ir import Barrier, CopyAsync, Kernel, MmaInto, Role, Stmt
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.verify import verify
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.transform import to_core

MMA = HopperGemmSchedule(engine="mma", tile=(64, 64, 32), stages=3, leave="direct", grid=(2, 2))
MOVED = HopperGemmSchedule(engine="mma", tile=(32, 64, 64), stages=2, leave="direct", grid=(1, 4), staging="register")
DIRECT = HopperGemmSchedule(tile=(128, 64, 64), stages=3, leave="direct")
IN_TURN = HopperGemmSchedule(tile=(128, 64, 64), stages=2, consumers_take="tiles")
SWAPPED_TURNS = HopperGemmSchedule(tile=(16, 128, 64), stages=3, swap=True, consumers_take="tiles")
PAIRED = HopperGemmSchedule(tile=(128, 64, 64), stages=2, cluster=2)


def text(schedule: HopperGemmSchedule, sizes: dict[str, int]) -> str:
    shape = {name.lower(): size for name, size in sizes.items()}
    return hopper_gemm.text(schedule, make_problem(task_named("gemm"), shape=shape, target="sm_90a"))


def core_of(source: str) -> Kernel:
    core = to_core(parse(source))
    verify(core)
    return core


def reference(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


def right(core: Kernel, sizes: dict[str, int]) -> bool:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((sizes["M"], sizes["K"])), rng.standard_normal((sizes["N"], sizes["K"]))
    found = run(core, sizes, {"A": a, "B": b})
    return not found.faults and np.allclose(found.outputs["C"], a @ b.T, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schedule", "sizes"),
    [
        (MMA, {"M": 72, "N": 136, "K": 104}),
        (MMA, {"M": 1, "N": 9, "K": 8}),
        (MOVED, {"M": 39, "N": 67, "K": 101}),
        (DIRECT, {"M": 150, "N": 67, "K": 104}),
        (PAIRED, {"M": 300, "N": 136, "K": 136}),
        (IN_TURN, {"M": 150, "N": 72, "K": 200}),
        (IN_TURN, {"M": 40, "N": 136, "K": 8}),
        (SWAPPED_TURNS, {"M": 24, "N": 136, "K": 264}),
    ],
)
def test_kernels_are_right_at_the_pitch_of_their_problem(schedule: HopperGemmSchedule, sizes: dict[str, int]) -> None:
    assert right(core_of(text(schedule, sizes)), sizes)


@pytest.mark.parametrize(
    ("schedule", "old", "new"),
    [
        (MMA, "A.tile(64, 32)[bm, kt + 2]", "A.tile(64, 32)[bm, kt + 1]"),
        (MOVED, "        barrier()\n", ""),
        (MOVED, "store(Bs[(kt + 1) % 2], y)", "store(Bs[kt % 2], y)"),
        (DIRECT, "[2 * bm + g, bn], acc", "[bm + g, bn], acc"),
    ],
)
def test_a_broken_text_is_wrong(schedule: HopperGemmSchedule, old: str, new: str) -> None:
    sizes = {"M": 150, "N": 72, "K": 200}
    source = text(schedule, sizes)
    assert old in source
    assert wrong(core_of(source.replace(old, new)), reference, sizes_list=[sizes], policies=POLICIES) is not None


def test_another_grid_of_warps_is_as_right() -> None:
    sizes = {"M": 72, "N": 72, "K": 72}
    assert right(core_of(text(MMA, sizes).replace("grid=(2, 2)", "grid=(4, 1)")), sizes)


def test_the_contract_states_what_holds_at_the_shape() -> None:
    assert "where(K % 8 == 0, N % 8 == 0)" in text(MMA, {"M": 1000, "N": 3008, "K": 4104})
    assert "where(K % 8 == 0)\n" in text(DIRECT, {"M": 1000, "N": 3001, "K": 4104})
    assert "where(" not in text(MOVED, {"M": 1000, "N": 3001, "K": 4101})


def test_one_consumer_multiplies_at_a_time() -> None:
    """Between the turns that begin and end a consumer's products, the other has none."""
    roles = [n for n in walk_body(core_of(text(IN_TURN, {"M": 64, "N": 64, "K": 64})).body) if isinstance(n, Role)]
    steps = {role.name: "".join(_step(s) for s in role.body) for role in roles}
    assert {name: steps[name] for name in ("ping", "pong")} == {"ping": "M|S|", "pong": "|M|S"}


def _step(s: Stmt) -> str:
    """M: products; S: a store; |: a turn."""
    inside = list(walk_body((s,)))
    if any(isinstance(n, MmaInto) for n in inside):
        return "M"
    if any(isinstance(n, CopyAsync) for n in inside):
        return "S"
    return "|" if isinstance(s, Barrier) and s.waves == 8 else ""


def test_tma_is_refused_where_it_cannot_address_rows() -> None:
    with pytest.raises(KernelError, match="need not be a multiple of 8"):
        core_of(text(HopperGemmSchedule(), {"M": 1000, "N": 3001, "K": 4104}))


@pytest.mark.parametrize(
    "fields",
    [
        {"engine": "mma"},
        {"engine": "mma", "leave": "direct", "swap": True},
        {"engine": "mma", "leave": "direct", "tile": (128, 128, 128)},
        {"engine": "mma", "leave": "direct", "grid": (3, 1)},
        {"tile": (128, 128, 32)},
        {"swap": True, "leave": "direct"},
        {"staging": "register"},
        {"tile": (128, 256, 64), "stages": 5},
        {"tile": (128, 256, 64), "stages": 3, "consumers_take": "tiles"},
        {"tile": (64, 64, 64), "consumers": 1, "consumers_take": "tiles"},
        {"consumers_take": "tiles", "persistent": False},
        {"tile": (128, 64, 64), "consumers_take": "tiles", "cluster": 2},
        {"engine": "mma", "leave": "direct", "tile": (64, 64, 32), "consumers_take": "tiles"},
    ],
)
def test_what_the_family_cannot_print_is_no_schedule(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        HopperGemmSchedule.model_validate(fields)
