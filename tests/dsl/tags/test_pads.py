"""Padding through pointwise operations: what is called certain is what any data give."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

from argus.dsl.ir.nodes import BinaryOp, UnaryOp
from argus.dsl.layout.affine import Affine, ge, var
from argus.dsl.smt.functions import BINARY, UNARY
from argus.dsl.tags import pads
from argus.dsl.tags.domain import Mask, Value, Window, own

NUMBERS = (-math.inf, -3.0, -1.0, 0.0, 0.5, 1.0, math.inf)
DATA = np.random.default_rng(0).standard_normal(50) * 10


@pytest.mark.parametrize("op", get_args(UnaryOp))
def test_a_number_becomes_what_the_function_makes_of_it(op: UnaryOp) -> None:
    for x in NUMBERS:
        found = pads.unary(op, x)
        with np.errstate(all="ignore"):
            want = float(UNARY[op](np.float64(x)))
        assert found is None or math.isclose(found, want, rel_tol=1e-12), (op, x, found, want)


@pytest.mark.parametrize("op", get_args(BinaryOp))
def test_what_does_not_depend_on_data_holds_for_all_data(op: BinaryOp) -> None:
    for number in NUMBERS:
        for left in (True, False):
            pair = (number, pads.Data()) if left else (pads.Data(), number)
            found = pads.binary(op, *pair)
            if found is None:
                continue
            with np.errstate(all="ignore"):
                made = BINARY[op](number, DATA) if left else BINARY[op](DATA, number)
            assert np.array_equal(made, np.full_like(DATA, found)), (op, number, left)


@pytest.mark.parametrize("op", ["+", "-", "*", "max"])
def test_infinite_data_leave_nothing_certain(op: BinaryOp) -> None:
    assert pads.binary(op, pads.Data(finite=False), 0.0) is None
    assert pads.binary(op, -math.inf, pads.Data(finite=False)) is None


def _value(*axes: str, pad: float, masks: tuple[Mask, ...] = ()) -> Value:
    windows = tuple(Window(axis, Affine(), Affine(8)) for axis in axes)
    return Value(frozenset("X"), (), windows, pad, masks=masks)


def test_what_matters_in_a_row_is_what_lies_outside_its_columns() -> None:
    # x - m with both -inf outside the rows is no number there, and -inf outside the columns.
    found = pads.joined("-", _value("r", "c", pad=-math.inf), _value("r", pad=-math.inf)).of(_value("r", "c", pad=0.0))
    assert pads.pad_along(found, "c") == -math.inf
    assert pads.pad_along(found, "r") is None


def test_a_mask_over_padding_holds_its_own_number() -> None:
    keep = ge(var(own("c")) - 3)
    masked = _value("c", pad=5.0, masks=(Mask(keep, -math.inf),))
    found = pads.joined("-", masked, _value("r", pad=7.0)).of(masked)
    (mask,) = found.masks
    assert mask.pad == pads.pad_along(mask, "c") == -math.inf
    assert pads.pad_along(found, "c") is None  # 5 less data
    # Masks of both sides: either may fail, and the other side may then be anything.
    both = pads.joined("*", _value(pad=0.0, masks=(Mask(keep, 0.0),)), _value(pad=0.0, masks=(Mask(keep, 2.0),)))
    assert [m.pad for m in both.masks] == [0.0]
    apart = pads.joined("*", _value(pad=0.0, masks=(Mask(keep, 0.0),)), _value("c", pad=2.0))
    assert [m.pad for m in apart.masks] == [0.0]
