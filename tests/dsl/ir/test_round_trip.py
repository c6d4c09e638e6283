"""Printing and reading are inverse: on drawn IR, on reference kernels, in surface and in core form."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse, parse_core
from argus.dsl.ir import nodes as n
from argus.dsl.ir.canonical import canonical_sha
from argus.dsl.ir.printer import show
from argus.dsl.ir.rewrite import walk
from argus.dsl.layout import Const, Expr, Linear, Op, OpKind, Swizzle, Var
from argus.dsl.transform import to_core

T = TypeVar("T")
KERNELS = Path(__file__).parents[2] / "kernels"
TEXTS = [p for folder in ("good", "reference") for p in sorted((KERNELS / folder).glob("*.py"))]

PARAMS: tuple[n.Param, ...] = (
    n.TensorParam(name="A", dtype="bf16", axes=("m", "k"), shape=(Var("M"), Var("K"))),
    n.TensorParam(
        name="B", dtype="f8", axes=("", "n", "k"), shape=(Const(4), Op("//", (Var("N"), Const(2))), Var("K"))
    ),
    n.TensorParam(name="slot", dtype="i32", axes=("s",), shape=(Var("P"),)),
    n.ScalarParam(name="scale", dtype="f32"),
    n.ScalarParam(name="count", dtype="i32"),
)
SIZES = ("M", "K", "N", "P", "count")
AXES = ("m", "k", "n", "s")
# Defined before the drawn statements, so that these may use them.
PREAMBLE: tuple[n.Stmt, ...] = (
    n.Assign(targets=("As",), value=n.Shared(dtype="bf16", shape=(64, 64), swizzle=Swizzle(8, 8, 1), pad=8)),
    n.Assign(targets=("Bs",), value=n.Shared(dtype="f8", shape=(3, 64, 128), swizzle=Swizzle(8, 16, hardware="b128"))),
    n.Assign(
        targets=("r",),
        value=n.Ring(
            stages=3, buffers=(("Xs", n.Shared(dtype="f16", shape=(64, 32))), ("Ys", n.Shared(dtype="i8", shape=(9,))))
        ),
    ),
    n.Assign(targets=("full",), value=n.MBar(arrivals=8, count=3)),
    n.Assign(targets=("bm", "bn"), value=n.Block(counts=(Op("cdiv", (Var("M"), Const(64))), Var("N")), order="xcd(8)")),
    n.Assign(targets=("begin", "end"), value=n.Split(n=Var("K"), parts=Const(4))),
    n.Assign(targets=("acc",), value=n.MmaAcc(atom="32x32x8", m=64, n=64, grid=(2, 2), regs="agpr")),
    n.Assign(targets=("x",), value=n.Scalar(value=0.5)),
)
NAMES = ("acc", "x")


class Draw:
    """Draws nodes that text can spell; `draw` comes from hypothesis."""

    def __init__(self, draw: Callable[[st.SearchStrategy[object]], object]) -> None:
        self._draw = draw
        self._integers = [*SIZES, "bm", "bn", "begin", "end"]
        self._stages: list[str] = []
        self._fresh = 0

    def one(self, *choices: T) -> T:
        return cast("T", self._draw(st.sampled_from(choices)))

    def integer(self, low: int, high: int) -> int:
        return cast("int", self._draw(st.integers(low, high)))

    def number(self) -> float:
        return cast("float", self._draw(st.floats(allow_nan=False)))

    def name(self, stem: str) -> str:
        self._fresh += 1
        return f"{stem}_{self._fresh}"

    # ----------------------------------------------------------------------------------- expressions

    def expr(self, depth: int = 3) -> Expr:
        if depth == 0 or self.integer(0, 2) == 0:
            return self.one(Const(self.integer(-9, 300)), Var(self.one(*self._integers)))
        kind = self.one(*get_args(OpKind))
        args = tuple(self.expr(depth - 1) for _ in range(1 if kind == "not" else 2))
        return Op(kind, args)

    # ------------------------------------------------------------------------------------------ views

    def view(self, rank: int = 2, depth: int = 3) -> n.View:
        sources = {1: ("slot",), 2: ("A", "As"), 3: ("B", "Bs")}[rank]
        if depth == 0:
            return n.Ref(name=self.one(*sources))
        kind = self.integer(0, 7)
        if kind == 0:
            shape = tuple(self.integer(1, 128) for _ in range(rank))
            index = tuple(self.expr(2) for _ in range(rank))
            return n.TileAt(
                src=self.view(rank, depth - 1), shape=shape, index=index, pad=self.one(0.0, 1.5, float("-inf"))
            )
        if kind == 1 and rank < 3:
            return n.At(src=self.view(rank + 1, depth - 1), index=self.expr(2))
        if kind == 2:
            return n.Rows(src=self.view(rank, depth - 1), start=self.expr(2), count=self.integer(1, 64))
        if kind == 3 and rank > 1:
            return n.Cols(src=self.view(rank, depth - 1), start=self.expr(2), count=self.integer(1, 64))
        if kind == 4 and rank == 2:
            return n.Transposed(src=self.view(2, depth - 1))
        if kind == 5:
            return n.Gather(src=self.view(rank, depth - 1), index=self.frag(1), scatter=self.one(True, False))
        if kind == 6 and self._stages and rank < 3:
            return n.Field(src=n.Ref(name=self.one(*self._stages)), name="Xs" if rank == 2 else "Ys")
        return n.Ref(name=self.one(*sources))

    # -------------------------------------------------------------------------------------- fragments

    def ref(self) -> n.Ref:
        return n.Ref(name=self.one(*NAMES))

    def frag(self, depth: int = 3) -> n.Frag:
        if depth == 0:
            return self.one(self.ref(), n.Ref(name="scale"), n.Scalar(value=self.number()), n.Index(expr=self.expr(2)))
        inner = lambda: self.frag(depth - 1)  # noqa: E731 - a name for brevity
        match self.integer(0, 13):
            case 0:
                linear, like = self.one((None, None), (Linear(4), None), (None, self.ref()))
                return n.Load(view=self.view(depth=depth), map=linear, like=like)
            case 1:
                return n.Cast(src=inner(), dtype=self.one("f16", "f32", "i32"))
            case 2:
                op = self.one(*get_args(n.UnaryOp))
                src = self.computed(depth) if op in ("neg", "not") else inner()
                return n.Unary(op=op, src=src)
            case 3 | 4 | 5:
                return n.Binary(op=self.one(*get_args(n.BinaryOp)), lhs=self.computed(depth), rhs=inner())
            case 6:
                return n.Select(condition=inner(), x=inner(), y=inner())
            case 7:
                return n.Mask(src=inner(), pred=inner(), fill=self.number())
            case 8:
                return n.Reduce(
                    op=self.one("sum", "max", "min"),
                    src=inner(),
                    axis=self.one(*AXES),
                    across=self.one("wave", "block"),
                )
            case 9:
                return n.Relayout(src=inner(), map=Linear(self.one(1, 8)))
            case 10:
                return n.Shuffle(src=inner(), lane=inner())
            case 11:
                return n.Coordinate(src=self.ref(), axis=self.one(*AXES))
            case 12:
                src = self.one(self.view(), cast("n.View", self.ref()))
                return n.Operand(src=src, side=self.one("a", "b"), acc="acc", ks=self.expr(2), pack=self.one(1, 2))
            case _:
                return n.AsOperand(src=self.computed(depth), side=self.one("a", "b"), acc="acc", ks=self.expr(2))

    def computed(self, depth: int) -> n.Frag:
        """No literal: text turns a signed literal, or an operation on two integers, into one."""
        frag = self.frag(depth - 1)
        return self.ref() if isinstance(frag, n.Scalar | n.Index) else frag

    # ------------------------------------------------------------------------------------- statements

    def body(self, depth: int) -> tuple[n.Stmt, ...]:
        return tuple(self.statement(depth) for _ in range(self.integer(0, 3)))

    def inside(self, names: list[str], depth: int) -> tuple[n.Stmt, ...]:
        self._integers += names
        body = self.body(depth - 1)
        del self._integers[len(self._integers) - len(names) :]
        return body

    def statement(self, depth: int) -> n.Stmt:
        kind = self.integer(0, 26 if depth else 19)
        if kind >= 20:
            return self.holder(kind, depth)
        match kind:
            case 0:
                return n.Assign(
                    targets=(self.one(*NAMES),), value=self.one(self.frag(), n.MmaAcc(atom="m64n8k16", m=64, n=8))
                )
            case 1:
                return n.Assign(
                    targets=("p", "c", "x", "l"),
                    value=n.OnlineSoftmax(s=self.frag(), mx=self.frag(), l=self.frag(), axis="k"),
                )
            case 2:
                return n.Assign(
                    targets=("x",), value=n.Tagged(src=self.frag(), components=(("m", self.expr()), ("k", Const(1))))
                )
            case 3:
                return n.MmaInto(acc="acc", a=self.frag(2), b=self.frag(2))
            case 4:
                through = self.one(True, False)
                stage = self.view() if through else None
                return n.Store(view=self.view(), value=self.frag(), via="tma" if through else "direct", stage=stage)
            case 5:
                return n.AtomicAdd(view=self.view(), value=self.frag())
            case 6:
                return n.Copy(dst=self.view(), src=self.view())
            case 7:
                return n.CopyAsync(
                    dst=self.view(),
                    src=self.view(),
                    via=self.one("dma", "cp", "tma"),
                    across=self.one("block", "cluster"),
                )
            case 8:
                return self.one(n.Commit(), n.Fence(), n.SchedBarrier(), n.Wait(pending=self.integer(0, 63)))
            case 9:
                return n.Barrier(waves=self.one(None, 4))
            case 10:
                return n.Shift(waves=2)
            case 11:
                return n.Arrive(bar="full", bytes=self.one(None, 4096), slot=self.one(Const(0), self.expr()))
            case 12:
                return n.AwaitPhase(bar="full", completion=self.expr(), slot=self.one(Const(0), self.expr()))
            case 13:
                return n.MmaWait(pending=self.integer(0, 3))
            case 14:
                return n.AssertMatch(x=self.component(), y=self.component(), differ=self.one(True, False))
            case 15:
                return n.AssertComplete(x=self.ref(), sets=(("k", self.expr()), ("m", Const(4))))
            case 16:
                return n.SchedGroup(counts=(("mfma", self.integer(1, 9)), ("ds_read", 1)))
            case 17:
                return n.Priority(level=self.integer(0, 3))
            case 18:
                return n.Assign(targets=(self.name("i"),), value=n.Index(expr=self.expr()))
            case _:
                return n.Assign(targets=(self.name("v"),), value=self.view())

    def component(self) -> n.Component:
        return n.Component(src=self.frag(2), axis=self.one(*AXES), function=self.one(None, "expert_of"))

    def holder(self, kind: int, depth: int) -> n.Stmt:
        match kind:
            case 20:
                i = self.name("i")
                bounds = self.one((Const(0), self.expr()), (self.expr(), self.expr()))
                return n.For(targets=(i,), kind="range", bounds=bounds, body=self.inside([i], depth))
            case 21:
                i = self.name("i")
                return n.For(targets=(i,), kind="unroll", bounds=(Const(0), Const(4)), body=self.inside([i], depth))
            case 22:
                i, j = self.name("i"), self.name("i")
                bounds = (self.expr(), self.expr())
                return n.For(
                    targets=(i, j),
                    kind="tiles",
                    bounds=bounds,
                    body=self.inside([i, j], depth),
                    order=self.one("rows", "group_m(4)"),
                )
            case 23:
                return n.If(condition=self.expr(), body=self.inside([], depth), orelse=self.inside([], depth))
            case 24:
                g = self.one(None, self.name("g"))
                names = [] if g is None else [g]
                return n.Role(
                    name="mma",
                    waves=8,
                    regs=self.one(None, 232),
                    groups=self.one(1, 2),
                    index=g,
                    body=self.inside(names, depth),
                )
            case 25:
                return n.Elect(body=self.inside([], depth))
            case _:
                stage = self.name("st")
                self._stages.append(stage)
                body = self.inside([], depth)
                self._stages.pop()
                return self.one(
                    n.Fill(ring="r", stage=stage, body=body),
                    n.Use(ring="r", stage=stage, body=body, keep=self.one(0, 2)),
                )


@st.composite
def kernels(draw: Callable[[st.SearchStrategy[object]], object]) -> n.Kernel:
    """Kernels of every node; well scoped, not well typed."""
    d = Draw(draw)
    where = tuple(Op("==", (Op("%", (Var(d.one("M", "K")), Const(8))), Const(0))) for _ in range(d.integer(0, 2)))
    pred = d.one(None, Op("<=", (Var("k"), Var("n"))))
    over = n.Over(axis="k", extent=Var("K"), pred=pred)
    return n.Kernel(
        name="drawn",
        target=d.one("gfx942", "sm_90a"),
        waves=d.integer(1, 16),
        cluster=d.one(1, 2),
        params=PARAMS,
        where=where,
        assume=d.one((), (n.Assumption(text="slot[s] < M", about=("slot",)),)),
        ensures=d.one((), (n.Ensures(tensor="A", index=("m", "k"), over=(over,), uses=d.one((), ("A",), ("A", "B"))),)),
        body=(*PREAMBLE, *d.body(2), *d.body(2)),
    )


# Drawing a kernel takes long; that is no fault.
UNHURRIED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=UNHURRIED)
LONG = settings(max_examples=200, deadline=None, suppress_health_check=UNHURRIED)


def reads_back(kernel: n.Kernel) -> None:
    text = show(kernel)
    assert parse(text) == kernel
    assert show(parse(text)) == text


@QUICK
@given(kernels())
def test_drawn_kernel_reads_back(kernel: n.Kernel) -> None:
    reads_back(kernel)


@pytest.mark.slow
@LONG
@given(kernels())
def test_many_drawn_kernels_read_back(kernel: n.Kernel) -> None:
    reads_back(kernel)


@pytest.mark.slow
@QUICK
@given(kernels())
def test_drawn_kernel_with_generated_names_reads_back(kernel: n.Kernel) -> None:
    text = re.sub(r"\b(acc|x|As|r)\b(?!\()", r"\1·t1", show(kernel))
    core = parse_core(text)
    assert any("." in node.name for s in core.body for node in walk(s) if isinstance(node, n.Ref)) or "·t1" in text
    assert show(core) == text
    assert parse_core(show(core)) == core
    with pytest.raises(KernelError):
        parse(text)


@QUICK
@given(kernels())
def test_variables_may_be_renamed(kernel: n.Kernel) -> None:
    names = {"acc": "total", "x": "value", "As": "tile_a", "r": "stages", "full": "bars", "bm": "row", "bn": "column"}
    text = re.sub(r"\b(acc|x|As|r|full|bm|bn)\b(?!\()", lambda m: names[m.group()], show(kernel))
    assert canonical_sha(parse(text)) == canonical_sha(kernel)


@pytest.mark.slow
def test_every_node_is_drawn() -> None:
    """The strategies above miss no class of node."""
    seen: set[type] = set()

    @settings(max_examples=1000, deadline=None, derandomize=True, database=None, suppress_health_check=UNHURRIED)
    @given(kernels())
    def draw(kernel: n.Kernel) -> None:
        seen.update(type(node) for node in walk(kernel))

    draw()
    every = {c for c in vars(n).values() if isinstance(c, type) and issubclass(c, n.Node)}
    # `mma` is only part of an update.
    assert every - seen == {n.Node, n.Mma}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_kernel_reads_back(path: Path) -> None:
    kernel = parse(path.read_text("utf-8"))
    assert parse(show(kernel)) == kernel
    core = to_core(kernel)
    assert parse_core(show(core)) == core
