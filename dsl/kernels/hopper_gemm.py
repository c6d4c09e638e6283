"""GEMM on sm_90a: C[m, n] = sum over k of A[m, k] * B[n, k], in the type of the inputs.

With wgmma one warpgroup loads by TMA into a ring of mbarriers, the others multiply, on a persistent grid. Results leave
through swizzled shared memory, 64 columns a time, by TMA stores that overlap with the next columns. Tails in every
dimension follow from the bounds of the tensor maps. Two consumers share a tile, or take two tiles in turn: while one
multiplies, the other stores.

With mma.sync every warp copies its share of a stage, waits for it, meets the others and multiplies.
"""

from __future__ import annotations

from argus.dsl.kernels.hopper_schedule import STEP, HopperGemmSchedule
from argus.dsl.kernels.task import Problem

CONTRACT = """\
def gemm(A: {dtype}[m:M, k:K], B: {dtype}[n:N, k:K], C: {dtype}[m:M, n:N]):
{where}    ensures(C[m, n], over(k, K), uses=(A, B))
"""
# Rows of 16 bytes or more: what TMA, and copies of 16 bytes, can address. Kernels for other sizes do without.
MULTIPLES = {"K": 8, "N": 8}


def text(schedule: HopperGemmSchedule, problem: Problem) -> str:
    """Kernel text of a schedule."""
    printer = (_Mma if schedule.engine == "mma" else _Wgmma)(schedule, problem.dtype)
    cluster = f", cluster={schedule.cluster}" if schedule.cluster > 1 else ""
    head = f'@kernel(target="{problem.target}", waves={schedule.waves}{cluster})\n{problem.contract}'
    return head + "".join(f"    {line}\n" for line in printer.body())


class _Printer:
    def __init__(self, schedule: HopperGemmSchedule, dtype: str) -> None:
        self.s, self.dtype = schedule, dtype
        self.bm, self.bn, self.bk = schedule.tile

    @property
    def order(self) -> str:
        return "rows" if self.s.group_m == 1 else f"group_m({self.s.group_m})"

    def tiles(self) -> str:
        n = self.s.cluster
        rows = f"cdiv(M, {self.bm})" if n == 1 else f"{n} * cdiv(M, {n * self.bm})"
        return f"{rows}, cdiv(N, {self.bn}), order={self.order}"

    def loop(self, body: list[str]) -> list[str]:
        return [f"for kt in range(cdiv(K, {self.bk})):", *_indent(body)]


