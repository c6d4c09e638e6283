"""Core form: what it promises to its readers, and what each piece of sugar turns into."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from argus.dsl.diagnostics import NOWHERE, KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir import nodes as n
from argus.dsl.ir.names import VIEW_NODES
from argus.dsl.ir.printer import show
from argus.dsl.ir.rewrite import children, walk, walk_body
from argus.dsl.ir.types import infer
from argus.dsl.ir.verify import is_core
from argus.dsl.layout import Const, Expr, Op, Var
from argus.dsl.layout import names as variables
from argus.dsl.transform import TO_CORE, to_core

KERNELS = Path(__file__).parents[2] / "kernels"
PATHS = [p for folder in ("good", "reference") for p in sorted((KERNELS / folder).glob("*.py"))]
every_kernel = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
HEAD = '@kernel(target="gfx942", waves=4)\ndef k(A: bf16[m:M, k:K], C: f32[m:M, k:K], t: i32[s:P], f: f32):\n'


def core_of(path: Path) -> n.Kernel:
    return to_core(parse(path.read_text("utf-8"), path.name))


def body_of(*lines: str, head: str = HEAD) -> str:
    """The body of the core form, as text."""
    core = to_core(parse(head + "".join(f"    {line}\n" for line in lines)))
    return "\n".join(line[4:] for line in show(core).splitlines()[2:])


# ------------------------------------------------------------------------------------ what it promises


@every_kernel
def test_sugar_is_gone(path: Path) -> None:
    assert is_core(core_of(path))


@every_kernel
def test_every_node_keeps_a_place_in_the_text(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    for node in walk_body(core_of(path).body):
        assert node.span is not NOWHERE, node
        assert node.span.file == path.name
        assert node.span.line <= len(lines)


@every_kernel
def test_spans_survive_each_pass(path: Path) -> None:
    kernel = parse(path.read_text("utf-8"), path.name)
    for step in TO_CORE:
        kernel = step(kernel)
        assert all(node.span.file == path.name for node in walk_body(kernel.body)), step.name


ATOMS = (n.Ref, n.Scalar, n.Index)


@every_kernel
def test_operands_are_atoms(path: Path) -> None:
    for node in walk_body(core_of(path).body):
        match node:
            case n.Assign(value=value) if not isinstance(value, VIEW_NODES):
                inner = [c for c in children(value) if isinstance(c, n.Node)]
            case n.MmaInto(a=a, b=b):
                inner = [a, b]
            case n.Store(value=value) | n.AtomicAdd(value=value):
                inner = [value]
            case n.Component(src=src) | n.Gather(index=src):
                inner = [src]
            case _:
                continue
        assert all(isinstance(c, (*ATOMS, *VIEW_NODES)) for c in inner), node
        assert not isinstance(node, n.Assign) or len(node.targets) == 1 or isinstance(node.value, n.Block | n.Split)


@every_kernel
def test_views_are_rooted_in_memory_and_integers_are_inlined(path: Path) -> None:
    core = core_of(path)
    types = infer(core)
    known = {*types.sizes, *types.indices, *(name for name, d in types.scalars.items() if d == "i32")}

    def visit(value: object) -> None:
        match value:
            case n.TileAt() | n.At() | n.Rows() | n.Cols() | n.Transposed():
                if isinstance(value.src, n.Ref):
                    assert value.src.name in {*types.params, *types.buffers}
            case Const() | Var() | Op():
                assert variables(value) <= known
            case _:
                pass
        if isinstance(value, n.Node):
            for child in children(value):
                visit(child)

    for statement in core.body:
        visit(statement)


@every_kernel
def test_allocations_come_first(path: Path) -> None:
    kinds = [isinstance(s, n.Assign) and isinstance(s.value, n.Shared | n.MBar) for s in core_of(path).body]
    assert kinds == sorted(kinds, reverse=True)


@every_kernel
def test_core_form_is_its_own_core_form(path: Path) -> None:
    assert to_core(core_of(path)) == core_of(path)


@every_kernel
def test_contract_is_untouched(path: Path) -> None:
    surface, core = parse(path.read_text("utf-8")), core_of(path)
    assert (core.params, core.where, core.assume, core.ensures) == (
        surface.params, surface.where, surface.assume, surface.ensures,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------- resolving


def test_integers_and_views_are_inlined() -> None:
    assert body_of(
        "i = M // 64", "j = i + 1", "x = A.tile(64, 64)[j, 0]", "y = x.rows(i, 8)", "z = load(y)", "w = z.to(f32)"
    ) == snapshot("""\
