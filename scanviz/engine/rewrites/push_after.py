"""Work that leaves a loop for the graph after it: PushOutScanOutput.

Results that nothing in the loop reads, such as ``y_t = softmax(h_t @ V)``, are computed of all rows of ``h`` at once; and
rows that are there anyway are summed after the loop instead of in it.  The rows that are needed are there already, or the
loop gives them as results in place of what it gave (:mod:`scanviz.engine.rewrites.rows`).
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops import always_in_step, own_tier, results_without
from scanviz.engine.rewrites.push_sums import running_sums
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.loop import SCAN, ScanView, nodes_of
from scanviz.engine.scan.variables import StepOutput


@rule(name="PushOutScanOutput", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_outputs(node: Apply, level: Level) -> Match | Refusal:
    """Compute after the loop, of all rows at once, what nothing in the loop reads."""
    view = ScanView(node)
    if (refusal := own_tier(view, level)) is not None:
        return refusal
    found = running_sums(view, level)[0]
    if found:
        from scanviz.engine.rewrites.after_loops import sums_of_rows  # few loops only add up

        sums = sums_of_rows(view, level, found)
        if sums is not None:
            return sums
    nodes = view.op.once(nodes_of)
    late = _late(view, nodes)
    if not late:
        return Refusal(f"all that `{view.op.scan_name}` computes goes on in its next step", 0)
    from scanviz.engine.rewrites.after_loops import computed_after  # few loops compute what leaves them

    return computed_after(view, level, late)


def _late(view: ScanView, nodes: Sequence[Apply]) -> list[Apply]:
    """Return the nodes that only step outputs need."""
    outputs = view.op.of_type(StepOutput)
    if not outputs:
        return []
    early = set(toposort(results_without(view.op, outputs)))
    needed = view.op.once(always_in_step)
    return [node for node in nodes if node not in early and node in needed]
