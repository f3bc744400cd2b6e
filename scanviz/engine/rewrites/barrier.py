"""Taking out what only derivatives look at: ``disconnected_grad``, ``zero_grad`` and ``grad_clip`` cost nothing when run."""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.barrier import BARRIERS
from scanviz.engine.rewrites.inner import rewrite_steps


def remove_barriers(outputs: Sequence[Variable]) -> list[Variable]:
    """Return ``outputs`` with each barrier replaced by what passes it, in the steps of loops too."""
    current = rewrite_steps(outputs, remove_barriers)
    mapping: dict[Variable, Variable] = {}
    for node in toposort(current):
        if node.op.declaration in BARRIERS:
            source = node.inputs[0]
            mapping[node.outputs[0]] = mapping.get(source, source)
    return replace(current, mapping, check=False) if mapping else current
