"""Axes permuted, added or dropped once instead of several times, and not at all where they come back."""

from __future__ import annotations

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, build_one, tensor_type
from scanviz.engine.ops.shape import DIMSHUFFLE, OrderParameters
from scanviz.engine.rewrites.identities import Answer, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, rule


@rule(name="simplify_axes", phase=GENERAL, on=(DIMSHUFFLE,), tags=("general",))
def simplify_axes(node: Apply, level: Level) -> Answer:
    """Make one permutation of axes of several, and leave it out where every axis stays in its place.

    An axis that either drops is dropped by both together, so a size that is not 1 is the same error.
    """
    (given,), order = node.inputs, node.op.parameters.order
    source = given.owner
    if source is not None and source.op.declaration is DIMSHUFFLE:
        first = source.op.parameters.order
        order = tuple(None if axis is None else first[axis] for axis in order)
        given = source.inputs[0]
        says = "two permutations of axes are one"
    elif order != tuple(range(tensor_type(given).ndim)):
        return None
    if order == tuple(range(tensor_type(given).ndim)):
        return rewritten(node, given, "axes stay where they are")
    return rewritten(node, build_one(Op(DIMSHUFFLE, OrderParameters(order)), given), says)
