"""A whole kernel: parameters, shared memory, barriers, and a program for each role."""

from __future__ import annotations

from typing import Literal

from argus.dsl.diagnostics import Code, Diagnostic, KernelError
from argus.dsl.ir import (
    Assign,
    AwaitPhase,
    Barrier,
    Block,
    CopyAsync,
    Elect,
    For,
    Kernel,
    MBar,
    ScalarParam,
    Split,
    Store,
    TensorParam,
)
from argus.dsl.ir.divides import multiples
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.ir.rules.cluster import cluster_problems, shared_copies
from argus.dsl.ir.shapes import base
from argus.dsl.ir.show_expr import show_expr
from argus.dsl.ir.types import Types
from argus.dsl.layout import Expr
from argus.dsl.lower.errors import unsupported
from argus.dsl.lower.facts import Facts
from argus.dsl.lower.lowered import ParamSpec
from argus.dsl.lower.sm_90a import ptx
from argus.dsl.lower.sm_90a.context import LANES, Context
from argus.dsl.lower.sm_90a.cuda_kernel import CudaKernel
from argus.dsl.lower.sm_90a.expr import c_name
from argus.dsl.lower.sm_90a.roles import WARPGROUP, Program, programs
from argus.dsl.lower.sm_90a.shared import MBAR_BYTES, SWIZZLE_BYTES, Placement, place
from argus.dsl.lower.sm_90a.statements import lower_statements
from argus.dsl.lower.sm_90a.tensor_maps import DTYPES, TensorMaps
from argus.dsl.lower.sm_90a.writer import Writer
from argus.dsl.targets.limits import LIMITS

BARRIERS = 16  # named barriers of a block; number 0 is that of all threads
REGISTERS = 65536  # of a multiprocessor, 32-bit; a thread gets a multiple of 8


def lower_kernel(kernel: Kernel, types: Types) -> CudaKernel:
    """Print core form as CUDA C.

    Raises:
        KernelError: For constructs that are in the language but not on this path.
    """
    params = _parameters(kernel, types)
    memory = place(kernel)
    limit = LIMITS["sm_90a"].shared_bytes
    if memory.total > limit:
        message = f"shared memory takes {memory.total:,} bytes, alignment included; a block has {limit:,}"
        raise KernelError(Diagnostic(code=Code.LIMIT, message=message, span=kernel.span, hint="fewer stages"))
    parts = programs(kernel)
    barriers, across = _barriers(parts, kernel)
    ctx = Context(
        kernel=kernel,
        types=types,
        facts=Facts.of(kernel.where),
        out=Writer(depth=1),
        maps=TensorMaps({p.name: p for p in kernel.params if isinstance(p, TensorParam)}),
        mbars={s.targets[0]: s.value for s in kernel.body if isinstance(s, Assign) and isinstance(s.value, MBar)},
        barriers=barriers,
        across=across,
        program=parts[0],
        groups=_groups(kernel),
        everywhere=freed_by_all(kernel),
    )
    _body(ctx, parts)
    head, signature = _head(ctx), _signature(ctx)
    top = "\n".join((head, signature)).split("\n")
    prologue = _prologue(ctx, memory)
    text = [*top, *prologue, *ctx.out.text, "}"]
    lines = [0] * (len(top) + len(prologue)) + ctx.out.lines + [0]
    return CudaKernel(
        source="\n".join(text) + "\n",
        symbol=c_name(kernel.name),
        threads=kernel.waves * LANES,
        shared_bytes=memory.total,
        maps=tuple(ctx.maps.maps.values()),
        pointers=tuple(ctx.pointers),
        sizes=types.sizes,
        params=params,
        grid=_grid(kernel),
        where=tuple(show_expr(e) for e in kernel.where),
        lines=tuple(lines),
    )


