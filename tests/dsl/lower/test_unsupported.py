"""Constructs that are in the language but not lowered yet: refused, with a caret at the construct."""

from __future__ import annotations

import pytest

from argus.dsl.diagnostics import Code, KernelError

from .lowering import lowered

GEMM = """\
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where({where})
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 64), cdiv(N, 64){order})
    As, Bs = shared(bf16, {stages}64, 32{layout}), shared(bf16, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for kt in range({start}cdiv(K, 32)):
        store(As{stage}, load(A.tile(64, 32{pad})[bm, kt], map=linear({vector})))
        store(Bs, load(B.tile(64, 32)[bn, kt], map=linear(8)))
        barrier(){extra}
        for ks in {ks}(4):
            acc += mma(As{stage}.operand("a", acc, ks), Bs.operand("b", acc, ks))
        barrier()
    store(C.tile(64, 64)[bm, bn], {value})
"""
PLAIN = {
    "where": "K % 8 == 0, N % 4 == 0", "order": "", "stages": "", "layout": "", "start": "", "stage": "", "pad": "",
    "vector": "8", "extra": "", "ks": "unroll", "value": "acc",
}  # fmt: skip

CASES: dict[str, tuple[dict[str, str], str, str]] = {
    "unaligned rows": ({"where": "N % 4 == 0"}, "multiples", "A.tile(64, 32)[bm, kt]"),
    "two bytes a lane": ({"vector": "1"}, "not 2", "load(A.tile(64, 32)[bm, kt], map=linear(1))"),
    "other padding": ({"pad": ", pad=1"}, "padded with 0 only", "A.tile(64, 32, pad=1)[bm, kt]"),
    "k-step counted at run time": ({"ks": "range"}, "must be a constant", 'As.operand("a", acc, ks)'),
    "longest first": ({"order": ", order=longest_first"}, "not lowered yet", "block("),
    "ping-pong": ({"extra": "\n        shift(2)"}, "not lowered", "shift(2)"),
    "reductions": (
        {"extra": '\n        b = load(B.tile(64, 32)[bn, kt])\n        s = reduce("sum", b, "k")'},
        "not lowered",
        'reduce("sum", b, "k")',
    ),
}


def diagnostic(text: str) -> tuple[str, str]:
    """The message, and what the caret underlines."""
    with pytest.raises(KernelError) as caught:
        lowered(text)
    found = caught.value.diagnostic
    assert found.code is Code.UNSUPPORTED, found
    line = text.splitlines()[found.span.line - 1]
    end = found.span.end_col if found.span.end_line == found.span.line else len(line) + 1
    return found.message, line[found.span.col - 1 : end - 1]


def test_the_plain_kernel_is_lowered() -> None:
    assert lowered(GEMM.format_map(PLAIN)).symbol == "gemm"


@pytest.mark.parametrize("name", CASES)
def test_refusals_point_at_the_construct(name: str) -> None:
    changes, message, where = CASES[name]
    got, marked = diagnostic(GEMM.format_map(PLAIN | changes))
    assert message in got
    assert marked.startswith(where)
