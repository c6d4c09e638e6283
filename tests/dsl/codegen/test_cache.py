"""Artifacts are reused when, and only when, nothing they depend on changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.codegen import request as request_module
from argus.dsl.codegen.artifact import Artifact
from argus.dsl.codegen.cache import ArtifactCache
from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.diagnostics import ToolchainError

SCALE = CompileRequest(text="scale")


@pytest.fixture
def artifact(shared_pool: CompilerPool) -> Artifact:
    return shared_pool.compile_now(SCALE)


def store(cache: ArtifactCache, key: str, artifact: Artifact) -> Artifact:
    with cache.building() as directory:
        artifact.save(directory)
        return cache.put(key, directory)


@pytest.mark.slow
def test_second_pool_finds_what_the_first_made(tmp_path: Path, lowerings: str) -> None:
    with CompilerPool(tmp_path, workers=1, lowering=lowerings) as pool:
        made = pool.compile_now(SCALE)
    with CompilerPool(tmp_path, workers=1, lowering=lowerings) as pool:
        assert pool.compile_now(SCALE) == made
        assert pool.pids == ()


async def test_cached_artifact_needs_no_worker_of_a_busy_pool(shared_pool: CompilerPool, artifact: Artifact) -> None:
    pids = shared_pool.pids
    assert await shared_pool.compile(SCALE) == artifact
    assert shared_pool.pids == pids


@pytest.mark.slow
def test_failures_are_not_stored(tmp_path: Path, lowerings: str) -> None:
    with CompilerPool(tmp_path, workers=1, lowering=lowerings) as pool:
        for text in ("unlinkable", "unselectable"):
            with pytest.raises(ToolchainError):
                pool.compile_now(CompileRequest(text=text))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "other",
    [
        CompileRequest(text="scale "),
        CompileRequest(text="scale", target="sm_90a"),
        CompileRequest(text="scale", kernel="scale"),
    ],
)
def test_key_depends_on_text_and_options(other: CompileRequest) -> None:
    assert other.key("m:f") != SCALE.key("m:f")


def test_key_depends_on_lowering_and_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    before = SCALE.key("m:f")
    assert SCALE.key("m:g") != before
    monkeypatch.setattr(request_module, "tool_versions", lambda: {"apache-tvm": "0.28"})
    assert SCALE.key("m:f") != before


def test_key_does_not_depend_on_the_files_name() -> None:
    assert CompileRequest(text="scale", file="a.py").key("m:f") == CompileRequest(text="scale", file="b.py").key("m:f")


def test_damaged_artifact_is_a_miss(tmp_path: Path, artifact: Artifact) -> None:
    cache = ArtifactCache(tmp_path)
    stored = store(cache, "ab12", artifact)
    assert cache.get("ab12") == stored
    stored.object_path.write_bytes(b"")
    assert cache.get("ab12") is None
    assert store(cache, "ab12", artifact).emit("object") == artifact.emit("object")


def test_who_comes_second_gets_the_first_ones(tmp_path: Path, artifact: Artifact) -> None:
    cache = ArtifactCache(tmp_path)
    first = store(cache, "ab12", artifact)
    assert store(cache, "ab12", artifact) == first
    assert [p.name for p in tmp_path.iterdir()] == ["ab"]


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_unusable_folder_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(ToolchainError, match=r"cannot write artifacts to .*file.*: \w+"):
        ArtifactCache(tmp_path / place)
