"""A bundle: compiled GEMM kernels and all it takes to time them where neither this project nor a compiler is."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path

from pydantic import BaseModel

from argus.dsl.codegen.nvcc import CudaArtifact, build_cuda
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.frontend import parse
from argus.dsl.ir.verify import verify
from argus.dsl.kernels import HopperGemmSchedule, hopper_gemm, make_problem, task_named
from argus.dsl.lower import CudaKernel, lower
from argus.dsl.transform import to_core

SCHEMA_VERSION = 1
MANIFEST, TEXT = "bundle.json", "kernel.py"
Shape = tuple[int, int, int]

SHAPES: tuple[Shape, ...] = ((4096, 4096, 4096), (8192, 8192, 8192))
SCHEDULES: tuple[HopperGemmSchedule, ...] = (
    HopperGemmSchedule(tile=(128, 256, 64), stages=4),
    HopperGemmSchedule(tile=(128, 128, 64), stages=6),
    HopperGemmSchedule(tile=(256, 128, 64), stages=4),
)
# Each kernel is checked at these before anything is timed: one tile and less, tails everywhere, many tiles a block.
CHECK_SIZES: tuple[Mapping[str, int], ...] = (
    {"M": 128, "N": 256, "K": 64},
    {"M": 1, "N": 8, "K": 8},
    {"M": 300, "N": 200, "K": 72},
    {"M": 1000, "N": 3000, "K": 4104},
    {"M": 2050, "N": 4168, "K": 328},
)
RUN = '''"""Times this bundle's kernels: python run.py --out results.json. Needs Python, the CUDA driver and PyTorch."""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from measure.main import main

if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
'''


class Entry(BaseModel, frozen=True):
    """One child process of a run: the library alone (`peer`), a candidate against it, or a candidate against itself."""

    id: str
    kind: str
    dtype: str
    sizes: dict[str, int]
    name: str = ""
    directory: str = ""
    schedule: dict[str, object] = {}
    check_sizes: tuple[dict[str, int], ...] = ()
    kernel_sha: str = ""
    cubin_sha: str = ""


class Plan(BaseModel, frozen=True):
    """What `run.py` does; `bundle_sha` is the hash of the entries, which name the hash of every cubin."""

    schema_version: int = SCHEMA_VERSION
    task: str
    bundle_sha: str
    entries: tuple[Entry, ...]


class Candidate(BaseModel, frozen=True):
    """A schedule that was compiled, in a folder of the bundle."""

    name: str
    dtype: str
    schedule: HopperGemmSchedule
    artifact: CudaArtifact


def write_bundle(
    out: Path,
    *,
    shapes: Sequence[Shape] = SHAPES,
    schedules: Sequence[HopperGemmSchedule] = SCHEDULES,
    dtype: str = "bf16",
) -> tuple[Candidate, ...]:
    """Compile every schedule and write the bundle.

    Raises:
        KernelError: Unknown dtype, or a size that the kernels cannot take.
        ToolchainError: No nvcc, or the folder cannot be written.
    """
    for m, n, k in shapes:
        make_problem(task_named("gemm"), shape={"m": m, "n": n, "k": k}, dtype=dtype, target="sm_90a")
    try:
        out.mkdir(parents=True, exist_ok=True)
        candidates = tuple(compile_schedule(s, dtype, out) for s in schedules)
        _write_runner(out)
        entries = tuple(_entries(candidates, shapes, dtype))
        sha = hashlib.sha256(json.dumps([e.model_dump() for e in entries], sort_keys=True).encode()).hexdigest()
        plan = Plan(task="gemm", bundle_sha=sha, entries=entries)
        (out / MANIFEST).write_text(plan.model_dump_json(indent=1) + "\n", "utf-8")
    except OSError as error:
        raise ToolchainError(f"cannot write the bundle to {out}: {error.strerror}") from error
    return candidates


def compile_schedule(schedule: HopperGemmSchedule, dtype: str, out: Path) -> Candidate:
    """Schedule to kernel text to cubin, in `out/<name>/`. Whether the text is right is the checker's business."""
    problem = make_problem(task_named("gemm"), dtype=dtype, target="sm_90a")
    text = hopper_gemm.text(schedule, problem)
    core = to_core(parse(text))
    verify(core)
    lowered = lower(core)
    assert isinstance(lowered, CudaKernel)
    name = f"{dtype}-{schedule.name}"
    artifact = build_cuda(lowered, hashlib.sha256(text.encode()).hexdigest(), out / name)
    (out / name / TEXT).write_text(text, "utf-8")
    return Candidate(name=name, dtype=dtype, schedule=schedule, artifact=artifact)


def _write_runner(out: Path) -> None:
    package = resources.files("argus.dsl.runtime.measure")
    target = out / "measure"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for module in package.iterdir():
        if module.name.endswith(".py"):
            (target / module.name).write_text(module.read_text("utf-8"), "utf-8")
    (out / "run.py").write_text(RUN, "utf-8")


def _entries(candidates: Sequence[Candidate], shapes: Sequence[Shape], dtype: str) -> Iterable[Entry]:
    """For each shape the library, then the candidates, the first of them against itself as well."""
    torch_dtype = {"bf16": "bfloat16", "f16": "float16"}[dtype]
    for shape in shapes:
        sizes = dict(zip(("M", "N", "K"), shape, strict=True))
        at = "x".join(map(str, shape))
        yield Entry(id=f"{at} {dtype} library", kind="peer", dtype=torch_dtype, sizes=sizes, name="library")
        for number, c in enumerate(candidates):
            entry = Entry(
                id=f"{at} {c.name}",
                kind="candidate",
                dtype=torch_dtype,
                sizes=sizes,
                name=c.name,
                directory=c.name,
                schedule=c.schedule.model_dump(),
                check_sizes=tuple(dict(s) for s in CHECK_SIZES),
                kernel_sha=c.artifact.manifest.kernel_sha,
                cubin_sha=c.artifact.manifest.files["kernel.cubin"],
            )
            yield entry
            if number == 0:
                yield entry.model_copy(update={"id": f"{at} {c.name} against itself", "kind": "aa", "check_sizes": ()})
