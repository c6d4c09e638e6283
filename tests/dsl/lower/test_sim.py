"""The simulator runs hand-written TIR and sees what lockstep execution can see."""

from __future__ import annotations

import importlib
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest

from argus.dsl.lower.lowered import Lowered, ParamSpec
from argus.dsl.lower.sim import SimulationFault, simulate

# Each thread of two waves writes one LDS cell and reads another's, with the marked line in between.
EXCHANGE = """#
@T.prim_func(s_tir=True)
def k(A: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            S = T.alloc_buffer((128,), "float32", scope="shared")
            S[tx] = A[tx]
            {between}
            C[tx] = S[127 - tx]
"""
BARRIER = 'T.evaluate(T.call_extern("void", "argus_barrier"))'


def lowered(text: str) -> Lowered:
    func = cast("Any", importlib.import_module("tvm")).script.from_source(text)
    params = (ParamSpec("A", "tensor", "float32"), ParamSpec("C", "tensor", "float32"))
    return Lowered(func, "k", 128, None, False, params, ("1", "1", "1"), "")


def run(between: str) -> npt.NDArray[np.float32]:
    a, c = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    simulate(lowered(EXCHANGE.format(between=between)), {}, {"A": a, "C": c})
    return c


@pytest.mark.slow
def test_a_barrier_makes_the_exchange_right() -> None:
    assert (run(BARRIER) == np.arange(127, -1, -1)).all()


def test_without_a_barrier_the_exchange_races() -> None:
    with pytest.raises(SimulationFault, match=r"phase of another wave.s write"):
        run("T.evaluate(0)")


def test_a_divergent_barrier_is_refused() -> None:
    with pytest.raises(SimulationFault, match="not reached by all threads"):
        run(f"if tx < 64:\n                {BARRIER}")


def test_uninitialised_cells_are_refused() -> None:
    text = EXCHANGE.format(between=BARRIER).replace("S[tx] = A[tx]", "S[tx // 2] = A[tx]")
    with pytest.raises(SimulationFault, match=r"uninitialised|another wave's write"):
        simulate(lowered(text), {}, {"A": np.zeros(128, np.float32), "C": np.zeros(128, np.float32)})


def test_out_of_bounds_is_refused() -> None:
    text = EXCHANGE.format(between=BARRIER).replace("S[127 - tx]", "S[128 - tx]")
    with pytest.raises(SimulationFault, match="of 128 elements"):
        simulate(lowered(text), {}, {"A": np.zeros(128, np.float32), "C": np.zeros(128, np.float32)})


COPY = """#
@T.prim_func(s_tir=True)
def k(A: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            S = T.alloc_buffer((128,), "float32", scope="shared")
            T.evaluate(T.call_extern("void", "argus_buffer_load_lds_b32", T.address_of(A[0]),
                T.address_of(S[tx // 64 * 64]), tx * 4, 0))
            {between}
            C[tx] = S[127 - tx]
"""


def wait_and_barrier(vmcnt: int) -> str:
    number = cast("Any", importlib.import_module("tvm.target.codegen")).llvm_lookup_intrinsic_id
    wait, barrier = int(number("llvm.amdgcn.s.waitcnt")), int(number("llvm.amdgcn.s.barrier"))
    bits = vmcnt | 0x7 << 4 | 0xF << 8
    return "; ".join(
        f'T.evaluate(T.call_llvm_intrin(T.uint32({n}){a}, dtype="void"))'
        for n, a in ((wait, f", T.int32({bits})"), (barrier, ""))
    )


def test_a_waited_copy_is_visible_after_the_barrier() -> None:
    a, c = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    simulate(lowered(COPY.format(between=wait_and_barrier(0))), {}, {"A": a, "C": c})
    assert (c == a[::-1]).all()


def test_a_copy_left_in_flight_is_not() -> None:
    with pytest.raises(SimulationFault, match=r"uninitialised|before its copy"):
        simulate(
            lowered(COPY.format(between=wait_and_barrier(1))),
            {},
            {"A": np.zeros(128, np.float32), "C": np.zeros(128, np.float32)},
        )
