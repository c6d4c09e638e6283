"""What a compiled GEMM-like kernel is asked to do, and where its loads find their data."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from argus.dsl.targets import gfx942

_MOST_BLOCKS = 1 << 16  # reuse of a larger grid is read off its first blocks

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Conflicts:
    """LDS cycles over conflict-free ones, of the main loop's reads and of its writes from registers; at least 1."""

    read_way: float = 1.0
    write_way: float = 1.0


@dataclass(frozen=True, slots=True)
class Workload:
    """C[m, n] = sum over k of A[m, k] B[n, k], cut into blocks.

    Attributes:
        bm, bn, bk: What a block computes, and the k-depth of one iteration of the language's main loop; elements.
        waves: Waves a block.
        order: How the linear block number becomes (i, j): `rows`, `columns`, `xcd(N)`, `group_m(G)`.
        element_bytes: Of A and B; `out_bytes` of C.
        split_k: Parts of the k-range that different blocks reduce.
    """

    m: int
    n: int
    k: int
    bm: int
    bn: int
    bk: int
    waves: int
    order: str = "rows"
    element_bytes: int = 2
    out_bytes: int = 4
    split_k: int = 1
    conflicts: Conflicts = Conflicts()

    @property
    def shape(self) -> dict[str, int]:
        return {"m": self.m, "n": self.n, "k": self.k}

    @property
    def grid(self) -> tuple[int, int, int]:
        return ceil(self.m / self.bm), ceil(self.n / self.bn), self.split_k

    @property
    def blocks(self) -> int:
        rows, columns, parts = self.grid
        return rows * columns * parts

    @property
    def k_tiles(self) -> int:
        """Iterations of the language's main loop in one block."""
        return ceil(ceil(self.k / self.split_k) / self.bk)

    @property
    def flop_per_block(self) -> int:
        """With padding to whole tiles, as the MFMAs execute it."""
        return 2 * self.bm * self.bn * self.bk * self.k_tiles

    def with_conflicts(self, conflicts: Conflicts) -> Workload:
        return replace(self, conflicts=conflicts)


def block_indices(
    order: str, linear: Numbers, rows: int, columns: int, parts: int = 1
) -> tuple[Numbers, Numbers, Numbers]:
    """(i, j, k-part) of linear block numbers of `block(rows, columns, parts, order=)`.

    `rows`: the last index fastest. `columns`: the first. `xcd(N)`: the hardware deals block b to XCD b mod N; here each
    XCD gets a contiguous run of the row-major order. `group_m(G)`: bands of G rows, walked column by column.

    Raises:
        ValueError: If the order has no such name.
    """
    match = re.fullmatch(r"(\w+)(?:\((\d+)\))?", order)
    name, parameter = (match[1], int(match[2] or 0)) if match else ("", 0)
    if name == "xcd" and parameter:
        share, left = divmod(rows * columns * parts, parameter)
        die = linear % parameter
        linear = die * share + np.minimum(die, left) + linear // parameter
        name = "rows"
    if name == "rows":
        return linear // (columns * parts), linear // parts % columns, linear % parts
    if name == "columns":
        name, parameter = "group_m", rows
    if name == "group_m" and parameter:
        band = linear // (parameter * columns * parts)
        height = np.minimum(rows - band * parameter, parameter)
        within = linear % (parameter * columns * parts)
        return band * parameter + within % height, within // height % columns, within // height // columns
    raise ValueError(f"unknown block order {order!r}: rows, columns, xcd(N) or group_m(G)")


@dataclass(frozen=True, slots=True)
class Reuse:
    """Shares of the requested bytes of one operand that pass the L2, and that come from HBM."""

    beyond_l2: float
    from_hbm: float


@dataclass(frozen=True, slots=True)
class Access:
    """What the vector memory of one CU meets while this kernel runs.

    Attributes:
        load_levels: (chance that this level or a nearer one serves a k-step's loads, latency without queues).
        l2_clk, fabric_clk, hbm_clk: Clk that one byte of a load takes of the CU's share of each level, misses weighed.
        store_fabric_clk: Clk that a stored byte takes of the fabric.
    """

    load_levels: tuple[tuple[float, float], ...]
    l2_clk: float
    fabric_clk: float
    hbm_clk: float
    store_fabric_clk: float


def access(work: Workload, resident: int) -> Access:
    """Derive latency and bandwidth from who shares what.

    Blocks run in windows: per XCD the next 38 times `resident` of its blocks. Within a window a slice of A (or B)
    misses the L2 once; HBM is read once for everything if A and B fit the Infinity Cache, else once a window. A block's
    k-step waits for the slower of its two slices, and only when it opens new cache lines.
    """
    a, b = operand_reuse(work, resident)
    rows, columns = work.bm, work.bn
    miss = (a.beyond_l2 * rows + b.beyond_l2 * columns) / (rows + columns)
    hbm = (a.from_hbm * rows + b.from_hbm * columns) / (rows + columns)
    active = min(gfx942.CUS, work.blocks)

    def clk_per_byte(bytes_per_us: float) -> float:
        return gfx942.CLOCK_MHZ * active / bytes_per_us

    return Access(
        load_levels=_load_levels(a, b, min(1.0, work.bk * work.element_bytes / gfx942.CACHE_LINE_BYTES)),
        l2_clk=max(clk_per_byte(gfx942.L2_BYTES_PER_US), 1 / gfx942.L1_BYTES_PER_CLK),
        fabric_clk=miss * clk_per_byte(gfx942.FABRIC_BYTES_PER_US),
        hbm_clk=hbm * clk_per_byte(gfx942.HBM_READ_BYTES_PER_US),
        store_fabric_clk=clk_per_byte(gfx942.FABRIC_BYTES_PER_US),
    )


def _load_levels(a: Reuse, b: Reuse, fresh: float) -> tuple[tuple[float, float], ...]:
    """Chance that both slices of a k-step have come from L2; from L2 or MALL; from anywhere."""

    def within(share_beyond_a: float, share_beyond_b: float) -> float:
        return (1 - fresh * share_beyond_a) * (1 - fresh * share_beyond_b)

    return (
        (within(a.beyond_l2, b.beyond_l2), gfx942.L2_HIT_CLK),
        (within(a.from_hbm, b.from_hbm), gfx942.MALL_HIT_CLK),
        (1.0, gfx942.HBM_CLK),
    )


@lru_cache(maxsize=256)
def operand_reuse(work: Workload, resident: int) -> tuple[Reuse, Reuse]:
    """Reuse of A and of B."""
    rows, columns, parts = work.grid
    linear = np.arange(min(work.blocks, _MOST_BLOCKS), dtype=np.int64)
    i, j, part = block_indices(work.order, linear, rows, columns, parts)
    xcd, turn = linear % gfx942.XCDS, linear // gfx942.XCDS // (gfx942.CUS_PER_XCD * resident)
    fits = (work.m + work.n) * work.k * work.element_bytes <= gfx942.MALL_BYTES
    window = np.zeros_like(turn) if fits else turn

    def reuse(index: Numbers, count: int) -> Reuse:
        panel = index * parts + part
        per_xcd = np.unique((turn * gfx942.XCDS + xcd) * (count * parts) + panel).size
        per_chip = np.unique(window * (count * parts) + panel).size
        return Reuse(per_xcd / linear.size, min(per_chip, per_xcd) / linear.size)

    return reuse(i, rows), reuse(j, columns)
