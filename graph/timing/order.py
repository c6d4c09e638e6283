"""What a round wants timed, and the bundle that carries it to a GPU."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import ValidationError

from argus.dsl.codegen.nvcc import FILES, MANIFEST, CudaManifest
from argus.dsl.diagnostics import ToolchainError
from argus.dsl.runtime.measure.launch import formula
from argus.tools.bundle import (
    CHECK_SIZES,
    DTYPES,
    Entry,
    Plan,
    Results,
    mismatches,
    read_plan,
    read_results,
    write_bundle_files,
)
from argus.tools.bundle import MANIFEST as PLAN

BUNDLE, TIMES = "bundle", "times.json"
LIBRARY = "library"
_CARRIED = (FILES["object"], FILES["cu"], MANIFEST, "kernel.py")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A compiled kernel: its name in the bundle, the sha256 of its text, its folder, the schedule for readers."""

    name: str
    kernel_sha: str
    directory: Path
    schedule: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Order:
    """A round's kernels at one shape.

    Attributes:
        folder: Of the round within the run: the bundle is written to it, and its times come back to it.
    """

    folder: Path
    task: str
    dtype: str
    sizes: Mapping[str, int]
    kernels: tuple[Wanted, ...]

    @property
    def bundle(self) -> Path:
        return self.folder / BUNDLE

    @property
    def times(self) -> Path:
        return self.folder / TIMES

    def only(self, shas: Collection[str]) -> Order:
        """The order for some of the kernels."""
        return replace(self, kernels=tuple(k for k in self.kernels if k.kernel_sha in shas))

    def write(self) -> Plan:
        """The bundle's folder; an earlier one is replaced.

        Raises:
            ToolchainError: If a kernel's files are missing or damaged, or the folder cannot be written.
        """
        shutil.rmtree(self.bundle, ignore_errors=True)
        try:
            for wanted in self.kernels:
                target = self.bundle / wanted.name
                target.mkdir(parents=True)
                for name in _CARRIED:
                    shutil.copyfile(wanted.directory / name, target / name)
            return write_bundle_files(self.bundle, self.task, tuple(self._entries()))
        except OSError as error:
            raise ToolchainError(f"cannot write the bundle to {self.bundle}: {error}") from error

    def answered(self) -> Results | None:
        """Times that came back for exactly these kernels; None while there are none."""
        if not (self.times.exists() and (self.bundle / PLAN).exists()):
            return None
        asked = {e.kernel_sha for e in read_plan(self.bundle).entries if e.kernel_sha}
        if asked != {k.kernel_sha for k in self.kernels}:
            return None
        return verified(self.times, self.bundle)

    def _entries(self) -> Iterator[Entry]:
        at, dtype = "x".join(map(str, self.sizes.values())), DTYPES[self.dtype]
        yield Entry(id=f"{at} {self.dtype} {LIBRARY}", kind="peer", dtype=dtype, sizes=dict(self.sizes), name=LIBRARY)
        for wanted in self.kernels:
            manifest = _manifest(wanted.directory)
            yield Entry(
                id=f"{at} {self.dtype} {wanted.name}",
                kind="candidate",
                dtype=dtype,
                sizes=dict(self.sizes),
                name=wanted.name,
                directory=wanted.name,
                schedule=dict(wanted.schedule),
                check_sizes=tuple(dict(s) for s in CHECK_SIZES if all(formula(w, s) for w in manifest.where)),
                kernel_sha=manifest.kernel_sha,
                cubin_sha=manifest.files[FILES["object"]],
            )


def _manifest(directory: Path) -> CudaManifest:
    """The manifest of a compiled kernel whose cubin is the one that was compiled."""
    try:
        manifest = CudaManifest.model_validate_json((directory / MANIFEST).read_bytes())
        found = hashlib.sha256((directory / FILES["object"]).read_bytes()).hexdigest()
    except (OSError, ValidationError) as error:
        raise ToolchainError(f"no cubin in {directory}: {error}") from error
    if found != manifest.files.get(FILES["object"]):
        raise ToolchainError(f"{directory} is damaged: the cubin changed after compilation")
    return manifest


def verified(path: Path, bundle: Path) -> Results:
    """The results in a file, which must be of this bundle's own cubins; each names its kernel text.

    Raises:
        ToolchainError: If the file is none, or what ran is not what is here.
    """
    found = read_results(path)
    if wrong := mismatches(found, bundle):
        raise ToolchainError(f"{path} does not hold times of {bundle}: {wrong[0]}")
    shas = {e.id: (e.kernel_sha, e.cubin_sha) for e in read_plan(bundle).entries}
    named = (r.model_copy(update={"kernel_sha": shas[r.id][0], "cubin_sha": shas[r.id][1]}) for r in found.results)
    return found.model_copy(update={"results": tuple(named)})
