"""Matrix instructions: wave grids, operand shapes and types, k-steps; reductions across waves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from argus.dsl.diagnostics import Code, Diagnostic
from argus.dsl.ir.nodes import AsOperand, Assign, Kernel, MmaAcc, MmaInto, Operand, Reduce, Ref, Stmt
from argus.dsl.ir.report import diagnostic
from argus.dsl.ir.rules.control import WARPS_OF_A_GROUP
from argus.dsl.ir.rules.place import Place
from argus.dsl.ir.shapes import DTYPE_BYTES, FragType, Types, view_type
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.layout import Accumulator, FragMap, Linear, OperandMap, WithoutAxis
from argus.dsl.targets.atoms import ATOMS, Atom
from argus.dsl.targets.limits import LIMITS

# The widest read of an operand.
READ_BYTES = 16


def mma_problems(kernel: Kernel, types: Types, node: Stmt, place: Place) -> Iterator[Diagnostic]:
    """What is wrong with one statement's matrix operations."""
    match node:
        case Assign(value=MmaAcc() as acc):
            yield from _accumulator(kernel, acc, place)
        case Assign(value=Operand() as operand):
            yield from _operand(kernel, types, operand, place)
        case Assign(value=AsOperand() as operand):
            yield from _as_operand(kernel, types, operand, place)
        case Assign(value=Reduce() as reduce):
            yield from _reduce(kernel, types, reduce, place)
        case MmaInto():
            yield from _mma(types, node)
        case _:
            pass


def _accumulator(kernel: Kernel, node: MmaAcc, place: Place) -> Iterator[Diagnostic]:
    atom, waves = ATOMS[node.atom], place.waves(kernel)
    if atom.blocks > 1:
        message = f'"{node.atom}" computes {atom.blocks} independent products'
        yield diagnostic(Code.UNSUPPORTED, node.span, message, "use a shape of one block, such as 32x32x8")
        return
    units, what = (waves // WARPS_OF_A_GROUP, "warpgroups") if atom.warpgroup else (waves, "waves")
    rows, columns = node.grid
    if rows * columns != units:
        message = f"a grid of {rows} x {columns} for {units} {what}"
        yield diagnostic(Code.BAD_SIZE, node.span, message, f"rows * columns must be {units}")
        return
    for extent, parts, step, name in ((node.m, rows, atom.m, "m"), (node.n, columns, atom.n, "n")):
        if extent % (parts * step):
            message = f"{name} = {extent} is no multiple of {parts * step}: {parts} {what} of {step}"
            yield diagnostic(Code.BAD_SHAPE, node.span, message, f"use a multiple of {parts * step}")
    registers = node.m * node.n // (waves * LIMITS[kernel.target].lanes)
    limit = LIMITS[kernel.target].lane_registers
    if registers > limit:
        message = f"an accumulator of {registers} registers a lane; there are {limit}"
        yield diagnostic(Code.LIMIT, node.span, message, "a smaller tile or more waves")


# ------------------------------------------------------------------------------------------ operands


def _operand(kernel: Kernel, types: Types, node: Operand, place: Place) -> Iterator[Diagnostic]:
    atom = _atom(types, node.acc)
    if isinstance(node.src, Ref) and node.src.name in types.frags:
        shape, dtype, space = types.frags[node.src.name].shape, types.frags[node.src.name].dtype, "registers"
    else:
        view = view_type(types, node.src)
        shape, dtype, space = cast("tuple[int, ...]", view.extents), view.dtype, view.space
    yield from _dtype(node, atom, dtype)
    if atom.warpgroup and node.side == "b" and space != "shared":
        yield diagnostic(
            Code.BAD_SPACE, node.span, "operand b of wgmma lies in shared memory", "swap the operands, or stage it"
        )
    if node.pack < 1:
        yield diagnostic(Code.BAD_CALL, node.span, f"pack={node.pack} is not positive", "leave it out")
        return
    step_bytes = atom.k_lane * DTYPE_BYTES[dtype]
    if node.pack * step_bytes > READ_BYTES:
        message = f"pack={node.pack} reads {node.pack * step_bytes} bytes a lane, more than {READ_BYTES}"
        yield diagnostic(Code.BAD_CALL, node.span, message, f"at most pack={READ_BYTES // step_bytes}")
        return
    yield from _steps(node, place, shape[1], atom.k * node.pack)


def _steps(node: Operand | AsOperand, place: Place, extent: int, step: int) -> Iterator[Diagnostic]:
    """Every k-step lies inside the source."""
    if extent % step:
        message = f"the source has {extent} k, no multiple of the {step} of one step"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, "widen the tile, or take another atom or pack")
        return
    steps, bounds = extent // step, place.bounds(node.ks)
    if bounds is not None and (bounds[0] < 0 or bounds[1] >= steps):
        reached = bounds[1] if bounds[1] >= steps else bounds[0]
        message = f"k-step {show_expr(node.ks)} reaches {reached}, the source has {steps} steps of {step}"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, f"loop over unroll({steps})")


