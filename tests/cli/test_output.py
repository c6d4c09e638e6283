from __future__ import annotations

import json
from typing import get_args

import pytest
import typer
from pydantic import BaseModel

from argus.cli.output import EXIT_CODES, ErrorCode, fail, print_json


class Answer(BaseModel):
    value: int


def test_json_is_one_object_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    print_json(Answer(value=3))
    out, err = capsys.readouterr()
    assert json.loads(out) == {"value": 3}
    assert err == ""


@pytest.mark.parametrize("code", get_args(ErrorCode))
def test_every_failure_has_its_exit_code_and_one_shape(code: ErrorCode, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as caught:
        fail(code, "what", "where", "hint", json=True)
    assert caught.value.exit_code == EXIT_CODES[code]
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "schema_version": 1,
        "error": {"code": code, "message": "what", "where": "where", "hint": "hint"},
    }
    assert err == ""


def test_text_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        fail("usage", "no such thing", "--x", "try --y")
    assert capsys.readouterr() == ("", "--x: error[usage]: no such thing\n  hint: try --y\n")
    with pytest.raises(typer.Exit):
        fail("toolchain", "it died")
    assert capsys.readouterr() == ("", "error[toolchain]: it died\n")


def test_exit_codes_are_the_contracts() -> None:
    assert {EXIT_CODES[c] for c in get_args(ErrorCode)} == {1, 2, 3, 130}
    assert EXIT_CODES["refuted"] == 1
    assert EXIT_CODES["usage"] == EXIT_CODES["input"] == 2
    assert EXIT_CODES["toolchain"] == EXIT_CODES["store"] == 3
