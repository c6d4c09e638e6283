"""What a tool answers to somebody who cannot catch exceptions: a result, or why there is none."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from argus.dsl.diagnostics import Diagnostic, KernelError, ToolchainError

Result = TypeVar("Result", bound=BaseModel)
NO_KERNEL = "<request>"  # the file of diagnostics that concern the request, not the kernel


class Refusal(BaseModel, frozen=True):
    """Why there is no result.

    Attributes:
        fault: Who can mend it: `kernel` its author, `request` the caller, `toolchain` whoever installed the tools,
            `internal` the makers of Argus.
        code: A stable name.
        where: File, line and column, or a name.
        hint: What would mend it.
        text: The same to read, with the source line and a caret.
    """

    fault: Literal["kernel", "request", "toolchain", "internal"]
    code: str
    message: str
    where: str = ""
    hint: str = ""
    text: str = ""


class Answer(BaseModel, Generic[Result], frozen=True):
    """Either `result` or `error`; `text` says the same to read, where there is more to say than the fields do."""

    result: Result | None = None
    error: Refusal | None = None
    text: str = ""


async def answered(
    act: Callable[[], Awaitable[Result]], *, source: str = "", told: Callable[[Result], str] | None = None
) -> Answer[Result]:
    """The result of `act`, or the refusal that its exception stands for.

    Args:
        act: The tool.
        source: The kernel's text, for carets.
        told: The result to read.
    """
    try:
        result = await act()
    except KernelError as error:
        return Answer(error=_refusal(error.diagnostic, source))
    except ToolchainError as error:
        return Answer(error=Refusal(fault="toolchain", code="toolchain", message=str(error)))
    except AssertionError:
        # Ours: whoever runs the server sees it, an agent could do nothing with it.
        traceback.print_exc(file=sys.stderr)
        message = "a bug in Argus; its traceback is on the server's standard error"
        return Answer(error=Refusal(fault="internal", code="internal", message=message))
    return Answer(result=result, text=told(result) if told else "")


def _refusal(d: Diagnostic, source: str) -> Refusal:
    if d.span.file == NO_KERNEL:
        return Refusal(fault="request", code=str(d.code), message=d.message, hint=d.hint)
    text = d.render(source.splitlines())
    return Refusal(fault="kernel", code=str(d.code), message=d.message, where=str(d.span), hint=d.hint, text=text)
