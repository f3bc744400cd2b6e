"""Inline named subgraphs, and remove barriers to derivatives."""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.control import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD
from scanviz.engine.ops.subgraph import SUBGRAPH, in_place
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, rule


@rule(name="inline_subgraphs", phase="gradient", on=(SUBGRAPH,), tags=("general",))
def inline_subgraphs(node: Apply, level: Level) -> Match:
    """Put the operations of a named subgraph in its place."""
    return Match(in_place(node), f"the operations of {node.op} stand in its place")


@rule(
    name="remove_barriers", phase="gradient", on=(DISCONNECTED_GRAD, ZERO_GRAD, GRAD_CLIP), tags=("general",)
)
def remove_barriers(node: Apply, level: Level) -> Match:
    """Replace a barrier to derivatives by its input."""
    return Match({node.outputs[0]: node.inputs[0]}, f"{node.op.name} is passed")
