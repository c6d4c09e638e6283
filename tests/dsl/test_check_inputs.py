"""Input that tempts a checker into an easy yes: contradictions, nothing asserted, nothing written, endless sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.check import check
from argus.dsl.diagnostics import CheckReport, KernelError
from argus.dsl.kernels.catalogue import subjects

CONTROL = Path(__file__).parents[1] / "kernels" / "control"
GEMM = (CONTROL / "persistent_gemm.py").read_text("utf-8")
SPLIT = (CONTROL / "split_k.py").read_text("utf-8")
MOE = (CONTROL / "moe_up.py").read_text("utf-8")


def reasons(report: CheckReport) -> str:
    return " ".join(o.reason or "" for o in report.obligations)


@pytest.mark.parametrize(("text", "clause"), [(GEMM, "K % 8 == 0"), (SPLIT, "K % 8 == 0"), (MOE, "K % 8 == 0")])
def test_a_vacuous_proof_is_no_proof(text: str, clause: str) -> None:
    report = check(text.replace(clause, f"{clause}, K < 8", 1))
    assert report.vacuous
    assert "K < 8" in report.vacuous
    assert not report.ok
    assert report.count("refuted") == 0


def test_assumptions_that_contradict_each_other_prove_nothing() -> None:
    report = check(MOE.replace("slot[s] < T", "slot[s] < T, slot[s] > T", 1))
    assert report.vacuous
    assert not report.ok


def test_an_assertion_that_no_execution_reaches_is_unknown() -> None:
    report = check(GEMM.replace("            for ks in unroll(4):", "            for ks in range(0):", 1))
    (written,) = [o for o in report.obligations if o.origin == "written"]
    assert written.verdict == "unknown"
    assert "vacuous" in (written.reason or "")


def test_tags_of_different_spaces_are_never_equal() -> None:
    report = check(GEMM.replace("assert_match(x.k, y.k)", "assert_match(x.m, y.n)"))
    (written,) = [o for o in report.obligations if o.origin == "written"]
    assert written.verdict != "proved"


def test_a_kernel_that_writes_nothing_has_proved_nothing() -> None:
    text = GEMM.replace("        store(C.tile(64, 64)[bm, bn], acc)\n", "")
    report = check(text)
    assert not report.ok
    (coverage,) = [o for o in report.obligations if o.kind == "coverage"]
    assert coverage.verdict == "refuted"
    bare = text.replace("    ensures(C[m, n], over(k, K), uses=(A, B))\n", "")
    assert "nothing is written and nothing is ensured" in reasons(check(bare))


def test_of_two_kernels_one_must_be_named() -> None:
    two = GEMM + "\n\n" + SPLIT.replace("def gemm(", "def parts(")
    with pytest.raises(KernelError, match="parts"):
        check(two)
    assert check(two, kernel="parts").ok


def test_a_file_of_ten_megabytes_is_refused_at_once() -> None:
    with pytest.raises(KernelError):
        check(GEMM + "# " + "x" * 10_000_000 + "\n")


def test_tensors_beyond_two_to_the_31_elements() -> None:
    # Any size is allowed; what offsets must stay below is listed for the launch.
    report = check(MOE)
    assert any("T" in a and "K" in a and "X" in a for a in report.assumptions)  # rows of X lie anywhere
    huge = check(MOE.replace("K % 8 == 0", "K % 8 == 0, K >= 65536, T >= 65536", 1))
    assert not huge.ok
    assert "beyond 31 bits" in reasons(huge)


def test_one_name_for_axes_of_two_extents_is_no_crash() -> None:
    """The reference read from the text has another shape than the output then, and nothing is compared."""
    text = next(s.text for s in subjects() if s.name == "moe_up/registers")
    wrong = text.replace("Wg: f16[e:E, n:N, k:K]", "Wg: f16[e:E, n:N, s:K]").replace(
        "Wg: bf16[e:E, n:N, k:K]", "Wg: bf16[e:E, n:N, s:K]"
    )
    assert wrong != text
    report = check(wrong, fixes=False)
    assert not report.ok
    assert report.count("refuted")
