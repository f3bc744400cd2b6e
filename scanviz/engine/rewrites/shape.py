"""Asking for a shape computes no values: ``dimension`` of a computed variable becomes arithmetic on sizes of inputs."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.ops.symbolic_shape import as_size, shape_of


def resolve_shapes(outputs: Sequence[Variable]) -> list[Variable]:
    """Return ``outputs`` with each ``dimension`` of a computed variable replaced by its symbolic shape.

    What has no shape rule keeps its ``dimension`` node, so the result is always right.
    """
    current = list(outputs)
    while True:
        known: dict[Variable, tuple[object, ...]] = {}
        mapping = {}
        for node in toposort(current):
            new = _resolved(node, known)
            if new is not None and new is not node.outputs[0]:
                mapping[node.outputs[0]] = new
        if not mapping:
            return current
        current = replace(current, mapping, check=False)


def _resolved(node: Apply, known: dict[Variable, tuple[object, ...]]) -> Variable | None:
    """Return the size that a ``dimension`` node asks for, None where it must stay."""
    if node.op.declaration is not DIMENSION or node.inputs[0].owner is None:
        return None
    axis = node.op.parameters.axis
    with made_by("resolve_shapes", node.provenance, (node.birth,)):
        size = as_size(shape_of(node.inputs[0], known)[axis])
    owner = size.owner
    if owner is not None and owner.op.declaration is DIMENSION and owner.inputs[0] is node.inputs[0]:
        return None
    return size
