"""mitmot_to_sitsot: a buffer of which steps only hand on a row to one another is no buffer, but a row that they hand on.

Back through time a state's cotangents lie in a buffer with a row for each step: what arrives there from outside, and what the
step after it has added.  Where the cost reads the last row alone, ``h[-1]``, nothing but zeros arrives at all others; where it
reads none, as of the cell of an LSTM, at any.  So each cell holds, when it is read, what the step before wrote, and when it is
added to, zero: the state reads its row before (tap -1) and writes a row, as a sitsot does.  That saves the buffer, and filling it
with zeros.  Where rows arrive at all steps from outside, they are read as a sequence, and what steps add is handed on
(:mod:`scanviz.engine.rewrites.arriving_rows`).

All buffers of a loop are looked at before it is rebuilt: a loop of many states has as many of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.scan.variables import State

if TYPE_CHECKING:
    from scanviz.engine.rewrites.buffers_of_zeros import HandedOn


@rule(name="mitmot_to_sitsot", phase="merge", on=(SCAN,), single=True, tags=("scan", "memory"))
def hand_on_a_row(node: Apply, level: Level) -> Match | Refusal | None:
    """Let a step hand on a row instead of writing into a buffer, where nothing but that is done in it, or rows arrive there."""
    view = ScanView(node)
    found = {one: _of_state(one, view, level) for one in view.op.of_type(State) if one.kind == "mitmot"}
    changes = {state: change for state, change in found.items() if not isinstance(change, Refusal)}
    if not changes:
        refusals = [refusal for refusal in found.values() if isinstance(refusal, Refusal)]
        return max(refusals, key=lambda refusal: refusal.preconditions_met, default=None)
    outer = {variable: rows for change in changes.values() for variable, rows in change.outer.items()}
    _, mapping = rebuilt_loop(
        view,
        {state: change.state for state, change in changes.items()},
        added=[variable for variable in outer if isinstance(variable, LoopSequence)],
        outer=outer,
        values={old: new for change in changes.values() for old, new in change.values.items()},
    )
    for state, change in changes.items():
        result = view.outer_output(state)
        if result is not None:
            last = change.last(mapping.pop(result))
            mapping |= {reader.outputs[0]: last for reader, _ in level.readers(result)}
    return Match(mapping, "; ".join(change.message for change in changes.values()))


def _of_state(state: State, view: ScanView, level: Level) -> HandedOn | Refusal:
    """Return the state that hands on a row in place of one with a buffer, or why none does: loops of gradients have such states."""
    if set(state.reads) != {0, 1} or set(state.writes) != {1}:
        return Refusal(f"steps read or write other rows of `{state.name}` than their own and the next", 0)
    given = view.outer(state).owner
    if given is not None and given.op.name == "concatenate":
        from scanviz.engine.rewrites.arriving_rows import read_as_sequence

        return read_as_sequence(state, given, view, level)
    from scanviz.engine.rewrites.buffers_of_zeros import handed_on

    return handed_on(state, view, level)
