"""The graph of a loop's step beside what was recorded of it: who makes a value, and what it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from scanviz.record.graphs.graph import GraphSnapshot, NodeRecord, PlacedScan, ScanRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord

VIEWS = (
    "index",
    "dimshuffle",
    "first_rows",
    "state_history",
    "reshape",
)  # operations that show what they are given


def loop_graph(record: ProfileRecord, loop: LoopRecord) -> PlacedScan | None:
    """Return a loop in its function's graph, if it is there with the same loop variables."""
    function = next((function for function in record.functions if function.key == loop.function), None)
    kinds = [variable.kind for variable in loop.variables]
    if function is not None and function.graph is not None:
        for found in function.graph.all_loops():
            if found.loop.key == loop.key and [variable.kind for variable in found.loop.variables] == kinds:
                return found
    return None


def operands(
    graph: PlacedScan | None, trace: TraceRecord, found: TracedVariableRecord
) -> list[TracedVariableRecord]:
    """Return the values that an operation of a step was given, in the order in which it takes them.

    What the step only hands on, such as a constant that is a new state, was given that.
    """
    if graph is None:
        return []
    node = node_of(graph.step, found.operation)
    keys = node.inputs if node is not None else _handed_on(graph.loop, found)
    known = _by_key(graph, trace)
    wanted = (known.get(key) for key in keys)
    return list({id(node): node for node in wanted if node is not None}.values())


def _handed_on(loop: ScanRecord, found: TracedVariableRecord) -> tuple[str, ...]:
    if found.role != "output" or found.variable is None:
        return ()
    variable = loop.variables[found.variable]
    place = variable.writes.index(found.tap) if found.tap in variable.writes else 0
    return variable.inner_outputs[place : place + 1]


def _by_key(graph: PlacedScan, trace: TraceRecord) -> dict[str, TracedVariableRecord]:
    """Return the values that were kept by their keys in the graph of the step."""
    of_operation = {kept.operation: kept for kept in trace.variables if kept.operation is not None}
    of_input = {(kept.variable, kept.tap): kept for kept in trace.variables if kept.role == "input"}
    found: dict[str, TracedVariableRecord] = {}
    for node in graph.step.nodes:
        if node.operation in of_operation:
            found |= dict.fromkeys(node.outputs, of_operation[node.operation])
    for index, variable in enumerate(graph.loop.variables):
        taps: Iterable[int | None] = variable.reads or (None,)
        for key, tap in zip(variable.inner_inputs, taps, strict=False):
            held = of_input.get((index, tap)) or of_input.get((index, None))
            if held is not None:
                found[key] = held
    return found


def node_of(graph: GraphSnapshot, operation: int | None) -> NodeRecord | None:
    """Return the node that became an operation of the Program."""
    return (
        next((node for node in graph.nodes if node.operation == operation), None)
        if operation is not None
        else None
    )


def maker_of(graph: GraphSnapshot, key: str | None) -> NodeRecord | None:
    """Return the node that makes a variable; None where nothing does."""
    return next((node for node in graph.nodes if key in node.outputs), None)


class Above(NamedTuple):
    """What a value is made of, loops aside.

    Attributes
    ----------
    inputs : dict of str to int or None
        Variables that nothing makes: 1 where their rows keep their order on the way, -1 where they are reversed, None where that is
        not known.
    nodes : list of NodeRecord
        Operations on the way, and the loops at which it ends.
    """

    inputs: dict[str, int | None]
    nodes: list[NodeRecord]


def above(graph: GraphSnapshot, keys: Iterable[str]) -> Above:
    """Return what variables are made of, as far as loops."""
    makers = {key: node for node in graph.nodes for key in node.outputs}
    turned: dict[str, int | None] = dict.fromkeys(keys, 1)
    found, waiting = Above({}, []), list(turned)
    for key in waiting:  # grows while it is gone through
        node, turn = makers.get(key), turned[key]
        if node is None:
            found.inputs[key] = turn
            continue
        found.nodes.append(node)
        if node.loop is not None:
            continue
        if node.op.startswith(VIEWS) and not node.op.startswith("dimshuffle"):
            turn = -turn if turn is not None and "::-1" in node.op else None
        waiting += [operand for operand in node.inputs if operand not in turned]
        for operand in node.inputs:
            turned.setdefault(operand, turn)
    return found