class _Wgmma(_Printer):
    @property
    def apart(self) -> bool:
        """Whether each consumer has tiles, and a ring, of its own."""
        return self.s.consumers_take == "tiles"

    def body(self) -> list[str]:
        leave = [self._stage_buffers()] if self.s.leave == "tma" else []
        work = [*self._load(), *self._multiply()]
        grid = [f"for bm, bn in tiles({self.tiles()}):", *_indent(work)]
        return [
            *self._rings(),
            *leave,
            *(grid if self.s.persistent else [f"bm, bn = block({self.tiles()})", *work]),
            *(["wait(0)"] if leave else []),
        ]

    def _rings(self) -> list[str]:
        (rows, columns), rings = self._loaded(), ("r0", "r1") if self.apart else ("r",)
        parts = f"As={self._shared(rows)}, Bs={self._shared(columns)}"
        return [f"{name} = ring({self.s.stages}, {parts})" for name in rings]

    def _loaded(self) -> tuple[int, int]:
        """Rows of A and of B in a stage."""
        if not self.apart:
            return self.bm, self.bn
        return (self.bm, self.s.rows) if self.s.swap else (self.s.rows, self.bn)

    def _shared(self, rows: int) -> str:
        return f"shared({self.dtype}, {rows}, {self.bk}, swizzle=b128)"

    def _stage_buffers(self) -> str:
        s = self.s
        shape = f"{s.chunk}, {s.rows}" if s.swap else f"{s.rows}, {s.chunk}"
        swizzle = "b128" if s.swap or s.chunk == 64 else "b64"
        return f"out = shared({self.dtype}, {s.consumers * s.buffers}, {shape}, swizzle={swizzle})"

    def _role(self, name: str, waves: int, *, multiplies: bool) -> str:
        registers = self.s.registers if self.s.consumers == 2 else None
        budget = f", regs={registers[multiplies]}" if registers else ""
        groups = ", groups=2) as g:" if multiplies and self.s.consumers == 2 and not self.apart else "):"
        return f'with role("{name}", waves={waves}{budget}{groups}'

    def _mine(self, tile: str, g: int | None) -> str:
        """Which of the consumers' parts of a tile: number g; None: that of the group's number."""
        if self.s.consumers == 1:
            return tile
        return f"2 * {tile} + g" if g is None else f"2 * {tile} + {g}" if g else f"2 * {tile}"

    def _load(self) -> list[str]:
        loops = [line for g in (0, 1) for line in self._fills(g)] if self.apart else self._fills(None)
        return [self._role("load", 4, multiplies=False), *_indent(loops)]

    def _fills(self, g: int | None) -> list[str]:
        together = ', across="cluster"' if self.s.cluster > 1 else ""
        a, b = self._loaded()
        bm, bn = "bm", "bn"
        if g is not None:
            bm, bn = (bm, self._mine(bn, g)) if self.s.swap else (self._mine(bm, g), bn)
        copies = [
            f'copy_async(st.As, A.tile({a}, {self.bk})[{bm}, kt], via="tma")',
            f'copy_async(st.Bs, B.tile({b}, {self.bk})[{bn}, kt], via="tma"{together})',
        ]
        return self.loop([f"with {self._ring(g)}.fill() as st:", *_indent(copies)])

    def _ring(self, g: int | None) -> str:
        return "r" if g is None else f"r{g}"

    def _multiply(self) -> list[str]:
        if not self.apart:
            work = [*self._products(None), *self._results(None)]
            return [self._role("mma", 4 * self.s.consumers, multiplies=True), *_indent(work)]
        turn = "barrier(waves=8)"  # both consumers meet when one has multiplied and the other has stored
        ping = [*self._products(0), turn, *self._results(0), turn]
        pong = [turn, *self._products(1), turn, *self._results(1)]
        return [
            self._role("ping", 4, multiplies=True), *_indent(ping),
            self._role("pong", 4, multiplies=True), *_indent(pong),
        ]  # fmt: skip

    def _products(self, g: int | None) -> list[str]:
        s, (a, b) = self.s, ("st.Bs", "st.As") if self.s.swap else ("st.As", "st.Bs")
        a = f"{a}.rows(g * {s.rows}, {s.rows})" if s.consumers == 2 and g is None else a
        step = [
            f'a, b = {a}.operand("a", acc, ks), {b}.operand("b", acc, ks)',
            "assert_match(a.k, b.k)",
            "acc += mma(a, b)",
        ]
        use = [
            f"with {self._ring(g)}.use({'keep=1' if s.keep else ''}) as st:",
            *_indent([f"for ks in unroll({self.bk // STEP}):", *_indent(step)]),
        ]
        return [
            f'acc = mma_acc("m64n{s.columns}k16", {s.rows}, {s.columns})',
            *self.loop(use),
            *(["mma_wait(0)"] if s.keep else []),
        ]

    def _results(self, g: int | None) -> list[str]:
        return self._epilogue(g) if self.s.leave == "tma" else self._direct(g)

    def _direct(self, g: int | None) -> list[str]:
        return [f"store(C.tile({self.s.rows}, {self.bn})[{self._mine('bm', g)}, bn], acc.to({self.dtype}))"]

    def _slot(self, g: int | None) -> str:
        """Which epilogue buffer chunk q takes; those of one consumer alternate."""
        if self.s.buffers == 1:
            return "g" if g is None else str(g)
        return ("2 * g + " if g is None else "2 + " if g else "") + "q % 2"

    def _epilogue(self, g: int | None) -> list[str]:
        """Chunk q of the accumulator's columns to shared memory, then to C: across, or swapped, down."""
        s = self.s
        chunks, steps = s.columns // s.chunk, s.chunk // STEP
        slot = self._slot(0 if s.consumers == 1 else g)
        along, across = ("bn", "bm") if s.swap else ("bm", "bn")
        mine = self._mine(along, g)
        part = f"{chunks} * {across} + q" if chunks > 1 else across
        if s.swap:
            view, tile = f"out[{slot}].rows({STEP} * j, {STEP}).T", f"C.tile({s.chunk}, {s.rows})[{part}, {mine}]"
        else:
            view, tile = f"out[{slot}].cols({STEP} * j, {STEP})", f"C.tile({s.rows}, {s.chunk})[{mine}, {part}]"
        step = f"{steps} * q + j" if chunks > 1 else "j"
        leave = [
            f"wait({s.buffers - 1})",
            "barrier(waves=4)",
            f"for j in unroll({steps}):",
            *_indent([f'store({view}, y.as_operand("a", acc, {step}))']),
            'fence("async")',
            "barrier(waves=4)",
            "with elect():",
            *_indent([f'copy_async({tile}, out[{slot}], via="tma")', "commit()"]),
        ]
        convert = f"y = acc.to({self.dtype})"
        return [convert, f"for q in unroll({chunks}):", *_indent(leave)] if chunks > 1 else [convert, *leave]


