"""A graph as a flat table, for pickling: no recursion, however deep the graph is.

Leaves stay objects of their own, so that one input or shared variable in several pickled graphs stays one when they are
pickled together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.provenance import Provenance
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import Type


class FlatNode(NamedTuple):
    """One Apply: its inputs are leaves (numbers below the count of leaves) or earlier results, by number."""

    op: Op
    inputs: tuple[int, ...]
    types: tuple[Type, ...]
    names: tuple[str | None, ...]
    provenance: Provenance


class FlatGraph(NamedTuple):
    """A graph: leaves, nodes in order of computation, and the numbers of its outputs."""

    leaves: tuple[Variable, ...]
    nodes: tuple[FlatNode, ...]
    outputs: tuple[int, ...]


def flatten(outputs: Sequence[Variable]) -> FlatGraph:
    """Return the table of the graph above ``outputs``."""
    order = toposort(outputs)
    own = {each for node in order for each in node.outputs}
    reads = [each for node in order for each in node.inputs]
    leaves = tuple(dict.fromkeys(each for each in (*reads, *outputs) if each not in own))
    number = {each: k for k, each in enumerate(leaves)}
    nodes = []
    for node in order:
        inputs = tuple(number[each] for each in node.inputs)
        types, names = tuple(each.type for each in node.outputs), tuple(each.name for each in node.outputs)
        nodes.append(FlatNode(node.op, inputs, types, names, node.provenance))
        for each in node.outputs:
            number[each] = len(number)
    return FlatGraph(leaves, tuple(nodes), tuple(number[each] for each in outputs))


def unflatten(graph: FlatGraph) -> list[Variable]:
    """Return the outputs of a graph built anew from its table, over the table's leaves."""
    known: list[Variable] = list(graph.leaves)
    for node in graph.nodes:
        fresh = Apply(node.op, [known[k] for k in node.inputs], node.types, node.provenance, names=node.names)
        known.extend(fresh.outputs)
    return [known[k] for k in graph.outputs]


def unflatten_one(graph: FlatGraph) -> Variable:
    """Return the only output of a table."""
    return unflatten(graph)[0]


def reduce_variable(variable: Variable) -> tuple[Any, ...]:
    """Return how pickle rebuilds a computed variable."""
    return (unflatten_one, (flatten([variable]),))
