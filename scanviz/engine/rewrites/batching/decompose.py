"""Decomposing rows: matrices of a stack are a batch."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops import decompose as d
from scanviz.engine.rewrites.batching.table import BATCHING


@BATCHING.row(d.EIGVALSH, d.SVDVALS, d.PINV, d.EXPM)
def _of_matrices(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    return build_one(node.op, inputs[0])
