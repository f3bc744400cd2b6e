"""Asking for a shape computes no values: ``dimension`` of a computed variable becomes arithmetic on sizes of inputs.

So asking for the shape of a loop's result never runs the loop.
"""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply, describe
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.ops.symbolic_shape import as_size
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Match, Refusal, rule


@rule(name="resolve_shapes", phase=GENERAL, on=(DIMENSION,), tags=("general",))
def resolve_shapes(node: Apply, level: Level) -> Match | Refusal | None:
    """Compute a size from the sizes of inputs, never from values."""
    source, axis = node.inputs[0], node.op.parameters.axis
    if source.owner is None:
        return None
    size = as_size(level.shape(source)[axis])
    owner = size.owner
    if owner is not None and owner.op.declaration is DIMENSION and owner.inputs[0] is source:
        return Refusal(f"the size of `{describe(source)}` depends on values")
    return Match({node.outputs[0]: size}, "a size is computed without the values")
