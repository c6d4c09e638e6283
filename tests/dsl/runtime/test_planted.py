"""What is written down of kernels with planted bugs, and of kernels under memcheck, without a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from argus.dsl.runtime.measure import memcheck, planted

ENTRY = {"directory": "k", "dtype": "bfloat16", "check_sizes": [{"M": 1}, {"M": 2}]}
RIGHT = {"ok": True, "error": 0.5, "nan": 0, "guard_touched": 0}
WRONG = {"ok": False, "error": 9.0, "nan": 3, "guard_touched": 0}


def ran(monkeypatch: pytest.MonkeyPatch, verdicts: Iterator[dict[str, Any]], faults: Iterator[bool]) -> dict[str, Any]:
    """`planted.run` with a device that answers these."""

    def launch(*_: object) -> Callable[[int], None]:
        def call(_: int) -> None:
            if next(faults):
                raise planted.CudaError("launch: unspecified launch failure (CUDA error 719)")

        return call

    def kernel(_: Path) -> SimpleNamespace:
        return SimpleNamespace(kernel_sha="k", cubin_sha="c", launch=launch)

    def made(*_: object) -> SimpleNamespace:
        return SimpleNamespace(addresses={})

    def judged(*_: object) -> dict[str, Any]:
        return next(verdicts)

    monkeypatch.setattr(planted, "Kernel", kernel)
    monkeypatch.setattr(planted, "make", made)
    monkeypatch.setattr(planted, "judge", judged)
    monkeypatch.setattr(planted, "LAUNCHES", 3)
    stream = SimpleNamespace(cuda_stream=0)
    cuda = SimpleNamespace(synchronize=nullcontext, current_stream=lambda: stream)
    return planted.run(SimpleNamespace(cuda=cuda), ENTRY, Path())


def test_wrong_launches_are_counted_at_each_size(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ran(monkeypatch, iter([RIGHT, RIGHT, RIGHT, RIGHT, WRONG, WRONG]), iter([False] * 6))
    assert found["status"] == "wrong"
    assert [(c["launches"], c["wrong"], c["ok"]) for c in found["checks"]] == [(3, 0, True), (3, 2, False)]
    assert (found["checks"][1]["error"], found["checks"][1]["nan"]) == (9.0, 3)


def test_right_launches_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ran(monkeypatch, iter([RIGHT] * 6), iter([False] * 6))["status"] == "right"


def test_a_fault_ends_the_run_and_keeps_what_was_before(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ran(monkeypatch, iter([RIGHT] * 6), iter([False, False, False, False, True]))
    assert (found["status"], found["at"]) == ("fault", {"M": 2})
    assert [c["launches"] for c in found["checks"]] == [3, 1]
    assert "719" in found["message"]


# ------------------------------------------------------------------------------------------------- memcheck

CHILD = '{"right": true, "kernel_sha": "k"}\n'


def test_clean_needs_the_tool_s_word_and_the_child_s() -> None:
    none = "========= ERROR SUMMARY: 0 errors\n"
    assert memcheck.read(CHILD + none)["status"] == "clean"
    assert memcheck.read(none)["status"] == "failed"
    assert memcheck.read(CHILD)["status"] == "failed"
    assert memcheck.read(CHILD.replace("true", "false") + none)["status"] == "failed"


def test_errors_are_counted_and_the_first_is_told() -> None:
    said = "========= Invalid __global__ write of size 4 bytes\n========= ERROR SUMMARY: 12 errors\n"
    found = memcheck.read(CHILD + said)
    assert (found["status"], found["errors"]) == ("errors", 12)
    assert found["message"] == "Invalid __global__ write of size 4 bytes"


def test_without_the_tool_nothing_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memcheck, "tool", lambda: None)
    found: list[dict[str, Any]] = []
    memcheck.run(Path(), [{"name": "k"}], found.append)
    assert [f["status"] for f in found] == ["not run"]


@pytest.mark.parametrize(
    ("value", "dtype", "bits"), [(72, "bfloat16", 0x4290), (331, "bfloat16", 0x43A6), (331, "float16", 0x5D2C)]
)
def test_integers_are_rounded_as_the_hardware_does(value: int, dtype: str, bits: int) -> None:
    assert memcheck.rounded(value, dtype) == bits
