"""Workers that die, hang or misbehave, and the parent that must not notice more than an exception."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from argus.dsl.codegen.pool import CompilerPool
from argus.dsl.codegen.request import CompileRequest
from argus.dsl.diagnostics import Code, KernelError, Span, ToolchainError


def request(text: str) -> CompileRequest:
    return CompileRequest(text=text)


def wait_for(path: Path, timeout_s: float = 20) -> int:
    """The process id that a lowering writes when it has begun."""
    deadline = time.monotonic() + timeout_s
    while not (path.exists() and path.read_text("ascii")):
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)
    return int(path.read_text("ascii"))


def gone(pid: int, timeout_s: float = 10) -> bool:
    """Whether the process ends in time; a zombie counts as ended."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_kernel_error_crosses_whole(shared_pool: CompilerPool) -> None:
    with pytest.raises(KernelError) as caught:
        shared_pool.compile_now(request("mistaken"))
    diagnostic = caught.value.diagnostic
    assert (diagnostic.code, diagnostic.hint) == (Code.BAD_SHAPE, "yes")
    assert diagnostic.span == Span("k.py", 3, 5, 3, 9)


def test_our_bug_comes_with_the_workers_traceback(shared_pool: CompilerPool) -> None:
    with pytest.raises(AssertionError, match=r"in buggy\n(.|\n)*ZeroDivisionError: ours"):
        shared_pool.compile_now(request("buggy"))


def test_prints_do_not_disturb_the_protocol(shared_pool: CompilerPool) -> None:
    assert shared_pool.compile_now(request("chatter")).manifest.symbol == "scale"


def test_memory_is_limited(shared_pool: CompilerPool) -> None:
    with pytest.raises(ToolchainError, match="MemoryError"):
        shared_pool.compile_now(request("hog"))


@pytest.mark.slow
def test_one_caller_keeps_to_one_worker(tmp_path: Path, lowerings: str) -> None:
    with CompilerPool(tmp_path, workers=2, lowering=lowerings) as pool:
        assert pool.pids == ()
        for threads in (64, 128):
            pool.compile_now(request(f"scale threads={threads}"))
        assert len(pool.pids) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("unselectable", "died of SIGABRT(.|\n)*Cannot select"),
        ("hidden_lds", r"exited with code 1(.|\n)*local memory \(74096\) exceeds limit"),
    ],
)
@pytest.mark.slow
def test_llvm_may_end_the_worker(tmp_path: Path, lowerings: str, text: str, why: str) -> None:
    with CompilerPool(tmp_path, workers=1, lowering=lowerings) as pool:
        with pytest.raises(ToolchainError, match=why):
            pool.compile_now(request(text))
        assert pool.compile_now(request("scale")).manifest.symbol == "scale"


