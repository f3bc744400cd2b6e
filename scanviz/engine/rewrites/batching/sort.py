"""Sorting rows: along the same axis, one further."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank
from scanviz.engine.ops.sort import ARGSORT, SEARCHSORTED, SORT, SortParameters
from scanviz.engine.rewrites.batching.table import BATCHING


@BATCHING.row(SORT, ARGSORT)
def _sort(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    axis = node.op.parameters.axis
    if axis is None:
        return None
    return build_one(Op(node.op.declaration, SortParameters(axis % rank(node.inputs[0]) + 1)), inputs[0])


@BATCHING.row(SEARCHSORTED)
def _searchsorted(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    return None if rows[0] else build_one(node.op, *inputs)
