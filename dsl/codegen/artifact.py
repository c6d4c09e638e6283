"""A compiled kernel on disk: all that a launch, a report or a reader needs, without TVM."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ValidationError

from argus.dsl.diagnostics import ToolchainError

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
Emission = Literal["tir", "ll", "asm", "object"]
FILES: dict[Emission, str] = {"tir": "kernel.tir.py", "ll": "kernel.ll", "asm": "kernel.s", "object": "kernel.hsaco"}


class Parameter(BaseModel, frozen=True):
    """One parameter of the kernel as its author declared it; `dtype` is that of the elements."""

    name: str
    kind: Literal["tensor", "size", "scalar"]
    dtype: str


class Argument(Parameter, frozen=True):
    """A parameter that the compiled code takes, and its bytes in the kernarg segment."""

    offset: int
    size: int


class Manifest(BaseModel, frozen=True):
    """How to launch the object.

    Attributes:
        grid: Blocks along x, y and z as integer formulas over the size parameters, in Python's syntax.
        threads: Exact workgroup size, along x.
        arguments: In the order of the code object, which may differ from that of `params` and may lack unused ones.
        kernarg_bytes: Size of the kernarg segment.
        lds_bytes: Static LDS a block; `scratch_bytes`: private memory a lane, 0 unless registers were spilled.
        kernel_sha: sha256 of the kernel text.
        files: sha256 of each emission, so that a damaged artifact is noticed.
        versions: Of the tools that made it.
    """

    schema_version: int = SCHEMA_VERSION
    symbol: str
    target: str
    params: tuple[Parameter, ...]
    grid: tuple[str, str, str]
    threads: int
    arguments: tuple[Argument, ...]
    kernarg_bytes: int
    lds_bytes: int
    scratch_bytes: int
    kernel_sha: str
    files: dict[Emission, str]
    versions: dict[str, str]


class Artifact(BaseModel, frozen=True):
    """A folder with a manifest, the object, and the texts it came from: TIR script, LLVM IR, assembly."""

    directory: Path
    manifest: Manifest

    @property
    def asm_path(self) -> Path:
        return self.directory / FILES["asm"]

    @property
    def object_path(self) -> Path:
        return self.directory / FILES["object"]

    def emit(self, kind: Emission) -> bytes:
        """What `argus compile --emit KIND` prints: UTF-8 text, or the ELF of the object."""
        return (self.directory / FILES[kind]).read_bytes()

    def save(self, directory: Path) -> Artifact:
        """Copy the artifact into `directory`, which is made if need be; returns the copy."""
        directory.mkdir(parents=True, exist_ok=True)
        for name in (*FILES.values(), MANIFEST):
            shutil.copyfile(self.directory / name, directory / name)
        return Artifact(directory=directory, manifest=self.manifest)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read an artifact back.

        Raises:
            ToolchainError: If a file is missing or is not the one that was saved.
        """
        try:
            manifest = Manifest.model_validate_json((directory / MANIFEST).read_bytes())
            artifact = cls(directory=directory, manifest=manifest)
            damaged = [FILES[kind] for kind, sha in manifest.files.items() if _sha256(artifact.emit(kind)) != sha]
        except (OSError, ValidationError) as error:
            raise ToolchainError(f"no artifact in {directory}: {error}") from error
        if manifest.schema_version != SCHEMA_VERSION:
            raise ToolchainError(f"{directory} has manifest version {manifest.schema_version}, not {SCHEMA_VERSION}")
        if damaged:
            raise ToolchainError(f"{directory} is damaged: {', '.join(damaged)} changed after compilation")
        return artifact


def write_emissions(directory: Path, contents: dict[Emission, bytes]) -> dict[Emission, str]:
    """Write the files of an artifact; returns the sha256 of each, for its manifest."""
    for kind, content in contents.items():
        (directory / FILES[kind]).write_bytes(content)
    return {kind: _sha256(content) for kind, content in contents.items()}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
