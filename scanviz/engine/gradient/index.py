"""Derivatives of indexing: the cotangent of a read element goes back to its position.

Where one assignment names a place twice, the array holds what was put there last, as in NumPy; so the derivative goes to that
element of the value and to no other.  Indices, masks and slices have no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.gradient.table import (
    CONNECTIONS,
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    cotangent_of,
    cotangents_of,
    linear,
    only,
    sum_to_shape,
    zeros_like,
)
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, tensor_type
from scanviz.engine.ops.assign import ASSIGN, AssignParameters, inc_subtensor
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.elementwise import cast, equal, greater, where
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY, getitem
from scanviz.engine.ops.index_pattern import IndexParameters, input_entries
from scanviz.engine.ops.reduce import count
from scanviz.engine.ops.shape import alloc, dimension, reshape
from scanviz.engine.ops.size_checks import FIRST_ROWS
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import shape_of

linear(INDEX, FIRST_ROWS, inputs=(0,))
linear(LAST_ROW, STATE_HISTORY)
CONNECTIONS.row(ASSIGN)(only(0, 1))


@cotangent_of(INDEX)
def _index(node: Apply, cotangent: Variable) -> Variable:
    source, *numbers = node.inputs
    op = Op(ASSIGN, AssignParameters(node.op.parameters, True))
    return build_one(op, zeros_like(source), cotangent, *numbers)


@cotangents_of(ASSIGN)
def _assign(node: Apply, cotangent: Variable, wanted: Sequence[bool]) -> Derivatives:
    """Give the source its unreplaced elements' cotangents, and the value those at its positions."""
    given, value, *numbers = node.inputs
    pattern, increment = node.op.parameters
    source: Derivative = cotangent
    if wanted[0] and not increment:
        nothing = constant(0, tensor_type(cotangent).dtype)
        source = build_one(Op(ASSIGN, AssignParameters(pattern, False)), cotangent, nothing, *numbers)
    part = None
    if wanted[1]:
        part = build_one(Op(INDEX, pattern), cotangent, *numbers)
        if not increment and _may_repeat(pattern, numbers):
            part = where(_is_held(part, given, pattern, numbers), part, 0)
        part = sum_to_shape(part, value)
    return [source if wanted[0] else None, part, *[None] * len(numbers)]


def _may_repeat(pattern: IndexParameters, numbers: Sequence[Variable]) -> bool:
    """Return whether an index can name a position twice: masks and distinct constants cannot."""
    arrays = [(entry, numbers[first]) for entry, first, _ in input_entries(pattern) if entry.kind == "array"]
    if len(arrays) != 1:
        return bool(arrays)  # several broadcast, a mask among them too
    entry, places = arrays[0]
    if entry.stop == "mask":
        return False
    if not isinstance(places, Constant):
        return True
    known = np.asarray(places.value)
    mixed = bool(np.any(known < 0) and np.any(known >= 0))  # -1 may be the same place as 2
    return mixed or np.unique(known).size < known.size


def _is_held(
    part: Variable, given: Variable, pattern: IndexParameters, numbers: Sequence[Variable]
) -> Variable:
    """Return which elements put into an array are still there: their numbers, put there alike, are found again."""
    shape = [as_size(size) for size in shape_of(part)]
    order = reshape(arange(count(part, range(len(shape)))), shape, ndim=len(shape))
    nothing = alloc(constant(0, "int64"), [as_size(size) for size in shape_of(given)])
    numbered = build_one(Op(ASSIGN, AssignParameters(pattern, False)), nothing, order, *numbers)
    return equal(build_one(Op(INDEX, pattern), numbered, *numbers), order)


@PUSHFORWARDS.row(ASSIGN)
def _assign_forward(node: Apply, tangents: Arriving) -> Derivatives:
    source, _, *numbers = node.inputs
    first = zeros_like(source) if tangents[0] is None else tangents[0]
    second = constant(0, tensor_type(source).dtype) if tangents[1] is None else tangents[1]
    return [build_one(node.op, first, cast(second, tensor_type(source).dtype), *numbers)]


@cotangents_of(LAST_ROW)
def _last_row(node: Apply, cotangent: Variable, wanted: Sequence[bool]) -> Derivatives:
    rows, initial = node.inputs
    first = inc_subtensor(getitem(zeros_like(rows), slice(-1, None)), cotangent) if wanted[0] else None
    any_row = greater(dimension(rows, 0), 0)
    second = where(any_row, zeros_like(initial), cotangent) if wanted[1] else None
    return [first, second]


@cotangents_of(STATE_HISTORY)
def _history(node: Apply, cotangent: Variable, wanted: Sequence[bool]) -> Derivatives:
    rows, initial = node.inputs
    offset = node.op.parameters.offset
    first = getitem(cotangent, slice(offset, None)) if wanted[0] else None
    if not wanted[1]:
        return [first, None]
    if tensor_type(initial).ndim < tensor_type(rows).ndim:
        return [first, getitem(cotangent, 0)]
    part = getitem(zeros_like(initial), slice(None, offset))
    return [first, inc_subtensor(part, getitem(cotangent, slice(None, offset)))]


@cotangent_of(FIRST_ROWS)
def _first_rows(node: Apply, cotangent: Variable) -> Variable:
    rows, steps = node.inputs
    return inc_subtensor(getitem(zeros_like(rows), slice(None, steps)), cotangent)