def _parameters(kernel: Kernel, types: Types) -> tuple[ParamSpec, ...]:
    for problem in cluster_problems(kernel, types.sizes, multiples(kernel.where)):
        raise KernelError(problem)
    if kernel.cluster != 1 and not shared_copies(kernel):
        raise unsupported(kernel, "clusters are lowered for copies that their blocks share", "delete `cluster=`")
    specs: list[ParamSpec] = []
    for param in kernel.params:
        match param:
            case TensorParam(name=name, dtype=dtype):
                if dtype not in DTYPES:
                    raise unsupported(param, f"a tensor of {dtype} is not lowered for sm_90a yet", "f16 and bf16 are")
                specs.append(ParamSpec(name, "tensor", DTYPES[dtype]))
            case ScalarParam():
                raise unsupported(param, "number arguments are not lowered for sm_90a yet")
    return (*specs, *(ParamSpec(name, "size", "int32") for name in types.sizes))


def freed_by_all(kernel: Kernel) -> frozenset[str]:
    """Barriers that are awaited before a copy to every block of the cluster: all must have freed the stage."""
    return frozenset(
        s.bar
        for elect in walk_body(kernel.body)
        if isinstance(elect, Elect) and any(isinstance(s, CopyAsync) and s.across == "cluster" for s in elect.body)
        for s in elect.body
        if isinstance(s, AwaitPhase)
    )


def _groups(kernel: Kernel) -> Literal["tma", "cp"]:
    """Copies in the background that are waited for by group: either through TMA or by threads."""
    copies = [s for s in walk_body(kernel.body) if isinstance(s, CopyAsync)]
    threads = [s for s in copies if s.via == "cp"]
    if threads and len(threads) < len(copies):
        raise unsupported(threads[0], "copies by TMA and by cp.async in one kernel are not lowered yet")
    return "cp" if threads else "tma"


def _barriers(parts: tuple[Program, ...], kernel: Kernel) -> tuple[dict[tuple[int, bool], int], dict[int, int]]:
    """Numbers for each role as a whole, and the first of its groups' numbers; numbers of barriers that join roles."""
    numbers: dict[tuple[int, bool], int] = {}
    free = 1
    for p in parts:
        numbers[p.number, True] = free
        numbers[p.number, False] = free if p.waves == p.group else free + 1
        free += 1 if p.waves == p.group else 1 + p.waves // p.group
    joined = {count: free + i for i, count in enumerate(_joined(parts))}
    free += len(joined)
    if free > BARRIERS:
        raise unsupported(kernel, f"the roles and their groups need {free} named barriers, a block has {BARRIERS}")
    return numbers, joined


def _joined(parts: tuple[Program, ...]) -> list[int]:
    """Waves of the barriers that are wider than a role, where the roles that come to one have as many."""
    comers: dict[int, int] = {}
    for p in parts:
        counts = {s.waves for s in walk_body(p.body) if isinstance(s, Barrier) and s.waves is not None}
        for count in counts:
            if count > p.waves:
                comers[count] = comers.get(count, 0) + p.waves
    return sorted(count for count, waves in comers.items() if count == waves)


def _grid(kernel: Kernel) -> str:
    """Blocks: as many as tiles; a persistent grid has at most one a multiprocessor."""
    for s in walk_body(kernel.body):
        match s:
            case Assign(value=Block(counts=counts)):
                return _product(counts)
            case For(kind="tiles", bounds=counts):
                whole = "sms" if kernel.cluster == 1 else f"sms // {kernel.cluster} * {kernel.cluster}"
                return f"min({whole}, {_product(counts)})"
            case Assign(value=Split() as split):
                raise unsupported(split, "split is not lowered for sm_90a yet")
            case _:
                pass
    return "1"


def _product(counts: tuple[Expr, ...]) -> str:
    return " * ".join(f"({show_expr(n)})" for n in counts) or "1"


# ------------------------------------------------------------------------------------------------- text


def _head(ctx: Context) -> str:
    includes = "".join(ptx.convert_include(d) + "\n" for d in sorted(ctx.dtypes))
    functions = [*ptx.FUNCTIONS, *(ptx.pair_function(d) for d in sorted(ctx.dtypes)), *ctx.functions.values()]
    return f"// {ctx.kernel.name}, for sm_90a\n{includes}{ptx.HEAD}\n" + "\n".join(functions)


