"""Small numbers known when building are computed when building, in the steps of loops too.

Sizes are the usual case.  Large arrays stay operations: a function would have to hold their values as long as it lives.  What
fails is left as well: its error belongs to the call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Apply, Constant, Variable, tensor_type
from scanviz.engine.rewrites.formatting import counted
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Rewritten, graph_rule

LARGEST = 64  # elements of a constant made here
# those of NumPy get their place when run
RUN_TIME_ERRORS = (ScanvizError, ValueError, ArithmeticError, IndexError)


@graph_rule(name="constant_folding", phase=GENERAL, tags=("general",))
def constant_folding(level: Level) -> Rewritten | None:
    """Compute operations of small constants when building."""
    folded_nodes: list[str] = []
    if not any(map(_of_constants, [node for node in level.nodes if not node.makers])):  # and none becomes one
        return None

    def folded(node: Apply) -> Sequence[Variable]:
        value = _folded(node)
        if value is None:
            return node.outputs
        folded_nodes.append(node.op.name)
        return [value]

    outputs = level.node_by_node(folded)
    return Rewritten(outputs, f"computed {counted(folded_nodes)} of constants") if folded_nodes else None


def _of_constants(node: Apply) -> bool:
    """Return whether a node that nothing is computed for reads constants alone."""
    return all(isinstance(variable, Constant) for variable in node.inputs)


def _folded(node: Apply) -> Constant | None:
    """Return the value of a node, None where it is not known, not small, or an error that belongs to run time."""
    values = []
    for variable in node.inputs:
        if not isinstance(variable, Constant):
            return None
        values.append(variable.value)
    if not values or not node.op.facts.foldable or len(node.outputs) != 1:
        return None
    if sum(array.size for array in values) > LARGEST:
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(node.op.perform(values)[0])
    except RUN_TIME_ERRORS:
        return None
    kind = tensor_type(node.outputs[0])
    if value.size > LARGEST:
        return None
    return Constant(kind.with_shape(value.shape), value.astype(kind.dtype, copy=False), node.outputs[0].name)
