"""CUDA C to a cubin, with what ptxas says of it. The compiler driver and the assembler are the machine's own."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ValidationError

from argus.dsl.codegen.cuda_report import CudaReport, Listings, read_report
from argus.dsl.codegen.listing import without_lines
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.lower import CudaKernel

SCHEMA_VERSION = 1
TARGET = "sm_90a"
TIMEOUT_S = 300
MANIFEST, REPORT = "manifest.json", "report.json"
CudaEmission = Literal["cu", "asm", "object"]
FILES: dict[CudaEmission, str] = {"cu": "kernel.cu", "asm": "kernel.ptx", "object": "kernel.cubin"}
_STANDARD = "-std=c++17"


class MapManifest(BaseModel, frozen=True):
    """A tensor map to encode; see `argus.dsl.lower.TensorMap`."""

    name: str
    tensor: str
    dtype: str
    dims: tuple[str, ...]
    box: tuple[int, ...]
    swizzle: str


class TensorManifest(BaseModel, frozen=True):
    """A tensor that TMA moves, and in which boxes."""

    name: str
    dtype: str


class CudaManifest(BaseModel, frozen=True):
    """How to launch the cubin. Formulas are Python over the sizes, with `cdiv`, `min`, `max` and `sms`.

    Attributes:
        maps: The first kernel parameters; then come the addresses of `pointers`, then `sizes` as 32-bit integers.
        kernel_sha, files: sha256 of the kernel text, and of each file here.
    """

    schema_version: int = SCHEMA_VERSION
    symbol: str
    target: str = TARGET
    tensors: tuple[TensorManifest, ...]
    sizes: tuple[str, ...]
    maps: tuple[MapManifest, ...]
    pointers: tuple[str, ...] = ()
    grid: str
    threads: int
    shared_bytes: int
    where: tuple[str, ...]
    kernel_sha: str
    files: dict[str, str]
    versions: dict[str, str]


class CudaArtifact(BaseModel, frozen=True):
    """A folder with the manifest, the report, CUDA C, PTX and cubin."""

    directory: Path
    manifest: CudaManifest
    report: CudaReport

    def emit(self, kind: CudaEmission) -> bytes:
        """What `argus compile --emit KIND` prints; `asm` is PTX."""
        return (self.directory / FILES[kind]).read_bytes()

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read an artifact back.

        Raises:
            ToolchainError: If a file is missing or is not the one that was written.
        """
        try:
            manifest = CudaManifest.model_validate_json((directory / MANIFEST).read_bytes())
            report = CudaReport.model_validate_json((directory / REPORT).read_bytes())
            changed = [n for n, sha in manifest.files.items() if _sha((directory / n).read_bytes()) != sha]
        except (OSError, ValidationError) as error:
            raise ToolchainError(f"no CUDA artifact in {directory}: {error}") from error
        if changed:
            raise ToolchainError(f"{directory} is damaged: {', '.join(changed)} changed after compilation")
        return cls(directory=directory, manifest=manifest, report=report)


def nvcc_path() -> Path:
    """The compiler driver.

    Raises:
        ToolchainError: If it is neither on PATH nor in /usr/local/cuda.
    """
    found = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    if found is None:
        raise ToolchainError(
            "nvcc is missing: cubins for sm_90a need the CUDA toolkit (12.3 or later) on PATH or in /usr/local/cuda; "
            "checking, lowering and `--emit cu` work without it"
        )
    return Path(found)


def build_cuda(kernel: CudaKernel, text_sha: str, directory: Path) -> CudaArtifact:
    """Compile a lowered kernel and write its artifact into `directory`, which is made if need be.

    `text_sha` is the sha256 of the kernel text.

    Raises:
        ToolchainError: If nvcc or ptxas is missing, refuses the text, or hangs.
    """
    nvcc = nvcc_path()
    directory.mkdir(parents=True, exist_ok=True)
    source, ptx, cubin = (directory / FILES[kind] for kind in ("cu", "asm", "object"))
    source.write_text(kernel.source, "utf-8")
    _run([str(nvcc), "-arch=compute_90a", "-O3", _STANDARD, "-lineinfo", "-ptx", str(source), "-o", str(ptx)])
    with_lines = ptx.read_text("utf-8")
    ptx.write_text(without_lines(with_lines), "utf-8")
    messages = _run([_ptxas(nvcc), f"-arch={TARGET}", "-O3", "-v", str(ptx), "-o", str(cubin)])
    listings = Listings(messages, with_lines, _sass(nvcc, with_lines), kernel.lines)
    report = read_report(kernel.symbol, listings, shared_bytes=kernel.shared_bytes, threads=kernel.threads)
    (directory / REPORT).write_text(report.model_dump_json(indent=2) + "\n", "utf-8")
    manifest = CudaManifest(
        symbol=kernel.symbol,
        tensors=tuple(TensorManifest(name=p.name, dtype=p.dtype) for p in kernel.params if p.kind == "tensor"),
        sizes=kernel.sizes,
        maps=tuple(
            MapManifest(name=m.name, tensor=m.tensor, dtype=m.dtype, dims=m.dims, box=m.box, swizzle=m.swizzle)
            for m in kernel.maps
        ),
        pointers=kernel.pointers,
        grid=kernel.grid,
        threads=kernel.threads,
        shared_bytes=kernel.shared_bytes,
        where=kernel.where,
        kernel_sha=text_sha,
        files={path.name: _sha(path.read_bytes()) for path in (source, ptx, cubin)},
        versions={"nvcc": _version(nvcc)},
    )
    (directory / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", "utf-8")
    return CudaArtifact(directory=directory, manifest=manifest, report=report)


def _ptxas(nvcc: Path) -> str:
    found = shutil.which("ptxas") or shutil.which("ptxas", path=f"{nvcc.resolve().parent}:/usr/local/cuda/bin")
    if found is None:
        raise ToolchainError(f"ptxas is missing beside {nvcc}: install the whole CUDA compiler package")
    return found


def _sass(nvcc: Path, ptx: str) -> str:
    """The disassembly of the same code with line information; "" where there is no disassembler."""
    nvdisasm = shutil.which("nvdisasm") or shutil.which("nvdisasm", path=f"{nvcc.resolve().parent}:/usr/local/cuda/bin")
    if nvdisasm is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder) / "lines.ptx", Path(folder) / "lines.cubin"
        source.write_text(ptx, "utf-8")
        _run([_ptxas(nvcc), f"-arch={TARGET}", "-O3", "-lineinfo", str(source), "-o", str(cubin)])
        return _run([nvdisasm, "-gi", "-c", str(cubin)])


def _version(nvcc: Path) -> str:
    lines = [line for line in _run([str(nvcc), "--version"]).splitlines() if "release" in line]
    return lines[0].split("release ")[-1].strip() if lines else "unknown"


def _run(command: list[str]) -> str:
    """Output and messages of a tool."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise ToolchainError(f"{Path(command[0]).name} took longer than {TIMEOUT_S} s") from None
    except OSError as error:
        raise ToolchainError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        tail = (done.stderr or done.stdout).strip()[-2000:]
        raise ToolchainError(f"{Path(command[0]).name} failed ({done.returncode}): {tail}")
    return done.stdout + done.stderr


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
