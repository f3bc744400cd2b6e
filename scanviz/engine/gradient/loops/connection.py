"""Which loop variables of one step have a derivative with respect to which, and over all steps.

The value pattern of :mod:`scanviz.engine.scan.layout` says what can change what; this one leaves out what has no
derivative: integers, shapes, indices, conditions, random states.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from scanviz.engine.gradient.table import CONNECTIONS, connection
from scanviz.engine.graph.nodes import Apply, Variable, is_floating
from scanviz.engine.scan.loop import SCAN, Scan, loop_of, nodes_of
from scanviz.engine.scan.variables import LoopVariable, State, inner_inputs, inner_outputs

Pairs = frozenset[tuple[LoopVariable, LoopVariable]]
Edges = Mapping[LoopVariable, Collection[LoopVariable]]


def differentiable_pairs(op: Scan) -> Pairs:
    """Return the pairs (read, given) of loop variables that one step connects with a derivative."""
    return op.once(_pairs)


def differentiable_sources(op: Scan) -> Mapping[Variable, frozenset[LoopVariable]]:
    """Return for each variable of the step the loop variables with respect to whose reads it has a derivative."""
    return op.once(_sources)


def _sources(op: Scan) -> Mapping[Variable, frozenset[LoopVariable]]:
    sources: dict[Variable, frozenset[LoopVariable]] = {
        inner: frozenset((variable,))
        for variable in op.variables
        for inner in inner_inputs(variable)
        if is_floating(inner)
    }
    for node in op.once(nodes_of):
        found = [sources.get(variable) for variable in node.inputs]
        if not any(found):
            continue
        pattern = connection(node)
        for index, output in enumerate(node.outputs):
            if is_floating(output):
                mine = [source for k, source in enumerate(found) if source and pattern[k][index]]
                if mine:
                    sources[output] = frozenset().union(*mine)
    return sources


def _pairs(op: Scan) -> Pairs:
    sources = differentiable_sources(op)
    return own_pairs(op) | {
        (source, target)
        for target in op.variables
        for result in inner_outputs(target)
        for source in sources.get(result, ())
    }


def own_pairs(op: Scan) -> Pairs:
    """Return the mitmots, each with itself: rows of their buffers that no step writes are their results as they were."""
    return frozenset((variable, variable) for variable in op.of_kind("mitmot"))


def downstream(op: Scan, sources: Collection[LoopVariable]) -> set[LoopVariable]:
    """Return ``sources`` and all states and outputs that have a derivative with respect to one, over any number of steps."""
    return closure(sources, op.once(_onwards))


def upstream(op: Scan, targets: Collection[LoopVariable]) -> set[LoopVariable]:
    """Return ``targets`` and all loop variables with respect to which one of them has a derivative."""
    return closure(targets, op.once(_back))


def _onwards(op: Scan) -> Edges:
    """Return what one step hands on from loop variable to loop variable."""
    return edges_of(differentiable_pairs(op))


def _back(op: Scan) -> Edges:
    return edges_of([(b, a) for a, b in differentiable_pairs(op)])


def edges_of(pairs: Iterable[tuple[LoopVariable, LoopVariable]]) -> Edges:
    """Return for each first of some pairs the others."""
    following: dict[LoopVariable, list[LoopVariable]] = {}
    for a, b in pairs:
        following.setdefault(a, []).append(b)
    return following


def closure(start: Collection[LoopVariable], following: Edges) -> set[LoopVariable]:
    """Return what following edges leads to, ``start`` included; only states pass on what reached them, to the next step."""
    reached, stack = set(start), list(start)
    while stack:
        for variable in following.get(stack.pop(), ()):
            if variable not in reached:
                reached.add(variable)
                stack.append(variable)
    return reached


@CONNECTIONS.row(SCAN)
def _connection(node: Apply) -> list[list[bool]]:
    return loop_of(node).once(_pattern)


def _pattern(op: Scan) -> list[list[bool]]:
    result_variables = op.result_variables
    rows = [[False] * len(result_variables)]
    for variable in op.readers:
        reached = downstream(op, [variable]) - ({variable} if not _own(op, variable) else set())
        rows.append([result in reached for result in result_variables])
    return rows


def _own(op: Scan, variable: LoopVariable) -> bool:
    """Return whether a state's rows have a derivative with respect to its own initial rows."""
    return isinstance(variable, State) and variable in downstream(op, op.once(_onwards).get(variable, ()))