class _Mma(_Printer):
    def body(self) -> list[str]:
        fill = self._copied if self.s.staging == "cp" else self._moved
        rows, columns = self.s.grid
        return [
            *self._buffers(),
            f"bm, bn = block({self.tiles()})",
            f'acc = mma_acc("m16n8k16", {self.bm}, {self.bn}, grid=({rows}, {columns}))',
            *fill(),
            f"store(C.tile({self.bm}, {self.bn})[bm, bn], acc.to({self.dtype}))",
        ]

    def _shared(self, rows: int, stages: str = "") -> str:
        swizzle = "b128" if self.bk == 64 else "b64"
        return f"shared({self.dtype}, {stages}{rows}, {self.bk}, swizzle={swizzle})"

    def _buffers(self) -> list[str]:
        if self.s.staging == "cp":
            return [f"r = ring({self.s.stages}, As={self._shared(self.bm)}, Bs={self._shared(self.bn)})"]
        stages = f"{self.s.stages}, "
        return [f"As = {self._shared(self.bm, stages)}", f"Bs = {self._shared(self.bn, stages)}"]

    def _global(self, k_tile: str) -> tuple[str, str]:
        return f"A.tile({self.bm}, {self.bk})[bm, {k_tile}]", f"B.tile({self.bn}, {self.bk})[bn, {k_tile}]"

    def _copied(self) -> list[str]:
        """Stage kt + S - 1 is filled while stage kt is used, and all warps are done with stage kt - 1."""

        def fill(stage: str, k_tile: str) -> list[str]:
            a, b = self._global(k_tile)
            copies = [f'copy_async({stage}.As, {a}, via="cp")', f'copy_async({stage}.Bs, {b}, via="cp")']
            return [f"with r.fill() as {stage}:", *_indent(copies)]

        ahead = self.s.stages - 1
        use = [*fill("nx", f"kt + {ahead}"), *self._multiply("st.As", "st.Bs")]
        return [
            f"for kt in unroll({ahead}):",
            *_indent(fill("st", "kt")),
            *self.loop(["with r.use() as st:", *_indent(use)]),
            "wait(0)",
        ]

    def _moved(self) -> list[str]:
        """The next tile is on its way in registers while this one is multiplied."""
        stages = self.s.stages

        def load(k_tile: str) -> list[str]:
            a, b = self._global(k_tile)
            return [f"x = load({a})", f"y = load({b})"]

        def store(stage: str) -> list[str]:
            return [f"store(As[{stage}], x)", f"store(Bs[{stage}], y)"]

        step = [
            *load("kt + 1"),
            *self._multiply(f"As[kt % {stages}]", f"Bs[kt % {stages}]"),
            *store(f"(kt + 1) % {stages}"),
            "barrier()",
        ]
        return [*load("0"), *store("0"), "barrier()", *self.loop(step)]

    def _multiply(self, a: str, b: str) -> list[str]:
        step = [
            f'a, b = {a}.operand("a", acc, ks), {b}.operand("b", acc, ks)',
            "assert_match(a.k, b.k)",
            "acc += mma(a, b)",
        ]
        return [f"for ks in unroll({self.bk // STEP}):", *_indent(step)]


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
