"""The planted Hopper bugs are kernels of the language, and wrong ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from argus.dsl.frontend import parse
from argus.dsl.interp import POLICIES, wrong
from argus.dsl.ir import Kernel
from argus.dsl.ir.verify import verify
from argus.dsl.transform import to_core
from argus.evals.planted_hopper import BUGS, TURN_BUGS, HopperBug, in_turn, sources

ALL = (*BUGS, *TURN_BUGS)
# Tails everywhere, blocks with two tiles, and more tiles along k than any ring has stages.
SIZES = ({"M": 136, "N": 136, "K": 264},)


def core_of(text: str) -> Kernel:
    core = to_core(parse(text))
    verify(core)
    return core


def reference(inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    del sizes
    return {"C": inputs["A"] @ inputs["B"].T}


def test_there_are_a_dozen_and_names_are_distinct() -> None:
    assert len({bug.name for bug in ALL}) == len(ALL) >= 12


@pytest.mark.parametrize("bug", ALL, ids=lambda bug: bug.name)
def test_places_are_in_the_text(bug: HopperBug) -> None:
    core_of(bug.text)
    assert all(any(part in line for line in bug.text.splitlines()) for part in (bug.consumer, bug.other))


@pytest.mark.slow
@pytest.mark.parametrize("origin", ["ring", "by hand", "in turn"])
def test_sources_are_right(origin: str) -> None:
    text = next(t for name, t in (*sources().items(), ("in turn", in_turn())) if name == origin)
    assert wrong(core_of(text), reference, sizes_list=SIZES, policies=POLICIES[:2]) is None


@pytest.mark.slow
@pytest.mark.parametrize("bug", ALL, ids=lambda bug: bug.name)
def test_bugs_are_wrong(bug: HopperBug) -> None:
    assert wrong(core_of(bug.text), reference, sizes_list=SIZES, policies=POLICIES[:2]) is not None
