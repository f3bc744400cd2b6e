"""Views and fills: axes counted from one further."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank
from scanviz.engine.ops import shape as s
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.size_checks import STATE_SHAPE
from scanviz.engine.rewrites.batching.table import BATCHING, widened


@BATCHING.row(s.DIMSHUFFLE)
def _dimshuffle(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    order = tuple(None if axis is None else axis + 1 for axis in node.op.parameters.order)
    return build_one(Op(s.DIMSHUFFLE, s.OrderParameters((0, *order))), inputs[0])


@BATCHING.row(s.RESHAPE)
def _reshape(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    if any(rows[1:]) or node.op.parameters.axis != -1:
        return None
    count = s.dimension(inputs[0], 0)
    return build_one(node.op, inputs[0], count, *inputs[1:])


@BATCHING.row(s.ALLOC, STATE_SHAPE)
def _alloc(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    if any(rows[1:]):
        return None
    count = s.dimension(inputs[0], 0)
    return build_one(node.op, widened(inputs[0], rank(node.outputs[0])), count, *inputs[1:])


@BATCHING.row(s.MAKE_VECTOR)
def _make_vector(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    from scanviz.engine.rewrites.batching.join import repeated  # seldom needed

    columns = [s.dimshuffle(variable, 0, "x") for variable in repeated(inputs, rows)]
    return concatenate(columns, 1)  # brings their dtypes together, as a vector of numbers does
