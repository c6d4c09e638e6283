"""The loop over k that products share: tiles through registers into LDS, or directly through a ring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from argus.dsl.kernels.library_schedule import indent
from argus.dsl.kernels.mma_tile import stage_buffer
from argus.dsl.kernels.task import Target


@dataclass(frozen=True, slots=True)
class Source:
    """What one shared buffer is filled from.

    Attributes:
        rows: Of the buffer.
        tile: The view of one tile, `{kt}` standing for its number along k.
    """

    rows: int
    tile: str


@dataclass(frozen=True, slots=True)
class StagedLoop:
    """A loop `for kt in range(start, stop)` whose steps read shared tiles.

    On sm_90a the block's threads copy (`via="cp"`), and what they wrote otherwise is fenced before wgmma reads it.

    Attributes:
        sources: By name: of the tensor, and of the ring's buffer. A buffer outside a ring is called `Xs` for `X`.
        depth: k of a tile.
        stages: Of the ring; 1: through registers, without a ring.
        swizzle: Chunks that `xor` permutes; 0: none.
        offset: Added to `kt` for the number of a tile.
        pending: MMAs stay in flight, as those of wgmma do.
    """

    sources: Mapping[str, Source]
    dtype: str
    depth: int
    stages: int
    swizzle: int
    stop: str
    start: str = ""
    offset: str = ""
    target: Target = "gfx942"
    pending: bool = False

    def allocate(self) -> list[str]:
        """Buffers, or the ring; they stand before everything that loops."""
        buffers = {
            name: stage_buffer(self.target, self.dtype, source.rows, self.depth, self.swizzle)
            for name, source in self.sources.items()
        }
        if self.stages == 1:
            return [f"{name}s = {buffer}" for name, buffer in buffers.items()]
        return [f"r = ring({self.stages}, {', '.join(f'{name}={buffer}' for name, buffer in buffers.items())})"]

    def body(self, compute: list[str]) -> list[str]:
        """The loop. `{X}` in `compute` stands for the buffer of source `X`.

        Copies that ran ahead must not land in the LDS of the next block: the loop over a ring ends with a wait.
        """
        bounds = f"{self.start}, {self.stop}" if self.start else self.stop
        loop = f"for kt in range({bounds}):"
        if self.stages == 1:
            return [loop, *indent(self._through_registers(compute))]
        ahead = self.stages - 1
        first = self._fill("st", self.start or "0")
        if ahead > 1:
            first = [f"for p in unroll({ahead}):", *indent(self._fill("st", _sum(self.start, "p")))]
        steps = [*self._fill("nx", f"kt + {ahead}"), *self._reading(compute, "st")]
        return [*first, loop, *indent(["with r.use() as st:", *indent(steps)]), "wait(0)"]

    def peeled(self, compute: list[str]) -> list[str]:
        """As `body` for a ring of two stages, with as many fills as uses: the last use stands after the loop.

        A persistent block goes on to its next tile with the stages where they are.
        """
        assert self.stages == 2
        assert not self.start
        last = ["with r.use() as st:", *indent(self._reading(compute, "st"))]
        steps = [*self._fill("nx", "kt + 1"), *self._reading(compute, "st")]
        return [
            *self._fill("st", "0"),
            f"for kt in range({self.stop} - 1):",
            *indent(["with r.use() as st:", *indent(steps)]),
            *last,
        ]

    def _through_registers(self, compute: list[str]) -> list[str]:
        tiles = {n: s.tile.format(kt=_sum(self.offset, "kt")) for n, s in self.sources.items()}
        loads = [f"{n.lower()}t = load({tile})" for n, tile in tiles.items()]
        stores = [f"store({n}s, {n.lower()}t)" for n in tiles]
        fence, wait = ['fence("async")'] * self.pending, ["mma_wait(0)"] * self.pending
        return [*loads, *stores, *fence, "barrier()", *self._reading(compute, None), *wait, "barrier()"]

    def _reading(self, compute: list[str], stage: str | None) -> list[str]:
        """The steps, reading buffers of a stage, or those outside a ring."""
        buffers = {n: f"{stage}.{n}" if stage else f"{n}s" for n in self.sources}
        return [line.format(**buffers) for line in compute]

    def _fill(self, stage: str, kt: str) -> list[str]:
        number = self.offset if self.offset and kt == "0" else _sum(self.offset, kt)
        via = ', via="cp"' if self.target == "sm_90a" else ""
        copies = [
            f"copy_async({stage}.{name}, {source.tile.format(kt=number)}{via})" for name, source in self.sources.items()
        ]
        return [f"with r.fill() as {stage}:", *indent(copies)]


def _sum(a: str, b: str) -> str:
    return f"{a} + {b}" if a else b
