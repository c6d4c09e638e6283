"""The table of matrix instructions against arithmetic and the other table of them."""

from __future__ import annotations

from argus.dsl.ir.shapes import DTYPE_BYTES
from argus.dsl.targets import gfx942
from argus.dsl.targets.atoms import ATOMS, MFMA, MMA_SYNC, WGMMA, atom_names


def test_registers_hold_the_shapes() -> None:
    for atom in MFMA:
        # 64 lanes hold A (m x k), B (n x k) and D (m x n) of every block.
        assert atom.k_lane * 64 == atom.m * atom.k * atom.blocks == atom.n * atom.k * atom.blocks
        assert atom.d_regs * 64 == atom.m * atom.n * atom.blocks
    for atom in WGMMA:
        assert atom.d_regs * 128 == atom.m * atom.n
        # A in registers: two rows a thread.
        assert atom.k_lane * 2 * 128 == atom.m * atom.k


def test_each_mfma_is_an_instruction() -> None:
    names = {"f16": "f16", "bf16": "bf16", "i8": "i8", "f8": "fp8_fp8", "f32": "f32"}
    for atom in MFMA:
        for dtype in atom.dtypes:
            result = "i32" if dtype == "i8" else "f32"
            instruction = gfx942.MFMA[f"v_mfma_{result}_{atom.name}_{names[dtype]}"]
            shape = (instruction.m, instruction.n, instruction.k, instruction.blocks)
            assert shape == (atom.m, atom.n, atom.k, atom.blocks)


def test_wgmma_shapes() -> None:
    for atom in WGMMA:
        assert atom.m == 64
        assert atom.n % 8 == 0
        assert 8 <= atom.n <= 256
        # 32 bytes of k.
        assert {atom.k * DTYPE_BYTES[dtype] for dtype in atom.dtypes} == {32}
    assert "i8" in ATOMS["m64n24k32"].dtypes
    assert "i8" not in ATOMS["m64n40k32"].dtypes


def test_names_are_unique() -> None:
    assert len(ATOMS) == len(MFMA) + len(WGMMA) + len(MMA_SYNC)
    assert set(atom_names("gfx942")) | set(atom_names("sm_90a")) == set(ATOMS)