z = load(A.tile(64, 64)[M // 64 + 1, 0].rows(M // 64, 8))
w = z.to(f32)\
""")


def test_redefinitions_and_sibling_blocks_get_names_of_their_own() -> None:
    assert body_of(
        "x = load(A.tile(64, 64)[0, 0])",
        "x = x.to(f32)",
        "for i in range(4):",
        "    x = x * 2.0",
        "    y = x + 1.0",
        "for i in range(4):",
        "    y = x - 1.0",
        "x = -x",
    ) == snapshot("""\
x = load(A.tile(64, 64)[0, 0])
x·2 = x.to(f32)
for i in range(4):
    x·2 = x·2 * 2.0
    y = x·2 + 1.0
for i in range(4):
    y·2 = x·2 - 1.0
x·3 = -x·2\
""")


def test_view_keeps_the_rows_it_was_made_with() -> None:
    assert body_of(
        "rows = load(t.tile(64)[0])",
        "x = A.gather(rows)",
        "for i in range(4):",
        "    rows = load(t.tile(64)[i])",
        "y = load(x.tile(64, 64)[0, 0])",
    ) == snapshot("""\
rows = load(t.tile(64)[0])
x·rows1 = rows
for i in range(4):
    rows = load(t.tile(64)[i])
y = load(A.gather(x·rows1).tile(64, 64)[0, 0])\
""")


def test_tagged_views_keep_a_name() -> None:
    assert body_of("X = tag(A, e=m // 64)", "x = load(X.tile(64, 64)[0, 0])", "assert_match(x.e, x.e)") == snapshot("""\
X = tag(A, e=m // 64)
x = load(X.tile(64, 64)[0, 0])
assert_match(x.e, x.e)\
""")


def test_a_fragment_is_not_confused_with_a_loop_variable() -> None:
    assert body_of("for i in range(4):", "    commit()", "i = load(A.tile(64, 64)[0, 0])") == snapshot("""\
for i in range(4):
    commit()
i·2 = load(A.tile(64, 64)[0, 0])\
""")


# ------------------------------------------------------------------------------------------ flattening


def test_inner_operations_get_names_in_order_of_evaluation() -> None:
    assert body_of(
        "x = load(A.tile(64, 64)[0, 0])",
        "store(C.tile(64, 64)[0, 0], mask(exp2(x.to(f32) * f), (x.k < K) & (x.m < M), 0.0))",
    ) == snapshot("""\
x = load(A.tile(64, 64)[0, 0])
C·t1 = x.to(f32)
C·t2 = C·t1 * f
C·t3 = exp2(C·t2)
C·t4 = x.k
C·t5 = C·t4 < K
C·t6 = x.m
C·t7 = C·t6 < M
C·t8 = C·t5 & C·t7
C·t9 = mask(C·t3, C·t8, 0.0)
store(C.tile(64, 64)[0, 0], C·t9)\
""")


def test_copy() -> None:
    lines = ("As = shared(bf16, 64, 64)", "copy(As, A.tile(64, 64)[0, 0])", "barrier()", "x = load(As)")
    assert body_of(*lines) == body_of(lines[0], "store(As, load(A.tile(64, 64)[0, 0]))", *lines[2:])


# ---------------------------------------------------------------------------------------------- softmax


def test_online_softmax() -> None:
    assert body_of(
        "x = load(A.tile(64, 64)[0, 0]).to(f32)", "mx, l = -inf, 0.0", 'p, c, mx, l = online_softmax(x, mx, l, "k")'
    ) == snapshot("""\
x·t1 = load(A.tile(64, 64)[0, 0])
x = x·t1.to(f32)
mx = -inf
l = 0.0
p·t1 = reduce("max", x, "k")
p·max1 = max(mx, p·t1)
p·t2 = p·max1 == -inf
p·safe1 = select(p·t2, 0.0, p·max1)
p·t3 = x - p·safe1
p = exp(p·t3)
c·t1 = mx - p·safe1
c = exp(c·t1)
mx·2 = p·max1
l·t1 = l * c
l·t2 = reduce("sum", p, "k")
l·2 = l·t1 + l·t2\
""")


def test_online_softmax_reads_its_arguments_before_it_writes_results() -> None:
    text = body_of(
        "s, mx, l, c = load(A.tile(64, 64)[0, 0]).to(f32), -inf, 0.0, 0.0",
        's, mx, l, c = online_softmax(s, mx, l, "k")',
    )
    # `mx` holds the second result, the rescale: the old maximum is kept for the new one.
    assert "s·m1 = mx" in text
    assert "s·l1 = l" in text


# ------------------------------------------------------------------------------------------- TMA stores

HOPPER = '@kernel(target="sm_90a", waves=8)\ndef k(A: bf16[m:M, n:N], C: bf16[m:M, n:N]):\n    where(N % 8 == 0)\n'


def test_tma_store() -> None:
    assert body_of(
        "out = shared(bf16, 2, 64, 64, swizzle=b128)",
        'with role("mma", waves=8, groups=2) as g:',
        '    acc = mma_acc("m64n64k16", 64, 64)',
        '    store(C.tile(64, 64)[g, 0], acc.to(bf16), via="tma", stage=out[g])',
        head=HOPPER,
    ) == snapshot("""\
where(N % 8 == 0)
out = shared(bf16, 2, 64, 64, swizzle=b128)
with role("mma", waves=8, groups=2) as g:
    acc = mma_acc("m64n64k16", 64, 64)
    wait(0)
    barrier(waves=4)
    out·t1 = acc.to(bf16)
    store(out[g], out·t1)
    fence("async")
    barrier(waves=4)
    with elect():
        copy_async(C.tile(64, 64)[g, 0], out[g], via="tma")
        commit()
wait(0)\
""")


def test_wrong_names_are_refused_before_any_pass() -> None:
    with pytest.raises(KernelError, match="named once"):
        body_of("i = M", "i = K")


def test_expressions_of_indices_stay_expressions() -> None:
    core = to_core(parse(HEAD + "    i = M // 2\n    x = load(A.tile(64, 64)[i, i * 2])\n"))
    (load,) = [node for node in walk(core.body[0]) if isinstance(node, n.TileAt)]
    half: Expr = Op("//", (Var("M"), Const(2)))
    assert load.index == (half, Op("*", (half, Const(2))))
