"""The words of the kernel language, for editors and type checkers: `from argus.dsl.lang import *`.

Kernel text is read, never run: every word raises when it is called. `range`, `min` and `max` are Python's own. A module
of kernels starts with `from __future__ import annotations`, since `f16[m:M]` is no Python type.
"""

# ruff: noqa: ANN401 - what words take is checked by the front end

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from typing import Any, Literal, NoReturn, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
Number = int | float


class _Word:
    """A word that is no function: a dtype, a swizzle, an order."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __getitem__(self, axes: object) -> NoReturn:
        raise _read_only(self._name)

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise _read_only(self._name)


def _read_only(name: str) -> RuntimeError:
    return RuntimeError(f"`{name}`: kernel text is read, never run; pass it to argus.check or argus.compile_kernel")


def kernel(*, target: Literal["gfx942", "sm_90a"], waves: int, cluster: int = 1) -> Callable[[F], F]:
    """Mark a kernel. The function stays what it is; `argus.dsl.frontend.parse_function` reads its source."""
    del target, waves, cluster
    return lambda fn: fn


# ----------------------------------------------------------------------------------- dtypes and words
f16: Any = _Word("f16")
bf16: Any = _Word("bf16")
f8: Any = _Word("f8")
f32: Any = _Word("f32")
i8: Any = _Word("i8")
i32: Any = _Word("i32")
b32: Any = _Word("b32")
b64: Any = _Word("b64")
b128: Any = _Word("b128")
rows: Any = _Word("rows")
columns: Any = _Word("columns")
longest_first: Any = _Word("longest_first")


# ------------------------------------------------------------------------------------------ contract
def where(*predicates: Any) -> None:
    """Hypotheses about sizes, tested at launch."""
    raise _read_only("where")


def assume(*predicates: Any) -> None:
    """Hypotheses about data; verdicts that use them are conditional."""
    raise _read_only("assume")


def ensures(out: Any, *over: Any, uses: Any = ()) -> None:
    """What each element of an output is made of."""
    raise _read_only("ensures")


def over(axis: Any, extent: Any, pred: Any = None) -> Any:
    """A set of reduced coordinates."""
    raise _read_only("over")


# -------------------------------------------------------------------------------- grid, loops, roles
def block(*counts: Any, order: Any = rows) -> Any:
    """One block index for each count."""
    raise _read_only("block")


def tiles(*counts: Any, order: Any = rows) -> Any:
    """A persistent grid to loop over."""
    raise _read_only("tiles")


def unroll(n: int) -> Any:
    """A loop of constant length, written out."""
    raise _read_only("unroll")


def split(n: Any, parts: Any) -> Any:
    """Begin and end of this block's part of range(n)."""
    raise _read_only("split")


def role(name: str, waves: int, regs: int | None = None, groups: int = 1) -> AbstractContextManager[Any]:
    """Waves that run this body alone."""
    raise _read_only("role")


def elect() -> AbstractContextManager[None]:
    """One lane of the role."""
    raise _read_only("elect")


def xcd(n: int) -> Any:
    """An order of blocks: neighbours on the same of n compute dies."""
    raise _read_only("xcd")


def group_m(n: int) -> Any:
    """An order of blocks: n rows of tiles together."""
    raise _read_only("group_m")


def cdiv(n: Any, d: Any) -> Any:
    """N / d, rounded up."""
    raise _read_only("cdiv")


# -------------------------------------------------------------------------------------------- memory
def shared(dtype: Any, *shape: int, swizzle: Any = None, pad: int = 0) -> Any:
    """An uninitialised buffer in shared memory."""
    raise _read_only("shared")


def ring(stages: int, **buffers: Any) -> Any:
    """Staged buffers: `with r.fill() as st`, `with r.use() as st`."""
    raise _read_only("ring")


def mbar(arrivals: int, count: int = 1) -> Any:
    """Barriers in shared memory (sm_90a)."""
    raise _read_only("mbar")


def xor(chunks: int, unit: int | None = None, rows: int | None = None) -> Any:
    """A swizzle: chunk c of row r lies in place c ^ (r // rows % chunks)."""
    raise _read_only("xor")


def linear(vector: int) -> Any:
    """A map: `vector` consecutive elements a lane, dealt to the threads in turn."""
    raise _read_only("linear")


def load(view: Any, map: Any = None, like: Any = None) -> Any:  # noqa: A002 - the language's word
    """Memory to registers; `like=x`: so that it broadcasts to x."""
    raise _read_only("load")


def store(view: Any, x: Any, via: str = "direct", stage: Any = None) -> None:
    """Registers to memory."""
    raise _read_only("store")


def atomic_add(view: Any, x: Any) -> None:
    """Add to memory that other blocks add to."""
    raise _read_only("atomic_add")


def copy(dst: Any, src: Any) -> None:
    """Load and store."""
    raise _read_only("copy")


def copy_async(
    dst: Any, src: Any, via: Literal["dma", "cp", "tma"] | None = None, across: Literal["block", "cluster"] = "block"
) -> None:
    """Global to shared memory, later; the blocks of a cluster may make it together."""
    raise _read_only("copy_async")


