"""A technique card: what the front matter holds and what the body says."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    model_validator,
)

Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=400)]
Scalar = StrictBool | StrictInt | StrictFloat | StrictStr

Kind = Literal["optimisation", "enabling", "correctness"]
Level = Literal["global", "tile", "instruction"]
Target = Literal["gfx942", "sm_90a", "any"]
Family = Literal["gemm", "hopper_gemm", "attention", "moe", "conv", "norm", "reduction", "elementwise"]
Dtype = Literal["f8", "i8", "f16", "bf16", "f32", "f64"]
Status = Literal["draft", "checked", "prose"]
Resource = Literal["mfma", "valu", "lds", "vmem", "hbm", "latency", "launch", "occupancy", "tail"]
Basis = Literal["measured", "simulated", "derived", "folklore"]
Relation = Literal["match", "differ", "complete", "disjoint"]

# The checker's names: a counterexample finds its cards through them. A test compares both lists.
FixClass = Literal[
    "swizzle mismatch",
    "stage off by n",
    "missing barrier",
    "missing wait",
    "operand transposed",
    "lane map",
    "k incomplete",
    "bounds guard",
    "contract missing",
    "missing fence",
    "phase aliasing",
    "trip counts differ",
]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Effect(_Part):
    """Factor by which a resource's time shrinks: 10 % point, middle, 90 % point. Below 1 it grows."""

    low: float = Field(gt=0)
    mid: float = Field(gt=0)
    high: float = Field(gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.low <= self.mid <= self.high:
            raise ValueError(f"low <= mid <= high does not hold for {self.low}, {self.mid}, {self.high}")
        return self


class Relief(_Part):
    """An effect on one resource, with what it rests on; `source` is a key of the corpus's source table."""

    resource: Resource
    effect: Effect
    basis: Basis
    source: str


class Requires(_Part):
    """Cards that must be active before: each of `all`, and one of `any` unless that is empty."""

    all: tuple[Slug, ...] = ()
    any: tuple[Slug, ...] = ()

    @property
    def cards(self) -> tuple[str, ...]:
        return (*self.all, *self.any)


class Param(_Part):
    """A finite domain and the value tried first."""

    values: tuple[Scalar, ...] = Field(min_length=1, max_length=64)
    default: Scalar

    @model_validator(mode="after")
    def _default_is_a_value(self) -> Self:
        # Types count: 1 and True are equal in Python and differ in a schedule.
        known = [(type(v), v) for v in self.values]
        if (type(self.default), self.default) not in known:
            raise ValueError(f"default {self.default!r} is not one of {list(self.values)!r}")
        if len(set(known)) != len(known):
            raise ValueError(f"values {list(self.values)!r} hold one twice")
        return self


class Change(_Part):
    """What the technique does to a schedule.

    Attributes:
        set: Field, or element of a field as in `tile[2]`, to its new value. A value `$name` becomes the parameter;
            inside a longer string `$name` becomes the parameter's text.
        params: The parameters' domains.
        constraints: What must hold of parameters and changed schedule; see `expressions.Constraint`.
    """

    set: dict[str, Scalar] = Field(min_length=1)
    params: dict[str, Param] = {}
    constraints: tuple[Text, ...] = ()


class Invariant(_Part):
    """A statement of the kernel language; `implied` when the checker demands it without being asked."""

    text: Text
    at: Text
    relation: Relation
    implied: bool


class Expect(_Part):
    """What the technique should do to the static report, and to hardware counters by target."""

    report: tuple[Text, ...] = ()
    counters: dict[Target, tuple[Text, ...]] = {}


class Mistake(_Part):
    """What usually goes wrong, under the fix class of its counterexamples."""

    fix_class: FixClass
    cause: Text
    fix: Text


class Example(_Part):
    """Two schedules, fields left out at their defaults; the change leads from `before` to `after`."""

    family: Family
    before: dict[str, Scalar | tuple[Scalar, ...]]
    after: dict[str, Scalar | tuple[Scalar, ...]]


class CitedSource(_Part):
    """A source, and what it supports."""

    id: str
    supports: Text


class Section(_Part):
    """A part of the body; `line` is its heading's line in the file."""

    heading: str
    text: str
    line: int = 0


class Card(_Part):
    """One technique; the fields are those of the front matter, in its order, then the body's sections."""

    id: Slug
    title: Text
    kind: Kind
    level: Level
    targets: tuple[Target, ...] = Field(min_length=1)
    families: tuple[Family, ...] = ()
    dtypes: tuple[Dtype, ...] = ()
    relieves: tuple[Relief, ...] = ()
    applies_when: tuple[Text, ...] = ()
    avoid_when: tuple[Text, ...] = ()
    requires: Requires = Requires()
    conflicts: tuple[Slug, ...] = ()
    # No default: leaving a field out by accident would turn a technique into documentation.
    change: Change | None
    invariants: tuple[Invariant, ...] = ()
    expect: Expect = Expect()
    mistakes: tuple[Mistake, ...] = ()
    example: Example | None = None
    sources: tuple[CitedSource, ...] = Field(min_length=1)
    status: Status
    sections: tuple[Section, ...] = Field(min_length=1)

    @property
    def changes_schedules(self) -> bool:
        """False for documentation: only a model can apply such a card."""
        return self.change is not None

    def fits(self, *, target: str | None = None, family: str | None = None, dtype: str | None = None) -> bool:
        """Whether the card speaks of this target, family and element type; None asks for none."""
        return (
            (target is None or "any" in self.targets or target in self.targets)
            and (family is None or not self.families or family in self.families)
            and (dtype is None or not self.dtypes or dtype in self.dtypes)
        )
