"""What belongs to a chosen loop variable elsewhere: names in the step, operations that read and write it, and their lines.

Every tab marks these, so that a variable is followed from its slot to the picture, the times, the rewrites and the values.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct, field

from scanviz.record.graphs.graph import GraphSnapshot, LoopSnapshot
from scanviz.record.graphs.step_graph import loop_graph, operands
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.tui.model.state import ViewState

SIGN = "▶ "  # stands before what belongs to the chosen loop variable
NO_SIGN = "  "


class LinkedSelection(Struct, frozen=True):
    """What belongs to a loop variable.

    Attributes
    ----------
    names : tuple of str
        What it is called in the step and around the loop.
    reading : frozenset of int
        Operations of the step that read it.
    writing : frozenset of int
        Operations of the step that give what it takes.
    lines : frozenset of str
        ``file:line`` of these operations.
    """

    names: tuple[str, ...] = ()
    reading: frozenset[int] = field(default_factory=frozenset)
    writing: frozenset[int] = field(default_factory=frozenset)
    lines: frozenset[str] = field(default_factory=frozenset)

    @property
    def operations(self) -> frozenset[int]:
        """Operations that read it or give what it takes."""
        return self.reading | self.writing

    def named_in(self, text: str) -> bool:
        """Return whether a text calls it by a name.

        Examples
        --------
        >>> h = LinkedSelection(("h", "h[t-1]"))
        >>> h.named_in("dot(h[t-1], U)"), h.named_in("tanh(x[t])")
        (True, False)
        """
        return bool(self.names) and _pattern(self.names).search(text) is not None


def linked_selection(state: ViewState) -> LinkedSelection:
    """Return what belongs to the loop variable that is looked at; nothing where none is."""
    loop = state.loop_record
    if loop is None or state.variable is None or state.variable >= len(loop.variables):
        return LinkedSelection()
    variable = loop.variables[state.variable]
    called = (variable.name, *variable.inner_inputs, *variable.inner_outputs, f"{variable.name}[t]")
    names = tuple(dict.fromkeys(text for text in called if text))
    found = snapshot_of(state)
    if found is None:
        return LinkedSelection(names)
    drawn = found[0].variables[state.variable]
    read, written = set(drawn.inner_inputs), set(drawn.inner_outputs)
    nodes = [(node.operation, node) for node in found[0].step.nodes if node.operation is not None]
    reading = frozenset(operation for operation, node in nodes if read & set(node.inputs))
    writing = frozenset(operation for operation, node in nodes if written & set(node.outputs))
    lines = frozenset(
        str(operation.source)
        for operation in loop.operations
        if operation.source is not None and operation.index in reading | writing
    )
    return LinkedSelection(names, reading, writing, lines)


def snapshot_of(state: ViewState) -> tuple[LoopSnapshot, GraphSnapshot] | None:
    """Return the loop in its function's graph and the graph around it, if it is there with the same loop variables."""
    loop = state.loop_record
    return None if loop is None else loop_graph(state.record, loop)


def given_to(state: ViewState, trace: TraceRecord, found: TracedVariableRecord) -> list[TracedVariableRecord]:
    """Return the values that an operation of a step was given, in the order in which it takes them."""
    return operands(snapshot_of(state), trace, found)


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return what finds names where they stand alone: ``h`` is neither in ``tanh`` nor, without its tap, in ``h[t-1]``."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest_first))})(?![\w\[(])")