def _as_operand(kernel: Kernel, types: Types, node: AsOperand, place: Place) -> Iterator[Diagnostic]:
    atom = _atom(types, node.acc)
    src = types.frags[cast("Ref", node.src).name]
    yield from _dtype(node, atom, src.dtype)
    if not isinstance(src.map, Accumulator):
        message = "only the registers of an accumulator, or of values computed from one, serve as an operand"
        yield diagnostic(Code.BAD_SPACE, node.span, message, "pass other values through shared memory")
        return
    if kernel.target == "sm_90a" and node.side == "b":
        yield diagnostic(
            Code.BAD_SPACE, node.span, "operand b of wgmma lies in shared memory", "swap the operands, or stage it"
        )
    yield from _steps(node, place, src.shape[1] if kernel.target == "sm_90a" else src.shape[0], atom.k)


def _dtype(node: Operand | AsOperand, atom: Atom, dtype: str) -> Iterator[Diagnostic]:
    if dtype not in atom.dtypes:
        message = f'the atom "{atom.name}" takes {" or ".join(atom.dtypes)}, this is {dtype}'
        yield diagnostic(Code.BAD_DTYPE, node.span, message, "choose an atom for the dtype, or convert")


def _atom(types: Types, acc: str) -> Atom:
    return ATOMS[cast("Accumulator", types.frags[acc].map).atom]


def _mma(types: Types, node: MmaInto) -> Iterator[Diagnostic]:
    acc = types.frags[node.acc]
    sides: list[FragType] = []
    for frag, side in ((node.a, "a"), (node.b, "b")):
        found = types.frags.get(frag.name) if isinstance(frag, Ref) else None
        if found is None or not isinstance(found.map, OperandMap):
            message = f"operand {side} of an MMA is needed, this is no operand"
            yield diagnostic(Code.BAD_SPACE, frag.span, message, f'write x.operand("{side}", {node.acc}, ks)')
            return
        if found.map.side != side:
            message = f"this was made as operand {found.map.side} and is used as operand {side}"
            yield diagnostic(Code.BAD_SHAPE, frag.span, message, "swap the arguments of mma, or the sides")
            return
        if found.map.acc != acc.map:
            message = f"this operand was made for an accumulator other than `{node.acc}`"
            yield diagnostic(Code.BAD_SHAPE, frag.span, message, f'write x.operand("{side}", {node.acc}, ks)')
            return
        sides.append(found)
    a, b = sides
    if a.dtype != b.dtype:
        yield diagnostic(Code.BAD_DTYPE, node.span, f"the operands are {a.dtype} and {b.dtype}", "convert one of them")
    elif a.shape[1] != b.shape[1]:
        message = f"the operands have {a.shape[1]} and {b.shape[1]} k"
        yield diagnostic(Code.BAD_SHAPE, node.span, message, "give both the same `pack`")


# ---------------------------------------------------------------------------------------- reductions


def _reduce(kernel: Kernel, types: Types, node: Reduce, place: Place) -> Iterator[Diagnostic]:
    src = types.frags.get(node.src.name) if isinstance(node.src, Ref) else None
    if src is None or node.across == "block":
        return
    axis = src.axes.index(node.axis)
    threads = place.waves(kernel) * LIMITS[kernel.target].lanes
    if _spread(src.map, src.shape, axis, threads, LIMITS[kernel.target].lanes):
        message = f"axis `{node.axis}` is spread over several waves"
        yield diagnostic(Code.BAD_CALL, node.span, message, 'write across="block"')


def _spread(where: FragMap, shape: tuple[int, ...], axis: int, threads: int, lanes: int) -> bool:
    """Whether elements that differ only along `axis` lie in different waves."""
    match where:
        case Accumulator(atom=atom, grid=grid):
            # The warps of a warpgroup share an atom's rows.
            return grid[axis] > 1 or (axis == 0 and ATOMS[atom].warpgroup)
        case WithoutAxis(of=of, axis=gone):
            # The axis that is gone had all its elements within a wave, or equal in all of them.
            whole = (*shape[:gone], 1, *shape[gone:])
            return _spread(of, whole, axis if axis < gone else axis + 1, threads, lanes)
        case Linear(vector=vector):
            waves: dict[tuple[int, ...], int] = {}
            for chunk in range(_size(shape) // vector):
                place = _without(chunk * vector, shape, axis)
                wave = chunk % threads // lanes
                if waves.setdefault(place, wave) != wave:
                    return True
            return False
        case _:
            return False


def _size(shape: tuple[int, ...]) -> int:
    out = 1
    for n in shape:
        out *= n
    return out


def _without(flat: int, shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    """Coordinates of a flat element number, without one axis."""
    out: list[int] = []
    for n in reversed(shape):
        out.append(flat % n)
        flat //= n
    out.reverse()
    return (*out[:axis], *out[axis + 1 :])
