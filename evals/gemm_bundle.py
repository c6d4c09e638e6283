"""A bundle: compiled GEMM kernels and all it takes to time them where neither this project nor a compiler is."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from argus.dsl.check import check
from argus.dsl.codegen.nvcc import CudaArtifact, build_cuda
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.frontend import parse
from argus.dsl.ir.verify import verify
from argus.dsl.kernels import (
    HopperGemmSchedule,
    Problem,
    hopper_gemm,
    hopper_model,
    hopper_table,
    make_problem,
    task_named,
)
from argus.dsl.lower import CudaKernel, lower
from argus.dsl.lower.sm_90a.audit import differences
from argus.dsl.transform import to_core
from argus.tools.bundle import CHECK_SIZES, DTYPES, TEXT, Entry, write_bundle_files
from argus.tools.cuda import AUDIT_SIZES, taken

Shape = tuple[int, int, int]

CUBES: tuple[Shape, ...] = tuple((n, n, n) for n in (1024, 2048, 4096, 8192, 16384))
SKINNY: tuple[Shape, ...] = tuple(
    (m, n, k) for n, k in ((8192, 8192), (28672, 8192), (8192, 28672)) for m in (16, 64, 256, 512, 4096)
)
RAGGED: tuple[Shape, ...] = ((1000, 3008, 4104), (1000, 3001, 4104), (1000, 3001, 4101))
SHAPES: Mapping[str, tuple[Shape, ...]] = {
    "cubes": CUBES,
    "skinny": SKINNY,
    "ragged": RAGGED,
    "all": (*CUBES, *SKINNY, *RAGGED),
}


class Candidate(BaseModel, frozen=True):
    """A schedule that was compiled, in a folder of the bundle.

    Attributes:
        check_sizes: Where its results are checked before it is timed.
        obligations: How many of how many the checker proves.
    """

    name: str
    dtype: str
    schedule: HopperGemmSchedule
    check_sizes: tuple[dict[str, int], ...]
    obligations: tuple[int, int]
    artifact: CudaArtifact


@dataclass(frozen=True, slots=True)
class Case:
    """A shape to time, and the schedules to time there."""

    shape: Shape
    dtype: str
    schedules: tuple[HopperGemmSchedule, ...]


def proposed(shapes: Sequence[Shape], dtype: str = "bf16", count: int = 2) -> tuple[Case, ...]:
    """For each shape the table's choice, if it has one, then what the closed form proposes."""
    out: list[Case] = []
    for shape in shapes:
        sizes = _sizes(shape)
        known = hopper_table.chosen(sizes, dtype)
        schedules = (*([known] if known else []), *hopper_model.proposals(sizes, count))
        out.append(Case(shape, dtype, tuple(dict.fromkeys(schedules))[:count]))
    return tuple(out)


def _sizes(shape: Shape) -> dict[str, int]:
    m, n, k = shape
    return {"M": m, "N": n, "K": k}


def write_bundle(out: Path, cases: Sequence[Case]) -> tuple[Candidate, ...]:
    """Compile every schedule and write the bundle.

    Raises:
        KernelError: Unknown dtype, or a size that the kernels cannot take.
        ToolchainError: No nvcc, or the folder cannot be written.
    """
    wanted = dict.fromkeys((_problem(c), s) for c in cases for s in c.schedules)
    try:
        out.mkdir(parents=True, exist_ok=True)
        candidates = {key: compile_schedule(*key, out) for key in wanted}
        write_bundle_files(out, "gemm", tuple(_entries(cases, candidates)))
    except OSError as error:
        raise ToolchainError(f"cannot write the bundle to {out}: {error.strerror}") from error
    return tuple(candidates.values())


@dataclass(frozen=True, slots=True)
class Pitch:
    """The problems that one kernel text is for: a dtype, and what sizes are multiples of."""

    dtype: str
    odd: tuple[str, ...]

    @property
    def problem(self) -> Problem:
        """A problem of the kind."""
        shape = {name.lower(): (1 << 12) + (name in self.odd) for name in ("M", "N", "K")}
        return make_problem(task_named("gemm"), shape=shape, dtype=self.dtype, target="sm_90a")


def _problem(case: Case) -> Pitch:
    """Raises KernelError for sizes or a dtype that the task does not know."""
    shape = dict(zip("mnk", case.shape, strict=True))
    problem = make_problem(task_named("gemm"), shape=shape, dtype=case.dtype, target="sm_90a")
    sizes = problem.sizes
    return Pitch(case.dtype, tuple(s for s, n in problem.task.multiples.items() if sizes[s] % n))


def compile_schedule(pitch: Pitch, schedule: HopperGemmSchedule, out: Path) -> Candidate:
    """Schedule to kernel text to cubin, in `out/<name>/`.

    What the checker says of the text is kept; that CUDA C does what core form says is demanded.
    """
    problem = pitch.problem
    text = hopper_gemm.text(schedule, problem)
    core = to_core(parse(text))
    verify(core)
    lowered = lower(core)
    assert isinstance(lowered, CudaKernel)
    wrong = differences(core, lowered, taken(AUDIT_SIZES, core)[-1], blocks=1)
    assert not wrong, f"the lowering of {schedule.name} is wrong: {wrong[0]}"
    name = "-".join([pitch.dtype, schedule.name, *(f"any{s}" for s in pitch.odd)])
    checks = tuple(dict(s) for s in taken(CHECK_SIZES, core))
    artifact = build_cuda(lowered, hashlib.sha256(text.encode()).hexdigest(), out / name)
    (out / name / TEXT).write_text(text, "utf-8")
    verdicts = [o.verdict for o in check(text).obligations]
    return Candidate(
        name=name,
        dtype=pitch.dtype,
        schedule=schedule,
        check_sizes=checks,
        obligations=(verdicts.count("proved"), len(verdicts)),
        artifact=artifact,
    )


def _entries(
    cases: Sequence[Case], candidates: Mapping[tuple[Pitch, HopperGemmSchedule], Candidate]
) -> Iterable[Entry]:
    """For each shape the library, then the candidates; the first of all also against itself.

    A candidate is checked at other sizes where it comes first.
    """
    checked: set[str] = set()
    for number, case in enumerate(cases):
        dtype = DTYPES[case.dtype]
        sizes = _sizes(case.shape)
        at = "x".join(map(str, case.shape))
        yield Entry(id=f"{at} {case.dtype} library", kind="peer", dtype=dtype, sizes=sizes, name="library")
        for schedule in case.schedules:
            c = candidates[_problem(case), schedule]
            entry = Entry(
                id=f"{at} {c.name}",
                kind="candidate",
                dtype=dtype,
                sizes=sizes,
                name=c.name,
                directory=c.name,
                schedule=schedule.model_dump(),
                check_sizes=() if c.name in checked else c.check_sizes,
                kernel_sha=c.artifact.manifest.kernel_sha,
                cubin_sha=c.artifact.manifest.files["kernel.cubin"],
                obligations=c.obligations,
            )
            yield entry
            if number == 0 and not checked:
                yield entry.model_copy(update={"id": f"{at} {c.name} against itself", "kind": "aa", "check_sizes": ()})
            checked.add(c.name)
