"""A lockstep simulator of lowered s_tir: what is given to code generation is executed, one block at a time.

All threads of a block run each statement together, vectorised in numpy. Shared memory starts uninitialised; direct-to-
LDS copies stay in flight until an `s_waitcnt` of their wave retires them; reads and writes of one shared cell by
different waves without a barrier between them are faults. Arithmetic is that of the machine's types: bf16 and f16
round, MFMA accumulates in f32.
"""

from argus.dsl.lower.sim.run import Stats, simulate
from argus.dsl.lower.sim.state import SimulationFault

__all__ = ["SimulationFault", "Stats", "simulate"]
