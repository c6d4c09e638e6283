"""What `assume` says of the data: formulas over coordinates, used wherever an element they speak of turns up.

An assumption holds for every value of its axes within the tensors' extents. Where a form mentions `slot[i]`, each
assumption about `slot` is instantiated for that element; a function without a definition, `expert_of(s)`, likewise.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from argus.dsl.ir import Kernel, TensorParam
from argus.dsl.layout.affine import (
    TRUE,
    Affine,
    And,
    Atom,
    Eq,
    Formula,
    Ge,
    affine,
    application,
    conjunction,
    disjunction,
    division,
    eq,
    formula_atoms,
    function_of,
    ge,
    ne,
    negation,
    product,
    substitute_affine,
    substitute_formula,
    truth_of,
    var,
)
from argus.dsl.tags.columns import Column

MAX_DEPTH = 2  # of applications that assumptions are instantiated for
BOUND = "?"  # marks the axes of an assumption: they are no symbols of the kernel


@dataclass(frozen=True, slots=True)
class Assumed:
    """`formula` holds for every value of its axes."""

    formula: Formula
    axes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assumptions:
    """The assumptions of a kernel.

    `ranges` has the extent of each axis, `extents` the shape of each tensor, `applied` what functions give for columns
    that were met before.
    """

    all: tuple[Assumed, ...] = ()
    ranges: dict[str, Affine] = field(default_factory=dict[str, Affine])
    extents: dict[str, tuple[Affine, ...]] = field(default_factory=dict[str, tuple[Affine, ...]])
    applied: dict[tuple[object, ...], Column] = field(default_factory=dict[tuple[object, ...], Column], compare=False)

    def everywhere(self) -> tuple[Formula, ...]:
        """All assumptions at coordinates of which nothing is known."""
        axes = dict.fromkeys(axis for assumed in self.all for axis in assumed.axes)
        inside = (f for axis in axes for f in self._inside(axis, var(axis + BOUND)))
        return (*inside, *(assumed.formula for assumed in self.all))

    def about(self, atom: Atom) -> Iterator[Formula]:
        """What the assumptions say of one application."""
        name = function_of(atom)
        if _depth(atom) > MAX_DEPTH:
            return  # f(g(f(...))) would go on for ever
        for assumed in self.all:
            for pattern in dict.fromkeys(a for a in formula_atoms(assumed.formula) if a.kind == "app"):
                if function_of(pattern) == name and (bound := _bound(pattern, atom)) is not None:
                    yield from self._instance(assumed, bound)

    def _instance(self, assumed: Assumed, bound: dict[str, Affine]) -> Iterator[Formula]:
        if any(axis not in bound for axis in assumed.axes):
            return
        inside = (f for axis in assumed.axes for f in self._inside(axis, bound[axis]))
        env = {axis + BOUND: form for axis, form in bound.items()}
        yield disjunction((negation(conjunction(inside)), substitute_formula(assumed.formula, env)))

    def _inside(self, axis: str, form: Affine) -> tuple[Formula, Formula]:
        return ge(form), ge(self.ranges[axis] - form - 1)

    def canonical(self, a: Affine) -> Affine:
        """`f(s)` replaced by the tensor element that an assumption says it equals."""
        for atom, c in a.terms:
            if atom.kind == "app" and (same := self._definition(atom)) is not None:
                a = a - Affine(0, ((atom, c),)) + same * c
        return a

    def _definition(self, atom: Atom) -> Affine | None:
        for function, element in self.equations():
            if function_of(function) == function_of(atom) and (bound := _bound(function, atom)) is not None:
                return substitute_affine(element, {axis + BOUND: form for axis, form in bound.items()})
        return None

    def meant(self, axis: str) -> str | None:
        """The only tensor of integers, or function, that an assumption bounds by an axis's extent: `slot[s] < T`."""
        extent = self.ranges.get(axis)
        parts = [p for a in self.all for p in (a.formula.parts if isinstance(a.formula, And) else (a.formula,))]
        found = dict.fromkeys(
            function_of(atom)
            for part in parts if isinstance(part, Ge) and extent is not None
            for atom, c in part.a.terms
            if c == -1 and atom.kind == "app" and part.a + Affine(0, ((atom, 1),)) == extent - 1
        )  # fmt: skip
        says = [name for name in found if name in self.extents or self.definition(name) is not None]
        return says[0] if len(says) == 1 else None

    def inverse(self, tensor: str) -> str | None:
        """A function f with `tensor[f(t)] == t` for all t: every row is picked."""
        for assumed in self.all:
            if not isinstance(assumed.formula, Eq) or assumed.formula.a.const:
                continue
            terms = assumed.formula.a.terms
            if sorted(c for _, c in terms) != [-1, 1]:
                continue
            for (outer, _), (row, _) in (terms, terms[::-1]):
                if outer.kind == "app" and function_of(outer) == tensor and row.kind == "var" and len(outer.args) == 1:
                    (inner,) = outer.args
                    place = inner.terms[0][0] if len(inner.terms) == 1 else row
                    if inner == Affine(0, ((place, 1),)) and place.args == (Affine(0, ((row, 1),)),):
                        return function_of(place)
        return None

    def definition(self, name: str) -> Definition | None:
        """What an assumption says a function is: `f(m, u) == ...`, perhaps -1 where a condition fails."""
        for assumed in self.all:
            if not isinstance(assumed.formula, Eq):
                continue
            for atom, c in assumed.formula.a.terms:
                if atom.kind != "app" or function_of(atom) != name or abs(c) != 1 or name in self.extents:
                    continue
                axes = tuple(str(a).removesuffix(BOUND) for a in atom.args)
                value = (assumed.formula.a - Affine(0, ((atom, c),))) * -c
                if set(axes) <= set(assumed.axes):
                    return _conditional(axes, value)
        return None

    def elements(self, tensor: str, own: tuple[str, ...]) -> Iterator[Affine]:
        """The elements of a tensor by other axes than its own, as equations have them, then by its own."""
        yield from (e for _, e in self.equations() if function_of(e.terms[0][0]) == tensor)
        if all(own):
            yield application(tensor, tuple(var(a + BOUND) for a in own))

    def equations(self) -> Iterator[tuple[Atom, Affine]]:
        """Each assumption of the form `tensor[...] == f(axes)`, as the application of f and the element."""
        for assumed in self.all:
            if isinstance(assumed.formula, Eq):
                terms = assumed.formula.a.terms
                if assumed.formula.a.const == 0 and len(terms) == 2 and sorted(c for _, c in terms) == [-1, 1]:
                    atoms = [a for a, _ in terms]
                    for f, element in (atoms, atoms[::-1]):
                        apps = f.kind == element.kind == "app"
                        if apps and function_of(f) not in self.extents and function_of(element) in self.extents:
                            yield f, Affine(0, ((element, 1),))


