"""What reaches an output: the rest may be wrong and nobody will see it."""

from __future__ import annotations

from argus.dsl.diagnostics import Span
from argus.dsl.ir import Assign, AtomicAdd, CopyAsync, Kernel, Load, MmaInto, Node, Operand, Ref, Store, TensorParam
from argus.dsl.ir.rewrite import walk, walk_body
from argus.dsl.tags.views import root


def reaches_output(core: Kernel, span: Span) -> bool:
    """Whether what the statement at a place of the text makes flows into a store to a tensor."""
    tensors = {p.name for p in core.params if isinstance(p, TensorParam)}
    nodes = list(walk_body(core.body))
    sources = dict[str, set[str]]()
    wanted = set[str]()
    made = set[str]()
    for node in nodes:
        target, used = _flow(node)
        if target is None:
            continue
        sources.setdefault(target, set()).update(used)
        if target in tensors:
            wanted |= used
        if any(inner.span == span for inner in walk(node)):
            made.add(target)
    while new := set[str]().union(*(sources.get(name, set[str]()) for name in wanted)) - wanted:
        wanted |= new
    return not made.isdisjoint(wanted | tensors)


def sources(core: Kernel, name: str) -> frozenset[str]:
    """Whatever flows into a name: tensors, buffers, fragments."""
    made = dict[str, set[str]]()
    for target, used in (_flow(n) for n in walk_body(core.body)):
        if target is not None:
            made.setdefault(target, set()).update(used)
    found = {name}
    while new := set[str]().union(*(made.get(n, set[str]()) for n in found)) - found:
        found |= new
    return frozenset(found)


def _flow(node: Node) -> tuple[str | None, set[str]]:
    """The name that a statement writes, and the names that it reads."""
    match node:
        case Assign(targets=(target,), value=Load(view=view)):
            return target, {root(view)}
        case Assign(targets=(target,), value=Operand(src=src)):
            return target, {root(src)}
        case Assign(targets=(target,), value=value):
            return target, {n.name for n in walk(value) if isinstance(n, Ref)}
        case MmaInto(acc=acc, a=a, b=b):
            return acc, {n.name for x in (a, b) for n in walk(x) if isinstance(n, Ref)}
        case Store(view=view, value=value) | AtomicAdd(view=view, value=value):
            return root(view), {n.name for n in walk(value) if isinstance(n, Ref)}
        case CopyAsync(dst=dst, src=src):
            return root(dst), {root(src)}
        case _:
            return None, set()


def unread(core: Kernel) -> tuple[str, ...]:
    """Tensors that the contract says outputs are made of, and that flow into none."""
    return tuple(sorted({name for e in core.ensures for name in set(e.uses) - sources(core, e.tensor)}))


def stored_at(core: Kernel, span: Span) -> str | None:
    """The tensor that the store at a place of the text writes."""
    stores = (n for n in walk_body(core.body) if isinstance(n, Store | AtomicAdd) and n.span == span)
    return next((root(n.view) for n in stores), None)
