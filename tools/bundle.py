"""Bundles: compiled kernels and all it takes to time them elsewhere; and the results that come back."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from argus.dsl.diagnostics import ToolchainError

SCHEMA_VERSION = 1
MANIFEST, RUNNER = "bundle.json", "run.py"
TEXT, CUBIN = "kernel.py", "kernel.cubin"  # of each kernel's folder
# Each kernel is checked at these before anything is timed: one tile and less, tails everywhere, many tiles a block.
# Kernels whose contract excludes some are not.
CHECK_SIZES: tuple[Mapping[str, int], ...] = (
    {"M": 128, "N": 256, "K": 64},
    {"M": 1, "N": 8, "K": 8},
    {"M": 300, "N": 200, "K": 72},
    {"M": 1000, "N": 3000, "K": 4104},
    {"M": 2050, "N": 4168, "K": 328},
    {"M": 37, "N": 35, "K": 72},
    {"M": 1001, "N": 3001, "K": 4104},
    {"M": 129, "N": 67, "K": 41},
    {"M": 299, "N": 201, "K": 331},
)
# PyTorch's names of the language's types.
DTYPES: Mapping[str, str] = {"bf16": "bfloat16", "f16": "float16"}
RUN = '''"""Times this bundle's kernels: python run.py --out results.json. Needs Python, the CUDA driver and PyTorch."""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from measure.main import main

if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
'''


class Entry(BaseModel, frozen=True):
    """One child process of a run: the library alone (`peer`), a candidate against it, or a candidate against itself.

    `obligations`: how many of how many the checker proved of the kernel text when it was bundled.
    """

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
    obligations: tuple[int, int] | None = None


class Plan(BaseModel, frozen=True):
    """What `run.py` does; `bundle_sha` is the hash of the entries, which name the hash of every cubin."""

    schema_version: int = SCHEMA_VERSION
    task: str
    bundle_sha: str
    entries: tuple[Entry, ...]


class Result(BaseModel, frozen=True):
    """One entry of a run. `ratio` is the peer's time over ours with its 95 % interval: above 1 means faster."""

    id: str
    kind: str = ""
    status: str
    message: str = ""
    dtype: str = ""
    sizes: dict[str, int] = {}
    name: str = ""
    schedule: dict[str, object] = {}
    run: int = 0
    library: str | None = None
    kernel_sha: str = ""
    cubin_sha: str = ""
    obligations: tuple[int, int] | None = None
    time_us: tuple[float, float, float] | None = None
    peer_us: tuple[float, float, float] | None = None
    ratio: tuple[float, float, float] | None = None
    tflops: float | None = None
    peer_tflops: float | None = None
    checks: tuple[dict[str, Any], ...] = ()
    clocks: tuple[dict[str, float | None], ...] = ()
    device: dict[str, Any] = {}
    seconds: float = 0.0


class Results(BaseModel, frozen=True):
    """A results file, as `run.py` writes it; of a survey, with so many rounds."""

    schema_version: int
    bundle_sha: str
    task: str
    date: str
    driver: str | None = None
    seconds: float = 0.0
    survey: int = 0
    results: tuple[Result, ...]


def write_bundle_files(out: Path, task: str, entries: Sequence[Entry]) -> Plan:
    """The plan and the runner; kernels' folders are there already.

    Raises:
        OSError: If the folder cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    _write_runner(out)
    sha = hashlib.sha256(json.dumps([e.model_dump() for e in entries], sort_keys=True).encode()).hexdigest()
    plan = Plan(task=task, bundle_sha=sha, entries=tuple(entries))
    (out / MANIFEST).write_text(plan.model_dump_json(indent=1) + "\n", "utf-8")
    return plan


def read_plan(bundle: Path) -> Plan:
    """The plan of a bundle.

    Raises:
        ToolchainError: If there is none.
    """
    try:
        return Plan.model_validate_json((bundle / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise ToolchainError(f"no bundle in {bundle}: {error}") from error


def read_results(path: Path) -> Results:
    """Read a results file.

    Raises:
        ToolchainError: If it cannot be read, or is none.
    """
    try:
        return Results.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        at = ".".join(map(str, first["loc"]))
        raise ToolchainError(f"no results in {path}: {at}: {first['msg']}") from error
    except OSError as error:
        raise ToolchainError(f"no results in {path}: {error.strerror}") from error


def mismatches(results: Results, bundle: Path) -> list[str]:
    """Entries that did not run what this bundle holds, and files that are not what it says; empty when all is well.

    Raises:
        ToolchainError: If the bundle cannot be read.
    """
    plan = read_plan(bundle)
    entries = {e.id: e for e in plan.entries}
    out = damaged(bundle, plan)
    out += [] if plan.bundle_sha == results.bundle_sha else ["the results are of another bundle"]
    for r in results.results:
        entry = entries.get(r.id)
        if entry is None:
            out.append(f"{r.id} is not in the bundle")
        elif r.cubin_sha and (r.cubin_sha, r.kernel_sha) != (entry.cubin_sha, entry.kernel_sha):
            out.append(f"{r.id} ran another cubin, or one of another kernel text")
    return out


def damaged(bundle: Path, plan: Plan) -> list[str]:
    """Kernel texts and cubins in the bundle whose hashes are not those that its plan names."""
    out: list[str] = []
    for directory in dict.fromkeys(e.directory for e in plan.entries if e.directory):
        entry = next(e for e in plan.entries if e.directory == directory)
        for name, want in ((TEXT, entry.kernel_sha), (CUBIN, entry.cubin_sha)):
            try:
                have = hashlib.sha256((bundle / directory / name).read_bytes()).hexdigest()
            except OSError as error:
                out.append(f"{directory}/{name}: {error.strerror}")
                continue
            if want and have != want:
                out.append(f"{directory}/{name} is not what the bundle was made with")
    return out


def _write_runner(out: Path) -> None:
    package = resources.files("argus.dsl.runtime.measure")
    target = out / "measure"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for module in package.iterdir():
        if module.name.endswith(".py"):
            (target / module.name).write_text(module.read_text("utf-8"), "utf-8")
    (out / RUNNER).write_text(RUN, "utf-8")
