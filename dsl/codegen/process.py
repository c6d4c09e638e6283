"""One compiler worker as its parent sees it: started when needed, asked, killed when it hangs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from argus.dsl.codegen.request import Reply
from argus.dsl.diagnostics import ToolchainError

_START_TIMEOUT_S = 60.0
_STDERR_TAIL_BYTES = 2000
_TVM_WARNING = re.compile(r"\[[\d:]+\] \S+: Warning: ")  # it misses a GPU, and says so for each kernel
# Parallelism comes from several workers; libraries that start a thread a core only take their time.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TVM_NUM_THREADS": "1"}


class WorkerProcess:
    """A worker that is asked by one thread at a time; `close` may come from any thread.

    Every failure leaves it stopped, and the next `ask` starts a new process.
    """

    def __init__(self, lowering: str) -> None:
        self._lowering = lowering
        self._lock = threading.Lock()  # of process start, kill and close
        self._closed = False
        self._running: _Running | None = None
        self._serial = 0

    @property
    def pid(self) -> int | None:
        running = self._running
        return None if running is None else running.process.pid

    def start(self) -> None:
        """Start the process and wait until it has loaded the compiler; does nothing if it runs.

        Raises:
            ToolchainError: If it dies or takes too long, or the worker is closed.
        """
        if self._running is not None:
            if self._running.process.poll() is None:
                return
            self.stop()
        with self._lock:
            if self._closed:
                raise ToolchainError("the compiler pool is closed")
            self._running = _Running(self._lowering)
        self._reply(0, _START_TIMEOUT_S, "start")

    def ask(self, directory: Path, timeout_s: float) -> Reply:
        """Have the request in `directory` compiled there.

        Raises:
            ToolchainError: If the worker dies, takes longer than `timeout_s`, or answers nonsense.
        """
        self.start()
        running = self._running
        assert running is not None
        self._serial += 1
        running.forget_stderr()
        line = json.dumps({"serial": self._serial, "directory": str(directory)}) + "\n"
        # A worker that died meanwhile is noticed when its answer is awaited.
        with contextlib.suppress(BrokenPipeError):
            running.send(line.encode())
        return self._reply(self._serial, timeout_s, "compile")

    def stop(self) -> None:
        """End the process, if any, and all that it started."""
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.kill()
            running.release()

    def close(self) -> None:
        """Kill the process and let none start again; a pending `ask` fails. `stop` then frees what it held."""
        with self._lock:
            self._closed = True
            if self._running is not None:
                self._running.kill()

    def _reply(self, serial: int, timeout_s: float, doing: str) -> Reply:
        running = self._running
        assert running is not None
        try:
            line = running.read_line(timeout_s)
        except TimeoutError:
            tail = running.stderr_tail()
            self.stop()
            raise ToolchainError(f"the compiler worker took longer than {timeout_s:g} s to {doing}{tail}") from None
        if line is None:
            end = running.exit_text()
            tail = running.stderr_tail()
            self.stop()
            why = "the compiler pool was closed" if self._closed else f"the compiler worker {end}"
            raise ToolchainError(f"{why} while it was to {doing}{tail}")
        try:
            reply = Reply.model_validate_json(line)
        except ValidationError:
            reply = None
        if reply is None or reply.serial != serial:
            self.stop()
            raise ToolchainError(f"the compiler worker answered out of turn: {line[:200]!r}")
        return reply


class _Running:
    """A started process and its pipes.

    The worker is the leader of its own process group: killing the group takes its linker along, and a terminal's
    interrupt reaches the parent alone.
    """

    def __init__(self, lowering: str) -> None:
        lifeline, self._lifeline = os.pipe()
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "argus.dsl.codegen.worker", str(lifeline), lowering],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                pass_fds=(lifeline,),
                start_new_session=True,
                env={**os.environ, **_ONE_THREAD},
            )
        except OSError as error:
            os.close(self._lifeline)
            self._stderr.close()
            raise ToolchainError(f"cannot start a compiler worker: {error}") from error
        finally:
            os.close(lifeline)
        self._pending = b""

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read_line(self, timeout_s: float) -> bytes | None:
        """The next line of the worker; None at its end."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        poll = select.poll()  # select() cannot watch descriptors above 1023
        poll.register(pipe, select.POLLIN)
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                raise TimeoutError
            chunk = os.read(pipe, 1 << 16)
            if not chunk:
                return None
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def kill(self) -> None:
        # Until wait() has collected the leader its number cannot belong to another group.
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def exit_text(self) -> str:
        """How the process ended, which its closed pipe says it did or soon will; ends what it left running."""
        deadline = time.monotonic() + 5
        ended = None
        while ended is None and time.monotonic() < deadline:
            # Seen but not collected, so that its group can still be killed by number.
            ended = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            time.sleep(0.01)
        self.kill()
        code = self.process.wait()
        if ended is None:
            return "closed its output"
        return f"died of {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"

    def forget_stderr(self) -> None:
        # Parent and worker share the file's position.
        self._stderr.seek(0)
        self._stderr.truncate()

    def stderr_tail(self) -> str:
        size = self._stderr.seek(0, os.SEEK_END)
        tail = os.pread(self._stderr.fileno(), _STDERR_TAIL_BYTES, max(0, size - _STDERR_TAIL_BYTES))
        lines = [line for line in tail.decode(errors="replace").splitlines() if not _TVM_WARNING.match(line)]
        text = "\n".join(lines).strip()
        return f"; its last words:\n{text}" if text else ""

    def release(self) -> None:
        self.process.wait()
        os.close(self._lifeline)
        self._stderr.close()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
