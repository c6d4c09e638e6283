"""What assertions are worth: weak ones are told apart from those that the implicit obligations know nothing of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from argus.cli.main import app
from argus.dsl.check import check
from argus.evals import assertions
from argus.evals.assertions import MutantReport, judge_assertions
from argus.evals.mutation.draw import Drawn, Mutant

KERNEL = """
@kernel(target="gfx942", waves=1)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
    bm, bn = block(cdiv(M, 32), cdiv(N, 32))
    As, Bs = shared(bf16, 32, 16), shared(bf16, 32, 16)
    acc = mma_acc("32x32x8", 32, 32)
    for kt in range(cdiv(K, 16)):
        a, b = load(A.tile(32, 16)[bm, kt]), load(B.tile(32, 16)[bn, kt])
        spare = load(B.tile(32, 16)[bn, kt])
        assert_match(a.k, spare.k)
        store(As, a)
        store(Bs, b)
        barrier()
        for ks in unroll(2):
            x, y = As.operand("a", acc, ks), Bs.operand("b", acc, ks)
            assert_match(x.k, y.k)
            assert_match(x.m, x.m)
            acc += mma(x, y)
        barrier()
    store(C.tile(32, 32)[bm, bn], acc)
"""
TWO = KERNEL + KERNEL.replace("def gemm", "def other")


# One edit each, and what notices it.
SLIPS = {
    "k-tile": ("spare = load(B.tile(32, 16)[bn, kt])", "spare = load(B.tile(32, 16)[bn, kt + 1])"),
    "k-step": ('Bs.operand("b", acc, ks)', 'Bs.operand("b", acc, 0)'),
    "trip-count": ("range(cdiv(K, 16))", "range(K // 16)"),
    "arithmetic": ("acc += mma(x, y)", "acc = acc * 2.0"),
    "leave-loop": ("            assert_match(x.m, x.m)\n", ""),
}


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> MutantReport:
    mutants = [Mutant(name, "gemm", KERNEL.replace(*slip), name) for name, slip in SLIPS.items()]

    def drawn(kernels: object, *, count: int, seed: int) -> Drawn:
        del kernels, count, seed
        return Drawn(tuple(mutants), 0)

    monkeypatch.setattr(assertions, "draw", drawn)
    return judge_assertions(KERNEL, check(KERNEL))


def test_mutants_keep_the_assertions_and_are_no_matter_of_arithmetic(judged: MutantReport) -> None:
    assert judged.mutants == 3
    assert (judged.implicit, judged.unknown) == (2, 0)


def test_an_assertion_that_compares_a_thing_with_itself_is_weak(judged: MutantReport) -> None:
    itself = judged.assertions[2]
    assert (itself.text, itself.weak, itself.kills) == ("assert_match(x.m, x.m)", True, 0)
    assert "19:13: assert_match(x.m, x.m): weak: kills no mutant" in judged.render()


def test_what_implicit_obligations_find_too_is_not_beyond_them(judged: MutantReport) -> None:
    operands = judged.assertions[1]
    assert (operands.kills, operands.beyond, operands.weak) == (1, 0, False)
    assert operands.operators == {"k-step": 1}


def test_data_that_no_output_uses_are_guarded_by_the_assertion_alone(judged: MutantReport) -> None:
    spare = judged.assertions[0]
    assert (spare.kills, spare.beyond, spare.weak) == (1, 1, False)
    assert "kills 1, 1 beyond the implicit obligations (k-tile 1)" in judged.render()


@pytest.mark.slow
def test_mutants_are_those_of_the_evaluation() -> None:
    found = judge_assertions(KERNEL, check(KERNEL), count=20, seed=1)
    assert found.mutants > 10
    assert found.implicit > 5
    assert found == judge_assertions(KERNEL, check(KERNEL), count=20, seed=1)


def test_of_an_assertion_that_fails_anyhow_nothing_is_said() -> None:
    wrong = KERNEL.replace("spare = load(B.tile(32, 16)[bn, kt])", "spare = load(B.tile(32, 16)[bn, kt + 1])")
    found = judge_assertions(wrong, check(wrong), count=3)
    assert next(a.weak for a in found.assertions) is None
    assert "not proved of the kernel itself" in found.render()


@pytest.mark.slow
def test_the_command_prints_the_worth_of_the_kernel_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(TWO.replace("            assert_match(x.m, x.m)\n", "", 1), "utf-8")
    arguments = ["check", str(file), "--kernel", "gemm", "--mutants", "--mutant-count", "8"]
    text = CliRunner().invoke(app, arguments)
    assert text.exit_code == 0
    assert ": assert_match(x.k, y.k): " in text.stdout
    assert "x.m" not in text.stdout
    answer = json.loads(CliRunner().invoke(app, [*arguments, "--format", "json"]).stdout)
    assert answer["ok"]
    assert [a["line"] for a in answer["mutants"]["assertions"]] == [12, 18]


@pytest.mark.parametrize("form", ["sarif", "junit"])
def test_formats_of_other_tools_have_no_place_for_it(tmp_path: Path, form: str) -> None:
    file = tmp_path / "one.py"
    file.write_text(KERNEL, "utf-8")
    answer = CliRunner().invoke(app, ["check", str(file), "--mutants", "--format", form])
    assert answer.exit_code == 2
    assert json.loads(answer.stdout)["error"]["code"] == "usage"
