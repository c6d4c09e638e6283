"""kill -9 in the middle of lowering, then go on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from graph_fakes import FakeToolbox, cards

from argus.graph.events import read
from argus.graph.run import aoptimize

SCRIPT = Path(__file__).parent / "killed.py"


@pytest.mark.slow
async def test_a_killed_run_goes_on_without_repeating_finished_candidates(tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    child = subprocess.Popen([sys.executable, str(SCRIPT), str(folder), "START", str(log)])
    deadline = time.monotonic() + 60
    while "hanging" not in (log.read_text() if log.exists() else ""):
        assert time.monotonic() < deadline, "the child never came to its third candidate"
        assert child.poll() is None, "the child ended by itself"
        time.sleep(0.05)
    time.sleep(0.5)  # the sibling branches finish and are checkpointed
    child.send_signal(signal.SIGKILL)
    child.wait()
    before = [line for line in log.read_text().splitlines() if line.startswith("lower")]
    log.write_text("")

    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder), "RESUME", str(log)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    after = [line for line in log.read_text().splitlines() if line.startswith("lower")]
    hung = before[2]
    # Of what was lowered before, only the candidate that hung is lowered again.
    assert set(before) & set(after) == {hung}
    found = json.loads(done.stdout)
    whole = await aoptimize(
        "gemm", toolbox=FakeToolbox(), cards=cards(), out=tmp_path / "whole", candidates=8, rounds=2, track=False
    )
    told = json.loads(whole.model_dump_json())
    same = ("id", "techniques", "params", "time_us", "status", "reward")
    assert [[a[x] for x in same] for a in found["attempts"]] == [[a[x] for x in same] for a in told["attempts"]]
    numbers = [e.number for e in read(folder / "events.jsonl")]
    assert numbers == list(range(1, len(numbers) + 1))
