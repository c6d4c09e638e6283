"""Which lld is taken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from argus.dsl.codegen.link import link, lld
from argus.dsl.diagnostics import ToolchainError


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    lld.cache_clear()
    yield
    lld.cache_clear()


def fake_lld(path: Path, version: int) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'LLD {version}.0.1 (compatible with GNU linkers)'\n", "utf-8")
    path.chmod(0o755)
    return path


def test_rocms_lld_comes_first(tmp_path: Path) -> None:
    rocm = fake_lld(tmp_path / "rocm/llvm/bin/ld.lld", 19)
    fake_lld(tmp_path / "bin/ld.lld-22", 22)
    assert lld() == (str(rocm),)


def test_system_lld_comes_next(tmp_path: Path) -> None:
    debian = fake_lld(tmp_path / "bin/ld.lld-22", 22)
    assert lld() == (str(debian),)


def test_old_lld_is_passed_over_for_the_packaged_one(tmp_path: Path) -> None:
    fake_lld(tmp_path / "bin/ld.lld", 14)
    assert lld()[0].endswith("/ziglang/zig")


def test_linker_says_what_it_dislikes() -> None:
    with pytest.raises(ToolchainError, match=r"exited with \d+: .*kernel\.o"):
        link(b"no object")
