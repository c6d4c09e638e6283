"""The checker as a tool: the contract's hash, and the ablation without a solver."""

from __future__ import annotations

from pathlib import Path

from argus.dsl.kernels import make_problem, task_named
from argus.tools.check import check_invariants, without_solver

GOOD = (Path(__file__).parents[1] / "kernels" / "good" / "start_single_stage.py").read_text("utf-8")
PROBLEM = make_problem(task_named("gemm"))


def test_the_task_s_contract_is_compared() -> None:
    assert check_invariants(GOOD, PROBLEM).ok
    weaker = check_invariants(GOOD.replace("over(k, K)", "over(k, 8)"), PROBLEM)
    assert not weaker.ok
    assert "contract" in {o.kind for o in weaker.obligations if o.verdict == "refuted"}


def test_without_the_solver_its_obligations_stay_open() -> None:
    whole = check_invariants(GOOD, PROBLEM)
    bare = without_solver(whole)
    solved = [o for o in whole.obligations if o.tier in ("smt", "bitvector")]
    assert solved
    assert bare.count("unknown") == len(solved)
    assert bare.count("proved") == len(whole.obligations) - len(solved)
    assert not bare.ok
