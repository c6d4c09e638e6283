"""From the surface language to core form: sugar expanded, names resolved, one operation a statement.

Core form, which the checker, the interpreter and every lowering read:

1. No `Ring`, `Fill`, `Use`, `Field`, `Copy`, `OnlineSoftmax`, and no `Store(via="tma")`.
2. Every fragment operation is the value of an `Assign` with one target; its fragment operands are `Ref`, `Scalar` or
   `Index`. So are the operands of `MmaInto`, `Store`, `AtomicAdd`, `Component` and `Gather.index`.
3. Views stay trees, rooted in `Ref`s to tensor parameters and shared buffers: view variables are inlined.
4. Index expressions mention only size symbols, integer arguments, block and group indices, loop variables and the
   results of `Split`: integer variables are inlined (they are assigned once).
5. `For(kind="unroll")` stays; its bound is a constant.
6. Every shared buffer is an `Assign` of a `Shared` at the top of the body; a ring of S stages becomes buffers with a
   leading axis of S, indexed by `At(src, i % S)`.
7. Generated names contain a dot (`r.As`, `acc.t3`), which source text cannot spell.

On gfx942 `with ring.fill() as st` is the body, then `Commit`; `with ring.use() as st` is `Wait(n)`, `Barrier`, the
body, where n is how many fills run ahead of this use, less one. That number is derived by walking the kernel; it must
be the same on every path and iteration, else the kernel is refused with the place and both numbers.
"""

from __future__ import annotations

from argus.dsl.diagnostics import KernelError
from argus.dsl.ir.nodes import Kernel
from argus.dsl.ir.verify import structure_problems
from argus.dsl.transform.base import Pass
from argus.dsl.transform.expand_copy import ExpandCopy
from argus.dsl.transform.expand_online_softmax import ExpandOnlineSoftmax
from argus.dsl.transform.expand_rings import ExpandRings
from argus.dsl.transform.expand_tma_store import ExpandTmaStore
from argus.dsl.transform.flatten import Flatten
from argus.dsl.transform.hoist import Hoist
from argus.dsl.transform.resolve import Resolve

TO_CORE: tuple[Pass, ...] = (
    ExpandCopy(),
    ExpandTmaStore(),
    ExpandOnlineSoftmax(),
    Flatten(),
    Resolve(),
    ExpandRings(),
    Hoist(),
)


def to_core(kernel: Kernel) -> Kernel:
    """The core form of a kernel.

    Raises:
        KernelError: For what `structure_problems` finds (names, targets, control flow, budgets), and for sugar that
            has no expansion. Types are checked on the result, by `argus.dsl.ir.verify`.
    """
    for problem in structure_problems(kernel):
        raise KernelError(problem)
    for step in TO_CORE:
        kernel = step(kernel)
    return kernel
