"""What is computed in registers; assertions; policies."""

from __future__ import annotations

from argus.dsl.frontend.reference.construct import Construct, Section

VALUES = Section(
    "Values",
    (
        Construct(
            words=("min", "max", "abs"),
            form="x + y, x - y, x * y, x / y, min(x, y), max(x, y), x < y, p & q, p | q, ~p",
            brief="pointwise, broadcast over absent axes; dtypes equal; numbers adapt",
            meaning=(
                "Pointwise on fragments of one dtype; an axis that one side lacks is broadcast. Comparisons give "
                "bools. On integers the same signs mean integer arithmetic, with `//` and `%`."
            ),
            obligations="Sides carry equal tags, else the result's tag is unknown; origins unite.",
            example="""
@kernel(target="gfx942", waves=1)
def clamp(X: f32[r:R, c:C], Y: f32[r:R, c:C], lo: f32, hi: f32):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    store(Y.tile(8, 64)[br, bc], min(max(load(X.tile(8, 64)[br, bc]), lo), hi))
""",
        ),
        Construct(
            words=("exp2", "exp", "log2", "rsqrt", "sqrt", "rcp", "silu", "sigmoid", "tanh", "relu"),
            form="exp2 exp log2 rsqrt sqrt rcp abs silu sigmoid tanh relu",
            brief="pointwise functions of one fragment",
            meaning="Pointwise functions of a floating-point fragment.",
            obligations="Tags stay; padding stays padding where f(0) = 0.",
            example="""
@kernel(target="gfx942", waves=1)
def swiglu(G: f32[r:R, c:C], U: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(G, U))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    store(Y.tile(8, 64)[br, bc], silu(load(G.tile(8, 64)[br, bc])) * load(U.tile(8, 64)[br, bc]))
""",
        ),
        Construct(
            words=("to",),
            form="x.to(f32)",
            brief="conversion",
            meaning="Converts the elements of a fragment; tags stay.",
            example="""
@kernel(target="gfx942", waves=1)
def widen(X: bf16[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    x = load(X.tile(8, 64)[br, bc]).to(f32)
    store(Y.tile(8, 64)[br, bc], x * 0.5)
""",
        ),
        Construct(
            words=("select", "bool"),
            form="select(p, x, y)",
            brief="x where p, else y",
            meaning="Pointwise choice by a fragment of `bool`, such as a comparison gives; memory holds no bools.",
            obligations="Both sides carry equal tags, else the result's tag is unknown.",
            example="""
@kernel(target="gfx942", waves=1)
def leaky(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    x = load(X.tile(8, 64)[br, bc])
    store(Y.tile(8, 64)[br, bc], select(x < 0.0, x * 0.1, x))
""",
        ),
        Construct(
            words=("mask", "inf"),
            form="mask(x, (x.j <= x.q) & (x.j < S), -inf)",
            brief="where the predicate is false: fill, which counts as padding; x.j is a coordinate (i32)",
            meaning=(
                "Elements where the predicate over coordinates is false become `fill` and count as padding. `x.j`"
                " is the coordinate of each element of x along axis j, as data."
            ),
            obligations="What is left is the set of the predicate; fills must be neutral where they are reduced.",
            example="""
@kernel(target="gfx942", waves=4)
def row_max(X: f32[r:R, c:C], Y: f32[r:R]):
    ensures(Y[r], over(c, C), uses=(X,))
    br = block(R)
    most = -inf
    for ct in range(cdiv(C, 1024)):
        x = load(X.tile(1, 1024)[br, ct])
        x = mask(x, x.c < C, -inf)
        most = max(most, reduce("max", x, "c", across="block"))
    store(Y.tile(1)[br], most)
""",
        ),
        Construct(
            words=("reduce",),
            form='reduce("sum" | "max" | "min", x, "k", across="wave" | "block")',
            brief="over a tag axis, which disappears",
            meaning=(
                "Reduces a fragment along an axis, told by name, within each wave or over the block; every lane "
                "of the axis gets the result."
            ),
            obligations=(
                "Records the set that was reduced; padding must be neutral for the operator; a wave holds the axis."
            ),
            example="""
@kernel(target="gfx942", waves=4)
def squares(X: bf16[r:R, c:C], S: f32[r:R]):
    ensures(S[r], over(c, C), uses=(X,))
    br = block(R)
    total = 0.0
    for ct in range(cdiv(C, 2048)):
        x = load(X.tile(1, 2048)[br, ct]).to(f32)
        total += reduce("sum", x * x, "c", across="block")
    store(S.tile(1)[br], total)
""",
        ),
        Construct(
            words=("relayout",),
            form="relayout(x, linear(v))",
            brief="the same elements under another map, within each wave",
            meaning="Moves elements between the lanes of each wave until they lie as the map says.",
            obligations="Each wave already holds what its lanes get.",
            example="""
@kernel(target="gfx942", waves=1)
def wide_store(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 4), cdiv(C, 64))
    x = load(X.tile(4, 64)[br, bc], map=linear(1))
    store(Y.tile(4, 64)[br, bc], relayout(x, linear(4)))
""",
        ),
        Construct(
            words=("shuffle",),
            form="shuffle(x, lane)",
            brief="each lane takes lane's value of x, an i32 fragment",
            meaning="Each lane takes the registers of x of the lane that `lane`, an i32 fragment, names.",
            obligations="A gather over lanes: tags move along.",
            example="""
@kernel(target="gfx942", waves=1)
def broadcast_lane(X: f32[c:64], Y: f32[c:64]):
    b = block(1)
    x = load(X.tile(64)[b], map=linear(1))
    store(Y.tile(64)[b], shuffle(x, x.c * 0))
""",
        ),
        Construct(
            words=("online_softmax",),
            form='p, c, mx, l = online_softmax(s, mx, l, "j")',
            brief="one step over axis j: p unnormalised, c rescales what was summed; divide by l at the end",
            meaning=(
                "One step of softmax over tiles of axis j: the new maximum and sum, p = exp(s - mx) and c, the "
                "factor by which earlier sums are rescaled. Start with mx = -inf and l = 0.0. Fully masked rows "
                "give 0."
            ),
            sugar=True,
            example="SOFTMAX",
        ),
    ),
)

