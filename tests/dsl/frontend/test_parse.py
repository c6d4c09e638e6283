"""What kernel text means: nodes, spans, tolerated Python, choosing a kernel."""

from __future__ import annotations

import linecache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from argus.dsl import lang
from argus.dsl.diagnostics import Code, KernelError, Span
from argus.dsl.frontend import parse, parse_assertion, parse_function, read_text, words
from argus.dsl.ir.nodes import (
    AssertComplete,
    AssertMatch,
    Assign,
    At,
    Binary,
    Component,
    Coordinate,
    Ensures,
    For,
    Gather,
    If,
    Index,
    Kernel,
    Load,
    Mask,
    MmaInto,
    Node,
    Over,
    Ref,
    Role,
    Scalar,
    Shared,
    Stmt,
    Tagged,
    TensorParam,
    TileAt,
    Use,
)
from argus.dsl.ir.printer import show
from argus.dsl.ir.rewrite import walk
from argus.dsl.layout import Const, Op, Swizzle, Var

HEAD = '@kernel(target="gfx942", waves=4)\ndef k(A: bf16[m:M, k:K], t: i32[s:P], f: f32, n: i32):\n'


def kernel(*lines: str, head: str = HEAD) -> Kernel:
    return parse(head + "".join(f"    {line}\n" for line in lines))


def body(*lines: str, head: str = HEAD) -> tuple[Stmt, ...]:
    return kernel(*lines, head=head).body


def value(*lines: str) -> Node:
    last = body(*lines)[-1]
    assert isinstance(last, Assign)
    assert isinstance(last.value, Node)
    return last.value


def refused(text: str, name: str | None = None) -> tuple[Code, str, Span]:
    with pytest.raises(KernelError) as bad:
        parse(text, kernel=name)
    diagnostic = bad.value.diagnostic
    return diagnostic.code, f"{diagnostic.message}; {diagnostic.hint}", diagnostic.span


# ---------------------------------------------------------------------------------------- statements


def test_tuple_assignment_is_one_assignment_each() -> None:
    assert body("x, y = 0.0, n // 2") == (
        Assign(targets=("x",), value=Scalar(value=0.0)),
        Assign(targets=("y",), value=Index(expr=Op("//", (Var("n"), Const(2))))),
    )


def test_several_statements_on_a_line() -> None:
    assert body("commit(); wait(0)", "barrier()") == body("commit()", "wait(0)", "barrier()")


def test_mma_is_only_an_update() -> None:
    *_, last = body('acc = mma_acc("32x32x8", 64, 64)', "acc += mma(acc, acc)")
    assert last == MmaInto(acc="acc", a=Ref(name="acc"), b=Ref(name="acc"))


def test_other_updates_are_assignments() -> None:
    *_, last = body("x = 0.0", "x *= 2.0")
    assert last == Assign(targets=("x",), value=Binary(op="*", lhs=Ref(name="x"), rhs=Scalar(value=2.0)))


def test_element_of_memory_is_loaded() -> None:
    first, second = body("e = t[n]", "x = load(A[e].tile(64)[0])")
    assert first == Assign(targets=("e",), value=Load(view=At(src=Ref(name="t"), index=Var("n"))))
    assert isinstance(second, Assign)
    # A loaded i32 serves as an index.
    assert At(src=Ref(name="A"), index=Var("e")) in list(walk(second))


def test_elif_is_an_else_with_an_if() -> None:
    (first,) = body("if n > 1:", "    commit()", "elif n > 0:", "    wait(0)")
    assert isinstance(first, If)
    assert isinstance(first.orelse[0], If)


def test_loops() -> None:
    for text, kind, bounds in (
        ("range(n)", "range", (Const(0), Var("n"))),
        ("range(1, n)", "range", (Const(1), Var("n"))),
        ("unroll(4)", "unroll", (Const(0), Const(4))),
    ):
        (loop,) = body(f"for i in {text}:", "    commit()")
        assert isinstance(loop, For)
        assert (loop.kind, loop.bounds) == (kind, bounds)
    (loop,) = body("for i, j in tiles(n, M, order=group_m(8)):", "    commit()")
    assert isinstance(loop, For)
    assert (loop.targets, loop.bounds, loop.order) == (("i", "j"), (Var("n"), Var("M")), "group_m(8)")


