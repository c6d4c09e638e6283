"""The command as a whole: quick to say what it can do, clear about what it cannot."""

from __future__ import annotations

import subprocess
import sys
import time

from argus.cli.main import COMMANDS


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from argus.cli.main import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_help_lists_every_command_in_half_a_second() -> None:
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        answer = run("--help")
        times.append(time.perf_counter() - start)
        assert answer.returncode == 0
    assert all(name in answer.stdout for name in COMMANDS)
    assert min(times) < 0.5


def test_an_unknown_command_is_bad_usage() -> None:
    answer = run("optimise")
    assert answer.returncode == 2
    assert "No such command" in answer.stderr
