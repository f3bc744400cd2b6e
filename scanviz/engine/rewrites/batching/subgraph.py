"""Named subgraphs over a new axis: their operations; one with a derivative of its own is applied row by row, which keeps it."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.ops.subgraph import SUBGRAPH, Subgraph
from scanviz.engine.rewrites.batching.graphs import RESULTS, BatchedRows, batched_graph


@RESULTS.row(SUBGRAPH)
def _operations(node: Apply, given: Sequence[BatchedRows], count: Variable) -> list[BatchedRows] | None:
    op = node.op
    assert isinstance(op, Subgraph)
    if op.pullback is not None:
        return None
    return batched_graph(op.results, dict(zip(op.inputs, given, strict=True)), count)
