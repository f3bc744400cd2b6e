"""Derivatives of new arrays from numbers, triangles and diagonals.

``arange`` and ``eye`` are not connected to their inputs: how many elements there are is no smooth function of a bound, so no
bound, start and step included, has a derivative.  Write ``start + step * arange(n)`` for one that has.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.gradient.sizes import zeros_like
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS, Derivative, nothing
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops import creation as c
from scanviz.engine.ops.assign import ASSIGN, AssignParameters
from scanviz.engine.ops.elementwise import add
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of

CONNECTIONS.row(c.ARANGE)(nothing)
CONNECTIONS.row(c.EYE)(nothing)


@PULLBACKS.row(c.TRIANGLE, c.FROM_DIAGONAL)
def _linear(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    if cotangent is None:
        return [None]
    if node.op.declaration is c.TRIANGLE:  # it cuts the derivative as it cut the matrix
        return [build_one(node.op, cotangent)]
    return [c.diagonal(cotangent, node.op.parameters.offset)]


@PUSHFORWARDS.row(c.TRIANGLE, c.FROM_DIAGONAL, c.DIAGONAL)
def _same(node: Apply, tangents: Sequence[Variable | None]) -> Sequence[Derivative]:
    return [None if tangents[0] is None else build_one(node.op, tangents[0])]


@PULLBACKS.row(c.DIAGONAL)
def _diagonal(
    node: Apply, cotangents: Sequence[Variable | None], wanted: Sequence[bool]
) -> Sequence[Derivative]:
    (cotangent,) = cotangents
    if cotangent is None:
        return [None]
    offset = node.op.parameters.offset
    places = c.arange(as_size(shape_of(cotangent)[-1]))
    rows, columns = add(places, max(0, -offset)), add(places, max(0, offset))
    zeros = zeros_like(node.inputs[0])
    part = getitem(zeros, (..., rows, columns))
    assert part.owner is not None
    op = Op(ASSIGN, AssignParameters(part.owner.op.parameters, True))
    return [build_one(op, zeros, cotangent, *part.owner.inputs[1:])]
