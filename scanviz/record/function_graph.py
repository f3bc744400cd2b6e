"""The graph that a compiled function runs, linked to its program: which node became which operation, which loop is which.

Nodes and instructions are both known by birth ids, so the link is exact; a node that several instructions or none came from has
no operation of its own.
"""

from __future__ import annotations

from dataclasses import replace

from scanviz.engine.function import Function
from scanviz.engine.program.instructions import LoopInstruction, Program
from scanviz.record.graph import GraphSnapshot, LoopSnapshot
from scanviz.record.moments import Moments
from scanviz.record.rewrites import RewritesRecord
from scanviz.record.snapshot import snapshot

MOST_NODES = 20_000  # of a graph that is kept


def function_graph(
    function: Function, program: Program, rewrites: RewritesRecord, names: Moments
) -> GraphSnapshot | None:
    """Return the graph of a function as it runs; None for one of more nodes than anybody draws.

    Parameters
    ----------
    function : Function
        What was compiled.
    program : Program
        What it became.
    rewrites : RewritesRecord
        What rules did to it.
    names : Moments
        What wrote that record, and so knows the names of nodes.
    """
    found = rewrites.snapshot(len(rewrites.applications)) or snapshot(function)
    return linked(found, program, names) if graph_size(found) <= MOST_NODES else None


def graph_size(graph: GraphSnapshot) -> int:
    """Return how many nodes a graph has, those of its loops with it.

    Examples
    --------
    >>> graph_size(GraphSnapshot("f", (), (), (), (), ()))
    0
    """
    return len(graph.nodes) + sum(graph_size(each.step) for each in graph.loops)


def linked(graph: GraphSnapshot, program: Program, names: Moments) -> GraphSnapshot:
    """Return a graph whose nodes and loops name the operations and loops of a program."""
    place: dict[str, int] = {}
    loops: dict[str, LoopInstruction] = {}
    waiting: dict[int | None, list[str]] = {}  # birth id → the nodes of this graph that have it, in order
    for each in reversed(graph.nodes):
        waiting.setdefault(names.names.birth(each.key), []).append(each.key)
    for index, instruction in enumerate(program.instructions):
        left = waiting.get(instruction.birth)
        if left:
            key = left.pop()
            place[key] = index
            if isinstance(instruction, LoopInstruction):
                loops[key] = instruction
    nodes = tuple(replace(each, operation=place.get(each.key)) for each in graph.nodes)
    keys = {node.loop: node.key for node in graph.nodes if node.loop is not None}
    inner = tuple(_linked_loop(each, loops.get(keys[k]), names) for k, each in enumerate(graph.loops))
    return replace(graph, nodes=nodes, loops=inner)


def _linked_loop(loop: LoopSnapshot, instruction: LoopInstruction | None, names: Moments) -> LoopSnapshot:
    if instruction is None:
        return loop
    return replace(loop, key=instruction.key, step=linked(loop.step, instruction.body, names))
