"""Small kernels end to end to code objects."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from argus.dsl.codegen.artifact import FILES, MANIFEST, Artifact, Emission
from argus.dsl.codegen.codeobject import EM_AMDGPU, read_kernel
from argus.dsl.diagnostics import Code, KernelError, ToolchainError

Compiled = Callable[[str], Artifact]
EF_AMDGPU_MACH_GFX942 = 0x4C  # LLVM, "User Guide for AMDGPU Backend", ELF header flags


def registers(artifact: Artifact, which: str) -> int:
    match = re.search(rf"\.{which}_count: +(\d+)", artifact.asm_path.read_text("utf-8"))
    assert match is not None
    return int(match[1])


@pytest.mark.slow
def test_kernel_becomes_an_amdgpu_elf(compiled: Compiled) -> None:
    elf = compiled("scale").emit("object")
    machine, flags = struct.unpack_from("<H", elf, 18)[0], struct.unpack_from("<I", elf, 48)[0]
    assert (elf[:4], machine, flags & 0xFF) == (b"\x7fELF", EM_AMDGPU, EF_AMDGPU_MACH_GFX942)


def test_manifest_says_how_to_launch(compiled: Compiled) -> None:
    manifest = compiled("scale").manifest
    assert (manifest.symbol, manifest.target, manifest.threads) == ("scale", "gfx942", 256)
    assert manifest.grid == ("((M + 255) // 256)", "1", "1")
    assert [(p.name, p.kind, p.dtype) for p in manifest.params] == [
        ("A", "tensor", "float32"),
        ("B", "tensor", "float32"),
        ("M", "size", "int32"),
    ]
    assert [(a.name, a.kind, a.offset, a.size) for a in manifest.arguments] == [
        ("A", "tensor", 0, 8),
        ("B", "tensor", 8, 8),
        ("M", "size", 16, 4),
    ]
    assert (manifest.kernarg_bytes, manifest.lds_bytes, manifest.scratch_bytes) == (20, 0, 0)
    assert len(manifest.kernel_sha) == 64


def test_arguments_keep_their_names(compiled: Compiled) -> None:
    artifact = compiled("renamed")
    assert [(a.name, a.size) for a in artifact.manifest.arguments] == [("A", 8), ("M", 4)]
    assert [a.name for a in read_kernel(artifact.emit("object")).arguments] == ["A", "M"]


@pytest.mark.parametrize(
    ("kind", "sign"),
    [
        ("tir", "@T.prim_func"),
        ("ll", 'target triple = "amdgcn-amd-amdhsa"\n'),
        ("asm", ".amdhsa_code_object_version 5"),
    ],
)
def test_emitted_texts(compiled: Compiled, kind: Emission, sign: str) -> None:
    assert sign in compiled("scale").emit(kind).decode()


def test_helpers_are_inlined_and_dropped(compiled: Compiled) -> None:
    text = compiled("gemm").emit("ll").decode()
    assert re.findall(r"^define .*@(\w+)\(", text, re.MULTILINE) == ["gemm"]
    assert "s_barrier" in compiled("gemm").emit("asm").decode()


def test_ir_is_the_same_each_time(compiled: Compiled, tmp_path: Path) -> None:
    first = compiled("scale").save(tmp_path)
    again = compiled("scale ")  # another text, hence another compilation
    assert again.directory != first.directory
    assert {k: again.emit(k) for k in FILES} == {k: first.emit(k) for k in FILES}


@pytest.mark.parametrize("threads", [64, 512, 1024])
def test_workgroup_size_is_exact(compiled: Compiled, threads: int) -> None:
    artifact = compiled(f"scale threads={threads}")
    assert read_kernel(artifact.emit("object")).max_threads == threads
    assert f'"amdgpu-flat-work-group-size"="{threads},{threads}"' in artifact.emit("ll").decode()


def test_waves_per_simd(compiled: Compiled) -> None:
    assert '"amdgpu-waves-per-eu"="2,2"' in compiled("gemm waves_per_eu=2").emit("ll").decode()
    assert "amdgpu-waves-per-eu" not in compiled("gemm").emit("ll").decode()


def test_accumulators_live_where_they_should(compiled: Compiled) -> None:
    vector, accumulation = compiled("gemm"), compiled("gemm agpr=1")
    assert registers(vector, "agpr") == 0
    assert "v_accvgpr" not in vector.emit("asm").decode()
    assert registers(accumulation, "agpr") == 64  # 64 x 64 floats of a wave over its 64 lanes
    assert re.search(r"v_mfma\S+ a\[", accumulation.emit("asm").decode())


@pytest.mark.slow
def test_accumulators_stay_put_in_the_loop(compiled: Compiled) -> None:
    """128 x 128 floats a wave fill all AGPRs: they fit, and no iteration moves them."""
    artifact = compiled("gemm tile=256 agpr=1")
    assert artifact.manifest.scratch_bytes == 0
    asm = artifact.emit("asm").decode()
    loop = asm[asm.index("v_mfma") : asm.rindex("v_mfma")]
    assert "v_accvgpr" not in loop


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gemm_uses_mfma_of_its_type(compiled: Compiled, dtype: str) -> None:
    artifact = compiled(f"gemm dtype={dtype}")
    names = set(re.findall(r"v_mfma_\w+", artifact.emit("asm").decode()))
    assert names == {"v_mfma_f32_32x32x8_" + ("bf16" if dtype == "bfloat16" else "f16")}
    assert artifact.manifest.params[0].dtype == dtype
    assert artifact.manifest.lds_bytes == 2 * 128 * 40 * 2  # two tiles, rows of 32 + 8 elements, 2 bytes each


def test_lds_up_to_the_limit(compiled: Compiled) -> None:
    assert compiled("lds size_bytes=65536").manifest.lds_bytes == 65536


def test_lds_over_the_limit_is_the_authors_mistake(compiled: Compiled) -> None:
    with pytest.raises(KernelError, match="65664 bytes of LDS") as caught:
        compiled("lds size_bytes=65664")
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.span.file, bool(diagnostic.hint)) == (Code.LIMIT, "k.py", True)


def test_undefined_helper_fails_to_link(compiled: Compiled) -> None:
    with pytest.raises(ToolchainError, match="undefined symbol: fenced_barrier"):
        compiled("unlinkable")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("undeclared", "does not declare"),
        ("miscounted", "declares 128 threads"),
        ("bf16_buffer", "buffer S holds bfloat16"),
    ],
)
def test_lowering_that_contradicts_itself_is_our_bug(compiled: Compiled, text: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        compiled(text)


def test_artifact_survives_copying(compiled: Compiled, tmp_path: Path) -> None:
    artifact = compiled("scale")
    copy = artifact.save(tmp_path / "deep" / "copy")
    assert Artifact.load(copy.directory) == copy
    assert copy.manifest == artifact.manifest
    assert copy.object_path.read_bytes() == artifact.object_path.read_bytes()


@pytest.mark.parametrize("name", [*FILES.values(), MANIFEST])
def test_damaged_artifact_is_refused(compiled: Compiled, tmp_path: Path, name: str) -> None:
    compiled("scale").save(tmp_path)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-9])
    with pytest.raises(ToolchainError, match=r"damaged|no artifact"):
        Artifact.load(tmp_path)


def test_other_files_are_no_code_objects() -> None:
    with pytest.raises(ToolchainError, match="no little-endian 64-bit AMDGPU ELF"):
        read_kernel(Path("/proc/self/exe").read_bytes())
