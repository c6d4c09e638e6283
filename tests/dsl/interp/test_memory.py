"""Where shared elements live: swizzles, padding, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from argus.dsl.diagnostics import KernelError
from argus.dsl.interp.memory import shared_cells
from argus.dsl.ir import Shared
from argus.dsl.layout import Swizzle


def places(buffer: Shared) -> np.ndarray:
    cells = shared_cells("s", buffer)
    assert cells.places is not None
    return cells.places.reshape(-1, buffer.shape[-1])


@given(st.sampled_from([2, 4, 8]), st.integers(1, 3), st.sampled_from([None, 1, 2]), st.sampled_from([0, 8]))
def test_chunks_are_permuted_within_rows(chunks: int, groups: int, rows: int | None, pad: int) -> None:
    columns = chunks * groups * 8
    found = places(Shared(dtype="bf16", shape=(2, 16, columns), swizzle=Swizzle(chunks, 8, rows), pad=pad))
    pitch = columns + pad
    shared_rows = Swizzle(chunks, 8, rows).rows_for(pitch * 2)
    for r in range(32):
        for c in range(columns // 8):
            where = c // chunks * chunks + ((c % chunks) ^ (r // shared_rows % chunks))
            assert list(found[r, 8 * c : 8 * c + 8]) == list(range(r * pitch + 8 * where, r * pitch + 8 * where + 8))


@pytest.mark.parametrize(("mode", "columns"), [("b128", 64), ("b64", 32), ("b32", 16), ("b128", 128), ("b128", 32)])
def test_hardware_swizzles_xor_address_bits(mode: str, columns: int) -> None:
    bits = {"b128": 3, "b64": 2, "b32": 1}[mode]
    found = places(Shared(dtype="bf16", shape=(16, columns), swizzle=Swizzle(8, 8, hardware=mode)))  # pyright: ignore[reportArgumentType]
    assert sorted(found.reshape(-1)) == list(range(16 * columns))
    for r in range(16):
        for c in range(columns):
            byte = 2 * (r * columns + c)
            chunk = (byte >> 4) ^ ((byte >> 7) & (2**bits - 1))
            assert found[r, c] == (chunk * 16 + byte % 16) // 2


def test_a_swizzle_wider_than_the_row_is_refused() -> None:
    with pytest.raises(KernelError, match="moves elements out of their row"):
        shared_cells("s", Shared(dtype="bf16", shape=(16, 48), swizzle=Swizzle(8, 8)))


def test_elements_by_address() -> None:
    cells = shared_cells("s", Shared(dtype="bf16", shape=(2, 16, 64), swizzle=Swizzle(8, 8), pad=8))
    assert cells.places is not None
    for flat in (0, 77, 2000):
        element = tuple(int(i) for i in np.unravel_index(flat, (2, 16, 64)))
        assert cells.element(int(cells.places[flat])) == element
