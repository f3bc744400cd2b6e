"""Indexing rows: the same index one axis further; one row of a table a step becomes all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, IndexEntry, IndexParameters, input_entries
from scanviz.engine.rewrites.batching.table import BATCHING

_EVERYTHING = IndexEntry("slice")


@BATCHING.row(INDEX)
def _index(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    if any(entry.stop == "mask" for entry in node.op.parameters.entries if entry.kind == "array"):
        return None
    if rows[0] and not any(rows[1:]):
        return _one_axis_further(node, inputs)
    if not rows[0] and tuple(rows[1:]) == (True,):
        return _looked_up(node, inputs)
    return None


def _one_axis_further(node: Apply, inputs: Sequence[Variable]) -> Variable | None:
    entries = node.op.parameters.entries
    places = [k for k, entry in enumerate(entries) if entry.kind == "array"]
    advanced = [k for k, entry in enumerate(entries) if entry.kind in ("array", "integer")]
    if places and advanced != list(range(advanced[0], advanced[-1] + 1)):
        return None  # NumPy would put the axes of the arrays in front of the rows
    return build_one(Op(INDEX, IndexParameters((_EVERYTHING, *entries))), *inputs)


def _looked_up(node: Apply, inputs: Sequence[Variable]) -> Variable | None:
    """Return rows of a table, by an integer or a vector of integers a step."""
    first, *rest = [entry for entry, _, _ in input_entries(node.op.parameters)]
    picks = first.kind == "array" or (first.kind == "integer" and first.start == INPUT)
    if not picks or any(index_entry != _EVERYTHING for index_entry in rest):
        return None
    return build_one(Op(INDEX, IndexParameters((IndexEntry("array"), *rest))), *inputs)
