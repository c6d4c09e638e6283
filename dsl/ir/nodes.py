"""Every IR node. Nodes are values: build a new one, never edit one.

Three kinds of value: an index expression (`Expr`, integers uniform over a wave), a *view* (memory, no data) and a
*fragment* (registers). A kernel is a tree of statements over named variables; assigning a name again replaces its
value, as in Python.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from argus.dsl.diagnostics import NOWHERE, Span
from argus.dsl.layout import ZERO, Expr, Linear, Swizzle

Dtype = Literal["f16", "bf16", "f8", "f32", "i8", "i32", "bool"]
Space = Literal["global", "shared"]
Via = Literal["dma", "cp", "tma"]
BinaryOp = Literal["+", "-", "*", "/", "max", "min", "<", "<=", ">", ">=", "==", "!=", "&", "|"]
UnaryOp = Literal["neg", "not", "exp2", "exp", "log2", "rsqrt", "sqrt", "rcp", "abs", "silu", "sigmoid", "tanh", "relu"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    # Not compared: two nodes that differ only in place are the same program.
    span: Span = field(default=NOWHERE, compare=False, repr=False)


# --------------------------------------------------------------------------------------------- views


@dataclass(frozen=True, slots=True, kw_only=True)
class Ref(Node):
    """A variable, parameter or buffer by name; what it is follows from its definition."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TileAt(Node):
    """Tile `index` of the grid of `shape` tiles that covers `src`: `src.tile(*shape, pad=pad)[*index]`.

    Reads outside any axis of `src` give `pad`; writes there vanish.
    """

    src: View
    shape: tuple[int, ...]
    index: tuple[Expr, ...]
    pad: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class At(Node):
    """`src[index]`: the leading index fixed, one axis fewer."""

    src: View
    index: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Node):
    """`src.rows(start, count)`: rows start to start + count - 1."""

    src: View
    start: Expr
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cols(Node):
    """`src.cols(start, count)`: likewise along the second axis."""

    src: View
    start: Expr
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transposed(Node):
    """`src.T`: the two axes swapped."""

    src: View


@dataclass(frozen=True, slots=True, kw_only=True)
class Gather(Node):
    """`src.gather(index)` (reads) or `src.scatter(index)` (writes): rows by an i32 fragment; -1 is a pad row."""

    src: View
    index: Frag
    scatter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Field(Node):
    """`stage.name`: a buffer of a ring's stage. Sugar."""

    src: Ref
    name: str


View = Ref | TileAt | At | Rows | Cols | Transposed | Gather | Field

# --------------------------------------------------------------------------------------- allocations


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared(Node):
    """`shared(dtype, *shape, swizzle=, pad=)`: uninitialised.

    The last axis is the row; `pad` elements follow each row.
    """

    dtype: Dtype
    shape: tuple[int, ...]
    swizzle: Swizzle | None = None
    pad: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring(Node):
    """`ring(stages, name=shared(...), ...)`: every buffer once a stage. Sugar."""

    stages: int
    buffers: tuple[tuple[str, Shared], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MBar(Node):
    """`mbar(arrivals, count=)`: barriers in shared memory whose phases complete after so many arrivals (sm_90a)."""

    arrivals: int
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Node):
    """`block(*counts, order=)`: one index per count from the launch grid.

    `order` names an injective remap of the linear block number: `rows` (row-major), `columns`, `xcd(N)`,
    `group_m(G)`, `longest_first`.
    """

    counts: tuple[Expr, ...]
    order: str = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Split(Node):
    """`split(n, parts)`: (begin, end) of this block's part of range(n); adds a grid dimension of `parts`."""

    n: Expr
    parts: Expr


