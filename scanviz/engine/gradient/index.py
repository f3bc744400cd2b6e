"""Derivatives of indexing: what was read from a place comes back to it."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sizes import sum_to_shape, zeros_like
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, only
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.ops.assign import ASSIGN, AssignParameters
from scanviz.engine.ops.elementwise import cast, greater, where
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY, getitem, last_row, state_history
from scanviz.engine.ops.shape import dimension
from scanviz.engine.ops.support import constant

CONNECTIONS.row(INDEX)(only(0))
CONNECTIONS.row(ASSIGN)(only(0, 1))


@PULLBACKS.row(INDEX)
def _index(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    source, *numbers = node.inputs
    rest: list[Derivative] = [None] * len(numbers)
    (cotangent,) = cotangents
    if cotangent is None:
        return [None, *rest]
    op = Op(ASSIGN, AssignParameters(node.op.parameters, True))
    return [build_one(op, zeros_like(source), cotangent, *numbers), *rest]


@PUSHFORWARDS.row(INDEX)
def _index_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else build_one(node.op, tangents[0], *node.inputs[1:])]


@PULLBACKS.row(ASSIGN)
def _assign(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    """Give the source all but what was replaced, and the value what stands where it was put.

    Of places named twice in one assignment, each counts as if it held the value: NumPy keeps the last.
    """
    _, value, *numbers = node.inputs
    rest: list[Derivative] = [None] * len(numbers)
    (cotangent,) = cotangents
    if cotangent is None:
        return [None, None, *rest]
    pattern, increment = node.op.parameters
    source: Derivative = cotangent
    if wanted[0] and not increment:
        nothing = constant(0, tensor_type(cotangent).dtype)
        source = build_one(Op(ASSIGN, AssignParameters(pattern, False)), cotangent, nothing, *numbers)
    part = None
    if wanted[1]:
        part = sum_to_shape(build_one(Op(INDEX, pattern), cotangent, *numbers), value)
    return [source if wanted[0] else None, part, *rest]


@PUSHFORWARDS.row(ASSIGN)
def _assign_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    if tangents[0] is None and tangents[1] is None:
        return [None]
    source, _, *numbers = node.inputs
    first = zeros_like(source) if tangents[0] is None else tangents[0]
    second = constant(0, tensor_type(source).dtype) if tangents[1] is None else tangents[1]
    return [build_one(node.op, first, cast(second, tensor_type(source).dtype), *numbers)]


@PULLBACKS.row(LAST_ROW)
def _last_row(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    rows, initial = node.inputs
    (cotangent,) = cotangents
    if cotangent is None:
        return [None, None]
    any_row = greater(dimension(rows, 0), 0)
    first = _into_last(rows, cotangent) if wanted[0] else None
    second = where(any_row, zeros_like(initial), cotangent) if wanted[1] else None
    return [first, second]


def _into_last(rows: Variable, cotangent: Variable) -> Variable:
    """Return zeros like ``rows`` with a cotangent added to the last row, if there is one."""
    zeros = zeros_like(rows)
    part = getitem(zeros, slice(-1, None))
    assert part.owner is not None
    op = Op(ASSIGN, AssignParameters(part.owner.op.parameters, True))
    return build_one(op, zeros, cotangent, *part.owner.inputs[1:])


@PUSHFORWARDS.row(LAST_ROW)
def _last_row_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    if tangents[0] is None and tangents[1] is None:
        return [None]
    given = [zeros_like(each) if t is None else t for each, t in zip(node.inputs, tangents, strict=True)]
    return [last_row(*given)]


@PULLBACKS.row(STATE_HISTORY)
def _history(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    rows, initial = node.inputs
    (cotangent,) = cotangents
    if cotangent is None:
        return [None, None]
    offset = node.op.parameters.offset
    first = getitem(cotangent, slice(offset, None)) if wanted[0] else None
    if not wanted[1]:
        return [first, None]
    if tensor_type(initial).ndim < tensor_type(rows).ndim:
        return [first, getitem(cotangent, 0)]
    part = getitem(zeros_like(initial), slice(None, offset))
    assert part.owner is not None
    op = Op(ASSIGN, AssignParameters(part.owner.op.parameters, True))
    return [first, build_one(op, part.owner.inputs[0], getitem(cotangent, slice(None, offset)))]


@PUSHFORWARDS.row(STATE_HISTORY)
def _history_forward(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    if tangents[0] is None and tangents[1] is None:
        return [None]
    rows, initial = [
        zeros_like(each) if t is None else t for each, t in zip(node.inputs, tangents, strict=True)
    ]
    return [state_history(rows, initial, node.op.parameters.offset)]
