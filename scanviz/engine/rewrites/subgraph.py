"""inline_subgraphs: the operations of a named subgraph in its place, before any other rule."""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.subgraph import SUBGRAPH, in_place
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, rule


@rule(name="inline_subgraphs", phase="gradient", on=(SUBGRAPH,), tags=("general",))
def inline_subgraphs(node: Apply, level: Level) -> Match:
    """Put the operations of a named subgraph in its place."""
    return Match(in_place(node), f"the operations of {node.op} stand in its place")
