"""ScanMerge: loops over the same steps become one.

Loops that take the same number of steps, none of which needs another, and that read something in common become one: what they
compute alike is then computed once.  The joined loop has all their names.  A loop joins the first group that takes as many
steps, is to be run the same way, reads one of its inputs and that it does not need
(:mod:`scanviz.engine.rewrites.loop_groups`); all loops of a level are placed in one walk.
"""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.loop import SCAN


@rule(name="ScanMerge", phase="merge", on=(SCAN,), single=True, tags=("scan",))
def merge_loops(node: Apply, level: Level) -> Match | Refusal | None:
    """Make one loop of those that run over the same steps and share what they read."""
    if len(level.loops) < 2:
        return None
    from scanviz.engine.rewrites.merged_loops import merged, placed

    groups = level.once(placed)
    members = groups.groups.of[node].members
    if len(members) > 1:
        return merged(members) if node is members[1].node else None
    return groups.refusals.get(node)
