"""The table of batched meanings.

A row ``row(node, inputs, rows)`` gives the output for all rows: ``inputs`` are the variables to compute with, of which those
of ``rows`` have a leading axis more than the node's.  None where this form of the op has no batched meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable, rank, tensor_type
from scanviz.engine.graph.provenance import moved_from
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.shape import dimshuffle

Row = Callable[[Apply, Sequence[Variable], Sequence[bool]], Variable | None]
BATCHING: MeaningTable[Row] = MeaningTable("batched meaning", "engine/rewrites/batching/{family}.py")


def batched(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    """Return the output of a node over a new leading axis, None where that cannot be said.

    Parameters
    ----------
    node : Apply
        The operation on one row.
    inputs : sequence of Variable
        What to compute with instead of its inputs.
    rows : sequence of bool
        Which of them have the leading axis.
    """
    row = BATCHING.get(node.op.declaration)
    if row is None or len(node.outputs) != 1 or not any(rows):
        return None
    if not all(isinstance(variable.type, TensorType) for variable in (*inputs, node.outputs[0])):
        return None
    with moved_from(node.provenance, node.node_id):
        found = row(node, inputs, rows)
    if found is None or tensor_type(found).ndim != tensor_type(node.outputs[0]).ndim + 1:
        return None
    return found


def widened(variable: Variable, ndim: int) -> Variable:
    """Return rows with axes of size 1 after the leading one, so that each row has ``ndim`` dimensions."""
    own = rank(variable) - 1
    if own >= ndim:
        return variable
    return dimshuffle(variable, [0, *["x"] * (ndim - own), *range(1, own + 1)])
