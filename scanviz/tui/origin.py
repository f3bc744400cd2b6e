"""Which of the user's lines a loop variable comes from: what tells two ``sigmoid(…)`` apart."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.record.graph import GraphSnapshot, LoopSnapshot, LoopVariableSnapshot, NodeSnapshot
from scanviz.tui.counterparts import loop_snapshot
from scanviz.tui.state import State

_VIEWS = (
    "index",
    "dimshuffle",
    "first_rows",
    "state_history",
)  # operations that show what they are given, all or in part


class Line(NamedTuple):
    """A line of the user's.

    Attributes
    ----------
    source : str
        ``file:line``; empty where it is not known.
    text : str
        What stands there.
    """

    source: str = ""
    text: str = ""


def origin(state: State, index: int) -> Line:
    """Return the line that built what a loop variable holds: in its step, or where the loop was given it."""
    loop, function = state.loop_record, state.function_record
    found = loop_snapshot(function.graph, loop) if function is not None and loop is not None else None
    if function is None or function.graph is None or found is None or index >= len(found.variables):
        return Line()
    variable = found.variables[index]
    return _written(found, variable) or _of_value(_around(function.graph, found), variable.outer_input)


def _written(loop: LoopSnapshot, variable: LoopVariableSnapshot) -> Line | None:
    """Return the line of the operation whose result a variable takes in a step; None where it takes none."""
    wanted = set(variable.inner_outputs)
    return next((_line(each) for each in loop.step.nodes if wanted & set(each.outputs)), None)


def _of_value(graph: GraphSnapshot | None, number: int | None) -> Line:
    """Return the line that built a value, seen through views and loops."""
    while graph is not None and number is not None:
        node = next((each for each in graph.nodes if number in each.outputs), None)
        if node is None:
            break
        if node.loop is not None:
            loop = graph.loops[node.loop]
            given = next((each for each in loop.variables if each.outer_output == number), None)
            return (_written(loop, given) if given is not None else None) or _line(node)
        if not node.op.startswith(_VIEWS) or not node.inputs:
            return _line(node)
        number = node.inputs[0]
    return Line()


def _line(node: NodeSnapshot) -> Line:
    return Line(node.source, node.text)


def _around(graph: GraphSnapshot, wanted: LoopSnapshot) -> GraphSnapshot | None:
    """Return the graph that a loop stands in."""
    if any(each is wanted for each in graph.loops):
        return graph
    inside = (_around(each.step, wanted) for each in graph.loops)
    return next((each for each in inside if each is not None), None)
