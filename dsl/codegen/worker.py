"""The process that compiles: `python -m argus.dsl.codegen.worker LIFELINE LOWERING`.

Requests come as JSON lines `{"serial": 1, "directory": "..."}` on standard input; the request itself lies in the
folder, and so will the artifact. Replies go as JSON lines to standard output. LLVM and TVM may end this process: that
is what it is for.
"""

from __future__ import annotations

import fcntl
import importlib
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO, cast

from argus.dsl.codegen.request import REQUEST, CompileRequest, Reply
from argus.dsl.diagnostics import NOWHERE, Diagnostic, KernelError, ToolchainError

Lowering = Callable[[CompileRequest], Any]  # to a Lowered; spelled here without loading lowering
_DATA_LIMIT_BYTES = 1 << 30  # two workers and their parent share 2.5 GB


def main(arguments: list[str]) -> int:
    """Answer compile requests, one JSON line each, until standard input ends.

    Args:
        arguments: A pipe whose end says that the parent is gone, and the `module:function` that lowers.
    """
    lifeline, entry = int(arguments[0]), arguments[1]
    replies = _claim_stdout()
    _die_with_parent(lifeline)
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA_LIMIT_BYTES, _DATA_LIMIT_BYTES))
    # TVM imports torch if it is there, which doubles its start and its memory, and is of no use here.
    sys.modules["torch"] = cast("Any", None)
    lower: Lowering = load_entry(entry)
    importlib.import_module("argus.dsl.codegen.build")
    _send(replies, Reply(serial=0, status="done"))
    for line in sys.stdin:
        message = json.loads(line)
        _send(replies, _answer(message["serial"], Path(message["directory"]), lower))
    return 0


def load_entry(entry: str) -> Callable[..., Any]:
    """The function that `package.module:function` or `path/to/file.py:function` names."""
    where, _, name = entry.rpartition(":")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location(Path(where).stem, where)
        assert spec is not None, f"{where} is no Python file"
        assert spec.loader is not None, f"{where} cannot be loaded"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(where)
    return cast("Callable[..., Any]", getattr(module, name))


def _answer(serial: int, directory: Path, lower: Lowering) -> Reply:
    from argus.dsl.codegen.build import build  # noqa: PLC0415 - loads TVM

    request = CompileRequest.model_validate_json((directory / REQUEST).read_bytes())
    try:
        lowered = lower(request)
        build(lowered, directory, request.text_sha)
        if request.then is not None:
            load_entry(request.then)(lowered, directory, request.options)
    except KernelError as error:
        reply = Reply(serial=serial, status="kernel", diagnostic=_placed(error.diagnostic, request.file))
    except (ToolchainError, MemoryError, OSError) as error:
        reply = Reply(serial=serial, status="toolchain", message=str(error) or type(error).__name__)
    except Exception:  # whatever else a compiler raises is its bug, and the parent says so
        reply = Reply(serial=serial, status="bug", message=traceback.format_exc())
    else:
        reply = Reply(serial=serial, status="done")
    return reply.model_copy(update={"rss_bytes": _rss_bytes()})


def _placed(diagnostic: Diagnostic, file: str) -> Diagnostic:
    """Limits of the whole kernel have no place of their own: name its file."""
    return (
        diagnostic
        if diagnostic.span != NOWHERE
        else diagnostic.model_copy(update={"span": replace(NOWHERE, file=file)})
    )


def _claim_stdout() -> TextIO:
    """The stream for replies; what libraries print goes to standard error instead."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return replies


def _send(replies: TextIO, reply: Reply) -> None:
    replies.write(reply.model_dump_json() + "\n")
    replies.flush()


def _die_with_parent(lifeline: int) -> None:
    """Have the kernel end this process group when the parent's end of the pipe closes, whatever it died of.

    A signal works even while foreign code keeps the interpreter locked. Linux's own parent-death signal would come when
    the *thread* that started us ends.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        sys.exit("the parent is gone")


def _rss_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
