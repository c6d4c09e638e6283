"""Object file to code object, with whichever lld the machine has."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from argus.dsl.diagnostics import ToolchainError

_OLDEST_LLD = 18  # knows code object version 5 and gfx942
_TIMEOUT_S = 60


def link(relocatable: bytes) -> bytes:
    """The loadable code object (`.hsaco`) of one object file; an undefined symbol is an error.

    Raises:
        ToolchainError: If there is no lld, or it fails.
    """
    with tempfile.TemporaryDirectory(prefix="argus-link-") as folder:
        source, output = Path(folder, "kernel.o"), Path(folder, "kernel.hsaco")
        source.write_bytes(relocatable)
        command = [*lld(), "-shared", "--no-undefined", str(source), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        if done.returncode != 0:
            raise ToolchainError(f"{' '.join(lld())} exited with {done.returncode}: {done.stderr.strip()[-2000:]}")
        return output.read_bytes()


@functools.cache
def lld() -> tuple[str, ...]:
    """The command of a recent enough lld: ROCm's, a system one, else the one in the ziglang package."""
    rocm = Path(os.environ.get("ROCM_PATH", "/opt/rocm"), "llvm/bin/ld.lld")
    versioned = [f"ld.lld-{version}" for version in range(30, _OLDEST_LLD - 1, -1)]
    for candidate in (str(rocm), *versioned, "ld.lld"):
        found = shutil.which(candidate)
        if found and _version(found) >= _OLDEST_LLD:
            return (found,)
    zig = importlib.util.find_spec("ziglang")
    if zig is None or zig.origin is None:
        raise ToolchainError(f"no ld.lld of version {_OLDEST_LLD} or later: install ROCm, lld, or the package ziglang")
    # The binary itself: `python -m ziglang` starts an interpreter only to exec it.
    return (str(Path(zig.origin).parent / "zig"), "ld.lld")


def _version(command: str) -> int:
    shown = subprocess.run(
        [command, "--version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    ).stdout
    match = re.search(r"LLD (\d+)", shown)
    return int(match[1]) if match else 0
