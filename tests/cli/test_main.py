"""The command as a whole: quick to say what it can do, clear about what it cannot."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from argus.cli.main import COMMANDS, app


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from argus.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_help_lists_every_command_in_half_a_second() -> None:
    times: list[float] = []
    for _ in range(3):
        start = os.times()
        answer = run("--help")
        end = os.times()
        # Processor time: what else runs on the machine does not count.
        times.append(end.children_user + end.children_system - start.children_user - start.children_system)
        assert answer.returncode == 0
        assert all(name in answer.stdout for name in COMMANDS)
    assert min(times) < 0.5


def test_an_unknown_command_is_bad_usage() -> None:
    answer = run("optimise")
    assert answer.returncode == 2
    assert "No such command" in answer.stderr


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("optimize", "gemm", "--rouns", "3", "--json"), "--rouns"),
        (("optimize", "gemm", "--rounds", "x", "--json"), "--rounds"),
        (("optimize", "gemm", "--rounds", "-1", "--json"), "--rounds"),
        (("check", "--format", "json"), "file"),
        (("check", "--format=sarif", "x.py", "--bogus"), "--bogus"),
        (("check", "a.py", "b.py", "--format", "junit"), ""),
        (("compile", "x.py", "--bogus"), "--bogus"),  # a report is what it prints unless told otherwise
        (("runs", "show", "--json"), "run"),
        (("optimise", "--json"), ""),
        (("--bogus", "--json"), "--bogus"),
    ],
)
def test_bad_usage_under_json_is_the_one_failure_object(words: tuple[str, ...], where: str) -> None:
    answer = CliRunner().invoke(app, list(words))
    assert (answer.exit_code, answer.stderr) == (2, "")
    told = json.loads(answer.stdout)
    assert set(told) == {"schema_version", "error"}
    assert (told["error"]["code"], told["error"]["where"].lower()) == ("usage", where)
    assert told["error"]["message"]
    assert told["error"]["hint"].endswith("--help")


@pytest.mark.parametrize(
    "words",
    [
        ("optimize", "gemm", "--rouns", "3"),
        ("check", "--format", "text"),
        ("check", "x.py", "--format", "xml"),
        ("compile", "x.py", "--emit", "ll", "--bogus"),
    ],
)
def test_bad_usage_without_json_is_text_on_standard_error(words: tuple[str, ...]) -> None:
    answer = CliRunner().invoke(app, list(words))
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "Usage:" in answer.stderr


def test_json_changes_nothing_for_commands_that_run(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["kb", "list", "--json"])
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["schema_version"] == 1
    refused = CliRunner().invoke(app, ["check", str(tmp_path / "gone.py"), "--format", "json"])
    assert refused.exit_code == 2
    assert json.loads(refused.stdout)["error"]["code"] == "input"
    assert CliRunner().invoke(app, ["compile", "--help"]).exit_code == 0


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_an_interrupt_ends_with_130(words: tuple[str, ...]) -> None:
    """A real SIGINT, while a command waits."""
    code = (
        "import sys, time\n"
        "import argus.retrieval.load as load\n"
        "import argus.cli.kb as kb\n"
        "def wait(*_, **__):\n"
        "    print('waiting', file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n"
        "kb.load_corpus = wait\n"
        "from argus.cli.main import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "kb", "list", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
    if words:
        assert json.loads(out)["error"]["code"] == "interrupted"
    else:
        assert out == ""
        assert "error[interrupted]" in err