ASSERTIONS = Section(
    "Assertions and claims",
    (
        Construct(
            words=("assert_match", "assert_differ"),
            form="assert_match(x.k, y.k), assert_differ(x.k, y.k)",
            brief="tag components equal (different) at every place after broadcast",
            meaning=(
                "Compares a component of the tags of two fragments at every place, after broadcast; `f(x.s)` "
                "applies a function of the contract, as in `assert_match(expert_of(x.s), w.e)`."
            ),
            obligations="`written`. An assertion over no elements is unknown, not proved.",
            example="GEMM",
        ),
        Construct(
            words=("assert_complete",),
            form="assert_complete(acc, k=range(K))",
            brief="acc has summed each k below K once",
            meaning=(
                "The coordinates that were reduced into a fragment are the set, each once. The set may depend on an "
                "element's own coordinates, by the names of their axes: `assert_complete(l, j=range(q + 1))`."
            ),
            obligations="`written`.",
            example="""
@kernel(target="gfx942", waves=4)
def mean(X: f32[r:R, c:C], S: f32[r:R]):
    ensures(S[r], over(c, C), uses=(X,))
    br = block(R)
    total = 0.0
    for ct in range(cdiv(C, 1024)):
        total += reduce("sum", load(X.tile(1, 1024)[br, ct]), "c", across="block")
    assert_complete(total, c=range(C))
    store(S.tile(1)[br], total / C)
""",
        ),
        Construct(
            words=("tag",),
            form="x = tag(x, k=kt * 32)",
            brief="a claim about x's tags; verdicts become conditional",
            meaning=(
                "Sets or adds tag components of a fragment or view; coordinates may be used by name (`tag(x, k=2 "
                "* k)`). Every proof of the kernel is then reported as conditional."
            ),
            example="""
@kernel(target="gfx942", waves=1)
def claimed(X: f32[r:R, c:64], Y: f32[r:R, c:64]):
    ensures(Y[r, c], uses=(X,))
    br = block(R)
    x = tag(load(X.tile(1, 64)[br, 0]), r=br)
    store(Y.tile(1, 64)[br, 0], x)
""",
        ),
    ),
)

POLICIES = Section(
    "Policies",
    (
        Construct(
            words=("sched_group", "sched_barrier", "priority"),
            form="sched_group(mfma=2, ds_read=1), sched_barrier(), priority(n)",
            brief="instruction order and wave priority 0 to 3; no meaning",
            meaning="How instructions are ordered and which wave issues first. They change no value and no tag.",
            target="gfx942",
            example="""
@kernel(target="gfx942", waves=1)
def favoured(X: f32[r:R, c:C], Y: f32[r:R, c:C]):
    ensures(Y[r, c], uses=(X,))
    br, bc = block(cdiv(R, 8), cdiv(C, 64))
    priority(2)
    x = load(X.tile(8, 64)[br, bc])
    sched_barrier()
    sched_group(vmem_read=1, valu=2)
    store(Y.tile(8, 64)[br, bc], x * x)
""",
        ),
    ),
)