# ----------------------------------------------------------------------------------------- fragments


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar(Node):
    """A float literal, `inf` included: a uniform f32 fragment."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Index(Node):
    """An integer index expression where a fragment is expected: uniform i32."""

    expr: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Load(Node):
    """`load(view, map=linear(v))`: memory to registers; without a map, 16 bytes a lane where the rows allow.

    `load(view, like=x)`: into the lanes of `x`, along its axes of the same names, so that it broadcasts.
    """

    view: View
    map: Linear | None = None
    like: Ref | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaAcc(Node):
    """`mma_acc(atom, m, n, grid=, regs=)`: a zero accumulator for an m x n tile."""

    atom: str
    m: int
    n: int
    grid: tuple[int, int] = (1, 1)
    regs: Literal["vgpr", "agpr"] = "vgpr"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand(Node):
    """`src.operand(side, acc, ks, pack=)`: what an MMA reads at k-step `ks` (steps are `pack` atoms deep).

    `src` is a view of (rows of the side) x (k), in shared or global memory, or a fragment of that shape.
    """

    src: View
    side: Literal["a", "b"]
    acc: str
    ks: Expr
    pack: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOperand(Node):
    """`x.as_operand(side, acc, ks)`: the registers of `x` read as an operand, without a move."""

    src: Frag
    side: Literal["a", "b"]
    acc: str
    ks: Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast(Node):
    src: Frag
    dtype: Dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Unary(Node):
    op: UnaryOp
    src: Frag


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary(Node):
    """Pointwise; an axis that one side lacks is broadcast."""

    op: BinaryOp
    lhs: Frag
    rhs: Frag


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Node):
    """`select(condition, x, y)`, pointwise."""

    condition: Frag
    x: Frag
    y: Frag


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate(Node):
    """`x.axis` as data: the global coordinate of each element of `x` along one of its tag axes (i32)."""

    src: Ref
    axis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask(Node):
    """`mask(x, pred, fill)`: elements where `pred` is false become `fill` and count as padding."""

    src: Frag
    pred: Frag
    fill: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce(Node):
    """`reduce(op, x, axis, across=)`: over a tag axis, within a wave or a block."""

    op: Literal["sum", "max", "min"]
    src: Frag
    axis: str
    across: Literal["wave", "block"] = "wave"


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayout(Node):
    """`relayout(x, map)`: the same elements under another map, within each wave."""

    src: Frag
    map: Linear


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(Node):
    """`shuffle(x, lane)`: each lane takes lane `lane`'s value (an i32 fragment)."""

    src: Frag
    lane: Frag


@dataclass(frozen=True, slots=True, kw_only=True)
class Mma(Node):
    """`mma(a, b)`: only as the right-hand side of `acc += mma(a, b)`."""

    a: Frag
    b: Frag


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineSoftmax(Node):
    """`online_softmax(s, mx, l, axis)`: four results (p, c, mx, l). Sugar."""

    s: Frag
    mx: Frag
    l: Frag  # noqa: E741 - the literature's name for the running sum
    axis: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged(Node):
    """`tag(x, axis=coordinate, ...)`: an explicit claim about x's tags; proofs that use it are conditional."""

    src: Frag | View
    components: tuple[tuple[str, Expr], ...]


Frag = (
    Ref | Scalar | Index | Load | MmaAcc | Operand | AsOperand | Cast | Unary | Binary | Select | Coordinate
    | Mask | Reduce | Relayout | Shuffle | Mma | OnlineSoftmax | Tagged
)  # fmt: skip

Value = View | Shared | Ring | MBar | Block | Split | Frag

