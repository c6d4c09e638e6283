"""The tools as a server offers them: an answer for every question, and no way to look at held-out cases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from argus.dsl.diagnostics import Code, KernelError, ToolchainError
from argus.dsl.kernels import Problem, families, make_problem, task_named
from argus.tools.answers import Answer, Refusal, answered
from argus.tools.contract import require_contract
from argus.tools.results import TestCase, TestReport
from argus.tools.run_tests import without_held_out
from argus.tools.served import Served
from argus.tools.toolbox import open_toolbox


def problem(**options: str) -> Problem:
    return make_problem(task_named("gemm"), **options)  # pyright: ignore[reportArgumentType]


def kernel(of: Problem | None = None) -> str:
    known = of or problem()
    family = families()["gemm"]
    return family.text(family.start(known), known)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Tools whose workers start only if something is compiled."""
    with open_toolbox(cache=tmp_path / "cache") as toolbox:
        yield Served(toolbox, tmp_path / "cache")


def refusal(answer: Answer[TestReport]) -> Refusal:
    assert answer.result is None
    assert answer.error is not None
    return answer.error


async def test_a_proof_and_its_text(served: Served) -> None:
    answer = await served.check_invariants(kernel(), task="gemm")
    assert answer.error is None
    assert answer.result is not None
    assert answer.result.ok
    assert f"{len(answer.result.obligations)} of {len(answer.result.obligations)} obligations proved" in answer.text


async def test_a_refuted_kernel_is_a_result_with_counterexamples(served: Served) -> None:
    unordered = "\n".join(line for line in kernel().splitlines() if line.strip() != "barrier()")
    answer = await served.check_invariants(unordered)
    assert answer.error is None
    assert answer.result is not None
    assert not answer.result.ok
    assert answer.result.counterexamples
    assert "refuted[race]" in answer.text


async def test_another_contract_is_refuted_only_where_a_task_is_named(served: Served) -> None:
    weak = kernel().replace("K % 8 == 0", "K % 16 == 0")
    alone, against = await served.check_invariants(weak), await served.check_invariants(weak, task="gemm")
    assert alone.result is not None
    assert alone.result.ok
    assert against.result is not None
    assert not against.result.ok


async def test_what_is_no_kernel_is_a_diagnostic_with_a_caret(served: Served) -> None:
    for answer in (
        await served.check_invariants("import os\n"),
        await served.compile_kernel("import os\n"),
        await served.run_tests("import os\n", "gemm"),
        await served.profile("import os\n", "gemm"),
    ):
        assert answer.result is None
        assert answer.error is not None
        assert (answer.error.fault, answer.error.code) == ("kernel", Code.FORBIDDEN)
        assert answer.error.where == "<kernel>:1:1"
        assert "import os\n    | ^" in answer.error.text


async def test_a_bad_request_is_the_callers(served: Served) -> None:
    unknown = refusal(await served.run_tests(kernel(), "gem"))
    assert (unknown.fault, unknown.where) == ("request", "")
    assert "gemm" in unknown.hint
    for answer in (
        await served.profile(kernel(), "gemm", shape={"m": -1}),
        await served.profile(kernel(), "gemm", dtype="f64"),
        await served.profile(kernel(), "gemm", target="gfx90a"),
        await served.search_knowledge("  "),
    ):
        assert answer.error is not None
        assert answer.error.fault == "request"


async def test_a_kernel_of_another_task_is_neither_tested_nor_timed(served: Served) -> None:
    renamed = kernel().replace("A: bf16[m:M", "X: bf16[m:M").replace("(A, B)", "(X, B)").replace("A.tile", "X.tile")
    half = kernel(problem(dtype="f16"))
    for text in (renamed, half):
        for answer in (await served.run_tests(text, "gemm", dtype="bf16"), await served.profile(text, "gemm")):
            assert answer.error is not None
            assert answer.error.code == Code.CONTRACT
            assert "ensures(C[m, n]" in answer.error.hint


async def test_knowledge(served: Served) -> None:
    answer = await served.search_knowledge("bank conflicts when reading fragments", task="gemm", top=3)
    assert answer.result is not None
    assert answer.result.mode == "bm25"
    assert answer.result.hits[0].id == "xor-swizzle"
    assert len(answer.result.hits) == 3


async def test_trouble_with_tools_and_bugs_are_answers_too(capsys: pytest.CaptureFixture[str]) -> None:
    async def dies() -> TestReport:
        raise ToolchainError("the linker died")

    async def fails() -> TestReport:
        raise AssertionError("secret detail")

    assert refusal(await answered(dies)) == Refusal(fault="toolchain", code="toolchain", message="the linker died")
    told = refusal(await answered(fails))
    assert told.fault == "internal"
    assert "secret detail" not in told.model_dump_json()
    assert "secret detail" in capsys.readouterr().err


def test_held_out_cases_show_their_verdict_alone() -> None:
    case = TestCase(sizes={"M": 1}, inputs="normal", executed="tir", passed=False, error=0.3, message="at row 1")
    shown = without_held_out(TestReport(cases=(case, case.model_copy(update={"held_out": True}))))
    assert shown.cases[0] == case
    assert shown.cases[1].model_dump(exclude_defaults=True) == {
        "sizes": {}, "inputs": "normal", "executed": "tir", "passed": False, "held_out": True
    }  # fmt: skip
    assert shown.failed == 2


def test_the_contract_is_required() -> None:
    require_contract(kernel(), problem())
    with pytest.raises(KernelError, match="not that of the task gemm"):
        require_contract(kernel().replace("K % 8", "K % 4"), problem())
