"""Reshapes of reshapes, to the own shape, and promises about a shape that is known already.

A reshape in between is left out only where it surely fits: its sizes multiply to as many elements as there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, describe, tensor_type
from scanviz.engine.ops.shape import DIMENSION, DIMSHUFFLE, RESHAPE, OrderParameters
from scanviz.engine.ops.size_checks import SPECIFY_SHAPE, STATE_SHAPE
from scanviz.engine.ops.sizes import as_size, size_of, surely_equal, surely_not_negative
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.arithmetic.identities import Answer, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Match, Refusal, rule
from scanviz.engine.sizes.dims import SIZES
from scanviz.engine.sizes.polynomial import Polynomial, Unknown


@rule(
    name="simplify_reshapes",
    phase=GENERAL,
    on=(RESHAPE, SPECIFY_SHAPE, STATE_SHAPE),
    tags=("general",),
)
def simplify_reshapes(node: Apply, level: Level) -> Answer:
    """Leave out reshapes to the own shape, reshapes between reshapes, and promises that are known to hold."""
    if node.op.declaration in (SPECIFY_SHAPE, STATE_SHAPE):
        return _promised(node, level)
    given, *sizes = node.inputs
    if len(sizes) == tensor_type(given).ndim and _is_own(sizes, level.shape(given)):
        return rewritten(node, given, "a reshape to the own shape is left out")
    source = given.owner
    if source is None or source.op.declaration is not RESHAPE:
        return None
    first = source.inputs[0]
    if not _surely_fits(source.inputs[1:], level.shape(first)):
        return Refusal("the intermediate reshape may be invalid, which would be an error", 1)
    return rewritten(node, build_one(node.op, first, *sizes), "two reshapes are one")


def _promised(node: Apply, level: Level) -> Answer:
    given, *sizes = node.inputs
    shape = level.shape(given)
    if len(shape) < len(sizes):
        return Refusal("the value has fewer dimensions than the state")
    for axis, (size, known) in enumerate(zip(sizes, shape, strict=True)):
        if constant_integer(size) != -1 and not surely_equal(size, known):
            return Refusal(f"the size along axis {axis} is not known before the run")
    return rewritten(node, given, "a shape that is known is not promised")


def _is_own(sizes: Sequence[Variable], shape: Sequence[Any]) -> bool:
    """Return whether sizes, one of them possibly -1, surely equal a shape."""
    hidden = [k for k, size in enumerate(sizes) if constant_integer(size) == -1]
    others = [k for k in range(len(sizes)) if k not in hidden]
    if hidden and any(not isinstance(shape[k], int) or shape[k] == 0 for k in others):
        return False  # beside a size of 0, -1 is an error
    return len(hidden) <= 1 and all(surely_equal(sizes[k], shape[k]) for k in others)


def _surely_fits(sizes: Sequence[Variable], shape: Sequence[Any]) -> bool:
    """Return whether an array of a shape can surely be reshaped to sizes."""
    wanted = [size_of(size) for size in sizes]
    number = SIZES.product(shape)
    if -1 in wanted:
        known = SIZES.product([size for size in wanted if size != -1])
        factors = [number] if isinstance(number, int) else number.terms.values()
        return isinstance(known, int) and known > 0 and all(factor % known == 0 for factor in factors)
    return all(map(surely_not_negative, wanted)) and surely_equal(SIZES.product(wanted), number)


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
