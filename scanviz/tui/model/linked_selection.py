"""The selected loop variable in all views: its names, the operations that read or write it, and their lines.

Every tab marks these, so that a variable can be followed from its row in Variables to the picture, times, rewrites and values.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct, field

from scanviz.record.graphs.graph import GraphSnapshot, LoopVariableRecord, NodeRecord, PlacedScan
from scanviz.tui.model.state import ViewState

SIGN = "▶ "  # stands before what belongs to the chosen loop variable
NO_SIGN = "  "
_VIEWS = ("index", "dimshuffle", "first_rows", "state_history", "reshape")  # operations that show their input


class LinkedSelection(Struct, frozen=True):
    """Names, operations and lines of a loop variable.

    Attributes
    ----------
    names : tuple of str
        Its names in the step and around the loop.
    reading : frozenset of int
        Operations of the step that read it.
    writing : frozenset of int
        Operations of the step that compute its next value.
    lines : frozenset of str
        ``file:line`` of these operations.
    """

    names: tuple[str, ...] = ()
    reading: frozenset[int] = field(default_factory=frozenset)
    writing: frozenset[int] = field(default_factory=frozenset)
    lines: frozenset[str] = field(default_factory=frozenset)

    @property
    def operations(self) -> frozenset[int]:
        """Operations that read or compute it."""
        return self.reading | self.writing

    def named_in(self, text: str) -> bool:
        """Return whether a text contains one of the names.

        Examples
        --------
        >>> h = LinkedSelection(("h", "h[t-1]"))
        >>> h.named_in("dot(h[t-1], U)"), h.named_in("tanh(x[t])")
        (True, False)
        """
        return bool(self.names) and _pattern(self.names).search(text) is not None


def linked_selection(state: ViewState) -> LinkedSelection:
    """Return the names, operations and lines of the chosen loop variable; none without a choice."""
    loop = state.loop_record
    if loop is None or state.variable is None or state.variable >= len(loop.variables):
        return LinkedSelection()
    variable = loop.variables[state.variable]
    called = (variable.name, *variable.inner_inputs, *variable.inner_outputs, f"{variable.name}[t]")
    names = tuple(dict.fromkeys(text for text in called if text))
    found = snapshot_of(state)
    if found is None:
        return LinkedSelection(names)
    drawn = found.loop.variables[state.variable]
    read, written = set(drawn.inner_inputs), set(drawn.inner_outputs)
    nodes = [(node.operation, node) for node in found.step.nodes if node.operation is not None]
    reading = frozenset(operation for operation, node in nodes if read & set(node.inputs))
    writing = frozenset(operation for operation, node in nodes if written & set(node.outputs))
    lines = frozenset(
        str(operation.source)
        for operation in loop.operations
        if operation.source is not None and operation.index in reading | writing
    )
    return LinkedSelection(names, reading, writing, lines)


def snapshot_of(state: ViewState) -> PlacedScan | None:
    """Return the loop in its function's graph, if it is there with the same loop variables."""
    loop, function = state.loop_record, state.function_record
    if loop is not None and function is not None and function.graph is not None:
        kinds = [variable.kind for variable in loop.variables]
        for found in function.graph.all_loops():
            if found.loop.key == loop.key and [variable.kind for variable in found.loop.variables] == kinds:
                return found
    return None


@lru_cache(maxsize=64)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of names that stand alone: ``h`` is neither in ``tanh`` nor, without its tap, in ``h[t-1]``."""
    longest_first = sorted(names, key=len, reverse=True)
    return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest_first))})(?![\w\[(])")


class OriginLine(NamedTuple):
    """A source line of the user.

    Attributes
    ----------
    source : str
        ``file:line``; empty where it is not known.
    text : str
        The line itself.
    """

    source: str = ""
    text: str = ""


def origin(state: ViewState, index: int) -> OriginLine:
    """Return the line that built a loop variable's value, in the step or around the loop.

    It distinguishes two ``sigmoid(…)``.
    """
    found = snapshot_of(state)
    if found is None or index >= len(found.loop.variables):
        return OriginLine()
    variable = found.loop.variables[index]
    return _written(found.step, variable) or _of_value(found.around, variable.outer_input)


def _written(step: GraphSnapshot, variable: LoopVariableRecord) -> OriginLine | None:
    """Return the line of the operation that computes a variable in a step, or None."""
    wanted = set(variable.inner_outputs)
    return next((_line(step, node) for node in step.nodes if wanted & set(node.outputs)), None)


def _of_value(graph: GraphSnapshot, key: str | None) -> OriginLine:
    """Return the line that built a value, looking through views and loops."""
    makers = {output: node for node in graph.nodes for output in node.outputs}
    while (node := makers.get(key or "")) is not None:
        if node.loop is not None:
            given = next((variable for variable in node.loop.variables if variable.outer_output == key), None)
            written = None if given is None else _written(graph.step(node.loop), given)
            return written or _line(graph, node)
        if not node.op.startswith(_VIEWS) or not node.inputs:
            return _line(graph, node)
        key = node.inputs[0]
    return OriginLine()


def _line(graph: GraphSnapshot, node: NodeRecord) -> OriginLine:
    return OriginLine(node.source, graph.text(node))
