"""Mutation operators by name: from a kernel to all kernels that one kind of slip makes of it. See docs/mutation.md."""

from __future__ import annotations

from argus.dsl import ir
from argus.evals.mutation import expressions, statements, sync, values
from argus.evals.mutation.places import Operator, bodies, either, everywhere

# Edits of the computed values alone. Tags say which elements meet, not what is made of them: numerics find these.
ARITHMETIC = frozenset({"arithmetic"})

_BARRIERS = (ir.Barrier, ir.Wait, ir.Commit)
_PHASES = (ir.Arrive, ir.AwaitPhase, ir.MmaWait, ir.Shift)

OPERATORS: dict[str, Operator] = {
    # Synchronisation.
    "barrier": either(
        bodies(statements.dropped(ir.Barrier, ir.Shift)), everywhere(sync.participants), everywhere(sync.phase_shift)
    ),
    "wait": either(bodies(statements.dropped(ir.Wait)), everywhere(sync.wait_count)),
    "commit": bodies(statements.dropped(ir.Commit)),
    "move-sync": bodies(statements.moved(*_BARRIERS)),
    "move-phase": bodies(statements.moved(*_PHASES)),
    "await": either(bodies(statements.dropped(ir.AwaitPhase)), everywhere(sync.completion)),
    "arrive": either(
        bodies(statements.dropped(ir.Arrive)), bodies(statements.repeated(ir.Arrive)),
        bodies(statements.split_off(ir.Elect)), everywhere(sync.arrival),
    ),
    "byte-count": everywhere(sync.byte_count),
    "arrival-count": everywhere(sync.arrival_count),
    "fence": either(bodies(statements.dropped(ir.Fence)), bodies(statements.moved(ir.Fence, least=1))),
    "mma-wait": either(bodies(statements.dropped(ir.MmaWait)), everywhere(sync.mma_wait_count)),
    "role": either(
        bodies(statements.unwrapped(ir.Role, ir.Elect)), everywhere(sync.group_index), everywhere(sync.role_size)
    ),
    # Statements.
    "drop-store": either(bodies(statements.dropped(ir.Store, ir.AtomicAdd)), everywhere(values.atomicity)),
    "drop-copy": bodies(statements.dropped(ir.CopyAsync, ir.Copy)),
    "drop-value": bodies(statements.dropped_move),
    "drop-mma": bodies(statements.dropped(ir.MmaInto)),
    "drop-block": bodies(statements.dropped(ir.For, ir.If, ir.Fill, ir.Use, ir.Role, ir.Elect)),
    "repeat": either(
        bodies(statements.repeated(ir.MmaInto)), bodies(statements.repeated(ir.Store, ir.AtomicAdd)),
        bodies(statements.repeated(ir.CopyAsync, ir.Copy, ir.Commit, ir.Fill)),
    ),
    "swap-statements": bodies(statements.swapped_neighbours),
    "leave-loop": bodies(statements.left_the_loop),
    "enter-loop": bodies(statements.entered_the_loop),
    "guard": either(
        bodies(statements.guarded_first), bodies(statements.unwrapped(ir.If)), everywhere(expressions.guard)
    ),
    # Indices, counts, names.
    "stage": everywhere(expressions.stage),
    "stage-count": everywhere(expressions.stage_count),
    "k-tile": everywhere(expressions.k_tile),
    "tile-index": everywhere(expressions.tile_index),
    "tile-size": either(everywhere(expressions.tile_size), everywhere(expressions.rows)),
    "grid": everywhere(expressions.grid),
    "split": everywhere(values.split_bounds),
    "trip-count": everywhere(expressions.trip_count),
    "loop-start": everywhere(expressions.loop_start),
    "loop-variable": everywhere(expressions.loop_variable),
    "k-step": everywhere(expressions.k_step),
    "lane-map": everywhere(expressions.lane_map),
    "transpose": everywhere(expressions.transposed),
    "pad-value": everywhere(expressions.pad_value),
    "wrong-tensor": everywhere(expressions.wrong_tensor),
    "wrong-buffer": everywhere(expressions.wrong_buffer),
    "wrong-fragment": everywhere(expressions.wrong_fragment),
    # Values.
    "mask": either(everywhere(values.mask_predicate), everywhere(values.reduction)),
    "gather": everywhere(values.gather_index),
    # Controls.
    "harmless": everywhere(expressions.harmless),
    "arithmetic": either(everywhere(values.arithmetic), bodies(statements.dropped_arithmetic)),
}  # fmt: skip
