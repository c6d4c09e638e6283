"""Rules of grids, splits, gathers and shifted waves: taken out, a mistake that they see is no longer refuted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.dsl.test_check_control import KERNELS, SLIPS, edited

from argus.dsl.check import check
from argus.dsl.layout.affine import TRUE, Formula

TAGS = "argus.dsl.tags"


def nothing(*_: Any, **__: Any) -> None:  # noqa: ANN401
    return None


def none(*_: Any, **__: Any) -> tuple[()]:  # noqa: ANN401
    return ()


def no_head(*_: Any) -> Iterator[Any]:  # noqa: ANN401
    yield from ()


def true(*_: Any) -> Formula:  # noqa: ANN401
    return TRUE


def yes(*_: Any) -> bool:  # noqa: ANN401
    return True


def as_it_is(cx: Any, goal: Any, *_: Any) -> list[Any]:  # noqa: ANN401
    del cx
    return [goal]


def pair_of(rule: Any, acc: Any, a: Any, b: Any) -> Any:  # noqa: ANN401
    del acc
    origins: Callable[[Any], Any] = getattr(rule, "_origins")  # noqa: B009 - the rule is no part of the interface
    return origins(a), origins(b)


# The rule, what stands in its place, a slip that it sees, and the kind of obligation that shows it.
RULES: dict[str, tuple[str, Callable[..., Any], str, str]] = {
    "a tile finds what the one before left": (f"{TAGS}.tiles.Tiles._following", no_head, "sums of the tile before", ""),
    "a tile races with the one before": (
        f"{TAGS}.tiles.Tiles._following", no_head, "the second tile fills a stage that a slow wave reads", "",
    ),
    "a part holds its own": (f"{TAGS}.epilogue.complete", nothing, "parts with gaps", "completeness"),
    "the parts reach the end": (f"{TAGS}.parts.Part.reach", true, "the parts leave out the tail", ""),
    "what every part stores is stored often": (f"{TAGS}.coverage._shared_out", as_it_is, "every part copies all", ""),
    "picked rows exist": (f"{TAGS}.gather.Rows.needs", none, "a token out of range", ""),
    "coordinates are looked up": (
        f"{TAGS}.epilogue._Store._check_lookup", yes, "the expert of another block", "epilogue",
    ),
    "rows go where they belong": (
        f"{TAGS}.epilogue._Store._check_scatter", nothing, "rows of another block's tokens", "epilogue",
    ),
    "stored rows differ": (
        f"{TAGS}.coverage._all_different", nothing, "rows that share a token are stored", "coverage",
    ),
    "one accumulator, one pair of sources": (
        f"{TAGS}.mma._Mma._check_pair", pair_of, "gate weights from the other tensor, after the first tile", "",
    ),
    "what waves behind did is remembered": (f"{TAGS}.memory.Buffer._keep_late", nothing, "a second shift", ""),
    "computed rows exist": (f"{TAGS}.computed.Computed.needs", none, "pixels above the image", "bounds"),
}  # fmt: skip


def refuted(text: str, kind: str) -> bool:
    return any(o.verdict == "refuted" and kind in ("", o.kind) for o in check(text, fixes=False).obligations)


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_the_mistake_is_seen_by_this_rule(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    rule, without, slip, kind = RULES[name]
    kernel, edits, _, _ = SLIPS[slip]
    text = edited(kernel, edits)
    assert refuted(text, kind)
    monkeypatch.setattr(rule, without)
    assert not refuted(text, kind)


@pytest.mark.parametrize(
    ("kernel", "rule", "without"),
    [
        ("pingpong_rows", f"{TAGS}.memory.Buffer.shift", nothing),
        ("wave_groups", f"{TAGS}.memory.Buffer.commit", nothing),
        ("split_rows", f"{TAGS}.coverage._shared_out", as_it_is),
        ("moe_down", f"{TAGS}.lookup.looked_up", nothing),
        ("moe_up", f"{TAGS}.contract.Assumptions.about", none),
    ],
)
def test_a_right_kernel_needs_this_rule(
    monkeypatch: pytest.MonkeyPatch, kernel: str, rule: str, without: Callable[..., Any]
) -> None:
    if rule.endswith("looked_up"):
        rule = f"{TAGS}.epilogue.looked_up"
    monkeypatch.setattr(rule, without)
    assert not check(KERNELS[kernel], replay=False).ok


def test_a_path_that_only_some_parts_take_proves_nothing() -> None:
    report = check(KERNELS["split_k"].replace("    atomic_add(", "    if begin == 0:\n        atomic_add("))
    (coverage,) = [o for o in report.obligations if o.kind == "coverage"]
    assert "depends on the part" in (coverage.reason or "")
