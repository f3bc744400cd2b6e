"""Which of the user's lines a loop variable comes from: what tells two ``sigmoid(…)`` apart."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.record.graphs.graph import GraphSnapshot, LoopSnapshot, LoopVariableRecord, NodeRecord
from scanviz.record.graphs.step_graph import VIEWS, maker_of
from scanviz.tui.model.linked_selection import snapshot_of
from scanviz.tui.model.state import ViewState


class OriginLine(NamedTuple):
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


def origin(state: ViewState, index: int) -> OriginLine:
    """Return the line that built what a loop variable holds: in its step, or where the loop was given it."""
    found = snapshot_of(state)
    if found is None or index >= len(found[0].variables):
        return OriginLine()
    loop, around = found
    variable = loop.variables[index]
    return _written(loop, variable) or _of_value(around, variable.outer_input)


def _written(loop: LoopSnapshot, variable: LoopVariableRecord) -> OriginLine | None:
    """Return the line of the operation whose result a variable takes in a step; None where it takes none."""
    wanted = set(variable.inner_outputs)
    return next((_line(loop.step, node) for node in loop.step.nodes if wanted & set(node.outputs)), None)


def _of_value(graph: GraphSnapshot, key: str | None) -> OriginLine:
    """Return the line that built a value, seen through views and loops."""
    while (node := maker_of(graph, key)) is not None:
        if node.loop is not None:
            given = next((variable for variable in node.loop.variables if variable.outer_output == key), None)
            written = None if given is None else _written(graph.loop(node), given)
            return written or _line(graph, node)
        if not node.op.startswith(VIEWS) or not node.inputs:
            return _line(graph, node)
        key = node.inputs[0]
    return OriginLine()


def _line(graph: GraphSnapshot, node: NodeRecord) -> OriginLine:
    return OriginLine(node.source, graph.text(node))
