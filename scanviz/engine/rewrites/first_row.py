"""mitmot_to_sitsot: a buffer of which steps only hand on a row to one another is no buffer, but a row that they hand on.

Back through time a state's cotangents lie in a buffer with a row for each step: what arrives there from outside, and what the
step after it has added.  Where the cost reads the last row alone, ``h[-1]``, nothing but zeros arrives at all others; where it
reads none, as of the cell of an LSTM, at any.  So each cell holds, when it is read, what the step before wrote, and when it is
added to, zero: the state reads its row before (tap -1) and writes a row, as a sitsot does.  That saves the buffer, and filling it
with zeros.  Where rows arrive at all steps from outside, they are read as a sequence, and what steps add is handed on
(:mod:`scanviz.engine.rewrites.arriving_rows`).

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
    """Let a step hand on a row instead of writing into a buffer, where nothing but that is done in it, or rows arrive there."""
    view = ScanView(node)
    states = [variable for variable in view.op.of_type(State) if variable.kind == "mitmot"]
    refusals: list[Refusal] = []
    for state in states:
        found = _of_state(state, view, level)
        if isinstance(found, Match):
            return found
        refusals.append(found)
    return max(refusals, key=lambda refusal: refusal.preconditions_met, default=None)


def _of_state(state: State, view: ScanView, level: Level) -> Match | Refusal:
    """Return a loop of which one state hands on a row, or why it does not: loops of gradients have such states."""
    if set(state.reads) != {0, 1} or set(state.writes) != {1}:
        return Refusal(f"steps read or write other rows of `{state.name}` than their own and the next", 0)
    given = view.outer(state).owner
    if given is not None and given.op.name == "concatenate":
        from scanviz.engine.rewrites.arriving_rows import read_as_sequence

        return read_as_sequence(state, given, view, level)
    from scanviz.engine.rewrites.buffers_of_zeros import handed_on

    return handed_on(state, view, level)
