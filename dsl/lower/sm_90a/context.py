"""What every part of the lowering shares."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from argus.dsl.ir import Kernel, MBar, Node, TensorParam
from argus.dsl.ir.types import FragType, Types
from argus.dsl.layout import Accumulator, Expr
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import Facts
from argus.dsl.lower.sm_90a.expr import c_expr
from argus.dsl.lower.sm_90a.roles import Program
from argus.dsl.lower.sm_90a.shared import SharedView
from argus.dsl.lower.sm_90a.tensor_maps import TensorMaps
from argus.dsl.lower.sm_90a.writer import Writer
from argus.dsl.targets.atoms import ATOMS, Atom

LANES = 32


@dataclass(frozen=True, slots=True)
class Registers:
    """A fragment in registers, as a C array `name[atoms along m][count]`.

    Attributes:
        packed: Two 16-bit elements a register, in the order of the accumulator's slots.
        first: Of the registers that this fragment takes from the array, a part of `count`.
    """

    name: str
    type: FragType
    packed: bool
    atoms: int
    count: int
    first: int = 0


@dataclass(frozen=True, slots=True)
class Descriptors:
    """An operand that wgmma reads in place: a shared view and the byte of a row where its k-step starts."""

    view: SharedView
    k_bytes: int


@dataclass(slots=True)
class Context:
    """State of one lowering; `program` and what follows it belong to the role at hand.

    Attributes:
        known: Unrolled loop variables.
        barriers: Numbers of named barriers, by (role, whole role or each group).
        across: The same of barriers that join several roles, by their waves.
        pending: MMAs were issued since the last commit.
        flagged: Accumulators whose first MMA overwrites them, instead of adding to zeros.
        holding: Those of them that this place of the program comes to only after an MMA.
        elected: One lane runs what is lowered.
        everywhere: Barriers that count arrivals from every block of the cluster.
        groups: Which copies `commit` closes a group of.
        pointers: Tensors that are read or written through their addresses, in order of first use.
    """

    kernel: Kernel
    types: Types
    facts: Facts
    out: Writer
    maps: TensorMaps
    mbars: Mapping[str, MBar]
    barriers: Mapping[tuple[int, bool], int]
    across: Mapping[int, int]
    program: Program
    known: dict[str, Expr] = field(default_factory=dict[str, Expr])
    registers: dict[str, Registers] = field(default_factory=dict[str, Registers])
    operands: dict[str, Descriptors] = field(default_factory=dict[str, Descriptors])
    flagged: set[str] = field(default_factory=set[str])
    holding: set[str] = field(default_factory=set[str])
    functions: dict[str, str] = field(default_factory=dict[str, str])
    dtypes: set[str] = field(default_factory=set[str])
    pending: bool = False
    elected: bool = False
    everywhere: frozenset[str] = frozenset()
    groups: Literal["tma", "cp"] = "tma"
    pointers: dict[str, TensorParam] = field(default_factory=dict[str, TensorParam])

    def enter(self, program: Program) -> None:
        """Go on with another role: its waves hold nothing of what the roles before had in registers."""
        self.program, self.pending = program, False
        for held in (self.registers, self.operands, self.flagged, self.holding):
            held.clear()

    def c(self, e: Expr, *, factor: bool = False) -> str:
        """`e` as C; as a factor, in parentheses where needed."""
        return c_expr(e, self.known, factor=factor)

    @contextmanager
    def knowing(self, name: str, value: Expr) -> Generator[None]:
        before = dict(self.known)
        self.known[name] = value
        try:
            yield
        finally:
            self.known = before


def warpgroup_atom(acc: Accumulator, node: Node) -> tuple[Atom, int]:
    """The instruction, and how many of them stack up along m for a warpgroup.

    Raises:
        KernelError: Unless one warpgroup computes the whole tile, one atom wide.
    """
    atom = ATOMS[acc.atom]
    if acc.grid != (1, 1):
        raise unsupported(
            node, "an accumulator that several warpgroups share is not lowered yet",
            "give each a group of the role: `with role(…, groups=2) as g`, and rows(g * 64, 64)",
        )  # fmt: skip
    if acc.n != atom.n:
        message = f"an accumulator of {acc.n} columns needs an atom as wide, this one has {atom.n}"
        raise unsupported(node, message, f'"m64n{acc.n}k16"' if acc.n % 8 == 0 and acc.n <= 256 else "")
    if atom.k != 16:
        raise unsupported(node, f'the atom "{atom.name}" is not lowered yet', "f16 and bf16 are")
    return atom, acc.m // atom.m
