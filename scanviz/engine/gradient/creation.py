"""Derivatives of new arrays from numbers, triangles and diagonals.

``arange`` and ``eye`` are not connected to their inputs: how many elements there are is no smooth function of a bound, so no
bound, start and step included, has a derivative.  Write ``start + step * arange(n)`` for one that has.
"""

from __future__ import annotations

from scanviz.engine.gradient.table import CONNECTIONS, cotangent_of, linear, nothing, zeros_like
from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops import creation as c
from scanviz.engine.ops.assign import inc_subtensor
from scanviz.engine.ops.elementwise import add
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of

CONNECTIONS.row(c.ARANGE, c.EYE)(nothing)
linear(c.TRIANGLE, c.FROM_DIAGONAL, c.DIAGONAL)


@cotangent_of(c.TRIANGLE)
def _triangle(node: Apply, cotangent: Variable) -> Variable:
    """Cut the derivative as the matrix was cut."""
    return build_one(node.op, cotangent)


@cotangent_of(c.FROM_DIAGONAL)
def _from_diagonal(node: Apply, cotangent: Variable) -> Variable:
    return c.diagonal(cotangent, node.op.parameters.offset)


@cotangent_of(c.DIAGONAL)
def _diagonal(node: Apply, cotangent: Variable) -> Variable:
    offset = node.op.parameters.offset
    places = c.arange(as_size(shape_of(cotangent)[-1]))
    rows, columns = add(places, max(0, -offset)), add(places, max(0, offset))
    return inc_subtensor(getitem(zeros_like(node.inputs[0]), (..., rows, columns)), cotangent)
