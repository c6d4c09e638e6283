"""The only module that imports Z3: satisfiability and smallest models of formulas over integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import z3 as _untyped_z3  # pyright: ignore[reportMissingTypeStubs]

from argus.dsl.layout.affine import (
    Affine,
    And,
    Atom,
    Eq,
    Formula,
    Ge,
    Ne,
    Or,
    application,
    evaluate_formula,
    formula_atoms,
    formula_variables,
    function_of,
)

z3: Any = _untyped_z3

# Work, not seconds: the same query gives the same answer on a slow machine.
EFFORT = 4_000_000  # of one question
BUDGET = 20_000_000  # of all questions about one kernel
SIZE_LIMIT = 2**31

Model = dict[str, int]
About = Callable[[Atom], Iterable[Formula]]  # what is assumed of a function's value at one place


class Undecided(Exception):
    """The solver gave up."""


class Door:
    """A solver over size symbols with the kernel's preconditions asserted; questions come on top of them.

    Floor divisions by constants become a quotient with two linear bounds: Z3 times out on `div` and `mod`. Unknown
    functions come with what `about` says of their values.

    All questions together may take `budget` units of the solver's work; afterwards every answer is that it gave up.
    """

    def __init__(
        self,
        sizes: Sequence[str],
        preconditions: Iterable[Formula],
        about: About = lambda atom: (),
        *,
        budget: int | None = None,
    ) -> None:
        self._solver: Any = z3.Solver()
        self._budget = BUDGET if budget is None else budget
        self._spent = 0
        self._about = about
        self._met: set[str] = set()
        self._known: dict[str, Any] = {}
        self._pending: list[Any] = []
        self._answers: dict[frozenset[Formula], bool] = {}
        self.sizes = tuple(sizes)
        for size in sizes:
            symbol = self._variable(size)
            self._solver.add(symbol >= 1, symbol < SIZE_LIMIT)
        for f in preconditions:
            self._solver.add(self._formula(f))
        self._define()

    # --------------------------------------------------------------------------------------- questions

    def consistent(self, facts: Sequence[Formula]) -> bool:
        """False only if no sizes satisfy the preconditions and all of these."""
        key = frozenset(facts)
        if key not in self._answers:
            self._answers[key] = self._check(facts) != z3.unsat
        return self._answers[key]

    def refuted(self, formulas: Sequence[Formula]) -> bool:
        """Whether the formulas contradict each other.

        Raises:
            Undecided: If the solver gives up.
        """
        key = frozenset(formulas)
        if self._answers.get(key) is False:
            return True
        answer = self._check(formulas)
        if answer == z3.unknown:
            raise Undecided(self._why())
        self._answers[key] = answer == z3.sat
        return answer == z3.unsat

    def smallest(self, formulas: Sequence[Formula], order: Sequence[str]) -> Model | None:
        """A model whose variables are as small as can be, those in `order` first; None if there is none.

        Raises:
            Undecided: If the solver gives up, or its model does not satisfy the formulas.
        """
        self._solver.push()
        try:
            for f in formulas:
                self._solver.add(self._formula(f))
            self._define()
            answer = self._solve()
            if answer == z3.unknown:
                raise Undecided(self._why())
            if answer == z3.unsat:
                return None
            names = sorted(frozenset[str]().union(*(formula_variables(f) for f in formulas)) | set(self.sizes))
            ordered: list[str | Atom] = [
                *dict.fromkeys(n for n in order if n in self._known),
                *(n for n in names if n not in order),
            ]
            ordered += dict.fromkeys(a for f in formulas for a in formula_atoms(f) if a.kind == "app")
            model = self._values(self._solver.model(), ordered)
            for name in (n for n in ordered if isinstance(n, str)):
                model = self._least(name, model, ordered)
            if not all(evaluate_formula(f, model) for f in formulas):
                raise Undecided("the solver's model does not satisfy the formulas")
            return model
        finally:
            self._solver.pop()

    # ----------------------------------------------------------------------------------------- solving

    def _check(self, formulas: Sequence[Formula]) -> Any:  # noqa: ANN401 - Z3 is untyped
        self._solver.push()
        try:
            for f in formulas:
                self._solver.add(self._formula(f))
            self._define()
            return self._solve()
        finally:
            self._solver.pop()

    def _solve(self) -> Any:  # noqa: ANN401
        """Z3's answer about what is asserted, or `unknown` where the budget is spent."""
        left = min(EFFORT, self._budget - self._spent)
        if left <= 0:
            return z3.unknown
        self._solver.set("rlimit", left)
        before = _work(self._solver)
        answer = self._solver.check()
        self._spent += _work(self._solver) - before
        return answer

    def _why(self) -> str:
        if self._spent >= self._budget:
            return f"the solver's budget of {self._budget:,} units of work for one kernel is spent"
        return f"the solver gave up: {self._solver.reason_unknown()}"

    def _least(self, name: str, model: Model, names: Sequence[str | Atom]) -> Model:
        """Fix a variable at its least value, found by bisection from below."""
        symbol = self._variable(name)
        low, high = min(0, model[name]), model[name]
        if name in self.sizes:
            low = 1
        while low < high:
            middle = (low + high) // 2 if low > 4 or high - low > 64 else low
            self._solver.push()
            self._solver.add(symbol <= middle)
            if self._solve() == z3.sat:
                model = self._values(self._solver.model(), names)
                high = model[name]
            else:
                low = middle + 1
            self._solver.pop()
        self._solver.add(symbol == high)
        return model

    def _values(self, model: Any, names: Iterable[str | Atom]) -> Model:  # noqa: ANN401
        """Values of variables, and of applications under their text with numbers for arguments."""
        out = Model()
        for name in names:
            if isinstance(name, str):
                out[name] = self._integer(model, self._variable(name))
            else:
                args = tuple(Affine(self._integer(model, self._affine(a))) for a in name.args)
                out[str(application(function_of(name), args))] = self._integer(model, self._atom(name))
        self._pending.clear()  # they are defined already
        self._met.clear()
        return out

    def _integer(self, model: Any, term: Any) -> int:  # noqa: ANN401
        return model.eval(term, model_completion=True).as_long()

    # ------------------------------------------------------------------------------------- translation

    def _define(self) -> None:
        """Assert what defines the terms met since; definitions hold under any assumption."""
        for definition in self._pending:
            self._solver.add(definition)
        self._pending.clear()
        self._met.clear()

    def _variable(self, name: str) -> Any:  # noqa: ANN401
        if name not in self._known:
            self._known[name] = z3.Int(name)
        return self._known[name]

    def _affine(self, a: Affine) -> Any:  # noqa: ANN401
        terms = [self._atom(atom) * c if c != 1 else self._atom(atom) for atom, c in a.terms]
        if a.const or not terms:
            terms.append(z3.IntVal(a.const))
        return terms[0] if len(terms) == 1 else z3.Sum(terms)

    def _atom(self, atom: Atom) -> Any:  # noqa: ANN401
        if atom.kind == "var":
            return self._variable(atom.text)
        if atom.truth is not None:
            return z3.If(self._formula(atom.truth), z3.IntVal(1), z3.IntVal(0))
        if atom.kind == "app":
            return self._application(atom)
        if atom.kind == "*" and (chosen := self._conditional(atom)) is not None:
            return chosen
        left, right = (self._affine(x) for x in atom.args)
        match atom.kind:
            case "//":
                quotient = z3.Int(f"|{atom.text}|")
                divisor = atom.args[1]
                if divisor.is_const:
                    self._pending += [divisor.const * quotient <= left, left < divisor.const * (quotient + 1)]
                else:
                    inside = z3.And(right * quotient <= left, left < right * (quotient + 1))
                    self._pending.append(z3.Implies(right > 0, inside))
                return quotient
            case "*":
                return left * right
            case "min":
                return z3.If(left <= right, left, right)
            case _:
                return z3.If(left >= right, left, right)

    def _conditional(self, atom: Atom) -> Any:  # noqa: ANN401
        """A condition times an integer is no product for the solver."""
        for condition, other in (atom.args, atom.args[::-1]):
            if condition.const == 0 and len(condition.terms) == 1:
                ((truth, scale),) = condition.terms
                if truth.truth is not None:
                    return z3.If(self._formula(truth.truth), self._affine(other * scale), z3.IntVal(0))
        return None

    def _application(self, atom: Atom) -> Any:  # noqa: ANN401
        """A function of integers, with what is assumed of its value here."""
        integers = [z3.IntSort()] * (len(atom.args) + 1)
        if atom.text not in self._met:
            self._met.add(atom.text)
            self._pending += [self._formula(f) for f in self._about(atom)]
        return z3.Function(function_of(atom), *integers)(*(self._affine(a) for a in atom.args))

    def _formula(self, f: Formula) -> Any:  # noqa: ANN401
        match f:
            case Ge(a):
                return self._affine(a) >= 0
            case Eq(a):
                return self._affine(a) == 0
            case Ne(a):
                return self._affine(a) != 0
            case And(parts):
                return z3.And([self._formula(p) for p in parts]) if parts else z3.BoolVal(True)
            case Or(parts):
                return z3.Or([self._formula(p) for p in parts]) if parts else z3.BoolVal(False)


def _work(solver: Any) -> int:  # noqa: ANN401
    """Units of work that Z3 has counted since it was loaded."""
    counts = solver.statistics()
    for i in reversed(range(len(counts))):  # it stands near the end of what may be hundreds
        key, value = counts[i]
        if key == "rlimit count":
            return int(value)
    return 0


def version() -> Mapping[str, str]:
    """What decided: for reports."""
    return {"solver": "z3", "version": z3.get_version_string()}
