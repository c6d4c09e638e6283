"""The check of the lowering: what the printed CUDA C does, thread by thread, against what the IR says.

The checker proves the IR and never sees what lowering makes of it. So the printed text is read back and executed as
far as it is arithmetic; each instruction becomes an event: which box of which tensor goes where, how many bytes which
barrier expects, which parity a wait takes, what a descriptor addresses, where `stmatrix` puts which element. The same
events follow from core form, through other code than the printer's. At given sizes and blocks both must be equal.

It says nothing about the order in which the hardware does things, nor about what nvcc makes of the text.
"""

from argus.dsl.lower.sm_90a.audit.compare import differences

__all__ = ["differences"]
