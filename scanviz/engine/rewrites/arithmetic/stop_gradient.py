"""Taking out what only derivatives look at: ``disconnected_grad``, ``zero_grad`` and ``grad_clip`` cost nothing when run."""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.stop_gradient import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, rule


@rule(
    name="remove_barriers", phase="gradient", on=(DISCONNECTED_GRAD, ZERO_GRAD, GRAD_CLIP), tags=("general",)
)
def remove_barriers(node: Apply, level: Level) -> Match:
    """Replace a stop_gradient to derivatives by what passes it."""
    return Match({node.outputs[0]: node.inputs[0]}, f"{node.op.name} is passed")
