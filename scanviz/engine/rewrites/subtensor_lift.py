"""Rows picked before they are computed: ``tanh(a + b)[-1]`` is ``tanh(a[-1] + b[-1])``.

An index by known numbers moves to the operands of what it indexes, where then less is computed and nothing else reads the
whole (:mod:`scanviz.engine.rewrites.lifts`).

It waits until equal operations are one, so that all readers of a result are seen.  Errors stay: an index moves only where a
row that does not exist, or operands that do not fit, would still be found.
"""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.ops.index import INDEX
from scanviz.engine.rewrites.identities import Answer, rewritten
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal, rule
from scanviz.engine.scan.loop import SCAN

READ_ELSEWHERE = Refusal("all of it is read elsewhere too", 1)


@rule(name="subtensor_lift", phase=("simplify", "merge", "clean"), on=(INDEX,), tags=("general",))
def subtensor_lift(node: Apply, level: Level) -> Answer:
    """Pick rows of the operands of an operation, not of its result."""
    source = node.inputs[0].owner
    if source is None or source.op.declaration is SCAN:  # of most loops the last row is picked
        return None
    from scanviz.engine.rewrites.lifts import lift_of, of_vector
    from scanviz.engine.rewrites.places import is_known

    lift = lift_of(source.op.declaration)
    if lift is None:
        return None
    entries = node.op.parameters.entries
    if not is_known(entries):
        return None
    result = source.outputs[0]
    if lift is not of_vector and (len(level.readers(result)) > 1 or result in level.wanted):
        return READ_ELSEWHERE
    found = lift(node, source, entries, level)
    if found is None or isinstance(found, Refusal):
        return found
    return rewritten(node, found, f"rows of {source.op.name} are picked before it is computed")
