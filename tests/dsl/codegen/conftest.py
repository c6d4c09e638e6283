from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from argus.dsl.codegen.artifact import Artifact
from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest

LOWERINGS = f"{Path(__file__).with_name('lowerings.py')}:lower"


@pytest.fixture
def lowerings() -> str:
    """The entry point of the kernels, and of the misbehaviour, in `lowerings.py`."""
    return LOWERINGS


@pytest.fixture(scope="package")
def shared_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CompilerPool]:
    """One warm worker for tests that do not harm it."""
    with CompilerPool(tmp_path_factory.mktemp("artifacts"), workers=1, lowering=LOWERINGS) as pool:
        yield pool


@pytest.fixture
def compiled(shared_pool: CompilerPool) -> Callable[[str], Artifact]:
    return lambda text: shared_pool.compile_now(CompileRequest(text=text, file="k.py"))