@dataclass(frozen=True, slots=True)
class Definition:
    """`function(axes) == what` where `keep`, and -1 elsewhere; over symbols `axis + BOUND`."""

    axes: tuple[str, ...]
    what: Affine
    keep: Formula = TRUE


def _conditional(axes: tuple[str, ...], value: Affine) -> Definition:
    """`(x + 1) * condition - 1` is x where the condition holds, and -1 elsewhere."""
    if value.const == -1 and len(value.terms) == 1:
        ((atom, c),) = value.terms
        conditions = [a for a in atom.args if len(a.terms) == 1 and a.terms[0][0].truth is not None and a.const == 0]
        if c == 1 and atom.kind == "*" and len(conditions) == 1:
            (truth, scale), (other,) = conditions[0].terms[0], [a for a in atom.args if a != conditions[0]]
            if scale == 1 and truth.truth is not None:
                return Definition(axes, other - 1, truth.truth)
    return Definition(axes, value)


def solve(pattern: Affine, form: Affine, bound: dict[str, Affine]) -> bool:
    """Values of the axes in a pattern that make it the form, if some are evident; they are put into `bound`."""
    left = [(a, c) for a, c in pattern.terms if not (a.kind == "var" and a.text.endswith(BOUND))]
    rest, loose = form - pattern.const, [(a, c) for a, c in pattern.terms if (a, c) not in left]
    for atom, c in left:
        if atom.kind == "var":
            rest = rest - Affine(0, ((atom, c),))
            continue
        match = next((b for b, d in rest.terms if d == c and b.kind == atom.kind and _solved(atom, b, bound)), None)
        if match is None:
            return False
        rest = rest - Affine(0, ((match, c),))
    for atom, c in list(loose):
        if (known := bound.get(atom.text.removesuffix(BOUND))) is not None:
            rest, loose = rest - known * c, [x for x in loose if x[0] is not atom]
    if not loose:
        return rest == Affine()
    if len(loose) != 1 or abs(loose[0][1]) != 1:
        return False
    bound[loose[0][0].text.removesuffix(BOUND)] = rest * loose[0][1]
    return True


def _solved(pattern: Atom, atom: Atom, bound: dict[str, Affine]) -> bool:
    if len(pattern.args) != len(atom.args) or (pattern.kind == "app" and function_of(pattern) != function_of(atom)):
        return False
    orders = [atom.args, atom.args[::-1]] if pattern.kind == "*" else [atom.args]
    for args in orders:
        trial = dict(bound)
        if all(solve(p, a, trial) for p, a in zip(pattern.args, args, strict=True)):
            bound.update(trial)
            return True
    return False


def _depth(atom: Atom) -> int:
    """How deep applications are nested."""
    inner = max((_depth(a) for form in atom.args for a, _ in form.terms), default=0)
    return inner + (atom.kind == "app")


