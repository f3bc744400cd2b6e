"""What derivatives stop at: values pass, over all rows too."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops.stop_gradient import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD
from scanviz.engine.rewrites.batching.table import BATCHING


@BATCHING.row(DISCONNECTED_GRAD, ZERO_GRAD, GRAD_CLIP)
def _passed(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    return build_one(node.op, inputs[0])
