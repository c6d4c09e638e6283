"""Kernel text to artifact, as `argus compile` does it."""

from __future__ import annotations

from pathlib import Path

import pytest

from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.diagnostics import Code, KernelError

GOOD = Path(__file__).parents[2] / "kernels" / "good" / "start_single_stage.py"


@pytest.mark.slow
def test_text_to_artifact(tmp_path: Path) -> None:
    request = CompileRequest(text=GOOD.read_text("utf-8"))
    with CompilerPool(tmp_path, workers=1) as pool:
        artifact = pool.compile_now(request)
        assert pool.compile_now(request) == artifact
    assert (artifact.manifest.symbol, artifact.manifest.threads) == ("gemm", 256)
    assert {a.name for a in artifact.manifest.arguments} >= {"A", "B", "C", "K"}
    assert artifact.manifest.scratch_bytes == 0
    assert "v_mfma_f32_32x32x8_bf16" in artifact.emit("asm").decode()


@pytest.mark.slow
def test_bad_texts_are_the_authors_mistake(tmp_path: Path) -> None:
    text = GOOD.read_text("utf-8")
    cases = {
        Code.SYNTAX: CompileRequest(text=text.replace(":\n", "\n", 1), file="k.py"),
        Code.BAD_TARGET: CompileRequest(text=text, target="sm_90a", file="k.py"),
        Code.FORBIDDEN: CompileRequest(text="import os\n" + text, file="k.py"),
    }
    with CompilerPool(tmp_path, workers=1) as pool:
        for code, request in cases.items():
            with pytest.raises(KernelError) as caught:
                pool.compile_now(request)
            assert (caught.value.diagnostic.code, caught.value.diagnostic.span.file) == (code, "k.py")
