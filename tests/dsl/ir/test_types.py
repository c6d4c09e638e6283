"""Types of names: shapes, dtypes, axes, hardware maps."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir.broadcast import same_lanes
from argus.dsl.ir.nodes import At, Ref, Rows, TileAt, Transposed
from argus.dsl.ir.types import FragType, Types, ViewType, infer, view_type
from argus.dsl.layout import Accumulator, Const, Linear, OperandMap, Uniform, Var, WithoutAxis
from argus.dsl.transform import to_core

REFERENCE = Path(__file__).parents[2] / "kernels" / "reference"
HEAD = (
    '@kernel(target="{target}", waves=4)\n'
    "def k(A: bf16[m:M, k:K], B: bf16[n:N, k:K], W: bf16[k:K], t: i32[s:P], Q: i8[m:M, k:K], f: f32, i: i32):\n"
)


def types_of(*lines: str, target: str = "gfx942") -> Types:
    text = HEAD.format(target=target) + "".join(f"    {line}\n" for line in lines)
    return infer(to_core(parse(text)))


def type_of(name: str, *lines: str, target: str = "gfx942") -> FragType:
    return types_of(*lines, target=target).frags[name]


def test_reference_gemm() -> None:
    types = infer(to_core(parse((REFERENCE / "gemm_dma_ring.py").read_text("utf-8"))))
    acc = Accumulator("16x16x16", 128, 128, (2, 2))
    assert types.frags["acc"] == FragType("f32", (128, 128), ("m", "n"), acc)
    assert types.frags["a"] == FragType("f16", (128, 16), ("m", "k"), OperandMap("a", acc))
    assert types.frags["b"] == FragType("f16", (128, 16), ("n", "k"), OperandMap("b", acc))
    assert types.sizes == ("M", "K", "N")
    assert types.indices == ("bm", "bn", "kt", "ks")
    assert types.buffer_axes == {"r.As": ("", "m", "k"), "r.Bs": ("", "n", "k")}
    assert types.buffers["r.As"].shape == (3, 128, 32)


def test_attention_keeps_the_softmax_state_in_the_lanes_of_its_accumulators() -> None:
    types = infer(to_core(parse((REFERENCE / "attention_gfx942.py").read_text("utf-8"))))
    assert types.frags["s"].axes == ("j", "q")
    assert types.frags["o"].axes == ("e", "q")
    # Starts as a scalar, becomes one value for each q.
    assert types.frags["mx"].shape == types.frags["l"].shape == (128,)
    assert types.frags["mx"].axes == ("q",)
    assert isinstance(types.frags["mx"].map, WithoutAxis)
    assert types.frags["pb"].axes == ("q", "j")


def test_views() -> None:
    types = types_of("S = shared(f16, 2, 64, 32)", "store(S[0], load(A.tile(64, 32)[0, 0]).to(f16))")
    a, s = Ref(name="A"), Ref(name="S")
    assert view_type(types, a) == ViewType("bf16", (Var("M"), Var("K")), "global", ("m", "k"))
    tile = TileAt(src=a, shape=(8, 16), index=(Const(0), Const(0)))
    assert view_type(types, tile) == ViewType("bf16", (Const(8), Const(16)), "global", ("m", "k"))
    assert view_type(types, Transposed(src=tile)).axes == ("k", "m")
    assert view_type(types, At(src=a, index=Const(0))) == ViewType("bf16", (Var("K"),), "global", ("k",))
    part = Rows(src=At(src=s, index=Const(1)), start=Const(8), count=4)
    assert view_type(types, part) == ViewType("f16", (Const(4), Const(32)), "shared", ("m", "k"))
    assert view_type(types, part).bytes == 4 * 32 * 2
    element = At(src=At(src=a, index=Const(0)), index=Const(0))
    with pytest.raises(KernelError, match="at least 1 axes"):
        view_type(types, At(src=element, index=Const(0)))
    with pytest.raises(KernelError, match="a tile of 1 axes"):
        view_type(types, TileAt(src=a, shape=(8,), index=(Const(0),)))
    with pytest.raises(KernelError, match="needs 2 axes"):
        view_type(types, Transposed(src=s))


@pytest.mark.parametrize(
    ("tile", "vector"), [("A.tile(64, 64)", 8), ("A.tile(64, 36)", 4), ("A.tile(64, 33)", 1), ("Q.tile(64, 64)", 16)]
)
def test_load_without_a_map_takes_16_bytes_where_rows_allow(tile: str, vector: int) -> None:
    assert type_of("x", f"x = load({tile}[0, 0])").map == Linear(vector)


def test_rows_picked_by_a_fragment_bring_its_axis() -> None:
    got = type_of("x", "x = load(A.gather(load(t.tile(32)[0])).tile(32, 64)[0, 0])")
    assert (got.shape, got.axes) == ((32, 64), ("s", "k"))


def test_loaded_integer_is_an_index() -> None:
    types = types_of("e = t[i]", "x = load(A[e].tile(64)[0])")
    assert "e" in types.indices
    assert types.frags["e"] == FragType("i32", (), (), Uniform())


def test_integer_products_accumulate_in_integers() -> None:
    lines = ('acc = mma_acc("32x32x16", 64, 64, grid=(2, 2))', 'x = Q.tile(64, 64)[0, 0].operand("a", acc, 0)')
    assert type_of("acc", *lines, 'acc += mma(x, Q.tile(64, 64)[0, 1].operand("b", acc, 0))').dtype == "i32"
    assert type_of("acc", *lines).dtype == "f32"


def test_operands_of_packed_steps_are_wider() -> None:
    acc = 'acc = mma_acc("16x16x16", 64, 64, grid=(2, 2))'
    got = type_of("x", acc, 'x = A.tile(64, 64)[0, 0].operand("a", acc, 0, pack=2)')
    assert got.shape == (64, 32)


@pytest.mark.parametrize(
    ("target", "atom", "rows", "axes"),
    [
        # MFMA keeps rows of the accumulator in registers, wgmma its columns: these become the k of the operand.
        ("gfx942", '"32x32x8", 32, 128, grid=(1, 4)', "b", ("n", "m")),
        ("sm_90a", '"m64n32k16", 64, 32', "a", ("m", "n")),
    ],
)
def test_registers_as_operand(target: str, atom: str, rows: str, axes: tuple[str, str]) -> None:
    shape = (32, 128) if target == "gfx942" else (64, 32)
    lines = (
        f"s = mma_acc({atom})",
        f"o = mma_acc({atom.replace('32, 128', '128, 128')})",
        f'a = A.tile({shape[0]}, 64)[0, 0].operand("a", s, 0)',
        f'b = B.tile({shape[1]}, 64)[0, 0].operand("b", s, 0)',
        "s += mma(a, b)",
        f'x = s.to(bf16).as_operand("{rows}", o, 0)',
    )
    assert type_of("x", *lines, target=target).axes == axes


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("x * 2.0", "bf16"),
        ("x * 2", "bf16"),
        ("x < 1.0", "bool"),
        ("x.to(f32) * f", "f32"),
        ("x.k * 2", "i32"),
        ("f / K", "f32"),
        ("1 / K", "f32"),
        ("exp2(K)", "f32"),
        ("select(x < 0.0, x, 0.0)", "bf16"),
        ("-x", "bf16"),
        ("~(x < 0.0)", "bool"),
        ("(x < 0.0) | (x > 1.0)", "bool"),
        ("max(x.m, 0)", "i32"),
        ("select(i < 3, x, -x)", "bf16"),
    ],
)
def test_dtypes_of_expressions(expression: str, dtype: str) -> None:
    assert type_of("y", "x = load(A.tile(64, 64)[0, 0])", f"y = {expression}").dtype == dtype


def test_broadcast_over_a_reduced_axis() -> None:
    lines = ("x = load(A.tile(64, 64)[0, 0])", 'r = reduce("sum", x, "k", across="block")')
    assert type_of("r", *lines) == FragType("bf16", (64,), ("m",), WithoutAxis(Linear(8), 1))
    assert type_of("y", *lines, "y = x * r").shape == (64, 64)
    assert type_of("z", *lines, 'q = reduce("max", r, "m", across="block")', "z = x - q").shape == (64, 64)
    with pytest.raises(KernelError, match="different lanes"):
        types_of(*lines, 'c = reduce("sum", x, "m", across="block")', "z = r * c")


def test_a_leading_axis_of_one_row_is_missing() -> None:
    lines = ("x = load(A.tile(1, 64)[0, 0])", "w = load(W.tile(64)[0])")
    assert type_of("y", *lines, "y = x * w").shape == (1, 64)
    with pytest.raises(KernelError, match="do not broadcast"):
        types_of("x = load(A.tile(2, 64)[0, 0])", "w = load(W.tile(64)[0])", "y = x * w")


def test_names_of_axes_that_differ_by_path_are_unknown() -> None:
    lines = ("S = shared(bf16, 64, 64)", "store(S, load(A.tile(64, 64)[0, 0]))", "barrier()")
    assert types_of(*lines, "x = load(S)").frags["x"].axes == ("m", "k")
    lines = (*lines, "x = load(S)", "barrier()", "store(S, load(B.tile(64, 64)[0, 0]))")
    assert types_of(*lines).frags["x"].axes == ("", "k")


def test_axes_of_a_buffer_follow_the_views_it_is_stored_through() -> None:
    lines = ("S = shared(bf16, 2, 64, 64)", "store(S[1].T.rows(0, 32), load(A.tile(32, 64)[0, 0]))")
    assert types_of(*lines).buffer_axes["S"] == ("", "k", "m")


def test_redefinition_in_the_same_block_may_change_the_type() -> None:
    types = types_of("x = load(A.tile(64, 64)[0, 0])", "x = x.to(f32)", "x = x * 2.0")
    assert {name: t.dtype for name, t in types.frags.items() if name.startswith("x")} == {
        "x": "bf16",
        "x.2": "f32",
        "x.3": "f32",
    }


def test_axes_lost_in_another_order_leave_the_same_lanes() -> None:
    lines = (
        "x = load(A.tile(4, 64)[0, 0]).to(f32)",
        'r = reduce("max", reduce("max", x, "m", across="block"), "k", across="block")',
        'c = reduce("max", reduce("max", x, "k", across="block"), "m", across="block")',
    )
    assert type_of("s", *lines, "s = r + c").shape == ()
    three = Linear(4)
    one_way = WithoutAxis(WithoutAxis(three, 2), 0)
    other = WithoutAxis(WithoutAxis(three, 0), 1)
    assert same_lanes(one_way, other)
    assert not same_lanes(one_way, WithoutAxis(WithoutAxis(three, 0), 0))
    assert not same_lanes(WithoutAxis(three, 0), WithoutAxis(three, 1))


def test_rows_of_wgmma_lie_alike_whatever_its_width() -> None:
    narrow, wide = Accumulator("m64n32k16", 64, 32, (1, 1)), Accumulator("m64n96k16", 64, 96, (1, 1))
    assert same_lanes(WithoutAxis(narrow, 1), WithoutAxis(wide, 1))
    assert not same_lanes(WithoutAxis(narrow, 0), WithoutAxis(wide, 0))
    small, large = Accumulator("16x16x16", 64, 64, (1, 1)), Accumulator("32x32x8", 64, 64, (1, 1))
    assert not same_lanes(WithoutAxis(small, 1), WithoutAxis(large, 1))


def test_a_value_that_grows_in_a_loop_takes_its_terms_along() -> None:
    lines = (
        "o = 0.0",
        "for i0 in range(M):",
        "    x = load(A.tile(4, 64)[i0, 0]).to(f32)",
        '    o = o * reduce("max", x, "m", across="block") + x',
    )
    assert type_of("o", *lines).shape == (4, 64)


def test_a_row_does_not_become_a_tile() -> None:
    lines = (
        "x = load(A.tile(4, 64)[0, 0]).to(f32)",
        'o = reduce("max", x, "m", across="block")',
        "for i0 in range(M):",
        "    o = o + x",
    )
    with pytest.raises(KernelError, match=r"becomes \[4, 64\]"):
        types_of(*lines)
