"""The planted Hopper bugs, compiled: kernels that the checker refutes, in a bundle that shows what they do on a GPU.

`argus compile` and `argus bench` build only what is proved; here a bug has to be refuted to be built at all. Waits trap
after 2^26 polls (`ARGUS_TRAP` in the printed text), so that a kernel that would hang ends with an error.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from argus.dsl import ir
from argus.dsl.check import check
from argus.dsl.codegen.nvcc import CudaArtifact, build_cuda
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.frontend import parse
from argus.dsl.ir.verify import verify
from argus.dsl.lower import CudaKernel, lower
from argus.dsl.lower.sm_90a.audit import differences
from argus.dsl.transform import to_core
from argus.evals.planted_hopper import BUGS, HopperBug, sources
from argus.tools.bundle import DTYPES, TEXT, Entry, Plan, write_bundle_files
from argus.tools.cuda import AUDIT_SIZES, taken

TRAP = "#define ARGUS_TRAP\n"
KIND = "planted"
# One tile and less, tails everywhere; 1, 2, 3 (a ring's stages) and 7 tiles along k; more tiles than an H200 has
# multiprocessors; then many tiles with little to multiply, where epilogues follow closely.
SIZES: tuple[Mapping[str, int], ...] = (
    {"M": 128, "N": 128, "K": 64},
    {"M": 72, "N": 136, "K": 104},
    {"M": 300, "N": 200, "K": 192},
    {"M": 200, "N": 264, "K": 424},
    {"M": 2056, "N": 2120, "K": 1000},
    {"M": 4096, "N": 4096, "K": 2048},
    {"M": 8192, "N": 8192, "K": 8},
    {"M": 8192, "N": 8192, "K": 64},
    {"M": 4096, "N": 8192, "K": 200},
)


def write_bug_bundle(out: Path, progress: Callable[[int, int], None] | None = None) -> Plan:
    """Compile the right kernels and every bug, those that hang last, and write the bundle.

    Raises:
        ValueError: If a bug is proved, or a right kernel is not.
        ToolchainError: No nvcc, or the folder cannot be written.
    """
    subjects = list(_subjects())
    entries: list[Entry] = []
    try:
        for number, (name, text, bug) in enumerate(subjects, 1):
            entries.append(_entry(name, text, build(text, bug, out / folder(name))))
            if progress is not None:
                progress(number, len(subjects))
        return write_bundle_files(out, "gemm", entries)
    except OSError as error:
        raise ToolchainError(f"cannot write the bundle to {out}: {error.strerror}") from error


def _subjects() -> Iterator[tuple[str, str, HopperBug | None]]:
    for origin, text in sources().items():
        yield f"right: {origin}", text, None
    for bug in sorted(BUGS, key=lambda b: b.hangs):
        yield bug.name, bug.text, bug


def folder(name: str) -> str:
    return re.sub(r"\W+", "-", name)


def build(text: str, bug: HopperBug | None, directory: Path) -> CudaArtifact:
    """A cubin whose waits trap; `bug` is None for a right kernel.

    Raises:
        ValueError: If a bug is proved, or a right kernel is not.
    """
    proved = check(text, fixes=False).ok
    if proved == (bug is not None):
        raise ValueError(f"{bug.name}: the text is proved" if bug else "the right kernel is not proved")
    cuda = trapping(printed(text, bug))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / TEXT).write_text(text, "utf-8")
    return build_cuda(cuda, sha(text), directory)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def printed(text: str, bug: HopperBug | None) -> CudaKernel:
    """CUDA C that does what the text says, bugs included.

    A number of bytes that the copies do not move is no CUDA C that lowering prints: it is put into the right kernel's.
    """
    core = _core(text)
    if bug is not None and bug.old.startswith("bytes="):
        right = _lowered(_core(sources()[bug.origin]))
        old, new = (f", {b.removeprefix('bytes=')});" for b in (bug.old, bug.new))
        assert right.source.count(old) == 1, "one arrival announces bytes"
        cuda = replace(right, source=right.source.replace(old, new))
    else:
        cuda = _lowered(core)
    wrong = differences(core, cuda, taken(AUDIT_SIZES, core)[-1], blocks=1)
    assert not wrong, f"what is printed is not the text: {wrong[0]}"
    return cuda


def trapping(cuda: CudaKernel) -> CudaKernel:
    """The same with waits that end in a trap after 2^26 polls."""
    return replace(cuda, source=TRAP + cuda.source, lines=(0, *cuda.lines))


def _core(text: str) -> ir.Kernel:
    core = to_core(parse(text))
    verify(core)
    return core


def _lowered(core: ir.Kernel) -> CudaKernel:
    cuda = lower(core)
    assert isinstance(cuda, CudaKernel)
    return cuda


def _entry(name: str, text: str, artifact: CudaArtifact) -> Entry:
    return Entry(
        id=name,
        kind=KIND,
        dtype=DTYPES["bf16"],
        sizes={},
        name=name,
        directory=artifact.directory.name,
        check_sizes=tuple(dict(s) for s in SIZES),
        kernel_sha=sha(text),
        cubin_sha=artifact.manifest.files["kernel.cubin"],
    )
