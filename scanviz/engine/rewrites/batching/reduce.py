"""Reductions: along the same axes, counted from one further."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank, tensor_type
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.reduce import ReductionDeclaration
from scanviz.engine.rewrites.batching.table import BATCHING


@BATCHING.kind(ReductionDeclaration)
def _reduction(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    axes = tuple(axis + 1 for axis in node.op.parameters.axes)
    return build_one(Op(node.op.declaration, node.op.parameters._replace(axes=axes)), inputs[0])


@BATCHING.row(r.ARGMAX, r.ARGMIN, r.CUMSUM, r.CUMPROD)
def _along_an_axis(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    own = node.op.parameters
    if own.axis is None:
        return None
    axis = own.axis % rank(node.inputs[0]) + 1
    return build_one(Op(node.op.declaration, own._replace(axis=axis)), inputs[0])


@BATCHING.row(r.SUM_TO_SHAPE)
def _sum_to_shape(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    """Only where it is known which axes are summed: the sizes of all rows are equal."""
    given, wanted = tensor_type(node.inputs[0]).shape, tensor_type(node.outputs[0]).shape
    if any(rows[1:]) or None in given or None in wanted:
        return None
    axes = tuple(k + 1 for k, (a, b) in enumerate(zip(given, wanted, strict=True)) if a != b)
    return (
        r.sum(inputs[0], axis=axes, keepdims=True, dtype=tensor_type(inputs[0]).dtype) if axes else inputs[0]
    )
