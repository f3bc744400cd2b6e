"""Softmax and its logarithm: along the same axes, counted from one further."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX, SoftmaxParameters
from scanviz.engine.rewrites.batching.table import BATCHING


@BATCHING.row(SOFTMAX, LOG_SOFTMAX)
def _softmax(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    axes = tuple(axis + 1 for axis in node.op.parameters.axes)
    return build_one(Op(node.op.declaration, SoftmaxParameters(axes)), inputs[0])
