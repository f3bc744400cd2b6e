"""Sizes computed from sizes of inputs, and permutations of axes."""

from __future__ import annotations

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, build_one, describe, tensor_type
from scanviz.engine.ops.shape import DIMENSION, DIMSHUFFLE, OrderParameters
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.rewrites.arithmetic.identities import Answer, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Match, Refusal, rule
from scanviz.engine.sizes.polynomial import Polynomial, Unknown


@rule(name="resolve_shapes", phase=GENERAL, on=(DIMENSION,), tags=("general",))
def resolve_shapes(node: Apply, level: Level) -> Match | Refusal | None:
    """Compute a size from the sizes of inputs, never from values."""
    source, axis = node.inputs[0], node.op.parameters.axis
    if source.owner is None:
        return None
    size = level.shape(source)[axis]
    if size == Polynomial.of(Unknown(source, axis)):
        return Refusal(f"the size of `{describe(source)}` depends on values")
    return Match({node.outputs[0]: as_size(size)}, "a size is computed without the values")


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
        message = "two permutations of axes are one"
    elif order != tuple(range(tensor_type(given).ndim)):
        return None
    if order == tuple(range(tensor_type(given).ndim)):
        return rewritten(node, given, "axes stay where they are")
    return rewritten(node, build_one(Op(DIMSHUFFLE, OrderParameters(order)), given), message)
