"""What of a graph depends on some of its variables alone: work that can be done where those are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scanviz.record.graphs.graph import GraphSnapshot, LoopSnapshot, NodeSnapshot


def name_of(op: str) -> str:
    """Return the name of an operation without its parameters.

    Examples
    --------
    >>> name_of("index[-1]"), name_of("draw_normal{sizes=1}")
    ('index', 'draw_normal')
    """
    return op.partition("{")[0].partition("[")[0]


def given_by(loop: LoopSnapshot, kinds: Collection[str]) -> set[str]:
    """Return the variables of a step that loop variables of some kinds give a value to."""
    return {key for variable in loop.variables if variable.kind in kinds for key in variable.inner_inputs}


def closure(graph: GraphSnapshot, given: Iterable[str]) -> list[NodeSnapshot]:
    """Return the nodes that depend on some variables, and on constants, alone; not what is of constants only, nor sizes."""
    constants = {key for key, variable in graph.variables.items() if variable.role == "constant"}
    known, found = constants | set(given), []
    for node in graph.nodes:
        if node.inputs and known.issuperset(node.inputs) and name_of(node.op) != "dimension":
            known |= set(node.outputs)
            if not constants.issuperset(node.inputs):
                found.append(node)
    return found