# ------------------------------------------------------------------------------------------- waiting
def commit() -> None:
    """Close the wave's open group of copies."""
    raise _read_only("commit")


def wait(n: int) -> None:
    """Until at most n of this wave's groups are pending."""
    raise _read_only("wait")


def barrier(waves: int | None = None) -> None:
    """All waves, or so many, meet."""
    raise _read_only("barrier")


def shift(waves: int) -> None:
    """One extra arrival for these waves."""
    raise _read_only("shift")


def fence(what: Literal["async"]) -> None:
    """Make ordinary shared writes visible to TMA and wgmma."""
    raise _read_only("fence")


def arrive(bar: Any, bytes: int | None = None) -> None:  # noqa: A002 - the language's word
    """Arrive at an mbar."""
    raise _read_only("arrive")


def await_phase(bar: Any, i: Any) -> None:
    """Until an mbar has completed i + 1 times."""
    raise _read_only("await_phase")


# ----------------------------------------------------------------------------------------- fragments
def mma_acc(atom: str, m: int, n: int, grid: tuple[int, int] = (1, 1), regs: str = "vgpr") -> Any:
    """A zero accumulator."""
    raise _read_only("mma_acc")


def mma(a: Any, b: Any) -> Any:
    """A product, to be added: `acc += …`."""
    raise _read_only("mma")


def mma_wait(n: int) -> None:
    """Until at most n batches of MMAs are pending (sm_90a)."""
    raise _read_only("mma_wait")


def select(condition: Any, x: Any, y: Any) -> Any:
    """Pointwise choice."""
    raise _read_only("select")


def mask(x: Any, pred: Any, fill: Number) -> Any:
    """Elements where pred is false become fill and count as padding."""
    raise _read_only("mask")


def reduce(op: str, x: Any, axis: str, across: str = "wave") -> Any:
    """Sum, max or min over a tag axis."""
    raise _read_only("reduce")


def relayout(x: Any, map: Any) -> Any:  # noqa: A002 - the language's word
    """The same elements under another map."""
    raise _read_only("relayout")


def shuffle(x: Any, lane: Any) -> Any:
    """Each lane takes another lane's value."""
    raise _read_only("shuffle")


def online_softmax(s: Any, mx: Any, l: Any, axis: str) -> Any:  # noqa: E741 - the literature's name
    """p, c, mx, l of one step."""
    raise _read_only("online_softmax")


def tag(x: Any, **components: Any) -> Any:
    """A claim about x's tags."""
    raise _read_only("tag")


def _pointwise(name: str) -> Callable[[Any], Any]:
    def word(x: Any) -> Any:
        del x
        raise _read_only(name)

    word.__name__ = name
    return word


exp2, exp, log2 = _pointwise("exp2"), _pointwise("exp"), _pointwise("log2")
rsqrt, sqrt, rcp = _pointwise("rsqrt"), _pointwise("sqrt"), _pointwise("rcp")
silu, sigmoid, tanh, relu = _pointwise("silu"), _pointwise("sigmoid"), _pointwise("tanh"), _pointwise("relu")


# ---------------------------------------------------------------------------- assertions and policies
def assert_match(x: Any, y: Any) -> None:
    """Equal tags at every place."""
    raise _read_only("assert_match")


def assert_differ(x: Any, y: Any) -> None:
    """Different tags at every place."""
    raise _read_only("assert_differ")


def assert_complete(x: Any, **sets: range) -> None:
    """Each reduced coordinate exactly once."""
    raise _read_only("assert_complete")


def sched_group(**counts: int) -> None:
    """So many instructions of each kind, in this order (gfx942)."""
    raise _read_only("sched_group")


def sched_barrier() -> None:
    """The scheduler moves nothing across (gfx942)."""
    raise _read_only("sched_barrier")


def priority(n: int) -> None:
    """Issue priority of the wave, 0 to 3 (gfx942)."""
    raise _read_only("priority")


__all__ = [
    "arrive",
    "assert_complete",
    "assert_differ",
    "assert_match",
    "assume",
    "atomic_add",
    "await_phase",
    "b32",
    "b64",
    "b128",
    "barrier",
    "bf16",
    "block",
    "cdiv",
    "columns",
    "commit",
    "copy",
    "copy_async",
    "elect",
    "ensures",
    "exp",
    "exp2",
    "f8",
    "f16",
    "f32",
    "fence",
    "group_m",
    "i8",
    "i32",
    "inf",
    "kernel",
    "linear",
    "load",
    "log2",
    "longest_first",
    "mask",
    "mbar",
    "mma",
    "mma_acc",
    "mma_wait",
    "online_softmax",
    "over",
    "priority",
    "rcp",
    "reduce",
    "relayout",
    "relu",
    "ring",
    "role",
    "rows",
    "rsqrt",
    "sched_barrier",
    "sched_group",
    "select",
    "shared",
    "shift",
    "shuffle",
    "sigmoid",
    "silu",
    "split",
    "sqrt",
    "store",
    "tag",
    "tanh",
    "tiles",
    "unroll",
    "wait",
    "where",
    "xcd",
    "xor",
]