# ---------------------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign(Node):
    """`a = value`, or `a, b = value` for values with several results (Block, Split, OnlineSoftmax)."""

    targets: tuple[str, ...]
    value: Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Node):
    """`store(view, x, via=, stage=)`: registers to memory."""

    view: View
    value: Frag
    via: Literal["direct", "tma"] = "direct"
    stage: View | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomicAdd(Node):
    view: View
    value: Frag


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy(Node):
    """`copy(dst, src)`. Sugar for a load and a store."""

    dst: View
    src: View


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyAsync(Node):
    """`copy_async(dst, src, via=, across=)`: shared `dst` from global `src`, later; joins the wave's open group.

    With "tma" also global from shared; then `Wait` covers the reads of the shared side. `across="cluster"`: the blocks
    of a cluster make this copy together, each reads a part; to each it is the whole copy.
    """

    dst: View
    src: View
    via: Via
    across: Literal["block", "cluster"] = "block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Node):
    """`commit()`: closes the wave's open group of async copies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(Node):
    """`wait(n)`: until at most n of this wave's groups are pending; says nothing to other waves."""

    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier(Node):
    """`barrier(waves=)`: all waves (None) or so many meet; ordinary shared accesses before it are complete after it."""

    waves: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift(Node):
    """`shift(waves)`: one extra barrier arrival for the first `waves` waves, which moves them one phase ahead."""

    waves: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence(Node):
    """`fence("async")`: ordinary shared writes become visible to TMA and wgmma (sm_90a)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrive(Node):
    """`arrive(bar[slot], bytes=)`: one arrival for each wave that executes it.

    With `bytes`, the phase also waits for so many bytes: those of the TMA copies that the wave issued since its last
    such arrival.
    """

    bar: str
    bytes: int | None = None
    slot: Expr = ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitPhase(Node):
    """`await_phase(bar[slot], i)`: until that barrier has completed i + 1 times; -1 waits for nothing."""

    bar: str
    completion: Expr
    slot: Expr = ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaInto(Node):
    """`acc += mma(a, b)`."""

    acc: str
    a: Frag
    b: Frag


@dataclass(frozen=True, slots=True, kw_only=True)
class MmaWait(Node):
    """`mma_wait(n)`: at most n batches of MMAs pending (sm_90a)."""

    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class For(Node):
    """`for target in range(stop) | range(start, stop) | unroll(n) | tiles(*counts, order=)`.

    `range`: one target, bounds = (start, stop). `unroll`: bounds = (0, n), n a constant. `tiles`: a persistent grid;
    one target and one bound (the count) per dimension.
    """

    targets: tuple[str, ...]
    kind: Literal["range", "unroll", "tiles"]
    bounds: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    order: str = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class If(Node):
    """A branch on a condition that is uniform over the block (or the wave)."""

    condition: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Role(Node):
    """`with role(name, waves=, regs=, groups=) as index`: these waves alone run the body."""

    name: str
    waves: int
    body: tuple[Stmt, ...]
    regs: int | None = None
    groups: int = 1
    index: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elect(Node):
    """`with elect()`: one lane of the role runs the body."""

    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill(Node):
    """`with ring.fill() as stage`. Sugar."""

    ring: str
    stage: str
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Node):
    """`with ring.use(keep=) as stage`. Sugar."""

    ring: str
    stage: str
    body: tuple[Stmt, ...]
    keep: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Component(Node):
    """`x.k` inside an assertion: one tag component of every element of x; `f(x.k)` when `function` is set."""

    src: Frag
    axis: str
    function: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertMatch(Node):
    """`assert_match(x, y)`: equal tags at every place, after broadcast; `differ`: different ones at every place."""

    x: Component
    y: Component
    differ: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertComplete(Node):
    """`assert_complete(x, axis=range(n))`: x's reduced coordinates along each axis are 0 to n - 1, once each.

    In n an axis that is no index here stands for the element's own coordinate: `j=range(q + 1)`.
    """

    x: Ref
    sets: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedGroup(Node):
    """`sched_group(mfma=, ds_read=, ...)`: so many instructions of each kind, in this order. A policy: no meaning."""

    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedBarrier(Node):
    """`sched_barrier()`: the instruction scheduler moves nothing across. A policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priority(Node):
    """`priority(n)`: issue priority of the wave, 0 to 3. A policy."""

    level: int


Stmt = (
    Assign | Store | AtomicAdd | Copy | CopyAsync | Commit | Wait | Barrier | Shift | Fence | Arrive | AwaitPhase
    | MmaInto | MmaWait | For | If | Role | Elect | Fill | Use | AssertMatch | AssertComplete | SchedGroup
    | SchedBarrier | Priority
)  # fmt: skip

# ------------------------------------------------------------------------------------------ contract


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorParam(Node):
    """`A: f16[m:M, k:K]`: row-major; axis i has tag name axes[i] and extent shape[i]. An unnamed axis has name ''."""

    name: str
    dtype: Dtype
    axes: tuple[str, ...]
    shape: tuple[Expr, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarParam(Node):
    """`scale: f32` or `n: i32`."""

    name: str
    dtype: Dtype


Param = TensorParam | ScalarParam


@dataclass(frozen=True, slots=True, kw_only=True)
class Over(Node):
    """`over(axis, extent, pred=)`: a set of reduced coordinates; `pred` may mention free coordinates."""

    axis: str
    extent: Expr
    pred: Expr | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ensures(Node):
    """`ensures(C[m, n], over(k, K), uses=(A, B))`: element (m, n) of C is written once, from each k of the set once."""

    tensor: str
    index: tuple[str, ...]
    over: tuple[Over, ...]
    uses: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption(Node):
    """A predicate of `assume`, kept as normalised text; `about` names the tensors it speaks of."""

    text: str
    about: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel(Node):
    """A kernel: contract (params, where, assume, ensures) and body."""

    name: str
    target: Literal["gfx942", "sm_90a"]
    waves: int
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    cluster: int = 1
    where: tuple[Expr, ...] = ()
    assume: tuple[Assumption, ...] = ()
    ensures: tuple[Ensures, ...] = ()
