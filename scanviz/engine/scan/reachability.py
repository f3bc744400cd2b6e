"""Which outer input can influence which result of a loop, over any number of steps.

One step connects loop variables directly; a state connects its writes of one step to its reads of later ones.  The
whole pattern is the transitive closure of the direct connections through states and carries (Warshall 1962).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import Carry, LoopVariable, State, inner_inputs, inner_outputs


def reaching_inputs(output: Variable, inputs: Collection[Variable]) -> set[Variable]:
    """Return which of ``inputs`` a variable of one step depends on; a loop inside connects as its own pattern says."""
    found: dict[Variable, frozenset[Variable]] = {variable: frozenset((variable,)) for variable in inputs}
    for node in toposort([output], inputs):
        if isinstance(node.op, Scan):
            view, matrix = ScanView(node), connection_matrix(node.op)
            for variable in node.op.variables:
                given = view.outer_output(variable)
                if given is not None:
                    sources = [view.outer_input(source) for source, target in matrix if target is variable]
                    found.setdefault(
                        given, _union(found, [source for source in sources if source is not None])
                    )
        else:
            united = _union(found, node.inputs)
            for result in node.outputs:
                found.setdefault(result, united)
    return set(found.get(output, frozenset()))


def _union(found: dict[Variable, frozenset[Variable]], sources: Sequence[Variable]) -> frozenset[Variable]:
    united: frozenset[Variable] = frozenset()
    for source in sources:
        united |= found.get(source, frozenset())
    return united


def direct_connections(scan: Scan) -> set[tuple[LoopVariable, LoopVariable]]:
    """Return the pairs (read, given) of loop variables that one step connects.

    A state also connects its own initial rows to its result where a step may leave a row unwritten (mitmot), and
    always if a step passes it on.
    """
    owner = {inner: variable for variable in scan.variables for inner in inner_inputs(variable)}
    pairs: set[tuple[LoopVariable, LoopVariable]] = set()
    for target in scan.variables:
        for result in inner_outputs(target):
            pairs.update((owner[variable], target) for variable in reaching_inputs(result, owner.keys()))
        if isinstance(target, State) and target.kind == "mitmot":
            pairs.add((target, target))
        if isinstance(target, Carry):
            pairs.add((target, target))  # with no step done, the first value is the result
    return pairs


def connection_matrix(scan: Scan) -> set[tuple[LoopVariable, LoopVariable]]:
    """Return the pairs (read, given) of loop variables connected over any number of steps."""
    edges = direct_connections(scan)
    for middle in scan.variables:
        if isinstance(middle, State | Carry):
            sources = [a for a, b in edges if b is middle]
            targets = [b for a, b in edges if a is middle]
            edges |= {(a, b) for a in sources for b in targets}
    return edges
