from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from argus.cli.kernels import app
from argus.dsl.frontend import parse
from argus.dsl.kernels.catalogue import FAMILIES, subjects


def run(*args: str) -> Result:
    return CliRunner().invoke(app, list(args))


def test_list_names_every_family_with_the_fields_that_show_sets() -> None:
    found = json.loads(run("list", "--json").stdout)
    assert [f["name"] for f in found["families"]] == [f.name for f in FAMILIES]
    attention = next(f for f in found["families"] if f["name"] == "attention")
    assert attention["fields"]["tile"] == [128, 32]
    assert all(family.name in run("list").stdout for family in FAMILIES)


def test_show_prints_the_text_of_an_example() -> None:
    subject = subjects()[-1]
    assert run("show", subject.name).stdout == subject.text


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_show_prints_a_kernel_of_every_family(family: object) -> None:
    shown = run("show", getattr(family, "name", ""))
    assert shown.exit_code == 0
    parse(shown.stdout)


def test_show_sets_fields() -> None:
    shown = run(
        "show", "attention", "--schedule", "tile=64,32", "--schedule", "waves=2", "--schedule", "causal=false", "--json"
    )
    found = json.loads(shown.stdout)
    assert found["schedule"]["tile"] == [64, 32]
    assert found["schedule"]["causal"] is False
    assert "waves=2" in found["text"]
    assert "pred=" not in found["text"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["atention"], "did you mean 'attention'?"),
        (["attention/other"], "no schedule named 'other'"),
        (["attention", "--schedule", "speed=9"], "sets no field"),
        (["attention", "--schedule", "waves"], "sets no field"),
        (["attention", "--schedule", "tile=64,31"], "64 queries do not split into 4 waves of 32"),
        (["attention", "--schedule", "tile=a,b"], "valid integer"),
        (["attention", "--schedule", "causal=maybe"], "valid boolean"),
    ],
)
def test_what_cannot_be_shown(args: list[str], message: str) -> None:
    result = run("show", *args)
    assert result.exit_code == 2
    assert message in result.output
    assert result.stdout == ""