def test_role_binds_its_group() -> None:
    (role,) = body('with role("mma", waves=4, groups=2) as g:', "    x = load(A.tile(64, 64)[g, 0])")
    assert isinstance(role, Role)
    assert (role.name, role.waves, role.groups, role.index) == ("mma", 4, 2, "g")


def test_names_of_a_use_stay_and_its_stage_goes() -> None:
    lines = ("r = ring(2, As=shared(bf16, 64, 64))", "with r.use(keep=1) as st:", "    x = load(st.As)")
    _, use, _ = body(*lines, "y = x * 2.0")
    assert isinstance(use, Use)
    assert use.keep == 1
    with pytest.raises(KernelError, match="`st` is not defined"):
        body(*lines, "y = load(st.As)")


# --------------------------------------------------------------------------------------- expressions


def test_integers_and_fragments_share_operators() -> None:
    assert value("x = n * 2 + 1") == Index(expr=Op("+", (Op("*", (Var("n"), Const(2))), Const(1))))
    assert value("x = f / n") == Binary(op="/", lhs=Ref(name="f"), rhs=Index(expr=Var("n")))
    # Two integers divide to a fragment: integer quotients are written `//`.
    assert value("x = 1 / n") == Binary(op="/", lhs=Index(expr=Const(1)), rhs=Index(expr=Var("n")))


def test_signs_belong_to_literals() -> None:
    assert value("x = -inf") == Scalar(value=float("-inf"))
    assert value("x = -1") == Index(expr=Const(-1))
    assert value("x = -n") == Index(expr=Op("-", (Const(0), Var("n"))))


def test_chained_comparison_of_integers() -> None:
    expected = Op("and", (Op("<", (Const(0), Var("n"))), Op("<", (Var("n"), Const(8)))))
    assert value("x = 0 < n < 8") == Index(expr=expected)


def test_coordinates_in_a_mask() -> None:
    mask = value("x = load(A.tile(64, 64)[0, 0])", "y = mask(x, x.k < K, 0)")
    pred = Binary(op="<", lhs=Coordinate(src=Ref(name="x"), axis="k"), rhs=Index(expr=Var("K")))
    assert mask == Mask(src=Ref(name="x"), pred=pred, fill=0.0)


def test_views() -> None:
    assert value("x = load(A.tile(8, 16, pad=-inf)[n, 0])") == Load(
        view=TileAt(src=Ref(name="A"), shape=(8, 16), index=(Var("n"), Const(0)), pad=float("-inf"))
    )
    gather = value("x = A.gather(load(t.tile(64)[0]))")
    assert isinstance(gather, Gather)
    assert isinstance(gather.index, Load)


def test_shapes_may_be_computed() -> None:
    assert value("x = shared(bf16, 2 * 32, 128 // 2)") == Shared(dtype="bf16", shape=(64, 64))


def test_swizzles() -> None:
    for text, expected in (
        ("xor(8, unit=8)", Swizzle(8, 8)),
        ("xor(4, unit=8, rows=2)", Swizzle(4, 8, 2)),
        # Rows of 128, 64 and 32 bytes hold 8, 4 and 2 chunks of 16 bytes.
        ("b128", Swizzle(8, 8, hardware="b128")),
        ("b64", Swizzle(4, 8, hardware="b64")),
        ("b32", Swizzle(2, 8, hardware="b32")),
    ):
        shared = value(f"x = shared(bf16, 64, 64, swizzle={text})")
        assert isinstance(shared, Shared)
        assert shared.swizzle == expected


def test_tags_may_use_axes() -> None:
    tagged = value("x = load(A.tile(64, 64)[0, 0])", "x = tag(x, e=k // 64 + n)")
    expected = Op("+", (Op("//", (Var("k"), Const(64))), Var("n")))
    assert tagged == Tagged(src=Ref(name="x"), components=(("e", expected),))


# ------------------------------------------------------------------------------------------ contract


