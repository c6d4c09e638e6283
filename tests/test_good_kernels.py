"""Kernels written by hand, as no family prints them: proved, executed by the interpreter, lowered and simulated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from pydantic import ValidationError

from argus.dsl import ir
from argus.dsl.check import check
from argus.dsl.frontend import parse
from argus.dsl.interp import trip_sizes, wrong
from argus.dsl.ir.canonical import canonical_sha
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.kernels import GemmSchedule, families, make_problem, task_named
from argus.dsl.layout import evaluate
from argus.dsl.lower import Lowered, lower
from argus.dsl.lower.sim import simulate
from argus.dsl.targets.gfx942 import LDS_BYTES
from argus.dsl.transform import to_core
from argus.evals.subjects import Reference, Subject, hand_written

FROM_THE_FAMILY = "start_single_stage"  # the demo's first kernel, kept here so that the family cannot change it unseen
KERNELS = {k.name: k for k in hand_written()}
BY_HAND = {name: k for name, k in KERNELS.items() if name != FROM_THE_FAMILY}
TYPES: dict[str, Any] = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}


def test_there_are_enough() -> None:
    assert len(BY_HAND) >= 10


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_every_obligation_is_proved(kernel: Subject) -> None:
    report = check(kernel.text)
    assert report.ok, report.render(kernel.text)
    assert not report.assumed


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.slow
def test_the_interpreter_agrees_under_every_schedule(kernel: Subject) -> None:
    core = to_core(parse(kernel.text))
    assert wrong(core, kernel.reference, sizes_list=trip_sizes(core)) is None


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.slow
def test_the_simulator_agrees_on_what_is_lowered(kernel: Subject) -> None:
    core = to_core(parse(kernel.text))
    lowered = lower(core)
    assert isinstance(lowered, Lowered)
    # The ragged ones: few and many trips.
    sizes = trip_sizes(core)
    for chosen in (sizes[0], sizes[-2]):
        tensors = _tensors(core, chosen)
        simulate(lowered, chosen, tensors)
        _assert_close(core, kernel.reference, chosen, tensors)


def test_the_comparison_notices_one_wrong_element() -> None:
    kernel = KERNELS["transposed_output"]
    core, sizes = to_core(parse(kernel.text)), {"M": 20, "N": 8, "K": 8}
    tensors = _tensors(core, sizes)
    lowered = lower(core)
    assert isinstance(lowered, Lowered)
    simulate(lowered, sizes, tensors)
    _assert_close(core, kernel.reference, sizes, tensors)
    tensors["C"][3, 5] += 1e-3
    with pytest.raises(AssertionError):
        _assert_close(core, kernel.reference, sizes, tensors)


def _tensors(core: ir.Kernel, sizes: Mapping[str, int]) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    outputs = {e.tensor for e in core.ensures}
    made: dict[str, Any] = {}
    for p in core.params:
        assert isinstance(p, ir.TensorParam)
        shape = tuple(evaluate(e, sizes) for e in p.shape)
        values = np.full(shape, np.nan) if p.name in outputs else rng.standard_normal(shape)
        made[p.name] = values.astype(TYPES[p.dtype])
    return made


def _assert_close(core: ir.Kernel, reference: Reference, sizes: Mapping[str, int], tensors: Mapping[str, Any]) -> None:
    inputs = {name: t.astype(np.float64) for name, t in tensors.items()}
    want = reference(inputs, sizes)
    # Roundings of an f32 accumulation are relative to the sum of the products' magnitudes.
    magnitude = reference({name: np.abs(x) for name, x in inputs.items()}, sizes)
    for e in core.ensures:
        error = np.abs(inputs[e.tensor] - want[e.tensor])
        assert np.all(error <= 2e-6 * magnitude[e.tensor]), float(np.nanmax(error))


# ---------------------------------------------------------------------------------- what a family prints


def _bare(kernel: ir.Kernel) -> str:
    """A hash of what the kernel does: without assertions and policies, which change nothing."""
    silent = (ir.AssertMatch, ir.AssertComplete, ir.SchedGroup, ir.SchedBarrier, ir.Priority)

    def quiet(body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        kept = (s for s in body if not isinstance(s, silent))
        return tuple(replace(s, body=quiet(s.body)) if isinstance(s, ir.For | ir.If) else s for s in kept)

    core = to_core(kernel)
    return canonical_sha(replace(core, body=quiet(core.body)))


def _first(kernel: ir.Kernel, kind: type[Any]) -> Any:  # noqa: ANN401 - a node of that kind, or None
    return next((n for n in walk_body(kernel.body) if isinstance(n, kind)), None)


def _schedules_like(kernel: ir.Kernel) -> Iterator[GemmSchedule]:
    """Every schedule of the family with this kernel's tile, atom, vectors, swizzle and order."""
    shared, acc, load = (_first(kernel, kind) for kind in (ir.Shared, ir.MmaAcc, ir.Load))
    block, operand = _first(kernel, ir.Block), _first(kernel, ir.Operand)
    swizzle = shared.swizzle
    common: dict[str, Any] = {
        "tile": (acc.m, acc.n, shared.shape[-1]),
        "grid": acc.grid,
        "atom": acc.atom,
        "regs": acc.regs,
        "pack": operand.pack,
        "pad": shared.pad,
        "order": block.order,
        "vector": 2 * load.map.vector if load is not None and load.map is not None else 4,
        "swizzle": "none" if swizzle is None else f"xor({swizzle.chunks}, unit={swizzle.unit}, rows={swizzle.rows})",
    }
    pipelines = product(("register", "dma"), (1, 2, 3, 4), (False, True), ("drain", "count"), (False, True))
    for staging, stages, prefetch, wait, swap in pipelines:
        fields = {**common, "staging": staging, "stages": stages, "prefetch": prefetch, "wait": wait, "swap": swap}
        try:
            schedule = GemmSchedule.model_validate(fields)
        except ValidationError:
            continue
        if schedule.lds_bytes <= LDS_BYTES:
            yield schedule


def _printed_by_the_family(kernel: ir.Kernel) -> bool:
    dtype = next(p.dtype for p in kernel.params)
    problem = make_problem(task_named("gemm"), dtype=dtype)
    texts = (families()["gemm"].text(s, problem) for s in _schedules_like(kernel))
    return _bare(kernel) in {_bare(parse(text)) for text in texts}


@pytest.mark.slow
@pytest.mark.parametrize("kernel", BY_HAND.values(), ids=BY_HAND)
def test_no_family_prints_it(kernel: Subject) -> None:
    assert not _printed_by_the_family(parse(kernel.text))


def test_the_start_kernel_is_the_familys() -> None:
    kernel = KERNELS[FROM_THE_FAMILY]
    assert _printed_by_the_family(parse(kernel.text))
    problem = make_problem(task_named("gemm"))
    family = families()["gemm"]
    assert canonical_sha(parse(family.text(family.start(problem), problem))) == canonical_sha(parse(kernel.text))
