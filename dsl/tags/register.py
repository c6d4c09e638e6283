"""Which obligations a kernel has: one of each applicable kind a statement, in the order of the text."""

from __future__ import annotations

from collections.abc import Mapping

from argus.dsl.diagnostics import Span
from argus.dsl.ir import (
    Arrive,
    AssertComplete,
    AssertMatch,
    Assign,
    AtomicAdd,
    AwaitPhase,
    Barrier,
    CopyAsync,
    Elect,
    Fence,
    Kernel,
    Load,
    MmaInto,
    MmaWait,
    Node,
    Operand,
    Ref,
    Relayout,
    Role,
    Shift,
    Stmt,
    Store,
    View,
)
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.ir.show_value import show_component, show_value
from argus.dsl.ir.types import Types
from argus.dsl.tags.context import Site
from argus.dsl.tags.obligations import Registry
from argus.dsl.tags.roles.register import AsyncRules
from argus.dsl.tags.views import root

KERNEL_SITE = -1  # obligations of the kernel as a whole


def register(kernel: Kernel, types: Types, copied: frozenset[str]) -> tuple[Registry, Mapping[int, Site]]:
    """The obligations, and the statements by identity; `copied` names the buffers that async copies write."""
    registry = Registry()
    hopper = AsyncRules(registry, kernel, types) if kernel.target == "sm_90a" else None
    sites = dict[int, Site]()
    ensured = {e.tensor: e for e in kernel.ensures}
    for node in walk_body(kernel.body):
        if not isinstance(node, Stmt):  # pyright: ignore[reportArgumentType]
            continue
        site = sites[id(node)] = Site(len(sites), node)
        if hopper is not None:
            hopper.statement(site.number, node)
        else:
            _statement(registry, site, node, types, copied)
        if isinstance(node, Store | AtomicAdd | CopyAsync) and root(view := written_view(node)) in types.params:
            tensor = root(view)
            word, whole = ("atomic_add", " over all parts") if isinstance(node, AtomicAdd) else ("store", "")
            value = node.src if isinstance(node, CopyAsync) else node.value
            text = f"{word}({show_value(view)}, {show_value(value)})"
            if tensor in ensured:
                registry.add("epilogue", site.number, f"{text} puts each element where its tags say", node.span)
                for over in ensured[tensor].over:
                    what = f"{text}: each {over.axis} of {show_expr(over.extent)} summed once{whole}"
                    registry.add("completeness", site.number, what, node.span, part=over.axis)
    _whole(registry, kernel, types)
    return registry, sites


def written_view(node: Store | AtomicAdd | CopyAsync) -> View:
    """What a statement writes; a copy may write a tensor, too."""
    return node.dst if isinstance(node, CopyAsync) else node.view


def _statement(registry: Registry, site: Site, node: Node, types: Types, copied: frozenset[str]) -> None:
    add, n = registry.add, site.number
    match node:
        case Assign(value=Load(view=view) as value):
            _read(registry, n, view, f"load({show_value(view)})", span=value.span, types=types, copied=copied)
        case Assign(value=Operand(src=src) as value) if not _is_fragment(src, types):
            text = f'{show_value(src)}.operand("{value.side}", {value.acc}, {show_expr(value.ks)})'
            _read(registry, n, src, text, span=value.span, types=types, copied=copied)
        case Assign(value=Operand() | Relayout() as value):
            add("conformity", n, f"{show_value(value)} finds its elements in the lanes that read them", value.span)
        case Store(view=view, value=value):
            text = f"store({show_value(view)}, {show_value(value)})"
            add("bounds", n, f"{text} stays inside its view", node.span)
            if root(view) in types.buffers:
                add("race", n, f"{text} is ordered against other waves", node.span)
                if root(view) in copied:
                    add("wait", n, f"{text} overwrites no copy in flight", node.span)
        case CopyAsync(dst=dst, src=src):
            text = f"copy_async({show_value(dst)}, {show_value(src)})"
            add("bounds", n, f"{text} stays inside its views", node.span)
            add("race", n, f"{text} is ordered against earlier accesses", node.span)
            add("wait", n, f"{text} overwrites no copy in flight", node.span)
        case MmaInto(acc=acc, a=a, b=b):
            add("conformity", n, f"{acc} += mma({show_value(a)}, {show_value(b)}) multiplies equal k", node.span)
        case Barrier():
            add("divergence", n, "all waves reach barrier()", node.span)
        case AssertMatch(x=x, y=y, differ=differ):
            name = "assert_differ" if differ else "assert_match"
            add("written", n, f"{name}({show_component(x)}, {show_component(y)})", node.span, written=True)
        case AssertComplete(x=x, sets=sets):
            text = ", ".join(f"{axis}=range({show_expr(e)})" for axis, e in sets)
            add("written", n, f"assert_complete({show_value(x)}, {text})", node.span, written=True)
        case AtomicAdd(view=view, value=value):
            add("bounds", n, f"atomic_add({show_value(view)}, {show_value(value)}) stays inside its view", node.span)
        case Role() | Elect() | Arrive() | AwaitPhase() | Shift() | Fence() | MmaWait():
            add("deadlock", n, f"{type(node).__name__} lets every wave go on", node.span)
        case _:
            pass


def _is_fragment(src: View, types: Types) -> bool:
    return isinstance(src, Ref) and src.name not in types.buffers and src.name not in types.params


def _read(
    registry: Registry, n: int, view: View, text: str, *, span: Span, types: Types, copied: frozenset[str]
) -> None:
    registry.add("bounds", n, f"{text} stays inside its view", span)
    if root(view) in types.buffers:
        registry.add("init", n, f"{text} reads initialised cells", span)
        registry.add("race", n, f"{text} is ordered after other waves' writes", span)
        if root(view) in copied:
            registry.add("wait", n, f"{text} reads copies that have arrived", span)


def _whole(registry: Registry, kernel: Kernel, types: Types) -> None:
    written = dict[str, Node]()
    for node in walk_body(kernel.body):
        if isinstance(node, Store | AtomicAdd | CopyAsync) and root(view := written_view(node)) in types.params:
            written.setdefault(root(view), node)
    for ensures in kernel.ensures:
        span = written[ensures.tensor].span if ensures.tensor in written else ensures.span
        registry.add("coverage", KERNEL_SITE, f"all of {ensures.tensor} is written once", span, part=ensures.tensor)
    ensured = {e.tensor for e in kernel.ensures}
    for name, node in written.items():
        if name not in ensured:
            made = registry.add("contract", KERNEL_SITE, f"ensures speaks of {name}", node.span, part=name)
            made.block(f"{name} is written but no ensures says what it should hold; fix class: contract missing")
    if not ensured and not written:
        made = registry.add("contract", KERNEL_SITE, "the kernel has a contract", kernel.span)
        made.block("nothing is written and nothing is ensured")
    for tensor in types.params.values():
        text = f"offsets within a tile of {tensor.name} fit 31 bits"
        registry.add("overflow", KERNEL_SITE, text, tensor.span, part=tensor.name)
