"""Artifacts on disk by what they depend on; several processes may share one folder."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from argus.dsl.codegen.artifact import Artifact
from argus.dsl.diagnostics import ToolchainError

_BUILDING = "building-"
_ABANDONED_S = 24 * 3600


class ArtifactCache:
    """A folder of artifacts. Only finished ones get a name; failures leave nothing.

    Raises:
        ToolchainError: If the folder cannot be written.
    """

    def __init__(self, root: Path) -> None:
        # A worker writes by path and need not share the working directory.
        self.root = root.absolute()
        with self._writing():
            self.root.mkdir(parents=True, exist_ok=True)
            self._sweep()

    def get(self, key: str) -> Artifact | None:
        """The artifact, or None; a damaged one is dropped."""
        directory = self._directory(key)
        if not directory.is_dir():
            return None
        try:
            return Artifact.load(directory)
        except ToolchainError:
            shutil.rmtree(directory, ignore_errors=True)
            return None

    @contextlib.contextmanager
    def building(self) -> Generator[Path]:
        """A fresh folder to build in; gone afterwards unless `put` gave it a name."""
        with self._writing():
            directory = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=self.root))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def put(self, key: str, built: Path) -> Artifact:
        """Give a built folder its name, in one step. Who comes second gets what the first one made."""
        directory = self._directory(key)
        with self._writing():
            directory.parent.mkdir(exist_ok=True)
        try:
            built.rename(directory)
        except OSError as error:
            found = self.get(key)
            if found is None:
                raise ToolchainError(f"cannot store an artifact in {directory}: {error.strerror}") from error
            return found
        return Artifact.load(directory)

    def _directory(self, key: str) -> Path:
        return self.root / key[:2] / key

    def _sweep(self) -> None:
        """Remove what builders that were killed left behind."""
        for path in self.root.glob(f"{_BUILDING}*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _ABANDONED_S:
                    shutil.rmtree(path, ignore_errors=True)

    @contextlib.contextmanager
    def _writing(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            raise ToolchainError(f"cannot write artifacts to {self.root}: {error.strerror}") from error
