"""Elementwise operations: the same, with rows of fewer dimensions widened so that axes stay aligned."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops import elementwise as e
from scanviz.engine.rewrites.batching.table import BATCHING, rank, widened

_ALL = [each for each in declarations() if isinstance(each, e.ElementwiseDeclaration)]


@BATCHING.row(*_ALL, e.CAST)
def _elementwise(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    ndim = max(rank(each) for each in node.inputs)
    return build_one(
        node.op, *(widened(x, ndim) if mine else x for x, mine in zip(inputs, rows, strict=True))
    )
