"""Check that a graph is sound: every node's outputs have the types its op infers, and nothing is free.

A node whose types were inferred when it was built has them for good, for neither it nor what it reads ever changes; those that
were given types are asked.  It runs after each phase of rewrites and before a function's graph is lowered.  So a rule that
breaks a graph is found at once, not where the program fails.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.traversal import first_free, toposort
from scanviz.engine.graph.types import fits


def typecheck(
    inputs: Sequence[Variable],
    outputs: Sequence[Variable],
    *,
    closed: bool = True,
    checked: set[Apply] | None = None,
    nodes: Sequence[Apply] | None = None,
) -> None:
    """Check a graph, with the graphs that its ops hold, and raise an InternalError that names the first node that does not hold.

    Parameters
    ----------
    inputs, outputs : sequence of Variable
        The graph.
    closed : bool
        Whether every leaf must be an input or a constant.
    checked : set of Apply, optional
        Nodes known to hold, which never changes; those found to hold are added.
    nodes : sequence of Apply, optional
        Those of a closed graph in order of computation, where they are known.
    """
    if nodes is None or any(variable.owner is not None for variable in inputs):
        nodes = toposort(outputs, inputs) if closed or checked is None else toposort(outputs, inputs, checked)
    for node in nodes:
        if closed and checked is not None:
            if node in checked:
                continue
            checked.add(node)
        op = node.op
        for given, results in op.subgraphs() if type(op) is not Op else ():
            if len(set(given)) < len(given):
                raise InternalError(f"{op} gives a variable of its step two values")
            typecheck(given, results, checked=checked, nodes=op.nodes_inside())
        if not node.inferred:
            _check_types(node)
    free = first_free(nodes, outputs, inputs) if closed else None
    if free is not None:
        raise InternalError(f"`{describe(free)}` is computed by nothing and is no input")


def _check_types(node: Apply) -> None:
    """Check the types of a node's outputs against those that its op infers."""
    inferred = node.op.infer(node.inputs)
    if len(inferred) != len(node.outputs):
        raise InternalError(f"{node.op} gives {len(inferred)} outputs, its node has {len(node.outputs)}")
    for output, kind in zip(node.outputs, inferred, strict=True):
        if not fits(kind, output.type):
            raise InternalError(f"`{describe(output)}` has the wrong type", expected=kind, found=output.type)
