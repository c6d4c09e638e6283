"""Execute a kernel on fp64 data under one schedule, and say what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from argus.dsl.diagnostics import Span
from argus.dsl.interp.arrays import Floats, Ids
from argus.dsl.interp.expression import compiled
from argus.dsl.interp.fault import Fault, FaultLog, Stop
from argus.dsl.interp.grid import block_indices, persistent_blocks
from argus.dsl.interp.machine import Arguments, Machine
from argus.dsl.interp.memory import Cells
from argus.dsl.interp.policy import Policy
from argus.dsl.interp.program import Program, grid_nodes, prepare
from argus.dsl.interp.schedule import run_block
from argus.dsl.ir.nodes import Block, Kernel, Split

Inputs = Mapping[str, "np.ndarray[tuple[int, ...], np.dtype[np.generic]] | float | int"]
MAX_STEPS = 2_000_000


class OutOfSteps(Exception):
    """An execution took more statements than it was allowed to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an execution left behind.

    Attributes:
        outputs: Every tensor that the kernel writes; NaN where nothing was written.
        written: How often each of their elements was written.
        faults: In order of discovery, one for each kind and pair of places. Empty does not say that the outputs are
            what the contract wants: compare them.
        steps: Statements executed, by all waves of all blocks.
    """

    outputs: dict[str, Floats]
    faults: tuple[Fault, ...]
    written: dict[str, Ids]
    steps: int = 0


@dataclass(frozen=True, slots=True)
class GridBlock:
    """A block by its indices, and what each grid node of the kernel gives it."""

    indices: tuple[int, ...]
    by_node: Mapping[int, tuple[int, ...]]


def run(
    core: Kernel,
    sizes: Mapping[str, int],
    inputs: Inputs,
    *,
    policy: Policy | None = None,
    blocks: Sequence[tuple[int, ...]] | None = None,
    max_steps: int = MAX_STEPS,
    first_fault: bool = False,
) -> Outcome:
    """Execute a core-form kernel.

    Args:
        core: The kernel, in core form.
        sizes: A value for each size symbol.
        inputs: Tensors (any dtype, computed in fp64 without rounding) and scalars by parameter name. A tensor that
            the kernel writes may be left out: it is then poison, or zero if the kernel only adds to it.
        policy: The schedule; by default copies land as late as possible and waves take turns.
        blocks: Which blocks, by index (those of `block()`, then of `split()`, in program order; for `tiles()`, the
            number of the persistent block). None: all, and elements of an ensured output that are never written are
            a fault.
        max_steps: Statements that a block's waves may execute together.
        first_fault: Stop at the first fault.

    Raises:
        KernelError: If a size violates a precondition, or the kernel uses a value where it cannot.
        ValueError: If an input is missing or has the wrong shape.
    """
    return execute(
        prepare(core, sizes), inputs, policy or Policy(), blocks=blocks, max_steps=max_steps, first_fault=first_fault
    )


def execute(
    program: Program,
    inputs: Inputs,
    policy: Policy,
    *,
    blocks: Sequence[tuple[int, ...]] | None = None,
    max_steps: int = MAX_STEPS,
    first_fault: bool = False,
    budget: int | None = None,
) -> Outcome:
    """As `run`, on a prepared program: its tables serve every schedule.

    Raises:
        OutOfSteps: If all blocks together take more than `budget` statements; looked at after each block.
    """
    arguments = _bind(program, inputs)
    log = FaultLog(first_only=first_fault)
    wanted = None if blocks is None else set(blocks)
    steps = 0
    try:
        with np.errstate(all="ignore"):
            for block in grid(program, arguments.scalars):
                if wanted is None or block.indices in wanted:
                    log.block = block.indices
                    machine = Machine(program, arguments, block.by_node, policy, log)
                    run_block(machine, max_steps)
                    steps += machine.step
                    if budget is not None and steps > budget:
                        raise OutOfSteps(f"more than {budget:,} statements")
            if wanted is None:
                _check_complete(program, arguments.tensors, log)
    except Stop:
        pass
    outputs: dict[str, Floats] = {}
    written: dict[str, Ids] = {}
    for name in sorted(program.written):
        cells, shape = arguments.tensors[name], program.shapes[name]
        assert cells.poison is not None
        outputs[name] = np.where(cells.poison, np.nan, cells.data).reshape(shape)
        written[name] = cells.times_written.reshape(shape)
    return Outcome(outputs, tuple(log.faults), written, steps)


def grid(program: Program, scalars: Mapping[str, float]) -> Iterator[GridBlock]:
    """Every block of the launch grid, in launch order of its first dimension group."""
    env = {**program.sizes, **{name: int(v) for name, v in scalars.items() if program.scalars[name].dtype == "i32"}}
    nodes = grid_nodes(program.kernel)
    choices: list[list[tuple[tuple[int, ...], tuple[int, ...]]]] = []
    for node in nodes:
        match node:
            case Block(counts=counts, order=order):
                choices.append([(t, t) for t in block_indices([compiled(c)(env) for c in counts], order)])
            case Split(parts=parts):
                choices.append([((p,), (p,)) for p in range(compiled(parts)(env))])
            case _:
                tiles = int(np.prod([compiled(b)(env) for b in node.bounds]))
                blocks = persistent_blocks(tiles)
                choices.append([((b,), (b, blocks)) for b in range(blocks)])
    for picks in product(*choices):
        indices = tuple(i for shown, _ in picks for i in shown)
        yield GridBlock(indices, {id(node): given for node, (_, given) in zip(nodes, picks, strict=True)})


def _bind(program: Program, inputs: Inputs) -> Arguments:
    tensors: dict[str, Cells] = {}
    for name, param in program.tensors.items():
        cells = tensors[name] = Cells(name, program.shapes[name], param.dtype)
        cells.tracked = name in program.written
        cells.begin_block()
        if name in inputs:
            values = np.asarray(inputs[name], np.float64)
            if values.shape != program.shapes[name]:
                raise ValueError(f"{name} has shape {list(values.shape)}, not {list(program.shapes[name])}")
            cells.data = values.reshape(-1).copy()
            cells.poison = np.zeros(cells.size, np.bool_) if cells.tracked else None
        elif name in program.added:
            cells.data, cells.poison = np.zeros(cells.size), np.zeros(cells.size, np.bool_)
        elif name not in program.written:
            raise ValueError(f"no input {name}")
        cells.times_written = np.zeros(cells.size, np.int32)
    scalars: dict[str, float] = {}
    for name in program.scalars:
        if name not in inputs:
            raise ValueError(f"no input {name}")
        scalars[name] = float(np.asarray(inputs[name], np.float64))
    return Arguments(tensors, scalars)


def _check_complete(program: Program, tensors: Mapping[str, Cells], log: FaultLog) -> None:
    """Elements of an ensured output that no block has written; rows that data picks may be picked by none."""
    log.block = ()
    for ensures in program.kernel.ensures:
        if ensures.tensor in program.scattered:
            continue
        cells = tensors[ensures.tensor]
        missed = np.flatnonzero(cells.times_written == 0)
        if len(missed):
            span: Span = ensures.span
            log.add(
                Fault(
                    "write-set", "an output element is never written", span, buffer=cells.name,
                    element=cells.element(int(missed[0])), count=len(missed),
                )
            )  # fmt: skip
