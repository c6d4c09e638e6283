from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

DATA = Path(__file__).parents[1] / "data"


def assembly(
    body: str,
    *,
    name: str = "k",
    vgpr: int = 128,
    agpr: int = 0,
    sgpr: int = 32,
    lds: int = 0,
    scratch: int = 0,
    spills: int = 0,
    threads: int = 256,
) -> str:
    """A file as LLVM prints it: a function and what the loader is told about it."""
    return f"""\
\t.text
\t.globl\t{name}
{name}:
{dedent(body).strip()}
\ts_endpgm
.Lfunc_end0:
\t.amdhsa_kernel {name}
\t\t.amdhsa_group_segment_fixed_size {lds}
\t\t.amdhsa_private_segment_fixed_size {scratch}
\t\t.amdhsa_next_free_vgpr {vgpr + agpr}
\t.end_amdhsa_kernel
\t.set {name}.num_vgpr, {vgpr}
\t.amdgpu_metadata
amdhsa.kernels:
  - .agpr_count:     {agpr}
    .max_flat_workgroup_size: {threads}
    .name:           {name}
    .sgpr_count:     {sgpr}
    .sgpr_spill_count: 0
    .vgpr_count:     {vgpr + agpr}
    .vgpr_spill_count: {spills}
\t.end_amdgpu_metadata
"""


@pytest.fixture
def asm() -> Callable[..., str]:
    return assembly


@pytest.fixture
def golden() -> Callable[[str], str]:
    """Text of a compiled kernel in `data`."""
    return lambda name: (DATA / f"{name}.s").read_text("utf-8")
