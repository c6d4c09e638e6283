"""From the surface language to core form: sugar expanded, names resolved, one operation a statement.

Core form, which the checker, the interpreter and every lowering read:

1. No `Ring`, `Fill`, `Use`, `Field`, `Copy`, `OnlineSoftmax`, and no `Store(via="tma")`.
2. Every fragment operation is the value of an `Assign` with one target; its fragment operands are `Ref`, `Scalar` or
   `Index`. So are the operands of `MmaInto`, `Store`, `AtomicAdd`, `Component` and `Gather.index`.
3. Views stay trees, rooted in `Ref`s to tensor parameters and shared buffers: view variables are inlined. The one view
   that keeps a name is a tagged one, an `Assign` of `Tagged`.
4. Index expressions mention only size symbols, integer arguments, block and group indices, loop variables, the results
   of `Split`, and integers that were loaded (`e = load(expert[bs])`: an i32 of shape (), the same in every lane).
   Integer variables are inlined (they are assigned once).
5. `For(kind="unroll")` stays; its bound is a constant. A loop over `tiles` also binds `x.n`, x its first variable: how
   many tiles this block has done before. Loop variables keep their names; only loops side by side share one.
6. Every shared buffer and mbar is an `Assign` at the top of the body; a ring of S stages becomes buffers with a leading
   axis of S, indexed by `At(src, i % S)`.
7. Generated names contain a dot (`r.As`, `acc.t3`), which source text cannot spell. A fragment's name has one type: a
   name that is assigned again in the block that introduced it goes on as `x.2`, an assignment in an inner block is an
   update, and equal names of different blocks are told apart.
8. Every node has a span of the text: what an expansion generates points at what was expanded.

On gfx942 `with ring.fill() as st` is the body, then `Commit`; `with ring.use() as st` is `Wait(n)`, `Barrier`, the
body, where n is how many groups were committed after that of the fill which this use takes. That number is derived by
walking the kernel; it must be the same on every path and iteration, else the kernel is refused with the place and both
numbers. `expand_rings` says what TMA fills turn into on sm_90a.
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
