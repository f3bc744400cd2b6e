"""What of a graph depends on some of its variables alone: work that can be done where those are known."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scanviz.record.graphs.graph import GraphSnapshot, NodeRecord, ScanRecord


def given_by(loop: ScanRecord, kinds: Collection[str]) -> set[str]:
    """Return the variables of a step that loop variables of some kinds give a value to."""
    return {key for variable in loop.variables if variable.kind in kinds for key in variable.inner_inputs}


def closure(graph: GraphSnapshot, given: Iterable[str]) -> list[NodeRecord]:
    """Return the nodes that depend on some variables, and on constants, alone; not what is of constants only, nor sizes."""
    constants = {key for key, leaf in graph.leaves.items() if leaf.role == "constant"}
    known, found = constants | set(given), []
    for node in graph.nodes:
        if node.inputs and known.issuperset(node.inputs) and node.op_name != "dimension":
            known |= set(node.outputs)
            if not constants.issuperset(node.inputs):
                found.append(node)
    return found
