"""mitmot_to_sitsot: a buffer of which only the first row is no zero is no buffer, but a row that steps hand on.

Back through time a state's cotangents lie in a buffer with a row for each step: what arrives there from outside, and what the
step after it has added.  Where the cost reads the last row alone, ``h[-1]``, nothing but zeros arrives at all others; where it
reads none, as of the cell of an LSTM, at any.  So each cell holds, when it is read, what the step before wrote, and when it is
added to, zero: the state reads its row before (tap -1) and writes a row, as a sitsot does.  That saves the buffer, and filling it
with zeros.

The step still adds the zero, as a number: -0.0 + 0.0 is 0.0.
"""

from __future__ import annotations

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.variables import State


@rule(name="mitmot_to_sitsot", phase="merge", on=(SCAN,), single=True, tags=("scan", "memory"))
def hand_on_a_row(node: Apply, level: Level) -> Match | Refusal | None:
    """Let a step hand on a row instead of writing into a buffer of zeros, of which only the first row is none."""
    view = ScanView(node)
    states = [variable for variable in view.op.of_type(State) if variable.kind == "mitmot"]
    if not states:
        return None
    from scanviz.engine.rewrites.buffers_of_zeros import handed_on  # loops of gradients have such states

    return handed_on(states, view, level)