def _signature(ctx: Context) -> str:
    maps = [f"const __grid_constant__ CUtensorMap {m.name}" for m in ctx.maps.maps.values()]
    maps += [f"{_pointer(ctx, name)} {c_name(name)}" for name in ctx.pointers]
    numbers = [f"int {c_name(n)}" for n in ctx.types.sizes]
    bounds = f"__launch_bounds__({ctx.kernel.waves * LANES}, 1)"
    if ctx.kernel.cluster != 1:
        bounds = f"__cluster_dims__({ctx.kernel.cluster}, 1, 1) {bounds}"
    arguments = ",\n    ".join([*maps, ", ".join(numbers)] if numbers else maps)
    return f'extern "C" __global__ void {bounds}\n{c_name(ctx.kernel.name)}({arguments}) {{'


def _pointer(ctx: Context, name: str) -> str:
    """A tensor's elements as 16-bit words; those that nothing writes may be read through the read-only path."""
    written = any(isinstance(s, Store) and base(s.view).name == name for s in walk_body(ctx.kernel.body))
    return "uint16_t*" if written else "const uint16_t* __restrict__"


def _prologue(ctx: Context, memory: Placement) -> list[str]:
    """Addresses, warp and lane, and barriers made ready."""
    align = SWIZZLE_BYTES - 1
    lines = [
        "extern __shared__ uint8_t dynamic_shared[];",
        f"const uint32_t shared_start = (shared_address(dynamic_shared) + {align}u) & ~{align}u;",
        *(f"const uint32_t {c_name(name)} = shared_start + {at};" for name, at in memory.buffers.items()),
        *(f"const uint32_t {c_name(name)} = shared_start + {at};" for name, at in memory.mbars.items()),
        f"const int warp = __shfl_sync(0xffffffffu, threadIdx.x / {LANES}, 0);",
        f"const int lane = threadIdx.x % {LANES};",
    ]
    cluster = ctx.kernel.cluster != 1
    lines += ["const int rank = cluster_rank();"] if cluster else []
    if ctx.maps.maps or ctx.mbars:
        lines.append("if (threadIdx.x == 0) {")
        lines += [f"  prefetch_map(&{m.name});" for m in ctx.maps.maps.values()]
        for name, bar in ctx.mbars.items():
            arrivals = bar.arrivals * (ctx.kernel.cluster if name in ctx.everywhere else 1)
            lines.append(
                f"  for (int i = 0; i < {bar.count}; ++i) mbar_init({c_name(name)} + {MBAR_BYTES} * i, {arrivals});"
            )
        lines += ["  mbar_init_fence();"] if ctx.mbars else []
        lines += ["}", "cluster_barrier();" if cluster else "__syncthreads();"]
    return ["  " + line for line in lines]


def _body(ctx: Context, parts: tuple[Program, ...]) -> None:
    _programs(ctx, parts)
    if ctx.kernel.cluster != 1:
        ctx.out.add("cluster_barrier();  // no block ends while another may write its memory")


def _programs(ctx: Context, parts: tuple[Program, ...]) -> None:
    if parts[0].role is None:
        with ctx.out.scope(""):
            lower_statements(ctx, parts[0].body)
        return
    for i, p in enumerate(parts):
        assert p.role is not None
        ctx.enter(p)
        ctx.out.at(p.role.span)
        last = p.first + p.waves
        head = f"if (warp < {last})" if i == 0 else "else" if i == len(parts) - 1 else f"else if (warp < {last})"
        with ctx.out.scope(f"{head}", "}"):
            ctx.out.add(f"// role {p.role.name}")
            _budget(ctx, p)
            if p.role.index is not None:
                ctx.out.add(f"const int {c_name(p.role.index)} = (warp - {p.first}) / {p.group};")
            lower_statements(ctx, p.body)


def _budget(ctx: Context, p: Program) -> None:
    """`setmaxnreg`: from what every thread is launched with to the role's share."""
    assert p.role is not None
    regs = p.role.regs
    launched = min(LIMITS["sm_90a"].lane_registers, REGISTERS // (ctx.kernel.waves * LANES)) // 8 * 8
    if regs is None or regs == launched:
        return
    if p.first % WARPGROUP or p.waves % WARPGROUP:
        raise unsupported(p.role, "registers are given to whole warpgroups")
    ctx.out.add(f"{'fewer' if regs < launched else 'more'}_registers<{regs}>();")
