"""Edits that mend kernels, and how many planted bugs they mend."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from planted import BUGS, PROBLEM, Bug, clean

from argus.agents.ask import ask
from argus.agents.lowering import LoweringDeps, lowering
from argus.agents.messages import LoweredKernel, LoweringTask, render
from argus.agents.offline import OfflineModel
from argus.agents.repair import blind, candidates, ranked, sites, with_contract
from argus.agents.repair.discipline import disciplined
from argus.agents.repair.mirror import completed, mended
from argus.dsl.diagnostics import Access, CheckReport, Counterexample, KernelError, Span
from argus.dsl.kernels import Problem, families
from argus.tools.check import check_invariants


def line(number: int) -> Span:
    return Span("<kernel>", number, 1, number, 2)


def at(text: str, needle: str, which: int = 0) -> int:
    """Line of a piece of text."""
    return [n for n, row in enumerate(text.splitlines(), 1) if needle in row][which]


def reads(kernel: str) -> sites.Kernel:
    found = sites.read(kernel)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["single", "prefetch", "registers", "copies", "ring", "swapped"])
def test_a_right_kernel_stands_out_nowhere(name: str) -> None:
    kernel = reads(clean(name))
    assert mended(kernel, []) == []
    assert list(completed(kernel)) == []
    assert disciplined(kernel) == []


def test_sites_are_where_they_say() -> None:
    kernel = reads(clean("copies"))
    for site in kernel.sites:
        assert kernel.lines[site.line - 1][site.start : site.stop] == site.text
        assert sites.replace(kernel, site, site.text) == kernel.text
    assert {s.text for s in kernel.of("stage")} >= {"0", "kt % 2", "(kt + 1) % 2"}
    assert all(s.writes for s in kernel.of("stage") if s.text == "(kt + 1) % 2")
    assert kernel.row == "32"
    assert kernel.atom == (16, 16, 16)


def test_no_edit_touches_the_contract() -> None:
    head = clean("single").split("    bm, bn")[0]
    assert all(edit.startswith(head) for edit in blind(clean("single")))


def test_text_that_is_no_python_has_no_edits() -> None:
    found = Counterexample(kind="race", text="", consumer=line(1), fix_class="missing barrier")
    assert candidates("def (", found) == []
    assert blind("def (") == []


def test_a_barrier_goes_between_the_accesses_and_outside_the_inner_loop() -> None:
    text = Bug("", "single", "        barrier()\n", "", 0).text
    read, write = at(text, "operand"), at(text, "store(As")
    other = Access(span=line(write), action="writes", thread=0, wave=0, lane=0)
    found = Counterexample(
        kind="race", text="", consumer=line(read), other=other, buffer="As", fix_class="missing barrier"
    )
    assert candidates(text, found)[0] == clean("single")


def test_the_wait_count_comes_from_the_witness() -> None:
    text = clean("copies").replace("        wait(0)", "        wait(3)")
    use = at(text, "operand")
    found = Counterexample(
        kind="wait",
        text="",
        consumer=line(use),
        buffer="Bs",
        fix_class="missing wait",
        fix=f"wait(1) before line {use}",
    )
    assert "        wait(1)\n" in candidates(text, found)[0]


def test_an_operand_learns_from_its_sibling() -> None:
    text = clean("copies").replace("Bs[kt % 2].operand", "As[kt % 2].operand")
    found = Counterexample(
        kind="conformity", text="", consumer=line(at(text, "operand")), fix_class="operand transposed"
    )
    assert candidates(text, found)[0] == clean("copies")


def test_a_missing_image_is_written() -> None:
    text = clean("copies").replace('        copy_async(Bs[(kt + 1) % 2], B.tile(128, 32)[bn, kt + 1], via="dma")\n', "")
    assert clean("copies") in list(completed(reads(text)))


def test_the_contract_is_restored() -> None:
    right = clean("single")
    for text in (
        right.replace("where(K % 8 == 0, N % 4 == 0)", "where(K % 8 == 0)"),
        right.replace("K, N % 4", "K, N % 2"),
    ):
        if text == right:
            continue
        found = Counterexample(kind="contract", text="", consumer=line(2), fix_class="contract missing")
        assert candidates(text, found, PROBLEM.contract) == [right]
    assert with_contract("x = 1", PROBLEM.contract) == []


def test_causes_come_before_effects() -> None:
    kinds = ["epilogue", "coverage", "completeness", "written", "race"]
    found = [Counterexample(kind=k, text="", consumer=line(1), fix_class="k incomplete") for k in kinds]
    found.append(Counterexample(kind="init", text="", consumer=line(1)))
    assert [c.kind for c in ranked(found)] == ["race", "completeness", "written", "coverage", "epilogue", "init"]


@pytest.mark.slow
def test_every_edit_is_another_text_and_comes_once() -> None:
    for bug in BUGS:
        edits = blind(bug.text, PROBLEM.contract)
        assert len(set(edits)) == len(edits)
        assert bug.text not in edits
        assert len(edits) >= 5


class Checker:
    """The real checker as a toolbox; nothing is compiled here."""

    def check_invariants(self, text: str, problem: Problem) -> CheckReport:
        return check_invariants(text, problem)


async def repaired(bug: Bug, *, shown: bool, seed: int) -> bool:
    """Whether the offline lowering agent turns the text into a proved kernel in its three tries."""
    task = LoweringTask(
        contract=PROBLEM.contract, target="gfx942", parent_text=bug.text, draft=bug.text, feedback=shown, seed=seed
    )
    deps = LoweringDeps(task, Checker(), PROBLEM, families()["gemm"], "")  # pyright: ignore[reportArgumentType]
    answer = await ask(lowering, render(task), deps=deps, model=OfflineModel())
    assert isinstance(answer.value, LoweredKernel)
    tries = [c for c in deps.checks if c.text != bug.text]
    assert len(tries) <= 3
    return deps.check(answer.value.text).answer.ok


@pytest.mark.slow
async def test_planted_bugs_are_mended_when_the_counterexample_is_shown_and_not_when_it_is_hidden() -> None:
    assert len(BUGS) == 20
    classes: set[str] = set()
    shown = hidden = 0
    for seed, bug in enumerate(BUGS):
        classes |= set(fix_classes(bug))
        shown += await repaired(bug, shown=True, seed=seed)
        hidden += await repaired(bug, shown=False, seed=seed)
    assert len(classes) >= 5, classes
    assert shown >= 16
    assert hidden <= 4


def fix_classes(bug: Bug) -> Iterator[str]:
    try:
        report = check_invariants(bug.text, PROBLEM)
    except KernelError:
        return
    assert not report.ok, bug.name
    yield from (c.fix_class for c in report.counterexamples if c.fix_class)
