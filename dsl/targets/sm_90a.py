"""Facts of the H200 (sm_90a, Hopper): named constants, no logic.

A key in brackets names the source in `docs/estimate.md`. "unsourced" marks a number of common knowledge that nobody
measured for us. "clk" is a multiprocessor's clock.
"""

from __future__ import annotations

SMS = 132  # multiprocessors of the SXM part [S22h]
PEAK_MHZ = 1830.0  # at which the sheet's tensor rate holds: 989.4 TFLOP/s over 132 x 4096 FLOP a clk [S27]
LAUNCH_US = 2.0  # between kernels of a stream, in a graph less [S37]
FLOP_PER_CLK = 4096  # a multiprocessor, 16-bit operands [S27]

HBM_PEAK_BYTES_PER_US = 4.8e6  # [S27, S29]
HBM_BYTES_PER_US = 3.9e6  # achieved by reading [S37]
L2_BYTES_PER_US = 9.8e6  # achieved, working sets up to 40 MB [S37]
L2_BYTES = 40 << 20  # beyond it hits get fewer [S37]
L2_CLK = 280.0  # a hit in the near half [S37]
HBM_CLK = 650.0  # [S37]

SHARED_BYTES_PER_CLK = 128  # (unsourced)
SHARED_BYTES = 228 << 10  # a multiprocessor's, of which each block takes 1 KiB for the system [N1]
SHARED_OF_SYSTEM = 1 << 10
REGISTERS = 65536  # a multiprocessor's, 32-bit, given to warps in units of 256 [N1]
REGISTER_UNIT = 8  # a thread's
WARPS = 64  # resident on a multiprocessor (unsourced)
LANES = 32
