"""Counterexamples by execution alone, for kernels that the analysis does not follow.

Where the analysis gives up, nothing is proved, but a wrong kernel mostly shows at few trips of its loops. What an
execution shows is put down to the undecided obligation that it concerns most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from argus.dsl.diagnostics import Access, Counterexample, FixClass
from argus.dsl.interp import Fault, FaultKind, Policy
from argus.dsl.interp.trips import trip_sizes
from argus.dsl.ir import For, Kernel, Role
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.smt.replay import Replayer, Shown
from argus.dsl.tags.obligations import Kind, Obligation
from argus.dsl.tags.roles.teams import WARP

MOST_PROBES = 6
POLICIES = (Policy("earliest"), Policy("latest"))

# Kinds of obligations that a fault may concern, the likeliest first.
CONCERNS: Mapping[FaultKind, tuple[Kind, ...]] = {
    "race": ("race", "wait"),
    "pending": ("wait", "race", "register"),
    "proxy": ("proxy",),
    "bounds": ("bounds", "deadlock"),
    "deadlock": ("deadlock", "divergence"),
    "divergence": ("divergence", "deadlock"),
    "poison": ("init", "conformity", "completeness", "epilogue"),
    "address": ("init",),
    "write-set": ("coverage", "epilogue"),
}
DIFFERENT: tuple[Kind, ...] = ("conformity", "written", "epilogue", "completeness")
CLASSES: Mapping[FaultKind, FixClass] = {
    "race": "missing barrier", "pending": "missing wait", "proxy": "missing fence", "bounds": "bounds guard",
}  # fmt: skip


def search(core: Kernel, replayer: Replayer, open_: Sequence[Obligation]) -> tuple[Obligation, Counterexample] | None:
    """The first way found in which a kernel goes wrong, and which of the undecided obligations it refutes."""
    uneven = _uneven(core)
    for sizes, policy in _probes(core):
        found = replayer.probe(sizes, policy)
        if found is None:
            continue
        fault = found[0].fault
        obligation = _concerned(fault, open_, DIFFERENT[::-1] if uneven else DIFFERENT)
        if obligation is not None:
            counterexample = _counterexample(obligation, *found)
            if uneven and (fault is None or fault.kind == "deadlock") and counterexample.fix_class is None:
                counterexample = counterexample.model_copy(update={"fix_class": "trip counts differ"})
            return obligation, counterexample
    return None


def _uneven(core: Kernel) -> bool:
    """Whether roles have loops that run differently often."""
    roles = [n for n in walk_body(core.body) if isinstance(n, Role)]
    loops = [{n.bounds for n in walk_body(r.body) if isinstance(n, For) and n.kind == "range"} for r in roles]
    return any(bounds != loops[0] for bounds in loops)


def _probes(core: Kernel) -> Iterator[tuple[Mapping[str, int], Policy]]:
    """Many trips first: rings wrap, and a block takes a second tile."""
    try:
        sizes = trip_sizes(core)
    except ValueError:
        return
    order = [*sizes[-1:], *sizes[:-1]]
    for n, one in enumerate(order[:MOST_PROBES]):
        for policy in POLICIES if n == 0 else POLICIES[:1]:
            yield one, policy


def _concerned(fault: Fault | None, open_: Sequence[Obligation], of_values: tuple[Kind, ...]) -> Obligation | None:
    kinds = of_values if fault is None else CONCERNS[fault.kind]
    lines = () if fault is None else [s.line for s in (fault.span, fault.other_span) if s is not None]

    def distance(o: Obligation) -> tuple[int, int]:
        near = lines.index(o.span.line) if o.span.line in lines else len(lines)
        return near, kinds.index(o.kind)

    return min((o for o in open_ if o.kind in kinds), key=distance, default=None)


def _counterexample(obligation: Obligation, shown: Shown, sizes: dict[str, int]) -> Counterexample:
    fault = shown.fault
    if fault is None:
        place = ", ".join(map(str, shown.element))
        return Counterexample(
            kind=obligation.kind, text=f"{shown.output}[{place}] is not what the contract says", sizes=sizes,
            consumer=obligation.span, element=shown.element, wrong_count=shown.wrong, total_count=shown.total,
            replayed=str(shown),
        )  # fmt: skip
    thread = None if fault.wave is None else fault.wave * WARP + (fault.lane or 0)
    aliased = fault.kind == "deadlock" and "parity" in fault.message
    return Counterexample(
        kind=obligation.kind, text=fault.message, sizes=sizes, loops=dict(fault.loops), thread=thread, wave=fault.wave,
        lane=fault.lane, buffer=fault.buffer, element=fault.element, consumer=fault.span, other=_other(fault),
        fix_class="phase aliasing" if aliased else CLASSES.get(fault.kind), replayed=str(shown),
    )  # fmt: skip


def _other(fault: Fault) -> Access | None:
    if fault.other_span is None or fault.other_wave is None:
        return None
    action = fault.other_action if fault.other_action in ("writes", "copies into") else "reads"
    lane = fault.other_lane or 0
    return Access(
        span=fault.other_span, action=action, thread=fault.other_wave * WARP + lane, wave=fault.other_wave, lane=lane,
        loops=dict(fault.other_loops or {}),
    )  # fmt: skip
