"""IR as kernel text that reads back as the same IR.

Kernels as authors write them are printed for `argus.dsl.frontend.parse`. Names that transforms generate hold a dot; it
is printed as a middle dot, which only `argus.dsl.frontend.parse_core` accepts.
"""

from __future__ import annotations

from collections.abc import Iterator

from argus.dsl.ir.nodes import (
    Arrive,
    AssertComplete,
    AssertMatch,
    Assign,
    AtomicAdd,
    AwaitPhase,
    Barrier,
    Commit,
    Copy,
    CopyAsync,
    Elect,
    Ensures,
    Fence,
    Fill,
    For,
    If,
    Kernel,
    MmaInto,
    MmaWait,
    Over,
    Param,
    Priority,
    Role,
    SchedBarrier,
    SchedGroup,
    Shift,
    Stmt,
    Store,
    TensorParam,
    Use,
    Wait,
)
from argus.dsl.ir.show_expr import show_expr, show_name
from argus.dsl.ir.show_value import show_component, show_value
from argus.dsl.layout import ZERO, Expr

INDENT = "    "


def show(kernel: Kernel) -> str:
    """The kernel as text, one statement a line."""
    cluster = f", cluster={kernel.cluster}" if kernel.cluster != 1 else ""
    lines = [
        f'@kernel(target="{kernel.target}", waves={kernel.waves}{cluster})',
        f"def {show_name(kernel.name)}({', '.join(show_param(p) for p in kernel.params)}):",
    ]
    body = [*_contract(kernel), *_block(kernel.body)]
    lines += [INDENT + line for line in body or ["pass"]]
    return "\n".join(lines) + "\n"


def show_statement(statement: Stmt) -> str:
    """One statement, with the block below it."""
    return "\n".join(_statement(statement))


def show_ensures(e: Ensures) -> str:
    parts = [f"{e.tensor}[{', '.join(e.index)}]", *(_over(o) for o in e.over)]
    if e.uses:
        parts.append(f"uses=({', '.join(e.uses)}{',' * (len(e.uses) == 1)})")
    return f"ensures({', '.join(parts)})"


def _over(o: Over) -> str:
    pred = f", pred={show_expr(o.pred)}" if o.pred is not None else ""
    return f"over({o.axis}, {show_expr(o.extent)}{pred})"


# ------------------------------------------------------------------------------------------ contract


def show_param(p: Param) -> str:
    if not isinstance(p, TensorParam):
        return f"{p.name}: {p.dtype}"
    axes = [f"{axis}:{show_expr(n)}" if axis else show_expr(n) for axis, n in zip(p.axes, p.shape, strict=True)]
    return f"{p.name}: {p.dtype}[{', '.join(axes)}]"


def _contract(kernel: Kernel) -> Iterator[str]:
    if kernel.where:
        yield f"where({', '.join(show_expr(e) for e in kernel.where)})"
    if kernel.assume:
        yield f"assume({', '.join(a.text for a in kernel.assume)})"
    yield from map(show_ensures, kernel.ensures)


# ---------------------------------------------------------------------------------------- statements


def _block(body: tuple[Stmt, ...]) -> list[str]:
    return [line for statement in body for line in _statement(statement)]


def _nested(head: str, body: tuple[Stmt, ...]) -> list[str]:
    return [f"{head}:", *(INDENT + line for line in _block(body) or ["pass"])]


def _statement(node: Stmt) -> list[str]:
    match node:
        case For():
            return _nested(_for(node), node.body)
        case If(condition=condition, body=body, orelse=orelse):
            lines = _nested(f"if {show_expr(condition)}", body)
            return [*lines, *_nested("else", orelse)] if orelse else lines
        case Role():
            return _nested(_role(node), node.body)
        case Elect(body=body):
            return _nested("with elect()", body)
        case Fill(ring=ring, stage=stage, body=body):
            return _nested(f"with {show_name(ring)}.fill() as {show_name(stage)}", body)
        case Use(ring=ring, stage=stage, body=body, keep=keep):
            held = f"keep={keep}" if keep else ""
            return _nested(f"with {show_name(ring)}.use({held}) as {show_name(stage)}", body)
        case _:
            return [_line(node)]


def _for(node: For) -> str:
    targets = ", ".join(map(show_name, node.targets))
    match node.kind:
        case "range":
            start, stop = node.bounds
            over = f"range({show_expr(stop)})" if start == ZERO else f"range({show_expr(start)}, {show_expr(stop)})"
        case "unroll":
            over = f"unroll({show_expr(node.bounds[1])})"
        case "tiles":
            order = f", order={node.order}" if node.order != "rows" else ""
            over = f"tiles({', '.join(map(show_expr, node.bounds))}{order})"
    return f"for {targets} in {over}"


def _role(node: Role) -> str:
    regs = f", regs={node.regs}" if node.regs is not None else ""
    groups = f", groups={node.groups}" if node.groups != 1 else ""
    index = f" as {show_name(node.index)}" if node.index is not None else ""
    return f'with role("{node.name}", waves={node.waves}{regs}{groups}){index}'


def _line(node: Stmt) -> str:
    match node:
        case Assign(targets=targets, value=value):
            return f"{', '.join(map(show_name, targets))} = {show_value(value)}"
        case MmaInto(acc=acc, a=a, b=b):
            return f"{show_name(acc)} += mma({show_value(a)}, {show_value(b)})"
        case Store(view=view, value=value, stage=stage):
            through = f', via="tma", stage={show_value(stage)}' if stage is not None else ""
            return f"store({show_value(view)}, {show_value(value)}{through})"
        case AtomicAdd(view=view, value=value):
            return f"atomic_add({show_value(view)}, {show_value(value)})"
        case Copy(dst=dst, src=src):
            return f"copy({show_value(dst)}, {show_value(src)})"
        case CopyAsync(dst=dst, src=src, via=via, across=across):
            together = ', across="cluster"' if across == "cluster" else ""
            return f'copy_async({show_value(dst)}, {show_value(src)}, via="{via}"{together})'
        case AssertMatch(x=x, y=y, differ=differ):
            word = "assert_differ" if differ else "assert_match"
            return f"{word}({show_component(x)}, {show_component(y)})"
        case AssertComplete(x=x, sets=sets):
            listed = ", ".join(f"{axis}=range({show_expr(n)})" for axis, n in sets)
            return f"assert_complete({show_name(x.name)}, {listed})"
        case _:
            return _sync(node)


def _sync(node: Stmt) -> str:
    match node:
        case Commit():
            return "commit()"
        case Wait(pending=n):
            return f"wait({n})"
        case Barrier(waves=waves):
            return "barrier()" if waves is None else f"barrier(waves={waves})"
        case Shift(waves=waves):
            return f"shift({waves})"
        case Fence():
            return 'fence("async")'
        case Arrive(bar=bar, bytes=size, slot=slot):
            return f"arrive({_bar(bar, slot)}{f', bytes={size}' if size is not None else ''})"
        case AwaitPhase(bar=bar, completion=completion, slot=slot):
            return f"await_phase({_bar(bar, slot)}, {show_expr(completion)})"
        case MmaWait(pending=n):
            return f"mma_wait({n})"
        case SchedGroup(counts=counts):
            return f"sched_group({', '.join(f'{kind}={n}' for kind, n in counts)})"
        case SchedBarrier():
            return "sched_barrier()"
        case Priority(level=level):
            return f"priority({level})"
        case _:
            raise AssertionError(f"{type(node).__name__} is no statement")


def _bar(name: str, slot: Expr) -> str:
    return show_name(name) if slot == ZERO else f"{show_name(name)}[{show_expr(slot)}]"
