"""What a run says while it goes: typed events, one JSON line each, numbered without gaps."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

from pydantic import BaseModel, Field, TypeAdapter

from argus.agents.attempt import Fault, Params, Status, TimeKind, Verdicts
from argus.agents.attempt import Tests as TestCounts
from argus.retrieval.card import Level

SCHEMA_VERSION = 1


class _Event(BaseModel, frozen=True):
    """`number` counts from 1 within a run folder; `time` is seconds since the epoch."""

    schema_version: int = SCHEMA_VERSION
    number: int = 0
    time: float = 0.0


class RunStarted(_Event, frozen=True):
    kind: Literal["run_started"] = "run_started"
    run_id: str
    task: str
    shape: dict[str, int]
    dtype: str
    target: str
    seed: int
    models: dict[str, str]
    cards: int
    resumed: bool = False
    timing: str = "estimated"


class Planned(_Event, frozen=True):
    """The planner answered; `arms` counts the eligible ones, `refusal` says why there is no plan."""

    kind: Literal["planned"] = "planned"
    round: int
    arms: int
    eligible: tuple[str, ...]
    open: tuple[Level, ...]
    proposals: int
    refusal: str = ""
    tokens: int = 0


class Selected(_Event, frozen=True):
    """One step chosen for trial."""

    kind: Literal["selected"] = "selected"
    id: int
    round: int
    parent: int
    techniques: tuple[str, ...]
    params: Params
    change: str
    expected_speedup: float


class Refused(_Event, frozen=True):
    """A kernel text that the checker refused on the way; `repaired` is the number of the try."""

    kind: Literal["refused"] = "refused"
    id: int
    attempt: int
    obligations: Verdicts
    fix_class: str = ""
    text: str = ""


class Lowered(_Event, frozen=True):
    kind: Literal["lowered"] = "lowered"
    id: int
    repairs: int
    fault: Fault
    note: str = ""
    tokens: int = 0
    seconds: float = 0.0


class Validated(_Event, frozen=True):
    """A candidate's result; `parent_us` is its parent's time, `bound` what takes most of its own."""

    kind: Literal["validated"] = "validated"
    id: int
    round: int
    parent: int | None
    techniques: tuple[str, ...]
    change: str
    status: Status
    fault: Fault
    obligations: Verdicts
    tests: TestCounts
    time_us: float | None
    time_kind: TimeKind
    parent_us: float | None
    lower_bound_us: float | None
    peer_ratio: float | None = None
    bound: str
    repairs: int
    note: str = ""
    seconds: float = 0.0
    reused: bool = False


class BestChanged(_Event, frozen=True):
    kind: Literal["best_changed"] = "best_changed"
    id: int
    time_us: float
    speedup: float | None


class Learned(_Event, frozen=True):
    """A round is over."""

    kind: Literal["learned"] = "learned"
    round: int
    arms: int
    lessons: int
    prompt_sha: str


class Parked(_Event, frozen=True):
    """So many kernels wait for a GPU elsewhere; `command` says what to run there, in the bundle's folder."""

    kind: Literal["parked"] = "parked"
    round: int
    kernels: int
    bundle: str
    command: str


class Warned(_Event, frozen=True):
    """Something beside the search failed, and the search went on."""

    kind: Literal["warned"] = "warned"
    message: str


class RunFinished(_Event, frozen=True):
    kind: Literal["run_finished"] = "run_finished"
    status: str
    stop_reason: str
    best: int | None
    seconds: float
    tokens: int


Event = (
    RunStarted
    | Planned
    | Selected
    | Refused
    | Lowered
    | Validated
    | BestChanged
    | Learned
    | Parked
    | Warned
    | RunFinished
)
_ADAPTER: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="kind")])

OnEvent = Callable[[Event], None]


class EventSink:
    """Numbers events, appends them to a file and shows them to a callback."""

    def __init__(self, path: Path | None = None, on_event: OnEvent | None = None, extra: Path | None = None) -> None:
        """Go on after the last number in `path`; `extra` gets the same lines.

        Raises:
            OSError: If a file cannot be written.
        """
        self._number = last_number(path) if path is not None else 0
        self._on_event = on_event
        self._files: list[TextIO] = [p.open("a", encoding="utf-8") for p in (path, extra) if p is not None]

    def emit(self, event: Event) -> None:
        """Write one event; the callback sees it afterwards."""
        self._number += 1
        numbered = event.model_copy(update={"number": self._number, "time": time.time()})
        line = numbered.model_dump_json() + "\n"
        for file in self._files:
            file.write(line)
            file.flush()
        if self._on_event is not None:
            self._on_event(numbered)

    def close(self) -> None:
        for file in self._files:
            file.close()


def read(path: Path) -> list[Event]:
    """All events of a file; a last line cut short by a crash is left out."""
    found: list[Event] = []
    for line in path.read_text("utf-8").splitlines():
        if (raw := _whole(line)) is not None:
            found.append(_ADAPTER.validate_python(raw))
    return found


def last_number(path: Path) -> int:
    """The number of the last whole line; 0 for no file."""
    if not path.exists():
        return 0
    numbers = [raw["number"] for line in path.read_text("utf-8").splitlines() if (raw := _whole(line)) is not None]
    return max(numbers, default=0)


def _whole(line: str) -> dict[str, Any] | None:
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
