"""Mutation operators by name: from a kernel to all kernels that one kind of slip makes of it."""

from __future__ import annotations

from argus.dsl import ir
from argus.evals.mutation import expressions, statements
from argus.evals.mutation.places import Operator, bodies, everywhere

# Edits of the computed values alone. Tags say which elements meet, not what is made of them: numerics find these.
ARITHMETIC = frozenset({"arithmetic"})

OPERATORS: dict[str, Operator] = {
    "drop-barrier": bodies(statements.dropped(ir.Barrier)),
    "drop-wait": bodies(statements.dropped(ir.Wait)),
    "drop-commit": bodies(statements.dropped(ir.Commit)),
    "drop-store": bodies(statements.dropped(ir.Store)),
    "drop-copy": bodies(statements.dropped(ir.CopyAsync)),
    "drop-load": bodies(statements.dropped(ir.Assign)),
    "drop-mma": bodies(statements.dropped(ir.MmaInto)),
    "drop-block": bodies(statements.dropped(ir.For, ir.If, ir.Fill)),
    "repeat-mma": bodies(statements.repeated(ir.MmaInto)),
    "repeat-store": bodies(statements.repeated(ir.Store)),
    "repeat-copy": bodies(statements.repeated(ir.CopyAsync, ir.Commit, ir.Fill)),
    "move-sync": bodies(statements.moved_sync),
    "swap-statements": bodies(statements.swapped_neighbours),
    "leave-loop": bodies(statements.left_the_loop),
    "enter-loop": bodies(statements.entered_the_loop),
    "guard-first": bodies(statements.guarded_first),
    "drop-guard": bodies(statements.unguarded),
    "guard": everywhere(expressions.guard),
    "wait-count": everywhere(expressions.wait_count),
    "stage": everywhere(expressions.stage),
    "stage-count": everywhere(expressions.stage_count),
    "k-tile": everywhere(expressions.k_tile),
    "tile-index": everywhere(expressions.tile_index),
    "tile-size": everywhere(expressions.tile_size),
    "wrong-tensor": everywhere(expressions.wrong_tensor),
    "trip-count": everywhere(expressions.trip_count),
    "k-step": everywhere(expressions.k_step),
    "loop-variable": everywhere(expressions.loop_variable),
    "lane-map": everywhere(expressions.lane_map),
    "wrong-buffer": everywhere(expressions.wrong_buffer),
    "wrong-fragment": everywhere(expressions.wrong_fragment),
    "transpose": everywhere(expressions.transposed),
    "pad-value": everywhere(expressions.pad_value),
    "grid": everywhere(expressions.grid),
    "harmless": everywhere(expressions.harmless),
    "arithmetic": everywhere(expressions.arithmetic),
}
