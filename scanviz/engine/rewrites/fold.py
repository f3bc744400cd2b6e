"""Small numbers known when building are computed when building, in the steps of loops too."""

from __future__ import annotations

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Apply, Constant, Variable, rebuild, tensor_type
from scanviz.engine.rewrites.formatting import counted
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Rewritten, graph_rule

LARGEST = 64  # elements of a constant made here
RUN_TIME_ERRORS = (
    ScanvizError,
    ValueError,
    ArithmeticError,
    IndexError,
)  # those of NumPy get their place when run


@graph_rule(name="constant_folding", phase=GENERAL, tags=("general",))
def constant_folding(level: Level) -> Rewritten | None:
    """Compute operations of small constants when building."""
    new_of: dict[Variable, Variable] = {}
    folded_nodes: list[str] = []
    for node in level.nodes:
        inputs = [new_of.get(variable, variable) for variable in node.inputs]
        changed = any(new is not old for new, old in zip(inputs, node.inputs, strict=True))
        fresh = rebuild(node, inputs) if changed else node
        folded = _folded(fresh)
        if folded is not None:
            new_of[node.outputs[0]] = folded
            folded_nodes.append(node.op.name)
        elif changed:
            new_of.update(zip(node.outputs, fresh.outputs, strict=True))
    if not folded_nodes:
        return None
    return Rewritten(
        [new_of.get(output, output) for output in level.outputs],
        f"computed {counted(folded_nodes)} of constants",
    )


def _folded(node: Apply) -> Constant | None:
    """Return the value of a node, None where it is not known, not small, or an error that belongs to run time."""
    if not node.op.facts.foldable or len(node.outputs) != 1:
        return None
    values = [variable.value for variable in node.inputs if isinstance(variable, Constant)]
    if len(values) < len(node.inputs) or not node.inputs or sum(array.size for array in values) > LARGEST:
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