def test_contract() -> None:
    got = kernel(
        "where(K % 8 == 0)",
        "assume(t[s]   <  M, t[0] == first(s))",
        "ensures(A[m, k], over(s, P, pred=s <= m), uses=t)",
        "commit()",
    )
    assert got.params[0] == TensorParam(name="A", dtype="bf16", axes=("m", "k"), shape=(Var("M"), Var("K")))
    assert got.where == (Op("==", (Op("%", (Var("K"), Const(8))), Const(0))),)
    assert [(a.text, a.about) for a in got.assume] == [("t[s] < M", ("t",)), ("t[0] == first(s)", ("t",))]
    over = Over(axis="s", extent=Var("P"), pred=Op("<=", (Var("s"), Var("m"))))
    assert got.ensures == (Ensures(tensor="A", index=("m", "k"), over=(over,), uses=("t",)),)


def test_unnamed_and_computed_axes() -> None:
    got = parse('@kernel(target="gfx942", waves=4)\ndef k(A: f8[M, k:128], e: i32[b:M // 64]):\n    commit()\n')
    assert got.params[0] == TensorParam(name="A", dtype="f8", axes=("", "k"), shape=(Var("M"), Const(128)))
    assert got.params[1] == TensorParam(name="e", dtype="i32", axes=("b",), shape=(Op("//", (Var("M"), Const(64))),))


# --------------------------------------------------------------------------------------------- spans


def test_spans_count_characters() -> None:
    text = '@kernel(target="gfx942", waves=4)\ndef k(A: bf16[m:M]):\n    "ä"; x = M + 1  # ü\n'
    _, _, span = refused(text.replace('"ä"', 'barrier("ä")'))
    assert (span.line, span.col, span.end_col) == (3, 13, 16)
    statement = parse(text.replace('"ä"; x', "x")).body[0]
    assert (statement.span.line, statement.span.col, statement.span.end_col) == (3, 5, 14)


def test_blocks_are_pointed_at_by_their_first_line() -> None:
    (loop,) = body("for i in range(n):", "    commit()", "    wait(0)")
    assert (loop.span.line, loop.span.col, loop.span.end_line, loop.span.end_col) == (3, 5, 3, 22)


def test_every_node_knows_its_place() -> None:
    for path in Path(__file__).parents[2].joinpath("kernels", "reference").glob("*.py"):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        got = parse(text, path.name)
        for node in (n for s in got.body for n in walk(s)):
            span = node.span
            assert span.file == path.name, node
            assert 1 <= span.line <= span.end_line <= len(lines)
            assert 1 <= span.col <= len(lines[span.line - 1])
            assert span.end_col <= len(lines[span.end_line - 1]) + 1


def test_names_lie_under_their_spans() -> None:
    text = HEAD + "    x = n\n    assert_match(load(A.tile(64, 64)[x, 0]).k, load(A.tile(64, 64)[x, 1]).k)  # ünïcödé\n"
    ref = next(n for s in parse(text).body for n in walk(s) if isinstance(n, Ref))
    line = text.splitlines()[ref.span.line - 1]
    assert line[ref.span.col - 1 : ref.span.end_col - 1] == ref.name == "A"


# --------------------------------------------------------------------------------- files and functions


def test_tolerated_at_file_level() -> None:
    text = '"""Kernels."""\nfrom __future__ import annotations\nfrom argus.dsl.lang import *\n\n' + HEAD
    assert parse(text + '    """Doc."""\n    commit()\n') == kernel("commit()")
    assert parse("from argus.dsl.lang import kernel, load\n" + HEAD + "    commit()\n") == kernel("commit()")


def test_choosing_a_kernel() -> None:
    text = HEAD + "    commit()\n\n" + HEAD.replace("def k", "def other") + "    barrier()\n"
    assert parse(text, kernel="other").name == "other"
    code, message, _ = refused(text)
    assert code is Code.UNKNOWN_NAME
    assert "k, other" in message
    code, message, _ = refused(text, "othr")
    assert code is Code.UNKNOWN_NAME
    assert "did you mean `other`?" in message


