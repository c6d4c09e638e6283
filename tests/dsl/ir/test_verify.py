"""Well-formedness of kernels that no text spells, and of launches. Text is judged in tests/kernels/bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir import nodes as n
from argus.dsl.ir.verify import check_sizes, is_core, problems, verify
from argus.dsl.layout import Const, Expr, Op, Var
from argus.dsl.transform import to_core

REFERENCE = Path(__file__).parents[2] / "kernels" / "reference"
A = n.TensorParam(name="A", dtype="bf16", axes=("m", "k"), shape=(Var("M"), Var("K")))
F = n.ScalarParam(name="f", dtype="f32")
TILE = n.TileAt(src=n.Ref(name="A"), shape=(64, 64), index=(Const(0), Const(0)))


def built(
    *body: n.Stmt,
    where: tuple[Expr, ...] = (),
    ensures: tuple[n.Ensures, ...] = (),
    params: tuple[n.Param, ...] = (A, F),
) -> n.Kernel:
    return n.Kernel(name="k", target="gfx942", waves=4, params=params, body=body, where=where, ensures=ensures)


def first(kernel: n.Kernel) -> Diagnostic:
    found = problems(kernel)
    assert found
    return found[0]


def assign(name: str, value: n.Value) -> n.Assign:
    return n.Assign(targets=(name,), value=value)


LOAD = assign("x", n.Load(view=TILE))


@pytest.mark.parametrize(
    "name", ["gemm_dma_ring", "gemm_dma_swapped_drain", "gemm_double", "gemm_single", "attention_gfx942", "rmsnorm"]
)
def test_reference_kernels_are_well_formed(name: str) -> None:
    verify(to_core(parse((REFERENCE / f"{name}.py").read_text("utf-8"))))


@pytest.mark.parametrize(
    ("name", "code", "part"),
    [
        # No `where` makes the rows of A start at whole 4-byte words.
        ("gemm_gfx942", Code.BAD_SIZE, "rows of `A` have K elements"),
        ("moe_gfx942", Code.BAD_SIZE, "rows of `X` have K elements"),
        # A stage narrower than the tile would need the accumulator in slices.
        ("gemm_sm90a", Code.BAD_SHAPE, "[64, 256] is stored to a view of shape [64, 64]"),
    ],
)
def test_other_reference_kernels_say_what_they_lack(name: str, code: Code, part: str) -> None:
    found = first(to_core(parse((REFERENCE / f"{name}.py").read_text("utf-8"))))
    assert found.code is code
    assert part in found.message


@pytest.mark.parametrize(("statement", "code", "part"), [
    (assign("y", n.Ref(name="x")), Code.UNKNOWN_NAME, "`x` is not defined"),
    (assign("y", n.Load(view=n.Ref(name="f"))), Code.BAD_SPACE, "a view is needed, `f` is a scalar argument"),
    (assign("y", n.Unary(op="exp2", src=n.Ref(name="A"))), Code.BAD_SPACE, "a fragment is needed, `A` is a tensor"),
    (assign("y", n.Index(expr=Var("f"))), Code.BAD_SPACE, "an integer is needed, `f` is a scalar argument"),
    (assign("A", n.Scalar(value=0.0)), Code.FORBIDDEN, "`A` is a tensor and keeps its meaning"),
    (assign("M", n.Index(expr=Const(1))), Code.FORBIDDEN, "`M` is a size and keeps its meaning"),
    (n.Assign(targets=("y", "z"), value=n.Scalar(value=0.0)), Code.BAD_CALL, "2 names for 1 results"),
    (n.MmaInto(acc="A", a=n.Ref(name="f"), b=n.Ref(name="f")), Code.BAD_SPACE, "a fragment is needed, `A` is a tensor"),
    (n.Wait(pending=0), None, ""),
    (n.Commit(), None, ""),
    (n.AssertComplete(x=n.Ref(name="f"), sets=(("z", Const(1)),)), Code.UNKNOWN_NAME, "`z` is no axis"),
    (n.For(targets=("i",), kind="unroll", bounds=(Const(0), Var("M")), body=()), Code.BAD_CALL, "is a constant"),
    (n.For(targets=("M",), kind="range", bounds=(Const(0), Const(4)), body=()), Code.FORBIDDEN, "keeps its meaning"),
])  # fmt: skip
def test_built_statements(statement: n.Stmt, code: Code | None, part: str) -> None:
    if code is None:
        verify(built(statement))
        return
    found = first(built(statement))
    assert found.code is code
    assert part in found.message


@pytest.mark.parametrize(
    "view",
    [
        n.At(src=n.Ref(name="A"), index=Var("q")),
        n.TileAt(src=n.Ref(name="A"), shape=(64, 64), index=(Const(0), Var("q"))),
        n.Gather(src=n.Ref(name="A"), index=n.Ref(name="q")),
    ],
)
def test_indices_of_views_are_defined(view: n.View) -> None:
    found = first(built(assign("x", n.Load(view=view))))
    assert (found.code, "`q` is not defined here" in found.message) == (Code.UNKNOWN_NAME, True)


def test_a_name_keeps_its_kind() -> None:
    found = first(built(assign("x", n.Scalar(value=0.0)), assign("x", n.Index(expr=Const(1)))))
    assert (found.code, "cannot become an integer" in found.message) == (Code.BAD_SPACE, True)


def test_an_inner_loop_does_not_reuse_a_loop_variable() -> None:
    inner = n.For(targets=("i",), kind="range", bounds=(Const(0), Const(4)), body=())
    outer = n.For(targets=("i",), kind="range", bounds=(Const(0), Const(4)), body=(inner,))
    assert first(built(outer)).code is Code.FORBIDDEN
    verify(built(inner, inner))


@pytest.mark.parametrize("ensures", [
    n.Ensures(tensor="B", index=("m", "k"), over=(), uses=()),
    n.Ensures(tensor="A", index=("m",), over=(), uses=()),
    n.Ensures(tensor="A", index=("m", "z"), over=(), uses=()),
    n.Ensures(tensor="A", index=("m", "k"), over=(), uses=("f",)),
    n.Ensures(tensor="A", index=("m", "k"), over=(n.Over(axis="z", extent=Var("K")),), uses=()),
    n.Ensures(tensor="A", index=("m", "k"), over=(n.Over(axis="k", extent=Var("f")),), uses=()),
    n.Ensures(tensor="A", index=("m", "k"), over=(n.Over(axis="k", extent=Var("K"), pred=Var("q")),), uses=()),
])  # fmt: skip
def test_built_contracts(ensures: n.Ensures) -> None:
    assert first(built(ensures=(ensures,))).code is Code.CONTRACT


def test_contract_of_sizes_only() -> None:
    assert first(built(where=(Op("<", (Var("f"), Const(1))),))).code is Code.CONTRACT
    good = n.Ensures(tensor="A", index=("m", "k"), over=(), uses=())
    assert first(built(ensures=(good, good))).code is Code.CONTRACT
    assert first(built(params=(A, A))).code is Code.CONTRACT


def test_core_form_is_recognised() -> None:
    surface = parse((REFERENCE / "gemm_dma_ring.py").read_text("utf-8"))
    assert not is_core(surface)
    assert is_core(to_core(surface))


def test_all_problems_are_listed() -> None:
    kernel = built(n.Fence(), n.MmaWait(pending=0), assign("y", n.Ref(name="q")))
    assert [p.code for p in problems(kernel)] == [Code.UNKNOWN_NAME, Code.BAD_TARGET, Code.BAD_TARGET]


# ----------------------------------------------------------------------------------- sizes of a launch


def gemm() -> n.Kernel:
    return parse((REFERENCE / "gemm_single.py").read_text("utf-8"))


def test_sizes_of_a_launch() -> None:
    check_sizes(gemm(), {"M": 1, "N": 4, "K": 8})


@pytest.mark.parametrize(("sizes", "part"), [
    ({"M": 1, "N": 4}, "K is missing"),
    ({"M": 0, "N": 4, "K": 8}, "M is 0"),
    ({"M": -3, "N": 4, "K": 8}, "M is -3"),
    ({"M": 2**31, "N": 4, "K": 8}, "M is 2147483648"),
    ({"M": 1, "N": 4, "K": 12}, "where(K % 8 == 0): M = 1, K = 12, N = 4"),
    ({"M": 1, "N": 4, "K": 8, "L": 1}, "`L` is no size"),
])  # fmt: skip
def test_sizes_that_are_refused(sizes: dict[str, int], part: str) -> None:
    with pytest.raises(KernelError) as bad:
        check_sizes(gemm(), sizes)
    assert bad.value.diagnostic.code is Code.BAD_SIZE
    assert part in bad.value.diagnostic.message


def test_a_condition_that_divides_by_zero_does_not_hold() -> None:
    kernel = built(where=(Op("==", (Op("%", (Var("M"), Op("-", (Var("K"), Const(1))))), Const(0))),))
    check_sizes(kernel, {"M": 4, "K": 3})
    with pytest.raises(KernelError, match="break where"):
        check_sizes(kernel, {"M": 4, "K": 1})


def test_integer_arguments_may_be_given() -> None:
    kernel = built(params=(A, n.ScalarParam(name="count", dtype="i32")))
    check_sizes(kernel, {"M": 1, "K": 1, "count": -5})
