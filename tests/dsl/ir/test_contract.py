"""Two hashes: of the contract, and of the whole kernel up to names and layout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argus.dsl.frontend import parse
from argus.dsl.ir.canonical import canonical_sha
from argus.dsl.ir.contract import contract_lines, contract_sha

KERNEL = """
@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N], t: i32[s:P]):
    where(K % 8 == 0, N % 4 == 0)
    assume(t[s] < M)
    ensures(C[m, n], over(k, K, pred=k < m), uses=(A, B))
    X = tag(A, e=m // 64)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    for ks in unroll(2):
        acc += mma(X.tile(64, 64)[0, 0].operand("a", acc, ks), B.tile(64, 64)[0, 0].operand("b", acc, ks))
    store(C.tile(64, 64)[0, 0], acc)
"""


def edited(*edits: tuple[str, str]) -> str:
    text = KERNEL
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    "edits",
    [
        [("def gemm", "def other")],
        [('"gfx942", waves=4', '"sm_90a", waves=8')],
        [("where(K % 8 == 0, N % 4 == 0)", "where(N%4==0)\n    where( K  %  8 == 0 )  # pitch")],
        [("over(k, K, pred=k < m)", "over(k, K,\n        pred=(k < m))"), ("assume(t[s] < M)", "assume(t[ s ]<M)")],
        [("store(C.tile(64, 64)[0, 0], acc)", "barrier()")],
        [("X = tag(A, e=m // 64)", "Y = tag(A, e=m//64)"), ("X.tile", "Y.tile")],
    ],
)
def test_contract_is_the_same(edits: list[tuple[str, str]]) -> None:
    assert contract_sha(parse(edited(*edits))) == contract_sha(parse(KERNEL))


@pytest.mark.parametrize(
    "edits",
    [
        [("K % 8 == 0", "K % 4 == 0")],
        [("where(K % 8 == 0, N % 4 == 0)", "where(K % 8 == 0)")],
        [("assume(t[s] < M)", "assume(t[s] <= M)")],
        [("    assume(t[s] < M)\n", "")],
        [("pred=k < m", "pred=k <= m")],
        [("over(k, K, pred=k < m), ", "")],
        [("uses=(A, B)", "uses=(B, A)")],
        [("uses=(A, B)", "uses=A")],
        [("C: f32", "C: bf16")],
        [("A: bf16[m:M, k:K]", "A: bf16[m:M, k:128]")],
        [("e=m // 64", "e=m // 32")],
        [("X = tag(A, e=m // 64)", "X = A")],
    ],
)
def test_contract_is_another(edits: list[tuple[str, str]]) -> None:
    assert contract_sha(parse(edited(*edits))) != contract_sha(parse(KERNEL))


def test_contract_as_text() -> None:
    assert contract_lines(parse(KERNEL)) == (
        "A: bf16[m:M, k:K]",
        "B: bf16[n:N, k:K]",
        "C: f32[m:M, n:N]",
        "t: i32[s:P]",
        "where(K % 8 == 0)",
        "where(N % 4 == 0)",
        "assume(t[s] < M)",
        "tag(A, e=m // 64)",
        "ensures(C[m, n], over(k, K, pred=k < m), uses=(A, B))",
    )


def test_canonical_hash_ignores_names_and_layout() -> None:
    names = {"gemm": "gemm2", "ks": "step", "X": "tagged", "acc": "total"}
    other = re.sub(r"\b(gemm|ks|X|acc)\b", lambda m: names[m.group()], KERNEL).replace("    store", "\n    store")
    assert canonical_sha(parse(other)) == canonical_sha(parse(KERNEL))


@pytest.mark.parametrize(
    "edits",
    [
        [("unroll(2)", "unroll(4)")],
        [("mma(X.tile", "mma(A.tile")],
        [('"gfx942"', '"sm_90a"')],
        [("waves=4", "waves=8")],
        [("K % 8", "K % 16")],
        [('64)[0, 0].operand("b"', '64)[0, 1].operand("b"')],
    ],
)
def test_canonical_hash_sees_meaning(edits: list[tuple[str, str]]) -> None:
    assert canonical_sha(parse(edited(*edits))) != canonical_sha(parse(KERNEL))


def test_canonical_hash_tells_variables_apart() -> None:
    head = '@kernel(target="gfx942", waves=4)\ndef k(A: f32[m:M], B: f32[m:M]):\n'
    one = head + "    x, y = load(A.tile(64)[0]), load(B.tile(64)[0])\n    store(A.tile(64)[0], x)\n"
    assert canonical_sha(parse(one)) != canonical_sha(parse(one.replace(", x)", ", y)")))
    assert canonical_sha(parse(one)) == canonical_sha(parse(re.sub(r"\bx\b", "q", one)))


def test_kernels_of_the_repository_differ() -> None:
    folder = Path(__file__).parents[2] / "kernels" / "reference"
    kernels = [parse(p.read_text("utf-8")) for p in folder.glob("*.py")]
    assert len({canonical_sha(k) for k in kernels}) == len(kernels)
