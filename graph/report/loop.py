"""The main loop of a kernel as it is written, beside the instructions that it became."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

from argus.dsl import ir
from argus.dsl.codegen.asm import parse_kernel
from argus.dsl.codegen.isa import Instruction, Kind
from argus.dsl.codegen.mainloop import main_loop, path
from argus.dsl.diagnostics import KernelError, ToolchainError
from argus.dsl.frontend import parse
from argus.graph.report.markup import Html, h
from argus.graph.report.read import Judged

_UNIT: dict[Kind, str] = {
    "mfma": "mfma", "valu": "valu", "trans": "valu", "salu": "scalar", "smem": "scalar", "lds_read": "lds",
    "lds_write": "lds", "vmem_read": "vmem", "vmem_write": "vmem", "vmem_lds": "vmem", "atomic": "vmem",
    "barrier": "latency", "waitcnt": "latency", "branch": "scalar", "other": "scalar",
}  # fmt: skip
_CALLED = {"scalar": "scalar and branches", "latency": "waits and barriers"}
_Compound = ir.For | ir.If | ir.Role | ir.Elect | ir.Fill | ir.Use


def main_loop_view(winner: Judged) -> Html | None:
    """Source and assembly side by side, coloured by the unit that works."""
    instructions = _trip(winner)
    source = list(_source(winner))
    if not instructions or not source:
        return None
    counts = Counter(_UNIT[x.kind] for x in instructions)
    legend = [h("span", h("i", class_=f"r-{n}"), f"{_CALLED.get(n, n)} {c}") for n, c in counts.most_common()]
    left = h(
        "pre",
        [
            h("span", h("i", n), h("b", [h("u", class_=f"r-{k}") for k in kinds]), text, "\n")
            for n, text, kinds in source
        ],
        class_="source",
    )
    right = h(
        "pre",
        [h("span", h("i", x.line), h("b", h("u", class_=f"r-{_UNIT[x.kind]}")), x.text, "\n") for x in instructions],
        class_="source asm",
    )
    return h(
        "div",
        h("h3", "The main loop: source and assembly"),
        h(
            "p",
            f"Left the loop as it is written, right the {len(instructions)} instructions of one trip of one wave, with "
            "their lines in kernel.s. Colours name the unit that works.",
            class_="muted",
        ),
        h("p", legend, class_="legend"),
        h("div", left, right, class_="split loop"),
    )


def _trip(winner: Judged) -> tuple[Instruction, ...]:
    text, report = winner.asm, winner.attempt.report
    if not text or report is None:
        return ()
    try:
        read = parse_kernel(text, report.kernel)
    except (ToolchainError, ValueError):
        return ()
    return path(read, main_loop(read)).body


def _source(winner: Judged) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """The lines of the main loop, each with the units that its statements use."""
    text = winner.attempt.text
    try:
        kernel = parse(text)
    except KernelError:
        return
    loop = next((s for s in _statements(kernel.body) if isinstance(s, ir.For) and s.kind == "range"), None)
    if loop is None:
        return
    shared = {
        name
        for s in _statements(kernel.body)
        if isinstance(s, ir.Assign) and isinstance(s.value, ir.Shared)
        for name in s.targets
    }
    units: dict[int, dict[str, None]] = {}
    last = loop.span.line
    for stmt in _statements(loop.body):
        last = max(last, stmt.span.line if isinstance(stmt, _Compound) else stmt.span.end_line)
        units.setdefault(stmt.span.line, {}).update(dict.fromkeys(_units(stmt, shared)))
    for number, line in enumerate(text.splitlines(), 1):
        if loop.span.line <= number <= last:
            yield number, line, tuple(units.get(number, ()))


def _statements(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    for stmt in body:
        yield stmt
        if isinstance(stmt, _Compound):
            yield from _statements(stmt.body)


def _units(stmt: ir.Stmt, shared: Set[str]) -> Iterator[str]:
    match stmt:
        case ir.Barrier() | ir.Wait() | ir.AwaitPhase() | ir.Arrive():
            yield "latency"
        case ir.MmaInto():
            yield "mfma"
        case ir.CopyAsync() | ir.AtomicAdd():
            yield "vmem"
        case ir.Copy():
            yield from ("vmem", "lds")
        case ir.Store(view=view):
            yield _memory(view, shared)
        case ir.Assign(value=ir.Load(view=view) | ir.Operand(src=view)):
            yield _memory(view, shared)
        case ir.Assign(value=ir.Unary() | ir.Binary() | ir.Cast() | ir.Select() | ir.Reduce() | ir.OnlineSoftmax()):
            yield "valu"
        case _:
            pass


def _memory(view: ir.View, shared: Set[str]) -> str:
    """The unit that reads or writes a view; a ring's stages lie in LDS."""
    while not isinstance(view, ir.Ref):
        if isinstance(view, ir.Field):
            return "lds"
        view = view.src
    return "lds" if view.name in shared else "vmem"
