"""What `check` answers: verdicts, ids, contracts, budgets, and what it says of constructs outside its slice."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.check import check, check_kernel
from argus.dsl.diagnostics import CheckReport, KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir.contract import contract_sha
from argus.dsl.smt import replay

KERNELS = Path(__file__).parents[1] / "kernels"
REFERENCE = KERNELS / "reference"
SINGLE = (REFERENCE / "gemm_single.py").read_text("utf-8")
DOUBLE = (REFERENCE / "gemm_double.py").read_text("utf-8")
HEAD = """@kernel(target="gfx942", waves=4)
def gemm(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
"""
PEELED = (
    HEAD
    + """
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    As, Bs = shared(bf16, 2, 64, 32), shared(bf16, 2, 64, 32)
    acc = mma_acc("32x32x8", 64, 64, grid=(2, 2))
    store(As[0], load(A.tile(64, 32)[bm, 0], map=linear(8)))
    store(Bs[0], load(B.tile(64, 32)[bn, 0], map=linear(8)))
    barrier()
    for kt in range(cdiv(K, 32) - 1):
        store(As[(kt + 1) % 2], load(A.tile(64, 32)[bm, kt + 1], map=linear(8)))
        store(Bs[(kt + 1) % 2], load(B.tile(64, 32)[bn, kt + 1], map=linear(8)))
        for ks in unroll(4):
            x, y = As[kt % 2].operand("a", acc, ks), Bs[kt % 2].operand("b", acc, ks)
            acc += mma(x, y)
        barrier()
    for ks in unroll(4):
        x, y = As[(cdiv(K, 32) - 1) % 2].operand("a", acc, ks), Bs[(cdiv(K, 32) - 1) % 2].operand("b", acc, ks)
        acc += mma(x, y)
    store(C.tile(64, 64)[bm, bn], acc)
"""
)


def verdicts(report: CheckReport) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for o in report.obligations:
        out.setdefault(o.kind, []).append(o.verdict)
    return out


@pytest.mark.parametrize("name", ["gemm_single", "gemm_double", "gemm_dma_ring", "gemm_dma_swapped_drain"])
def test_reference_kernels_are_proved(name: str) -> None:
    report = check(REFERENCE / f"{name}.py")
    assert report.ok, report.render((REFERENCE / f"{name}.py").read_text("utf-8"))
    kinds = set(verdicts(report))
    assert kinds >= {
        "conformity",
        "completeness",
        "init",
        "race",
        "bounds",
        "epilogue",
        "coverage",
        "written",
        "overflow",
    }
    assert ("wait" in kinds) == ("dma" in name)
    assert not report.assumed
    assert not report.widened


@pytest.mark.slow
def test_the_last_tile_may_be_peeled_off_a_pipeline() -> None:
    assert check(PEELED).ok
    # One stage for all trip counts is right for even ones only.
    odd = check(PEELED.replace("[(cdiv(K, 32) - 1) % 2]", "[1]"))
    assert "refuted" in verdicts(odd)["init"]


def test_stages_may_follow_any_modulus() -> None:
    text = DOUBLE.replace("bf16, 2, 128, 64", "bf16, 2, 128, 32").replace("128, 64)", "128, 32)")
    text = text.replace("cdiv(K, 64)", "cdiv(K, 32)").replace("unroll(4)", "unroll(2)")
    text = text.replace("xor(8, unit=8)", "xor(4, unit=8)")
    assert check(text).ok
    three = text.replace("bf16, 2, 128, 32", "bf16, 3, 128, 32").replace("% 2", "% 3")
    assert check(three).ok


def test_a_nested_loop_over_column_tiles() -> None:
    text = (
        HEAD.replace("waves=4", "waves=1")
        + """
    bm = block(cdiv(M, 32))
    As, Bs = shared(bf16, 32, 16), shared(bf16, 32, 16)
    for nt in range(cdiv(N, 32)):
        acc = mma_acc("32x32x8", 32, 32)
        for kt in range(cdiv(K, 16)):
            store(As, load(A.tile(32, 16)[bm, kt], map=linear(8)))
            store(Bs, load(B.tile(32, 16)[nt, kt], map=linear(8)))
            barrier()
            for ks in unroll(2):
                acc += mma(As.operand("a", acc, ks), Bs.operand("b", acc, ks))
            barrier()
        store(C.tile(32, 32)[bm, nt], acc)
"""
    )
    report = check(text)
    assert report.ok, report.render(text)
    short = text.replace("range(cdiv(N, 32))", "range(N // 32)")
    assert "refuted" in verdicts(check(short))["coverage"]
    carried = text.replace("        acc = mma_acc", "    acc = mma_acc", 1).replace("    for nt", "    for nt", 1)
    lines = carried.splitlines()
    at = next(i for i, line in enumerate(lines) if "for nt" in line)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    kept = check("\n".join(lines) + "\n")  # the accumulator is never cleared between column tiles
    assert not kept.ok


def test_ids_survive_edits_elsewhere() -> None:
    moved = SINGLE.replace("    bm, bn", "\n\n    bm, bn").replace("def gemm", "def other")
    assert [o.id for o in check(moved).obligations] == [o.id for o in check(SINGLE).obligations]
    assert len({o.id for o in check(DOUBLE).obligations}) == len(check(DOUBLE).obligations)


def test_the_report_is_json_and_back() -> None:
    report = check(SINGLE)
    assert CheckReport.model_validate_json(report.model_dump_json()) == report
    assert report.seconds > 0


def test_a_changed_contract_is_refuted() -> None:
    sha = contract_sha(parse(SINGLE))
    assert check(SINGLE, contract_sha=sha).ok
    weaker = check(SINGLE.replace("where(K % 8 == 0, N % 4 == 0)", "where(K % 32 == 0, N % 4 == 0)"), contract_sha=sha)
    assert verdicts(weaker)["contract"] == ["refuted"]
    assert not weaker.ok


def test_an_output_without_ensures_is_unknown() -> None:
    report = check(SINGLE.replace("    ensures(C[m, n], over(k, K), uses=(A, B))\n", ""))
    (missing,) = [o for o in report.obligations if o.kind == "contract"]
    assert missing.verdict == "unknown"
    assert "contract missing" in (missing.reason or "")
    assert not report.ok


def test_preconditions_that_exclude_each_other_prove_nothing() -> None:
    report = check(SINGLE.replace("where(K % 8 == 0,", "where(K % 8 == 0, K % 8 == 1,"))
    assert report.vacuous
    assert not report.ok


def test_preconditions_are_used() -> None:
    floor = SINGLE.replace("range(cdiv(K, 32))", "range(K // 32)")
    assert not check(floor).ok
    assert check(floor.replace("K % 8 == 0", "K % 32 == 0")).ok


def test_an_assertion_that_nothing_reaches_is_vacuous() -> None:
    text = SINGLE.replace("assert_match(x.k, y.k)\n", "if kt < 0:\n                assert_match(x.k, y.k)\n")
    (written,) = [o for o in check(text).obligations if o.kind == "written"]
    assert written.verdict == "unknown"
    assert "vacuous" in (written.reason or "")


def test_written_assertions_are_decided() -> None:
    complete = SINGLE.replace("    store(C", "    assert_complete(acc, k=range(K))\n    store(C")
    assert check(complete).ok
    lies = SINGLE.replace("    store(C", "    assert_complete(acc, k=range(K + 8))\n    store(C")
    assert verdicts(check(lies))["written"] == ["proved", "refuted"]  # false, though no output is wrong
    differ = SINGLE.replace("assert_match(x.k, y.k)", "assert_differ(x.k, y.k)")
    assert verdicts(check(differ))["written"] == ["refuted"]


@pytest.mark.slow
def test_padding_must_stay_zero_where_it_is_summed() -> None:
    def with_both(change: str) -> CheckReport:
        text = SINGLE.replace(
            "        store(As, a)\n", f"        a = ({change.format('a')}).to(bf16)\n        store(As, a)\n"
        )
        return check(
            text.replace(
                "        store(Bs, b)\n", f"        b = ({change.format('b')}).to(bf16)\n        store(Bs, b)\n"
            )
        )

    assert with_both("{} * 2.0").ok  # what is computed is for tests to judge; the data flow is right
    assert verdicts(with_both("{} + 1.0"))["completeness"] == ["unknown"]
    assert not with_both("exp2({})").ok


def test_a_selection_by_other_data_may_drop_some() -> None:
    by_b = SINGLE.replace("[bm, bn], acc)", "[bm, bn], select(load(C.tile(64, 64)[bm, bn], like=acc) > 0.0, acc, 0.0))")
    assert verdicts(check(by_b))["epilogue"] == ["unknown"]
    # By the data themselves it is a function of them, as relu is.
    assert check(SINGLE.replace("[bm, bn], acc)", "[bm, bn], select(acc > 0.0, acc, 0.0))")).ok
    assert check(SINGLE.replace("[bm, bn], acc)", "[bm, bn], relu(acc) * 2.0)")).ok


def test_claims_taint_the_verdict() -> None:
    report = check(SINGLE.replace("        store(As, a)\n", "        a = tag(a, k=kt)\n        store(As, a)\n"))
    assert report.assumed


def test_without_replay_a_violation_is_not_called_one() -> None:
    report = check(SINGLE.replace("unroll(4)", "unroll(3)"), replay=False)
    assert report.count("refuted") == 0
    assert report.count("unknown") == 1


def test_constructs_outside_the_slice_are_named_and_never_proved() -> None:
    text = (
        HEAD
        + """
    bm, bn = block(cdiv(M, 64), cdiv(N, 64))
    x = load(A.tile(64, 64)[bm, 0], map=linear(8)).to(f32)
    store(C.tile(64, 64)[bm, bn], shuffle(x, x.m))
"""
    )
    report = check(text)
    assert not report.ok
    assert report.count("refuted") == 0
    reasons = {o.reason for o in report.obligations if o.verdict == "unknown"}
    assert any("shuffle" in (r or "") and "line" in (r or "") for r in reasons), reasons


def test_one_atomic_add_of_everything_is_a_store() -> None:
    # What a kernel only adds to starts at zero.
    added = SINGLE.replace("store(C.tile(64, 64)[bm, bn], acc)", "atomic_add(C.tile(64, 64)[bm, bn], acc)")
    assert check(added).ok
    both = check(added.replace("    atomic_add", "    store(C.tile(64, 64)[bm, bn], acc)\n    atomic_add"))
    assert verdicts(both)["coverage"] == ["unknown"]


def test_budgets_and_limits_on_sizes() -> None:
    report = check(DOUBLE)
    assert report.resources["lds_bytes"] == 2 * 2 * 128 * 64 * 2
    assert report.resources["accumulator_registers"] == 64
    assert any("254*K" in a for a in report.assumptions)
    bounded = check(DOUBLE.replace("N % 4 == 0", "N % 4 == 0, K < 65536, N < 65536"))
    assert bounded.ok
    assert not bounded.assumptions


def test_text_and_ir_give_the_same_answer() -> None:
    from_text, from_ir = check(SINGLE), check_kernel(parse(SINGLE))
    assert [(o.id, o.verdict) for o in from_text.obligations] == [(o.id, o.verdict) for o in from_ir.obligations]


def test_what_is_no_kernel_is_a_diagnostic() -> None:
    with pytest.raises(KernelError):
        check("x = 1\n")
    with pytest.raises(OSError, match="nowhere"):
        check(Path("nowhere.py"))


def test_a_counterexample_says_who_where_and_what() -> None:
    report = check(DOUBLE.replace('[kt % 2].operand("a"', '[(kt + 1) % 2].operand("a"'))
    init = next(c for c in report.counterexamples if c.kind == "init")
    assert (init.buffer, init.stage, init.element) == ("As", 1, (0, 0))
    assert init.sizes == {"M": 1, "N": 4, "K": 8}  # the smallest that the preconditions allow
    assert init.loops["kt"] == 0
    assert (init.thread, init.wave, init.lane) == (0, 0, 0)
    assert init.byte == 128 * 64 * 2
    assert init.replayed
    assert "As[1, 0, 0]" in init.render(DOUBLE.splitlines())


def test_what_one_block_adds_to_a_sum_of_all_blocks_refutes_nothing() -> None:
    text = """
@kernel(target="gfx942", waves=1)
def sum_of_rows(X: f32[r:R, c:C], S: f32[c:C]):
    ensures(S[c], over(r, R), uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    atomic_add(S.tile(64)[bc], reduce("sum", load(X.tile(8, 64)[br, bc]), "r"))
"""
    assert not check(text).count("refuted")
    twice = text.replace("[br, bc]), ", "[0, bc]), ")  # every block adds the first rows
    assert check(twice).count("refuted")


def test_executions_have_a_budget_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (REFERENCE / "gemm_single.py").read_text("utf-8").replace("        barrier()\n", "", 1)
    (race, *_) = [o for o in check(text).obligations if o.verdict == "refuted"]
    monkeypatch.setattr(replay, "MOST_STEPS", 10)
    found = [o for o in check(text).obligations if o.kind == race.kind and o.line == race.line]
    assert {o.verdict for o in found} == {"unknown"}
    assert all("the budget of executions is spent" in (o.reason or "") for o in found)
