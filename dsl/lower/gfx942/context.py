"""What every part of the lowering shares: the kernel, its variables, its registers and its LDS objects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from argus.dsl.ir import Dtype, Kernel, Node, Shared
from argus.dsl.ir.types import FragType, Types
from argus.dsl.layout import Accumulator, FragMap, Linear, OperandMap
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import Facts, constant
from argus.dsl.lower.gfx942 import tir
from argus.dsl.lower.gfx942.emit import Emitter
from argus.dsl.lower.gfx942.index import Indices
from argus.dsl.lower.gfx942.interleave import Region
from argus.dsl.lower.gfx942.tir import Tir
from argus.dsl.lower.gfx942.views import SharedView, rows_and_columns
from argus.dsl.targets.atoms import ATOMS

WAVE = 64
# bf16 is moved and multiplied as bits; nothing adds two of them.
REGISTER_DTYPES: Mapping[Dtype, str] = {"f16": "float16", "bf16": "uint16", "f32": "float32", "i32": "int32"}
TENSOR_DTYPES: Mapping[Dtype, str] = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i32": "int32"}


@dataclass(frozen=True, slots=True)
class Fragment:
    """A variable in registers: a thread's slots, in local buffers of `width`.

    A buffer is what one instruction yields. LLVM would turn a small buffer of several such into one wide vector, and
    move its parts about in every iteration.
    """

    name: str
    type: FragType
    parts: tuple[Tir, ...]
    width: int

    @property
    def slots(self) -> int:
        return len(self.parts) * self.width

    def load(self, slot: int, lanes: int = 1) -> Tir:
        return tir.load(self.parts[slot // self.width], slot % self.width, lanes)

    def store(self, value: Tir, slot: int, lanes: int = 1) -> Tir:
        return tir.store(self.parts[slot // self.width], value, slot % self.width, lanes)


@dataclass(slots=True)
class Context:
    """State of one lowering.

    Attributes:
        thread, lane, wave: Linear thread of the block, its lane, and its wave (a scalar register).
        tensors: Flat global buffers by parameter.
        scalars: Number arguments by parameter.
        bound: Values named in the prelude.
        region: Instructions since the last barrier, for the order asked of the scheduler.
        vmcnt: Per `Wait` (by identity): vector memory instructions that may stay pending.
        asynchronous: Copies are in flight across barriers, so these must not drain them.
    """

    kernel: Kernel
    types: Types
    facts: Facts
    emit: Emitter
    indices: Indices
    thread: Tir
    lane: Tir
    wave: Tir
    tensors: Mapping[str, Tir]
    scalars: Mapping[str, Tir]
    vmcnt: Mapping[int, int]
    asynchronous: bool
    bound: dict[Hashable, Tir] = field(default_factory=dict[Hashable, Tir])
    vmem_in_region: bool = False
    group_open: bool = False
    region: Region = field(default_factory=Region)
    fragments: dict[str, Fragment] = field(default_factory=dict[str, Fragment])
    objects: dict[tuple[str, tuple[int, ...]], Tir] = field(default_factory=dict[tuple[str, tuple[int, ...]], Tir])

    @property
    def threads(self) -> int:
        return WAVE * self.kernel.waves

    def fragment(self, name: str, node: Node) -> Fragment:
        """The registers of a variable; allocated at its first definition."""
        if name not in self.fragments:
            kind = self.types.frags[name]
            if kind.dtype not in REGISTER_DTYPES:
                raise unsupported(node, f"{kind.dtype} registers are not lowered yet")
            count, width = parts_of(kind.map, kind.shape, self.threads, node)
            dtype = REGISTER_DTYPES[kind.dtype]
            parts = (self.emit.allocate(f"{name}_{i}", width, dtype, "local") for i in range(count))
            self.fragments[name] = Fragment(name, kind, tuple(parts), width)
        return self.fragments[name]

    def lds(self, view: SharedView, node: Node) -> Tir:
        """The LDS object of a view's stage: one each, so that LLVM can tell the stages apart."""
        stage: list[int] = []
        for index, extent in zip(view.stage, view.buffer.shape, strict=False):
            number = constant(index)
            if number is None:
                raise unsupported(
                    node,
                    "the stage of a shared buffer must follow from the loop: (kt + c) % stages, or a constant",
                    "start the loop at a constant and index by its variable modulo the stages",
                )
            if not 0 <= number < extent:
                raise unsupported(node, f"stage {number} of a buffer with {extent} stages")
            stage.append(number)
        key = (view.name, tuple(stage))
        if key not in self.objects:
            name = "_".join([view.name, *map(str, stage)])
            self.objects[key] = self.emit.allocate(
                name, lds_elements(view.buffer), REGISTER_DTYPES[view.buffer.dtype], "shared"
            )
        return self.objects[key]


def lds_elements(buffer: Shared) -> int:
    """Elements of one stage, padding included."""
    rows, columns = rows_and_columns(buffer)
    return rows * (columns + buffer.pad)


def parts_of(frag_map: FragMap, shape: tuple[int, ...], threads: int, node: Node) -> tuple[int, int]:
    """A thread's chunks, or a wave's atoms, of a fragment, and the slots of each."""
    elements = 1
    for extent in shape:
        elements *= extent
    match frag_map:
        case Linear(vector):
            return -(-elements // (vector * threads)), vector
        case Accumulator():
            rows, columns = accumulator_atoms(frag_map)
            return rows * columns, ATOMS[frag_map.atom].d_regs
        case OperandMap(side=side, acc=acc, pack=pack):
            return accumulator_atoms(acc)[0 if side == "a" else 1], ATOMS[acc.atom].k_lane * pack
        case _:
            raise unsupported(node, "only tiles, accumulators and operands are lowered as fragments yet")


def accumulator_atoms(acc: Accumulator) -> tuple[int, int]:
    """Atoms of one wave along rows and columns."""
    atom = ATOMS[acc.atom]
    return acc.m // acc.grid[0] // atom.m, acc.n // acc.grid[1] // atom.n


def wave_number(thread: Tir) -> Tir:
    """The wave of a thread. The first lane's value is the whole wave's, and stays in a scalar register."""
    return tir.intrinsic("int32", "llvm.amdgcn.readfirstlane", thread // WAVE)
