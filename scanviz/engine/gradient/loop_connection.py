"""Which loop variables of one step have a derivative with respect to which, and over all steps.

The value pattern of :mod:`scanviz.engine.scan.reachability` says what can change what; this one leaves out what has no
derivative: integers, shapes, indices, conditions, random states.
"""

from __future__ import annotations

from collections.abc import Collection

from scanviz.engine.gradient.table import CONNECTIONS, connection
from scanviz.engine.graph.nodes import Apply, Variable, is_floating
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import SCAN, Scan, ScanView
from scanviz.engine.scan.variables import LoopVariable, State, has_outer_output, inner_inputs, inner_outputs

Pairs = frozenset[tuple[LoopVariable, LoopVariable]]
_KEY = "differentiable pairs"
_PATTERN = "differentiable pattern"


def differentiable_pairs(op: Scan) -> Pairs:
    """Return the pairs (read, given) of loop variables that one step connects with a derivative."""
    known: Pairs | None = op.derived.get(_KEY)
    if known is None:
        known = op.derived[_KEY] = _pairs(op)
    return known


def differentiable_sources(op: Scan) -> dict[Variable, frozenset[LoopVariable]]:
    """Return for each variable of the step the loop variables with respect to whose reads it has a derivative."""
    sources: dict[Variable, frozenset[LoopVariable]] = {
        inner: frozenset((variable,))
        for variable in op.variables
        for inner in inner_inputs(variable)
        if is_floating(inner)
    }
    for node in toposort(op.inner_outputs):
        found = [sources.get(variable) for variable in node.inputs]
        if not any(found):
            continue
        pattern = connection(node)
        for index, output in enumerate(node.outputs):
            if is_floating(output):
                mine = [each for k, each in enumerate(found) if each and pattern[k][index]]
                if mine:
                    sources[output] = frozenset().union(*mine)
    return sources


def _pairs(op: Scan) -> Pairs:
    sources = differentiable_sources(op)
    pairs = frozenset(
        (source, target)
        for target in op.variables
        for result in inner_outputs(target)
        for source in sources.get(result, ())
    )
    # rows of a mitmot's buffer that no step writes are its result as they were
    return pairs | {
        (variable, variable)
        for variable in op.variables
        if isinstance(variable, State) and variable.kind == "mitmot"
    }


def downstream(op: Scan, sources: Collection[LoopVariable]) -> set[LoopVariable]:
    """Return ``sources`` and all states and outputs that have a derivative with respect to one, over any number of steps."""
    return closure(sources, {(a, b) for a, b in differentiable_pairs(op)})


def upstream(op: Scan, targets: Collection[LoopVariable]) -> set[LoopVariable]:
    """Return ``targets`` and all loop variables with respect to which one of them has a derivative."""
    return closure(targets, {(b, a) for a, b in differentiable_pairs(op)})


def closure(
    start: Collection[LoopVariable], edges: Collection[tuple[LoopVariable, LoopVariable]]
) -> set[LoopVariable]:
    """Return what following edges leads to, ``start`` included; only states pass on what reached them, to the next step."""
    following: dict[LoopVariable, list[LoopVariable]] = {}
    for a, b in edges:
        following.setdefault(a, []).append(b)
    reached, stack = set(start), list(start)
    while stack:
        for variable in following.get(stack.pop(), ()):
            if variable not in reached:
                reached.add(variable)
                stack.append(variable)
    return reached


@CONNECTIONS.row(SCAN)
def _connection(node: Apply) -> list[list[bool]]:
    op = node.op
    assert isinstance(op, Scan)
    known: list[list[bool]] | None = op.derived.get(_PATTERN)
    if known is None:
        known = op.derived[_PATTERN] = _pattern(op, ScanView(node))
    return known


def _pattern(op: Scan, view: ScanView) -> list[list[bool]]:
    result_variables = [variable for variable in op.variables if has_outer_output(variable)]
    rows = [[False] * len(result_variables)]
    for variable in op.variables:
        if view.outer_input(variable) is not None:
            reached = downstream(op, [variable]) - ({variable} if not _own(op, variable) else set())
            rows.append([variable in reached for variable in result_variables])
    return rows


def _own(op: Scan, variable: LoopVariable) -> bool:
    """Return whether a state's rows have a derivative with respect to its own initial rows."""
    if not isinstance(variable, State):
        return False
    return any(
        source is variable and target in upstream(op, [variable])
        for source, target in differentiable_pairs(op)
    )
