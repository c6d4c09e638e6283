"""GEMM on gfx942: C[m, n] = sum over k of A[m, k] * B[n, k]. A schedule prints as one readable kernel."""

from __future__ import annotations

from argus.dsl.kernels.library_schedule import kernel_text
from argus.dsl.kernels.schedule import ELEMENT_BYTES, GemmSchedule
from argus.dsl.kernels.task import Problem

CONTRACT = """\
def gemm(A: {dtype}[m:M, k:K], B: {dtype}[n:N, k:K], C: f32[m:M, n:N]):
    where(K % 8 == 0, N % 4 == 0)
    ensures(C[m, n], over(k, K), uses=(A, B))
"""


def start(problem: Problem) -> GemmSchedule:
    """The competent first kernel: MFMA, one LDS stage, 64x64 tiles."""
    del problem
    return GemmSchedule()


def text(schedule: GemmSchedule, problem: Problem) -> str:
    """Kernel text of a schedule."""
    printer = _Printer(schedule, problem.dtype)
    return kernel_text(problem.target, schedule.waves, problem.contract, printer.body())


class _Printer:
    def __init__(self, schedule: GemmSchedule, dtype: str) -> None:
        self.s = schedule
        self.dtype = dtype
        self.bm, self.bn, self.bk = schedule.tile

    def body(self) -> list[str]:
        order = "" if self.s.order == "rows" else f", order={self.s.order}"
        lines = [f"bm, bn = block(cdiv(M, {self.bm}), cdiv(N, {self.bn}){order})"]
        lines += self._pipeline()
        out = f"C.tile({self.bm}, {self.bn})[bm, bn]" + (".T" if self.s.swap else "")
        return [*lines, f"store({out}, acc)"]

    def _pipeline(self) -> list[str]:
        if self.s.staging == "dma":
            return self._counted_ring() if self.s.wait == "count" else self._drained_ring()
        if self.s.stages > 1:
            return self._register_stages()
        return self._prefetched() if self.s.prefetch else self._single()

    # ------------------------------------------------------------------------------------ pipelines

    def _single(self) -> list[str]:
        steps = [*self._loads("kt"), *self._stores(None), "barrier()", *self._compute("As", "Bs"), "barrier()"]
        return [*self._buffers(stages=False), self._acc(), *self._loop(steps)]

    def _prefetched(self) -> list[str]:
        steps = [*self._stores(None), "barrier()", *self._loads("kt + 1"), *self._compute("As", "Bs"), "barrier()"]
        return [*self._buffers(stages=False), self._acc(), *self._loads("0"), *self._loop(steps)]

    def _register_stages(self) -> list[str]:
        ahead = self.s.stages - 1
        prologue = [line for p in range(ahead) for line in (*self._loads(str(p)), *self._stores(str(p)))]
        steps = [
            *self._loads(f"kt + {ahead}"),
            *self._compute(*self._stage("kt")),
            *self._stores(f"(kt + {ahead}) % {self.s.stages}"),
            "barrier()",
        ]
        return [*self._buffers(stages=True), self._acc(), *prologue, "barrier()", *self._loop(steps)]

    def _drained_ring(self) -> list[str]:
        ahead = self.s.stages - 1
        prologue = [line for p in range(ahead) for line in (*self._copies(f"[{p}]", str(p)), "commit()")]
        steps = [
            "wait(0)",
            "barrier()",
            *self._copies(f"[(kt + {ahead}) % {self.s.stages}]", f"kt + {ahead}"),
            "commit()",
            *self._compute(*self._stage("kt")),
        ]
        return [*self._buffers(stages=True), self._acc(), *prologue, *self._loop(steps), "wait(0)"]

    def _counted_ring(self) -> list[str]:
        ahead = self.s.stages - 1
        buffers = ", ".join(f"{x}={self._shared(rows)}" for x, rows in (("As", self.bm), ("Bs", self.bn)))
        fill = ["with r.fill() as st:", *_indent(self._ring_copies("st", "kt"))]
        prologue = [f"for kt in unroll({ahead}):", *_indent(fill)]
        refill = ["with r.fill() as nx:", *_indent(self._ring_copies("nx", f"kt + {ahead}"))]
        steps = ["with r.use() as st:", *_indent([*refill, *self._compute("st.As", "st.Bs")])]
        return [f"r = ring({self.s.stages}, {buffers})", self._acc(), *prologue, *self._loop(steps), "wait(0)"]

    # --------------------------------------------------------------------------------------- pieces

    def _loop(self, steps: list[str]) -> list[str]:
        return [f"for kt in range(cdiv(K, {self.bk})):", *_indent(steps)]

    def _shared(self, rows: int, stages: int | None = None) -> str:
        shape = f"{stages}, {rows}, {self.bk}" if stages else f"{rows}, {self.bk}"
        swizzle = "" if self.s.swizzle == "none" else f", swizzle={self.s.swizzle}"
        pad = f", pad={self.s.pad}" if self.s.pad else ""
        return f"shared({self.dtype}, {shape}{swizzle}{pad})"

    def _buffers(self, *, stages: bool) -> list[str]:
        count = self.s.stages if stages else None
        return [f"As = {self._shared(self.bm, count)}", f"Bs = {self._shared(self.bn, count)}"]

    def _acc(self) -> str:
        (gm, gn), (bm, bn) = self.s.grid, (self.bm, self.bn)
        if self.s.swap:
            (gm, gn), (bm, bn) = (gn, gm), (bn, bm)
        regs = "" if self.s.regs == "vgpr" else ', regs="agpr"'
        return f'acc = mma_acc("{self.s.atom}", {bm}, {bn}, grid=({gm}, {gn}){regs})'

    def _global(self, k_tile: str) -> tuple[str, str]:
        return f"A.tile({self.bm}, {self.bk})[bm, {k_tile}]", f"B.tile({self.bn}, {self.bk})[bn, {k_tile}]"

    def _loads(self, k_tile: str) -> list[str]:
        vector = self.s.vector // ELEMENT_BYTES
        a, b = self._global(k_tile)
        return [f"a = load({a}, map=linear({vector}))", f"b = load({b}, map=linear({vector}))"]

    def _stores(self, stage: str | None) -> list[str]:
        at = "" if stage is None else f"[{stage}]"
        return [f"store(As{at}, a)", f"store(Bs{at}, b)"]

    def _copies(self, at: str, k_tile: str) -> list[str]:
        a, b = self._global(k_tile)
        return [f'copy_async(As{at}, {a}, via="dma")', f'copy_async(Bs{at}, {b}, via="dma")']

    def _ring_copies(self, stage: str, k_tile: str) -> list[str]:
        a, b = self._global(k_tile)
        return [f'copy_async({stage}.As, {a}, via="dma")', f'copy_async({stage}.Bs, {b}, via="dma")']

    def _stage(self, k_tile: str) -> tuple[str, str]:
        return f"As[{k_tile} % {self.s.stages}]", f"Bs[{k_tile} % {self.s.stages}]"

    def _compute(self, a: str, b: str) -> list[str]:
        if self.s.swap:
            a, b = b, a
        pack = "" if self.s.pack == 1 else f", pack={self.s.pack}"
        steps = self.bk // (self.s.atom_shape[2] * self.s.pack)
        inner = [
            f'x, y = {a}.operand("a", acc, ks{pack}), {b}.operand("b", acc, ks{pack})',
            "assert_match(x.k, y.k)",
            "acc += mma(x, y)",
        ]
        if self.s.interleave:
            inner += [
                f"for g in unroll({self._reads_per_step()}):",
                f"    sched_group(ds_read=1, mfma={self.s.interleave})",
            ]
        lines = [f"for ks in unroll({steps}):", *_indent(inner)]
        return ["priority(1)", *lines, "priority(0)"] if self.s.priority else lines

    def _reads_per_step(self) -> int:
        (rows, columns), (am, an, _) = self.s.wave_tile, self.s.atom_shape
        return rows // am + columns // an


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
