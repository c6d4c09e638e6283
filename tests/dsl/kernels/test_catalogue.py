"""Every kernel of the library is well formed and computes what its family says, at sizes with tails."""

from __future__ import annotations

import pytest

from argus.dsl.frontend import parse
from argus.dsl.interp import POLICIES, wrong
from argus.dsl.ir.verify import verify
from argus.dsl.kernels.catalogue import FAMILIES, subjects
from argus.dsl.kernels.subject import LibraryFamily, Subject
from argus.dsl.transform import to_core

SUBJECTS = subjects()
# One landing and one interleaving of each kind; the slow run tries them all.
FEW = (POLICIES[0], POLICIES[7], POLICIES[-1])


def first_of_each_family() -> list[Subject]:
    seen: dict[str, Subject] = {}
    for subject in SUBJECTS:
        seen.setdefault(subject.family, subject)
    return list(seen.values())


def test_names_are_distinct() -> None:
    assert len({s.name for s in SUBJECTS}) == len(SUBJECTS)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_a_family_has_several_schedules(family: LibraryFamily) -> None:
    assert len({family.text(s) for s in family.examples.values()}) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s.name)
def test_well_formed(subject: Subject) -> None:
    kernel = parse(subject.text)
    assert kernel.target == subject.target
    assert kernel.ensures, "a kernel without a postcondition proves nothing"
    verify(to_core(kernel))


SHORT = [s for s in SUBJECTS if s.family in ("attention", "moe_up", "moe_down") and s.target == "gfx942"]


@pytest.mark.parametrize("subject", SHORT, ids=lambda s: s.name)
def test_short_enough_to_be_read_whole(subject: Subject) -> None:
    # Models read and write these: some 600 tokens, at 2.6 characters each.
    assert len(subject.text) < 1550


@pytest.mark.slow
@pytest.mark.parametrize("subject", first_of_each_family(), ids=lambda s: s.family)
def test_right_at_few_sizes(subject: Subject) -> None:
    core = to_core(parse(subject.text))
    found = wrong(core, subject.reference, sizes_list=subject.sizes[:2], policies=FEW[:2], inputs=subject.make_inputs)
    assert found is None, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda s: s.name)
def test_right(subject: Subject) -> None:
    core = to_core(parse(subject.text))
    found = wrong(core, subject.reference, sizes_list=subject.sizes, policies=FEW, inputs=subject.make_inputs)
    assert found is None, str(found)
