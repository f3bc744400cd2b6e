"""Joining rows: along the same axis, one further; what is the same in each row is repeated first."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank
from scanviz.engine.ops.join import CONCATENATE
from scanviz.engine.ops.shape import AxisParameters, dimension
from scanviz.engine.rewrites.batching.graphs import BatchedRows, with_axis
from scanviz.engine.rewrites.batching.table import BATCHING


def repeated(inputs: Sequence[Variable], rows: Sequence[bool]) -> list[Variable]:
    """Return variables that all have the leading axis."""
    count = next(dimension(variable, 0) for variable, mine in zip(inputs, rows, strict=True) if mine)
    return [with_axis(BatchedRows(value, mine), count) for value, mine in zip(inputs, rows, strict=True)]


@BATCHING.row(CONCATENATE)
def _concatenate(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    axis = node.op.parameters.axis % rank(node.inputs[0])
    return build_one(Op(CONCATENATE, AxisParameters(axis + 1)), *repeated(inputs, rows))
