"""The whole report, from text to JSON."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from argus.dsl.codegen.artifact import Artifact
from argus.dsl.codegen.report import Registers, Report
from argus.dsl.codegen.static_report import static_report
from argus.dsl.codegen.workload import Conflicts, Workload

Asm = Callable[..., str]
Golden = Callable[[str], str]

WORK = Workload(4096, 4096, 4096, 128, 128, 32, 4)


def test_report_of_a_pipelined_kernel(golden: Golden) -> None:
    got = static_report(golden("counted_copies_128"), kernel="gemm", workload=WORK, mfma_per_tile=16, in_flight=16)
    assert (got.kernel, got.target, got.spills, got.scratch_bytes, got.lds_bytes) == ("gemm", "gfx942", 0, 0, 49152)
    assert (got.registers, got.occupancy_waves) == (Registers(vgpr=110, agpr=0, sgpr=24), 1)
    assert (got.main_loop.mfma, got.main_loop.vmem_read, got.main_loop.tiles) == (48, 48, 3)
    assert got.lint == ()
    assert got.estimate is not None
    assert set(got.estimate.resources_us) == {"mfma", "valu", "lds", "vmem", "hbm", "latency", "launch"}
    assert Report.model_validate_json(got.model_dump_json()) == got


def test_without_a_problem_there_is_no_estimate(golden: Golden) -> None:
    got = static_report(golden("eight_waves_256"), kernel="gemm")
    assert got.estimate is None
    assert got.occupancy_waves == 2


def test_copies_in_flight_are_the_callers_word(golden: Golden) -> None:
    got = static_report(golden("counted_copies_128"), kernel="gemm", in_flight=8)
    assert any("up to 16 copies to LDS outstanding, 8 may be" in x for x in got.lint)


def test_conflicts_replace_the_workloads(golden: Golden) -> None:
    def us(conflicts: Conflicts | None) -> float:
        got = static_report(golden("interleaved_128"), kernel="gemm", workload=WORK, conflicts=conflicts).estimate
        assert got is not None
        return got.time_us

    assert us(Conflicts(8, 8)) > us(None) == us(Conflicts(1, 1))


@pytest.mark.parametrize(("waves", "finding"), [(8, "cannot be launched so"), (2, "budgeted for more waves than run")])
def test_workgroup_size_must_match(golden: Golden, waves: int, finding: str) -> None:
    work = Workload(4096, 4096, 4096, 64, 64, 32, waves)
    (got,) = static_report(golden("single_64"), kernel="gemm", workload=work).lint
    assert got.startswith(f"the code object allows 256 threads a block and the kernel launches {64 * waves}")
    assert finding in got


def test_a_long_loop_is_estimated_quickly(golden: Golden) -> None:
    """600 instructions a trip, eight waves on a CU."""
    text = golden("counted_copies_128")
    head, body = text.split(".LBB0_1:\n")
    body, tail = body.split("\ts_cbranch_scc1 .LBB0_1\n")
    long = (body * 3).splitlines(keepends=True)[:600]
    kernel = f"{head}.LBB0_1:\n{''.join(long)}\ts_cbranch_scc1 .LBB0_1\n{tail}"
    kernel = kernel.replace("size: 256", "size: 512").replace("next_free_vgpr 257", "next_free_vgpr 128")
    work = Workload(4096, 4096, 4096, 128, 128, 32, 8)

    def seconds() -> float:
        began = time.process_time()
        static_report(kernel, kernel="gemm", workload=work, in_flight=16)
        return time.process_time() - began

    assert static_report(kernel, kernel="gemm").main_loop.mfma > 100
    assert min(seconds() for _ in range(3)) < 0.3  # about 0.1 on an idle machine


@pytest.mark.slow
class TestCompiled:
    """Kernels fresh from the compiler."""

    @staticmethod
    def report(artifact: Artifact, tile: int, waves: int = 4, **conflicts: float) -> Report:
        return static_report(
            artifact.asm_path.read_text("utf-8"),
            kernel="gemm",
            workload=Workload(4096, 4096, 4096, tile, tile, 32, waves, conflicts=Conflicts(**conflicts)),
            mfma_per_tile=(tile // 32) ** 2 * 4 // waves,
        )

    def test_clean_and_above_the_floor(self, compiled: Callable[[str], Artifact]) -> None:
        for text, tile, waves in (("gemm tile=64", 64, 4), ("gemm", 128, 4), ("gemm tile=256 grid=4", 256, 16)):
            got = self.report(compiled(text), tile, waves)
            assert got.lint == ()
            assert got.main_loop.tiles == 1
            assert got.main_loop.mfma == (tile // 32) ** 2 * 4 // waves
            assert got.estimate is not None
            assert got.estimate.time_us > got.estimate.lower_bound_us

    def test_a_loop_short_of_registers_is_slower(self, compiled: Callable[[str], Artifact]) -> None:
        """128 x 128 accumulators a wave fill the vector registers; the operands then push them to AGPRs and back."""
        fits = self.report(compiled("gemm tile=256 agpr=1"), 256)
        short = self.report(compiled("gemm tile=256"), 256)
        assert fits.lint == ()
        assert any("values between AGPRs and VGPRs a trip" in x for x in short.lint)
        assert short.estimate is not None
        assert fits.estimate is not None
        assert short.estimate.time_us > 1.2 * fits.estimate.time_us

    def test_more_conflicts_are_never_faster(self, compiled: Callable[[str], Artifact]) -> None:
        times: list[float] = []
        for way in (1, 2, 4, 8):
            got = self.report(compiled("gemm"), 128, read_way=way).estimate
            assert got is not None
            times.append(got.time_us)
        assert times == sorted(times)