def _bound(pattern: Atom, atom: Atom) -> dict[str, Affine] | None:
    """Values of the pattern's axes that make it the atom."""
    bound = dict[str, Affine]()
    for want, got in zip(pattern.args, atom.args, strict=True):
        if want.const or len(want.terms) != 1 or want.terms[0][1] != 1:
            return None
        (inner, _), value = want.terms[0], got
        if inner.kind == "//" and inner.args[1].is_const:
            # s // c is the atom's index for the first s of the group, among others.
            value = got * inner.args[1].const
            if inner.args[0].const or len(inner.args[0].terms) != 1 or inner.args[0].terms[0][1] != 1:
                return None
            inner = inner.args[0].terms[0][0]
        if inner.kind != "var" or not inner.text.endswith(BOUND):
            return None
        bound[inner.text.removesuffix(BOUND)] = value
    return bound


def applied(known: Assumptions, function: str, column: Column) -> Column:
    """`function` of each element of a column, in terms of tensors where an assumption defines it."""
    which = b"" if column.which is None else column.which.tobytes()
    key = (function, column.bases, column.local.shape, which, column.local.tobytes())
    if key not in known.applied:
        known.applied[key] = each(lambda at: known.canonical(application(function, (at,))), column)
    return known.applied[key]


def each(change: Callable[[Affine], Affine], column: Column) -> Column:
    """Each element of a column changed; equal elements are changed once."""
    which = np.zeros(column.local.shape, np.int64) if column.which is None else column.which
    flat = np.stack([which.ravel(), column.local.ravel()])
    pairs, place = np.unique(flat, axis=1, return_inverse=True)
    forms = [change(column.bases[int(w)] + int(x)) for w, x in zip(pairs[0], pairs[1], strict=True)]
    bases = tuple(dict.fromkeys(f.without_const() for f in forms))
    number = np.array([bases.index(f.without_const()) for f in forms])[place].reshape(column.local.shape)
    local = np.array([f.const for f in forms])[place].reshape(column.local.shape)
    return Column(bases, bases, number if len(bases) > 1 else None, local)


# ------------------------------------------------------------------------------------------- reading


def assumptions(kernel: Kernel) -> Assumptions:
    """The assumptions of a kernel as formulas."""
    tensors = [p for p in kernel.params if isinstance(p, TensorParam)]
    ranges = dict[str, Affine]()
    for tensor in tensors:
        for axis, extent in zip(tensor.axes, tensor.shape, strict=True):
            if axis:
                ranges.setdefault(axis, affine(extent, {}))
    extents = {t.name: tuple(affine(e, {}) for e in t.shape) for t in tensors}
    found = list[Assumed]()
    for assumption in kernel.assume:
        tree = ast.parse(assumption.text, mode="eval").body
        axes = tuple(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in ranges))
        found.append(Assumed(_formula(tree, axes), axes))
    return Assumptions(tuple(found), ranges, extents)


def _formula(node: ast.expr, axes: tuple[str, ...]) -> Formula:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = (_formula(v, axes) for v in values)
            return conjunction(parts) if isinstance(op, ast.And) else disjunction(parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negation(_formula(operand, axes))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            sides = [_form(x, axes) for x in (left, *rest)]
            return conjunction(_compared(op, a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False))
        case _:
            return ne(_form(node, axes))


def _compared(op: ast.cmpop, a: Affine, b: Affine) -> Formula:
    match op:
        case ast.Lt():
            return ge(b - a - 1)
        case ast.LtE():
            return ge(b - a)
        case ast.Gt():
            return ge(a - b - 1)
        case ast.GtE():
            return ge(a - b)
        case ast.Eq():
            return eq(a - b)
        case _:
            return ne(a - b)


def _form(node: ast.expr, axes: tuple[str, ...]) -> Affine:
    match node:
        case ast.Constant(value=int() as value):
            return Affine(value)
        case ast.Name(id=name):
            return var(name + BOUND) if name in axes else var(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_form(operand, axes)
        case ast.BinOp(left=left, op=op, right=right):
            return _combined(op, _form(left, axes), _form(right, axes))
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            return application(name, tuple(_form(p, axes) for p in parts))
        case ast.Call(func=ast.Name(id=name), args=args):
            return application(name, tuple(_form(a, axes) for a in args))
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
            return truth_of(_formula(node, axes))
        case _:
            raise AssertionError(f"{ast.unparse(node)} in an assumption")


def _combined(op: ast.operator, a: Affine, b: Affine) -> Affine:
    match op:
        case ast.Add():
            return a + b
        case ast.Sub():
            return a - b
        case ast.Mult():
            return product(a, b)
        case ast.FloorDiv():
            return division(a, b)
        case _:
            return a - product(division(a, b), b)
