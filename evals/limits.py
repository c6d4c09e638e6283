"""A limit on how long something may take, so that one case that hangs does not stop a suite."""

from __future__ import annotations

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class OutOfTime(Exception):
    """The limit was reached."""


@contextmanager
def time_limit(seconds: float) -> Generator[None]:
    """Raise `OutOfTime` in the body after so many seconds of the processor: what else a machine does counts little.

    The body must run in the main thread; elsewhere, and where the system has no interval timer, there is no limit.
    Foreign code that does not return to Python, a solver's for instance, is not interrupted.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise OutOfTime(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