@pytest.mark.slow
async def test_kill_in_mid_request_fails_that_request_alone(tmp_path: Path, lowerings: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with CompilerPool(tmp_path / "cache", workers=2, lowering=lowerings) as pool:
        victim = asyncio.create_task(pool.compile(request(f"slow marker={first} seconds=60")))
        bystander = asyncio.create_task(pool.compile(request(f"slow marker={second} seconds=1")))
        pid, other = await asyncio.gather(asyncio.to_thread(wait_for, first), asyncio.to_thread(wait_for, second))
        assert pid != other
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(ToolchainError, match="died of SIGKILL"):
            await victim
        assert (await bystander).manifest.symbol == "scale"
        assert (await pool.compile(request("scale"))).manifest.symbol == "scale"


@pytest.mark.slow
async def test_cancelled_compilation_still_fills_the_cache(tmp_path: Path, lowerings: str) -> None:
    marker = tmp_path / "marker"
    slow = request(f"slow marker={marker} seconds=1")
    with CompilerPool(tmp_path / "cache", workers=1, lowering=lowerings) as pool:
        waiting = asyncio.create_task(pool.compile(slow))
        pid = await asyncio.to_thread(wait_for, marker)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        marker.unlink()
        assert (await pool.compile(request("scale"))).manifest.symbol == "scale"
        assert pool.pids == (pid,)
        assert (await pool.compile(slow)).manifest.symbol == "scale"
        assert not marker.exists()  # it came from the cache


@pytest.mark.slow
def test_worker_that_died_idle_is_replaced_unnoticed(tmp_path: Path, lowerings: str) -> None:
    with CompilerPool(tmp_path, workers=1, lowering=lowerings) as pool:
        pool.compile_now(request("scale"))
        (pid,) = pool.pids
        os.kill(pid, signal.SIGKILL)
        assert gone(pid)
        pool.compile_now(request("scale threads=64"))
        assert pool.pids not in ((), (pid,))


@pytest.mark.slow
def test_hang_is_killed_and_the_next_request_works(tmp_path: Path, lowerings: str) -> None:
    marker = tmp_path / "marker"
    with CompilerPool(tmp_path / "cache", workers=1, timeout_s=3.0, lowering=lowerings) as pool:
        began = time.monotonic()
        with pytest.raises(ToolchainError, match="longer than 3 s"):
            pool.compile_now(request(f"hang marker={marker}"))
        assert time.monotonic() - began < 20
        assert gone(wait_for(marker))
        assert pool.compile_now(request("scale")).manifest.symbol == "scale"


@pytest.mark.slow
def test_closing_fails_what_is_pending(tmp_path: Path, lowerings: str) -> None:
    marker = tmp_path / "marker"
    pool = CompilerPool(tmp_path / "cache", workers=1, lowering=lowerings)
    with ThreadPoolExecutor() as threads:
        running = threads.submit(pool.compile_now, request(f"hang marker={marker}"))
        pid = wait_for(marker)
        began = time.monotonic()
        pool.close()
        with pytest.raises(ToolchainError, match="closed"):
            running.result(timeout=10)
    assert time.monotonic() - began < 10
    assert gone(pid)


@pytest.mark.slow
def test_closed_pool_leaves_no_worker(tmp_path: Path, lowerings: str) -> None:
    with CompilerPool(tmp_path, workers=2, lowering=lowerings) as pool:
        pool.warm()
        deadline = time.monotonic() + 20
        while len(pool.pids) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        pids = pool.pids
    assert all(gone(pid) for pid in pids)


@pytest.mark.slow
def test_a_thread_that_ends_does_not_take_its_worker_along(tmp_path: Path, lowerings: str) -> None:
    with CompilerPool(tmp_path, workers=1, lowering=lowerings) as pool:
        caller = threading.Thread(target=pool.compile_now, args=(request("scale"),))
        caller.start()
        caller.join()
        before = pool.pids
        pool.compile_now(request("scale threads=64"))
        assert before == pool.pids != ()


def test_missing_lowering_is_told(tmp_path: Path) -> None:
    with (
        CompilerPool(tmp_path, workers=1, lowering="no.such:thing") as pool,
        pytest.raises(ToolchainError, match="No module named 'no'"),
    ):
        pool.compile_now(request("scale"))


@pytest.mark.parametrize("doing", ["hang", "nothing"])
@pytest.mark.slow
def test_workers_die_with_a_killed_parent(tmp_path: Path, lowerings: str, doing: str) -> None:
    """Even one that never looks at its pipes again, with the interpreter locked."""
    marker = tmp_path / "marker"
    texts = ["scale", f"hang marker={marker}"][: 2 if doing == "hang" else 1]
    script = (
        "import sys, time; from pathlib import Path; from argus.dsl.codegen.pool import *\n"
        f"pool = CompilerPool(Path({str(tmp_path / 'cache')!r}), workers=1, lowering={lowerings!r})\n"
        f"for text in {texts!r}:\n"
        "    pool.compile_now(CompileRequest(text=text)); print(*pool.pids, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if doing == "hang":
            assert wait_for(marker) == pid
        parent.kill()
    assert gone(pid)


def test_the_parent_stays_light() -> None:
    script = "import sys, argus.dsl.codegen.pool; print([m for m in ('tvm', 'llvmlite', 'torch') if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "[]"
