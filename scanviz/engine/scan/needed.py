"""What of a loop is needed for some of its results, and of a graph for its outputs: seen through its loops.

A result that nobody reads needs nothing, and what only it needs is not needed either: a draw whose numbers go nowhere, a state that
only feeds itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.effects import effects_among, effects_of
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import LoopVariable, has_outer_output, inner_inputs, inner_outputs, kind_of


def needed_variables(view: ScanView, is_read: Callable[[Variable], bool]) -> set[LoopVariable]:
    """Return the loop variables that someone needs: after the loop, for its end, or for another that is needed.

    ``is_read`` says of a result whether anything after the loop needs it.  If any is needed, so are those
    whose step prints or checks something.
    """
    op = view.op
    owner = op.once(_owners)
    needed: set[LoopVariable] = set()
    wanted: list[Variable] = [op.until.condition] if op.until is not None else []
    for role, result in zip(op.result_variables, view.node.outputs, strict=True):
        if is_read(result):
            needed.add(role)
            wanted.extend(inner_outputs(role))
    if needed and effects_of(op):
        for role in op.variables:
            if has_outer_output(role) and effects_among(toposort(inner_outputs(role))):
                needed.add(role)
                wanted.extend(inner_outputs(role))
    seen: set[Variable] = set()
    while wanted:
        variable = wanted.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if variable.owner is not None:
            wanted += variable.owner.inputs
        reader = owner.get(variable)
        if reader is not None and reader not in needed:
            needed.add(reader)
            wanted.extend(inner_outputs(reader))
    if op.until is not None and needed and needed.isdisjoint(op.counters):
        needed.update(op.counters[:1])
    return needed


def _owners(op: Scan) -> Mapping[Variable, LoopVariable]:
    """Return for each variable of a step that the loop gives a value to the loop variable that it is of."""
    return {inner: role for role in op.variables for inner in inner_inputs(role)}


def needed_leaves(outputs: Sequence[Variable], inputs: Collection[Variable] = ()) -> list[Variable]:
    """Return the leaves of a graph that its outputs depend on, in the order met.

    Like :func:`scanviz.engine.graph.traversal.leaves`, without those that only results of loops read that are not needed.  A
    sequence is always needed: its length is.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> a, b = T.scalar("a"), T.scalar("b")
    >>> (p, q), _ = scanviz.scan(lambda p, q: (p * 2, q + 1), outputs_info=[a, b], n_steps=T.lscalar("n"))
    >>> [leaf.name for leaf in needed_leaves([p]) if leaf.name]
    ['n', 'a']
    """
    needed: dict[Variable, None] = dict.fromkeys(outputs)
    nodes = toposort(outputs, inputs)
    for node in reversed(nodes):
        if not any(output in needed for output in node.outputs):
            continue
        if not isinstance(node.op, Scan):
            needed.update(dict.fromkeys(node.inputs))
            continue
        view = ScanView(node)
        variables = needed_variables(view, needed.__contains__)
        needed[view.n_steps] = None
        for variable in node.op.variables:
            given = view.outer_input(variable)
            if given is not None and (variable in variables or kind_of(variable) == "sequence"):
                needed[given] = None
    stop = set(inputs)
    return [variable for variable in needed if variable.owner is None or variable in stop]