def test_hints_name_the_nearest_word() -> None:
    for line, hint in (
        ("x = laod(A.tile(64, 64)[0, 0])", "`load`"),
        ("x = load(A.tlie(64, 64)[0, 0])", "`tile`"),
        ("x = load(A.tile(64, 64, padd=1)[0, 0])", "`pad`"),
        ("barier()", "`barrier`"),
        ("for i in unrol(4):\n        commit()", "`unroll`"),
        ("x = shared(bf61, 64)", "`bf16`"),
    ):
        assert hint in refused(f"{HEAD}    {line}\n")[1]


def test_windows_lines_and_byte_order_mark() -> None:
    assert parse("\ufeff" + (HEAD + "    commit()\n").replace("\n", "\r\n")) == kernel("commit()")


def test_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_bytes((HEAD + "    commit()  # \xe4\n").encode("latin-1"))
    with pytest.raises(KernelError) as bad:
        read_text(path)
    assert (bad.value.diagnostic.code, bad.value.diagnostic.span.line) == (Code.SYNTAX, 3)
    path.write_bytes(b"#" * 1_000_001)
    with pytest.raises(KernelError, match="longer than"):
        read_text(path)
    path.write_text("# ä\n", "utf-8-sig")
    assert read_text(path) == "# ä\n"


MODULE = """\
from __future__ import annotations

from argus.dsl.lang import *


def family():
    @kernel(target="gfx942", waves=4)
    def scaled(A: bf16[m:M, k:K], C: f32[m:M, k:K]):
        x = load(A.tile(64, 64)[0, 0])
        store(C.tile(64, 64)[0, 0], x.to(f32))

    return scaled
"""


def test_function_is_read_not_run(tmp_path: Path) -> None:
    path = tmp_path / "kernels_of_a_user.py"
    path.write_text(MODULE)
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    got = parse_function(module.family())
    assert (got.name, len(got.body)) == ("scaled", 2)
    # Places are those of the file, although the function is indented there.
    load = got.body[0].span
    assert MODULE.splitlines()[load.line - 1][load.col - 1 : load.end_col - 1] == "x = load(A.tile(64, 64)[0, 0])"
    assert load.file == str(path)
    assert got == parse(show(got))
    path.unlink()
    linecache.clearcache()
    with pytest.raises(KernelError, match="source of this function"):
        parse_function(module.family())


def test_assertion_on_its_own() -> None:
    assert parse_assertion("assert_match(a.k, b.k)") == AssertMatch(
        x=Component(src=Ref(name="a"), axis="k"), y=Component(src=Ref(name="b"), axis="k")
    )
    assert parse_assertion("  assert_differ(f(a.s), b.e)\n") == AssertMatch(
        x=Component(src=Ref(name="a"), axis="s", function="f"), y=Component(src=Ref(name="b"), axis="e"), differ=True
    )
    assert parse_assertion("assert_complete(acc, k=range(128))") == AssertComplete(
        x=Ref(name="acc"), sets=(("k", Const(128)),)
    )
    sizes = parse_assertion("assert_complete(acc, k=range(cdiv(K, 2) * parts))")
    assert isinstance(sizes, AssertComplete)
    assert sizes.sets == (("k", Op("*", (Op("cdiv", (Var("K"), Const(2))), Var("parts")))),)
    for text in ("", "commit()", "assert_match(a.k, b.k); commit()", "a.k == b.k", "assert_match(a.k)", "while x: y"):
        with pytest.raises(KernelError):
            parse_assertion(text)


# ------------------------------------------------------------------------------------------ the stubs


def test_stubs_cover_the_language() -> None:
    own = {"min", "max", "range", "abs", "bool"}
    language = {*words.RESERVED, *words.ORDERS, *words.SWIZZLES, "xcd", "group_m"}
    assert set(lang.__all__) == language - own


def test_stubs_raise_when_they_run() -> None:
    with pytest.raises(RuntimeError, match="never run"):
        lang.load(None)
    with pytest.raises(RuntimeError, match="never run"):
        lang.f16["m"]
    with pytest.raises(RuntimeError, match="never run"):
        lang.exp2(1.0)
