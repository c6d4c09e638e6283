"""Rings without counting: a ring looks the same after each of its stages has moved by one place.

The i-th fill takes stage i % S and completion i // S of its barriers. Where every index into a set of staged buffers
and barriers has this form, moving all stages round and renumbering the completions with them maps executions onto
executions: nothing but `i` itself tells the stages apart. So the stages are kept in the order in which they will be
filled next, and `i` as a distance from that fill, the *base*, which is symbolic and drops out. An index of another
form (a constant, another modulus, a completion of another fill than the slot's) breaks the symmetry and is outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from argus.dsl.ir import Arrive, Assign, At, AwaitPhase, Kernel, MBar, Ref, Shared, Stmt
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.layout import Const, Expr, Op
from argus.dsl.layout.affine import Affine, affine, floordiv, ge, substitute_affine, var
from argus.dsl.tags.roles.cells import is_staged
from argus.dsl.tags.state import State
from argus.dsl.tags.views import Outside


@dataclass(frozen=True, slots=True)
class Family:
    """Buffers and barriers of `stages` stages that turn together."""

    name: str
    stages: int
    members: frozenset[str]


class Families:
    """The families of a kernel, and how far a loop turns each.

    Staged buffers of one ring make a family with its barriers; those that a kernel spells out do so by their count.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._counts = dict[str, int]()
        barriers = set[str]()
        for node in walk_body(kernel.body):
            if isinstance(node, Assign) and isinstance(node.value, Shared) and is_staged(node.value):
                self._counts[node.targets[0]] = node.value.shape[0]
            elif isinstance(node, Assign) and isinstance(node.value, MBar):
                self._counts[node.targets[0]] = node.value.count
                barriers.add(node.targets[0])
        found = self._uses(kernel.body)
        members = dict[tuple[str, int], set[str]]()
        for name, count in self._counts.items():
            uses = found.get(name, [])
            if name in barriers or (all(u is not None for u in uses) and not all(isinstance(u, Const) for u in uses)):
                # Expansion names a ring's parts `ring.part`; printed, and read again, the dot is a middle dot.
                ring, _, part = name.replace("·", ".").partition(".")
                ring = ring if part or count == 1 else ""
                members.setdefault((ring, count), set()).add(name)
        self.all = tuple(
            Family(f"{ring}/{count}", count, frozenset(names)) for (ring, count), names in sorted(members.items())
        )
        self._of = {name: family for family in self.all for name in family.members}

    def of(self, name: str) -> Family | None:
        return self._of.get(name)

    def start(self) -> dict[str, Affine]:
        return {family.name: Affine() for family in self.all}

    def advance(self, bodies: Iterable[tuple[Stmt, ...]], loop: str, env: Mapping[str, Affine]) -> dict[str, Affine]:
        """By how many stages one iteration of a loop turns each family.

        Raises:
            Outside: If the indices of a family disagree.
        """
        held = {name: form for name, form in env.items() if name != loop}
        found = [self._uses(body) for body in bodies]
        out = dict[str, Affine]()
        for family in self.all:
            uses = [u for by_member in found for m in family.members for u in by_member.get(m, ()) if u is not None]
            slopes = {slope(affine(u, held), loop): None for u in dict.fromkeys(uses)}
            if len(slopes) > 1:
                raise Outside(f"stages of {', '.join(sorted(family.members))} that advance differently in one loop")
            out[family.name] = next(iter(slopes), Affine())
        return out

    def _uses(self, body: tuple[Stmt, ...]) -> dict[str, list[Expr | None]]:
        """For each index into a member the fill that it counts; None: it counts none."""
        out = dict[str, list[Expr | None]]()
        for node in walk_body(body):
            match node:
                case At(src=Ref(name=name), index=index) if name in self._counts:
                    out.setdefault(name, []).append(counted(index, self._counts[name]))
                case AwaitPhase(bar=name, completion=completion, slot=slot):
                    stages = self._counts[name]
                    out.setdefault(name, []).append(completion if stages == 1 else counted(slot, stages))
                case Arrive(bar=name, slot=slot) if self._counts[name] > 1:
                    out.setdefault(name, []).append(counted(slot, self._counts[name]))
                case _:
                    pass
        return out


def slope(form: Affine, name: str) -> Affine:
    """By how much a form grows when a variable grows by one.

    Raises:
        Outside: If that depends on the variable.
    """
    out = Affine()
    for atom, c in form.terms:
        if atom.text == name:
            out += c
        elif name in atom.variables():
            others = [a for a in atom.args if a != var(name)]
            if atom.kind != "*" or len(others) != 1 or name in others[0].variables():
                raise Outside(f"the index {form} into staged buffers")
            out += others[0] * c
    return out


def plain(state: State, form: Affine) -> Affine:
    """A form with what is fixed put in, and with each maximum or minimum that is known to be one of its sides."""
    # What a loop's bound stands for may mention the loop's rounds, which may be known in turn.
    form = state.reduce(state.reduce(form))
    chosen = dict[str, Affine]()
    for atom, _ in form.terms:
        if atom.kind in ("min", "max"):
            low, high = atom.args
            if state.evident(ge(low - high)):
                low, high = high, low
            if state.evident(ge(high - low)):
                chosen[atom.text] = low if atom.kind == "min" else high
    return substitute_affine(form, chosen) if chosen else form


def counted(index: Expr, stages: int) -> Expr | None:
    """`i` of an index `i % stages`; a constant counts itself."""
    match index:
        case Op("%", (inner, Const(value))) if value == stages:
            return inner
        case Const(value) if 0 <= value < stages:
            return index
        case _:
            return None


def number_of(completion: Affine, stages: int, base: Affine, place: int) -> int | None:
    """The completion that a wait names, relative to the base; None if that differs from base to base.

    `place` is that of the slot: completion `i` of the slot of fill `j` belongs to the fill with `j // stages = i`.
    """
    rounds = completion - floordiv(base + place, stages)
    return place + stages * rounds.const if rounds.is_const else None
