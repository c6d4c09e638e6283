"""Versions of what turns text into code: part of the cache's key and of every manifest."""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import version
from pathlib import Path

import argus.dsl


@functools.cache
def tool_versions() -> dict[str, str]:
    """Of the packages, and a digest of the compiler's own sources, which change more often than its version."""
    packages = {name: version(name) for name in ("argus-kernels", "apache-tvm", "llvmlite", "ziglang")}
    return {**packages, "sources": _source_digest()}


def _source_digest() -> str:
    root = Path(argus.dsl.__path__[0])
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".ll")):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
