"""A toolbox whose estimate is a planted function over schedules, and cards that turn its knobs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from argus.dsl.codegen.report import Estimate, MainLoop, Registers, Report, Resource
from argus.dsl.diagnostics import (
    CheckReport,
    Code,
    Counterexample,
    Diagnostic,
    KernelError,
    ObligationReport,
    Span,
    ToolchainError,
)
from argus.dsl.kernels import Family, GemmSchedule, Problem, families, make_problem, task_named
from argus.retrieval.card import Card
from argus.retrieval.query import SearchResult
from argus.tools.results import CompileResult, TestCase, TestReport

HEAD = "# schedule "
Planted = Callable[[GemmSchedule], float]
FLOOR = 100.0


def family(predict: Callable[[GemmSchedule, Problem], float] | None = None) -> Family:
    """The GEMM family, whose text tells its schedule: the fake tools read it back."""
    real = families()["gemm"]

    def text(schedule: GemmSchedule, problem: Problem) -> str:
        return f"{HEAD}{schedule.model_dump_json()}\n{real.text(schedule, problem)}"

    return replace(real, text=text, predict=predict or real.predict)


def problem() -> Problem:
    return make_problem(task_named("gemm"))


def schedule_of(text: str) -> GemmSchedule | None:
    head = text.splitlines()[0]
    return GemmSchedule.model_validate_json(head.removeprefix(HEAD)) if head.startswith(HEAD) else None


def planted(s: GemmSchedule) -> float:
    """A landscape with one optimum, 110 us: 256x256x32, two stages, packed, swizzled, AGPRs."""
    time = 110.0
    time *= {1: 2.0, 2: 1.0, 3: 1.15, 4: 1.3}[s.stages] * (0.8 if s.prefetch else 1.0)
    time *= 1 + 1.5 * (1 - s.tile[0] * s.tile[1] / 65536)
    time *= 1.0 if s.swizzle != "none" else 1.5
    time *= 1.0 if s.pack == 2 else 1.1
    time *= 1.0 if s.regs == "agpr" else 1.12
    return time


@dataclass
class FakeToolbox:
    """Proves everything without `BUG` in it; times by `estimate`.

    Attributes:
        log: A line for every call, for tests that count them.
        delay: Seconds that compiling takes.
        broken: Texts that the toolchain fails on.
    """

    estimate: Planted = planted
    delay: float = 0.0
    wrong: Callable[[str], bool] = lambda text: False
    broken: Callable[[str], bool] = lambda text: False
    log: list[str] = field(default_factory=list[str])

    def check_invariants(self, text: str, problem: Problem) -> CheckReport:
        del problem
        self.log.append("check")
        if "def gemm(" not in text:
            where = Span("<kernel>", 1, 1, 1, 2)
            raise KernelError(Diagnostic(code=Code.SYNTAX, message="no kernel here", span=where))
        schedule = schedule_of(text)
        if schedule is not None and schedule.lds_bytes > 65536:
            where = Span("<kernel>", 1, 1, 1, 2)
            raise KernelError(Diagnostic(code=Code.LIMIT, message="over 64 KiB of LDS", span=where))
        way = 1 if schedule is None or schedule.swizzle != "none" else 8
        obligations = [_obligation(i, line) for i, line in enumerate(text.splitlines(), 1) if "BUG" in line]
        obligations.append(_obligation(0, ""))
        return CheckReport(
            kernel="gemm",
            target="gfx942",
            contract_sha="c",
            obligations=tuple(obligations),
            bank_conflicts={"read_way": way, "write_way": 1, "sites": []},
        )

    async def compile_kernel(self, text: str, problem: Problem, directory: Path) -> CompileResult:
        self.log.append("compile")
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.broken(text):
            raise ToolchainError("the linker died")
        schedule = schedule_of(text)
        asm, obj = directory / "kernel.s", directory / "kernel.hsaco"
        asm.write_text("s_endpgm\n")
        obj.write_bytes(b"\x7fELF")
        time_us = self.estimate(schedule) if schedule is not None else 900.0
        report = report_of(schedule or GemmSchedule(), problem, time_us)
        return CompileResult(directory=directory, object_path=obj, asm_path=asm, report=report, seconds=0.0)

    async def run_tests(self, text: str, problem: Problem, compiled: CompileResult) -> TestReport:
        del problem, compiled
        self.log.append("test")
        case = TestCase(
            sizes={"M": 64}, inputs="random", executed="ir", passed=not self.wrong(text), message="off by one"
        )
        return TestReport(cases=(case,))

    def search_knowledge(self, query: str, *, problem: Problem, top: int = 5) -> SearchResult:
        del problem, top
        return SearchResult(query=query, mode="bm25")


def report_of(s: GemmSchedule, problem: Problem, time_us: float) -> Report:
    lds = 0.6 if s.swizzle == "none" else 0.2
    latency = 0.5 if s.stages == 1 else 0.1
    resources: dict[Resource, float] = {
        "mfma": 0.5 * time_us,
        "valu": 0.05 * time_us,
        "lds": lds * time_us,
        "vmem": 0.05 * time_us,
        "hbm": 0.1 * time_us,
        "latency": latency * time_us,
        "launch": 4.0,
    }
    first, second = sorted(resources, key=lambda r: -resources[r])[:2]
    return Report(
        kernel="gemm",
        target=problem.target,
        registers=Registers(vgpr=128, agpr=64 if s.regs == "agpr" else 0, sgpr=40),
        spills=0,
        scratch_bytes=0,
        lds_bytes=s.lds_bytes,
        occupancy_waves=2,
        main_loop=MainLoop(mfma=s.mfma_per_tile, lds_read=8, lds_write=4),
        estimate=Estimate(
            shape=dict(problem.shape),
            time_us=time_us,
            lower_bound_us=FLOOR,
            bound=first,
            next_bound=second,
            resources_us=resources,
            model_version="fake",
        ),
    )


def card(
    name: str,
    change: Mapping[str, Any] | None,
    resource: str,
    effect: tuple[float, float, float],
    **more: Any,  # noqa: ANN401 - fields
) -> Card:
    """A card with one effect; `params` and other fields by keyword."""
    params: dict[str, Any] = more.pop("params", {})
    constraints: list[str] = more.pop("constraints", ["lds_bytes <= 65536"])
    low, mid, high = effect
    full: dict[str, Any] = {
        "id": name,
        "title": name.replace("-", " "),
        "kind": "optimisation",
        "level": "tile",
        "targets": ["gfx942"],
        "relieves": [
            {"resource": resource, "effect": {"low": low, "mid": mid, "high": high}, "basis": "derived", "source": "S1"}
        ],
        "change": None if change is None else {"set": change, "params": params, "constraints": constraints},
        "sources": [{"id": "S1", "supports": "all"}],
        "status": "draft",
        "sections": [{"heading": "How", "text": "As the title says."}],
    }
    return Card.model_validate({**full, **more})


def cards() -> dict[str, Card]:
    found = [
        card(
            "tiling",
            {"tile[0]": "$rows", "tile[1]": "$columns"},
            "mfma",
            (1.1, 1.5, 2.0),
            level="global",
            params={
                "rows": {"values": [64, 128, 192, 256], "default": 128},
                "columns": {"values": [64, 128, 192, 256], "default": 128},
            },
        ),
        card(
            "prefetch",
            {"prefetch": True},
            "latency",
            (1.1, 1.4, 2.0),
            level="global",
            applies_when=["schedule.stages == 1"],
        ),
        card(
            "stages",
            {"stages": "$count", "prefetch": False},
            "latency",
            (1.2, 2.0, 6.0),
            level="global",
            params={"count": {"values": [2, 3, 4], "default": 2}},
        ),
        card("pack", {"pack": 2}, "lds", (1.1, 1.3, 2.0)),
        card(
            "swizzle",
            {"swizzle": "xor($width, unit=8, rows=1)"},
            "lds",
            (1.5, 3.0, 8.0),
            params={"width": {"values": [2, 4, 8], "default": 4}},
            applies_when=["bank_conflicts.read_way >= 2"],
            requires={"all": ["pack"]},
            conflicts=["padding"],
        ),
        card("padding", {"pad": "$pad"}, "lds", (1.2, 2.0, 4.0), params={"pad": {"values": [8, 16], "default": 8}},
             conflicts=["swizzle"], applies_when=["bank_conflicts.read_way >= 2"]),
        card("agpr", {"regs": "agpr"}, "mfma", (1.0, 1.1, 1.3), level="instruction"),
        card("priority", {"priority": True}, "mfma", (0.98, 1.02, 1.1), level="instruction"),
        card("hand-written", None, "mfma", (1.0, 1.2, 1.5), level="instruction"),
    ]  # fmt: skip
    return {c.id: c for c in found}


def _obligation(number: int, line: str) -> ObligationReport:
    place: Any = {"file": "<kernel>", "line": number or 1, "col": 1, "end_line": number or 1, "end_col": 2}
    if "BUG" not in line:
        return ObligationReport(
            id="ok", kind="conformity", origin="implicit", text="x.k == y.k", verdict="proved", tier="table", **place
        )
    where = Span("<kernel>", number, 1, number, 2)
    found = Counterexample(
        kind="race", text="overwritten before it was read", consumer=where, fix_class="missing barrier"
    )
    return ObligationReport(
        id=f"bug{number}",
        kind="race",
        origin="implicit",
        text="no race",
        verdict="refuted",
        tier="table",
        counterexample=found,
        **place,
    )
