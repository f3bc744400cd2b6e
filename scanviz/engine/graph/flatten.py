"""A graph as a flat table, for pickling: no recursion, however deep the graph is.

One table holds the nodes of a graph and of the steps of its loops, at every level.  Loops share nodes of their steps and loop
variables, since a gradient makes its forward loop again with more results; loaded loops share them too.  Nodes get new ids in
the old order, and references by id change with them.

Leaves stay objects of their own, so that one input or shared variable in several pickled graphs stays one when they are
pickled together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from scanviz.engine.graph.declaration import GraphPart, Held, Op
from scanviz.engine.graph.nodes import Apply, Variable, next_node_id
from scanviz.engine.graph.provenance import Provenance
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import Type


class FlatPart(NamedTuple):
    """A part of ops that hold a graph, with the numbers of its results."""

    make: Callable[[Any, Sequence[Variable]], object]
    about: Any
    results: tuple[int, ...]


class FlatOp(NamedTuple):
    """An op that holds a graph."""

    make: Callable[[Any, Sequence[Any], Sequence[int]], Op]
    about: Any
    parts: tuple[FlatPart, ...]
    node_ids: tuple[int, ...]


class FlatNode(NamedTuple):
    """One Apply: its inputs are leaves (numbers below the count of leaves) or earlier results, by number."""

    op: Op | FlatOp
    inputs: tuple[int, ...]
    types: tuple[Type, ...]
    names: tuple[str | None, ...]
    provenance: Provenance
    node_id: int


class FlatGraph(NamedTuple):
    """A graph: leaves, nodes in order of computation with those of a step before its loop, and the numbers of its outputs."""

    leaves: tuple[Variable, ...]
    nodes: tuple[FlatNode, ...]
    outputs: tuple[int, ...]


def flatten(outputs: Sequence[Variable]) -> FlatGraph:
    """Return the table of the graph above ``outputs``."""
    walk = _Walk(outputs)
    own = {output for node in walk.order for output in node.outputs}
    reads = [variable for node in walk.order for variable in node.inputs]
    held = [result for part in walk.parts.values() for result in part.results]
    leaves = tuple(dict.fromkeys(variable for variable in (*reads, *outputs, *held) if variable not in own))
    number = {leaf: k for k, leaf in enumerate(leaves)}
    for node in walk.order:
        for output in node.outputs:
            number[output] = len(number)
    ops = walk.flat_ops(number)
    nodes = [
        FlatNode(
            ops.get(id(node.op), node.op),
            tuple(number[variable] for variable in node.inputs),
            tuple(output.type for output in node.outputs),
            tuple(output.name for output in node.outputs),
            node.provenance,
            node.node_id,
        )
        for node in walk.order
    ]
    return FlatGraph(leaves, tuple(nodes), tuple(number[output] for output in outputs))


class _Walk:
    """The nodes of a graph at all levels, in order, and the ops that hold graphs with their parts, each by its identity."""

    def __init__(self, outputs: Sequence[Variable]) -> None:
        self.order: dict[Apply, None] = {}
        self.ops: dict[int, Held] = {}
        self.parts: dict[int, GraphPart] = {}
        self._add(outputs)

    def _add(self, outputs: Sequence[Variable]) -> None:
        for node in toposort(outputs):
            if node in self.order:
                continue
            held = None if id(node.op) in self.ops else node.op.held()
            if held is not None:
                self.ops[id(node.op)] = held
                self.parts.update((id(part.whole), part) for part in held.parts)
                self._add([result for part in held.parts for result in part.results])
            self.order[node] = None

    def flat_ops(self, number: Mapping[Variable, int]) -> dict[int, FlatOp]:
        """Return the ops that hold graphs by identity, for variables with given value numbers."""
        parts = {
            key: FlatPart(graph_part.make, graph_part.about, tuple(number[one] for one in graph_part.results))
            for key, graph_part in self.parts.items()
        }
        return {
            key: FlatOp(
                held.make,
                held.about,
                tuple(parts[id(part.whole)] for part in held.parts),
                tuple(held.node_ids),
            )
            for key, held in self.ops.items()
        }


def unflatten(graph: FlatGraph) -> list[Variable]:
    """Return the outputs of a graph built anew from its table, over the table's leaves."""
    node_ids = {old: next_node_id() for old in sorted(set(_node_ids(graph)))}
    known: list[Variable] = list(graph.leaves)
    ops: dict[int, Op] = {}
    parts: dict[int, object] = {}
    for node in graph.nodes:
        op = node.op
        if isinstance(op, FlatOp):
            if id(op) not in ops:
                ops[id(op)] = _made(op, known, parts, node_ids)
            op = ops[id(op)]
        made, inputs = _moved(node.provenance, node_ids), [known[k] for k in node.inputs]
        fresh = Apply(op, inputs, node.types, made, node_ids[node.node_id], node.names)
        known.extend(fresh.outputs)
    return [known[k] for k in graph.outputs]


def _node_ids(graph: FlatGraph) -> Iterator[int]:
    """Iterate over the ids of all nodes of a table, and of those that they refer to."""
    for node in graph.nodes:
        yield node.node_id
        yield from node.provenance.parents
        if isinstance(node.op, FlatOp):
            yield from node.op.node_ids


def _made(op: FlatOp, known: Sequence[Variable], parts: dict[int, object], node_ids: Mapping[int, int]) -> Op:
    """Return an op of a table, of parts that other ops may have brought to ``parts`` before."""
    for part in op.parts:
        if id(part) not in parts:
            parts[id(part)] = part.make(part.about, [known[k] for k in part.results])
    return op.make(
        op.about, [parts[id(part)] for part in op.parts], [node_ids[number] for number in op.node_ids]
    )


def _moved(provenance: Provenance, node_ids: Mapping[int, int]) -> Provenance:
    """Return a provenance that refers to the new ids."""
    if not provenance.parents:
        return provenance
    parents = tuple(node_ids[parent] for parent in provenance.parents)
    return Provenance(provenance.source, provenance.scans, parents, provenance.rule)


def reduce_variable(variable: Variable) -> tuple[Any, ...]:
    """Return how pickle rebuilds a computed variable."""
    return (_one_variable, (flatten([variable]),))


def _one_variable(graph: FlatGraph) -> Variable:
    return unflatten(graph)[0]


def reduce_op(op: Op) -> tuple[Any, ...]:
    """Return how pickle rebuilds an op that holds a graph, away from any graph."""
    held = op.held()
    assert held is not None
    parts = [(part.make, part.about, len(part.results)) for part in held.parts]
    graph = flatten([result for part in held.parts for result in part.results])
    return (_one_op, (held.make, held.about, parts, held.node_ids, graph))


def _one_op(
    make: Callable[[Any, Sequence[Any], Sequence[int]], Op],
    about: Any,
    parts: Sequence[tuple[Callable[[Any, Sequence[Variable]], object], Any, int]],
    node_ids: Sequence[int],
    graph: FlatGraph,
) -> Op:
    results = iter(unflatten(graph))
    whole = [make_part(given, list(islice(results, count))) for make_part, given, count in parts]
    return make(about, whole, node_ids)
