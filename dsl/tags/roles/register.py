"""Which obligations a statement has on sm_90a."""

from __future__ import annotations

from collections.abc import Iterator

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
    Kernel,
    Load,
    MmaInto,
    Node,
    Operand,
    Ref,
    Role,
    Store,
    View,
)
from argus.dsl.ir.rewrite import walk, walk_body
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.ir.show_value import show_component, show_value
from argus.dsl.ir.types import Types
from argus.dsl.tags.obligations import Registry
from argus.dsl.tags.views import root


class AsyncRules:
    """Adds the obligations of one statement after the other."""

    def __init__(self, registry: Registry, kernel: Kernel, types: Types) -> None:
        self.add = registry.add
        self.types = types
        nodes = list(walk_body(kernel.body))
        self.accumulators = accumulators_of(kernel)
        copies = [n for n in nodes if isinstance(n, CopyAsync)]
        self.copied = frozenset(root(n.dst) for n in copies) | frozenset(root(n.src) for n in copies)
        # What lanes write, by stores or by cp.async, the async proxy sees only after a fence.
        self.stored = frozenset(root(n.view) for n in nodes if isinstance(n, Store))
        self.stored |= frozenset(root(n.dst) for n in nodes if isinstance(n, CopyAsync) and n.via == "cp")

    def statement(self, n: int, node: Node) -> None:
        """What must hold where statement number `n` executes."""
        add = self.add
        for name in dict.fromkeys(read_accumulators(node, self.accumulators)):
            add("register", n, f"{name} is read when its MMAs are complete", node.span, part=name)
        match node:
            case Assign(value=Load(view=view) as value):
                self._read(n, view, f"load({show_value(view)})", value.span)
            case Assign(value=Operand(src=src) as value) if not self._is_fragment(src):
                text = f'{show_value(src)}.operand("{value.side}", {value.acc}, {show_expr(value.ks)})'
                self._read(n, src, text, value.span, proxy=True)
            case Store(view=view, value=value):
                text = f"store({show_value(view)}, {show_value(value)})"
                add("bounds", n, f"{text} stays inside its view", node.span)
                if root(view) in self.types.buffers:
                    add("race", n, f"{text} is ordered against other waves", node.span)
                    if root(view) in self.copied:
                        add("wait", n, f"{text} overwrites nothing that a copy in flight reads or writes", node.span)
            case CopyAsync(dst=dst, src=src):
                self._copy(n, dst, src, node.span)
            case MmaInto(acc=acc, a=a, b=b):
                add("conformity", n, f"{acc} += mma({show_value(a)}, {show_value(b)}) multiplies equal k", node.span)
            case AssertMatch(x=x, y=y, differ=differ):
                name = "assert_differ" if differ else "assert_match"
                add("written", n, f"{name}({show_component(x)}, {show_component(y)})", node.span, written=True)
            case AssertComplete(x=x, sets=sets):
                text = ", ".join(f"{axis}=range({show_expr(e)})" for axis, e in sets)
                add("written", n, f"assert_complete({show_value(x)}, {text})", node.span, written=True)
            case AtomicAdd(view=view, value=value):
                text = f"atomic_add({show_value(view)}, {show_value(value)})"
                add("bounds", n, f"{text} stays inside its view", node.span)
            case _:
                self._synchronisation(n, node)

    def _synchronisation(self, n: int, node: Node) -> None:
        match node:
            case Barrier():
                self.add("divergence", n, "all waves reach barrier()", node.span)
                self.add("deadlock", n, "all waves of barrier() come at last", node.span)
            case Arrive(bar=bar, slot=slot):
                self.add(
                    "deadlock",
                    n,
                    f"arrive({bar}[{show_expr(slot)}]) makes the arrivals and bytes of a phase",
                    node.span,
                )
            case AwaitPhase(bar=bar, slot=slot, completion=completion):
                text = f"await_phase({bar}[{show_expr(slot)}], {show_expr(completion)})"
                self.add("deadlock", n, f"{text} ends, and with no other phase", node.span)
            case Role(name=name):
                self.add("deadlock", n, f"role {name} runs to its end", node.span)
            case _:
                pass

    def _copy(self, n: int, dst: View, src: View, span: Span) -> None:
        text = f"copy_async({show_value(dst)}, {show_value(src)})"
        self.add("bounds", n, f"{text} stays inside its views", span)
        if root(dst) in self.types.buffers:
            self.add("race", n, f"{text} is ordered against earlier accesses", span)
            self.add("wait", n, f"{text} overwrites nothing that is in flight", span)
            return
        self.add("init", n, f"{text} reads initialised cells", span)
        self.add("race", n, f"{text} is ordered after other waves' writes", span)
        self.add("proxy", n, f"{text} sees what was written before", span)
        self.add("wait", n, f"{text} is complete before the block ends", span)

    def _read(self, n: int, view: View, text: str, span: Span, *, proxy: bool = False) -> None:
        self.add("bounds", n, f"{text} stays inside its view", span)
        if root(view) in self.types.buffers:
            self.add("init", n, f"{text} reads initialised cells", span)
            self.add("race", n, f"{text} is ordered after other waves' writes", span)
            if root(view) in self.copied:
                self.add("wait", n, f"{text} reads copies that have arrived", span)
            if proxy and root(view) in self.stored:
                self.add("proxy", n, f"{text} sees what was written before", span)

    def _is_fragment(self, src: View) -> bool:
        return isinstance(src, Ref) and src.name not in self.types.buffers and src.name not in self.types.params


def read_accumulators(node: Node, accumulators: frozenset[str]) -> Iterator[str]:
    """Accumulators whose registers a statement of its own takes; MMAs add to them in order."""
    if isinstance(node, Assign | Store | AtomicAdd):
        for ref in walk(node.value):
            if isinstance(ref, Ref) and ref.name in accumulators:
                yield ref.name


def accumulators_of(kernel: Kernel) -> frozenset[str]:
    return frozenset(n.acc for n in walk_body(kernel.body) if isinstance(n, MmaInto))
