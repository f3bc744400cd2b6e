"""Elementwise operations: the same, with rows of fewer dimensions widened so that axes stay aligned."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.rewrites.batching.table import BATCHING, widened


@BATCHING.kind(ElementwiseDeclaration)
@BATCHING.row(e.CAST)
def _elementwise(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    ndim = max(rank(variable) for variable in node.inputs)
    return build_one(
        node.op, *(widened(x, ndim) if mine else x for x, mine in zip(inputs, rows, strict=True))
    )
