"""Facts of the MI300X (gfx942, CDNA3): named constants, no logic.

A key in brackets names the source in `docs/estimate.md`. "unsourced" marks a number of common knowledge that nobody
measured for us: a hypothesis, listed there as such. "clk" is a shader clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

# ------------------------------------------------------------------------------------------------- chip
XCDS = 8  # compute dies; block number modulo 8 picks one [S16, S17, S39]
CUS_PER_XCD = 38  # [S02, S03]
CUS = XCDS * CUS_PER_XCD
CLOCK_MHZ = 2100.0  # peak engine clock; sustained clocks under load are lower and not modelled [S38]
LAUNCH_US = 4.0  # middle of 3 to 6 us (unsourced)

# -------------------------------------------------------------------------------- memory, whole chip
HBM_PEAK_BYTES_PER_US = 5.3e6  # [S02, S22]
HBM_READ_BYTES_PER_US = 4.2e6  # achieved by read-only streams [S37]
HBM_BYTES_PER_US = 4.0e6  # achieved by copies [S37, S38]
FABRIC_BYTES_PER_US = 7.3e6  # Infinity Cache to the L2s, achieved; the unit of the source is inferred [S38]
L2_BYTES_PER_US = 27.5e6  # hits, all CUs on one shared set: 43 B/clk/CU [S37]; AMD's own cost model takes 17e6 [S38]
MALL_BYTES = 256 << 20  # Infinity Cache, memory side, shared by all XCDs [S03, S22]
L2_BYTES_PER_XCD = 4 << 20  # [S02, S03]
CACHE_LINE_BYTES = 128  # [S38, S10b]

L1_HIT_CLK = 119.0  # [S37, S10]
L2_HIT_CLK = 213.0  # [S37, S10]
MALL_HIT_CLK = 455.0  # [S37]
HBM_CLK = 850.0  # [S37]
SCALAR_LOAD_CLK = 213.0  # taken as an L2 hit (unsourced)

# ------------------------------------------------------------------------------------------ compute unit
SIMDS = 4  # [S05]
LANES = 64
WAVES_PER_SIMD = 8  # [S05]
ISSUE_CLK = 4  # a wave issues at most one instruction in 4 clk; a SIMD one of each kind [S05, S06]
VALU_CLK = 4  # 16 lanes wide [S05]
TRANS_CLK = 16  # quarter rate: exp, log, rcp, rsq, sqrt, sin, cos and conversions [S11]
BRANCH_CLK = 16  # a taken branch (unsourced)
BARRIER_CLK = 32  # last arrival to first issue (unsourced)
L1_BYTES_PER_CLK = 64  # vector L1, achieved [S37]

VGPRS_PER_SIMD = 512  # a lane's architectural and accumulation registers together [S03]
VGPR_GRANULE = 8  # [S11]
SGPRS_PER_SIMD = 800  # [S03]
SGPR_GRANULE = 16  # [S11]

# ------------------------------------------------------------------------------------------------- LDS
LDS_BYTES = 65536  # a CU, and the most a block may take [S03]
LDS_GRANULE = 512  # (unsourced)
LDS_BANKS = 32  # of 4 bytes [S05, S07]
LDS_BYTES_PER_CLK = 128  # all banks [S03, S05, S08]
LDS_PORTS = 2  # SIMDs 0-1 share one, SIMDs 2-3 the other [S05]
LDS_PORT_BYTES_PER_CLK = 64  # [S05]
LDS_WRITE_ADDRESS_BYTES = 256  # a write sends its 64 addresses through the same port [S05]
LDS_CLK = 64.0  # b32 read, issue to use (unsourced)

# Lanes that compete for banks in one pass [S07]; the b64 and b32 groups are unsourced.
LDS_PASSES_WRITE_B128 = tuple(tuple(range(first, first + 8)) for first in range(0, 64, 8))
LDS_PASSES_READ_B128 = tuple(
    tuple(half + lane for lane in lanes)
    for half in (0, 32)
    for lanes in (
        (0, 1, 2, 3, 20, 21, 22, 23),
        (4, 5, 6, 7, 16, 17, 18, 19),
        (8, 9, 10, 11, 28, 29, 30, 31),
        (12, 13, 14, 15, 24, 25, 26, 27),
    )
)
LDS_PASSES_B64 = tuple(tuple(range(first, first + 16)) for first in range(0, 64, 16))
LDS_PASSES_B32 = tuple(tuple(range(first, first + 32)) for first in range(0, 64, 32))

# ------------------------------------------------------------------------------------------ wait counters
VMCNT_MAX = 63  # vector memory loads and stores, in order [S11]
LGKMCNT_MAX = 15  # LDS in order, scalar loads out of order [S11, S04]
EXPCNT_MAX = 7  # [S11]

# ------------------------------------------------------------------------------------------------- MFMA
# Peak by operand bytes: what the fastest matrix instruction of that width does in a clk of one CU [S02, S01].
FLOP_PER_CLK: Mapping[int, int] = MappingProxyType({1: 4096, 2: 2048, 4: 256, 8: 256})


@dataclass(frozen=True, slots=True)
class Mfma:
    """One matrix instruction of a wave: D = A B + C of shape m x n x k, `blocks` times [S01, S11].

    Attributes:
        clk: Issue to issue on one SIMD.
        valu_clk: How long the SIMD's vector ALU is taken; the rest of `clk` is free for it.
        result_clk: Issue to the first use of D other than as the same C of a later MFMA (which costs only `clk`).
    """

    m: int
    n: int
    k: int
    blocks: int
    clk: int
    valu_clk: int
    result_clk: int

    @property
    def flop(self) -> int:
        return 2 * self.m * self.n * self.k * self.blocks


_XDL = {  # shape: the row without its types; result = passes + 3 wait states + the slot of the use
    "32x32x8": Mfma(32, 32, 8, 1, 32, 4, 48),
    "16x16x16": Mfma(16, 16, 16, 1, 16, 4, 32),
    "32x32x4_2b": Mfma(32, 32, 4, 2, 64, 4, 80),
    "16x16x4_4b": Mfma(16, 16, 4, 4, 32, 4, 48),
    "4x4x4_16b": Mfma(4, 4, 4, 16, 8, 4, 24),
    "32x32x16": Mfma(32, 32, 16, 1, 32, 4, 48),
    "16x16x32": Mfma(16, 16, 32, 1, 16, 4, 32),
    "32x32x4": Mfma(32, 32, 4, 1, 32, 4, 48),
    "16x16x8": Mfma(16, 16, 8, 1, 16, 4, 32),
    "sparse 32x32x16": Mfma(32, 32, 16, 1, 32, 4, 48),
    "sparse 16x16x32": Mfma(16, 16, 32, 1, 16, 4, 32),
    "sparse 32x32x32": Mfma(32, 32, 32, 1, 32, 4, 48),
    "sparse 16x16x64": Mfma(16, 16, 64, 1, 16, 4, 32),
}
_FP8 = ("fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8")
_SHAPES_OF_TYPES = (  # (result, operand suffixes, shapes)
    ("f32", ("f16", "bf16"), ("32x32x8", "16x16x16", "32x32x4_2b", "16x16x4_4b", "4x4x4_16b")),
    ("f32", _FP8, ("32x32x16", "16x16x32")),
    ("i32", ("i8",), ("32x32x16", "16x16x32", "32x32x4_2b", "16x16x4_4b", "4x4x4_16b")),
    ("f32", ("xf32",), ("32x32x4", "16x16x8")),
)
_SPARSE_SHAPES_OF_TYPES = (
    ("f32", ("f16", "bf16"), ("32x32x16", "16x16x32")),
    ("f32", _FP8, ("32x32x32", "16x16x64")),
    ("i32", ("i8",), ("32x32x32", "16x16x64")),
)
# By assembler mnemonic. The f32 and f64 ones keep the vector ALU busy throughout [S01].
MFMA: Mapping[str, Mfma] = MappingProxyType(
    {
        **{f"v_mfma_{to}_{s}_{x}": _XDL[s] for to, types, shapes in _SHAPES_OF_TYPES for x in types for s in shapes},
        **{
            f"v_smfmac_{to}_{s}_{x}": _XDL[f"sparse {s}"]
            for to, types, shapes in _SPARSE_SHAPES_OF_TYPES
            for x in types
            for s in shapes
        },
        "v_mfma_f32_32x32x2_f32": Mfma(32, 32, 2, 1, 64, 64, 76),
        "v_mfma_f32_16x16x4_f32": Mfma(16, 16, 4, 1, 32, 32, 44),
        "v_mfma_f32_32x32x1_2b_f32": Mfma(32, 32, 1, 2, 64, 64, 76),
        "v_mfma_f32_16x16x1_4b_f32": Mfma(16, 16, 1, 4, 32, 32, 44),
        "v_mfma_f32_4x4x1_16b_f32": Mfma(4, 4, 1, 16, 8, 8, 20),
        "v_mfma_f64_16x16x4_f64": Mfma(16, 16, 4, 1, 32, 32, 76),
        "v_mfma_f64_4x4x4_4b_f64": Mfma(4, 4, 4, 4, 16, 16, 40),
    }
)
