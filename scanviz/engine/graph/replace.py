"""Rebuild a graph with variables replaced; the original graph is unchanged.

Every change of a graph comes down to this: rules, gradients, ``clone`` and a function's ``givens`` map variables to
replacements.  Nodes above a replaced variable are made anew, with their ids; all others are shared between the graph before and
after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.nodes import Apply, Variable, describe, rebuild
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import fits


def replace(
    outputs: Sequence[Variable],
    mapping: Mapping[Variable, Variable],
    *,
    rebuild_node: Callable[[Apply, Sequence[Variable]], Apply] = rebuild,
    check: bool = True,
) -> list[Variable]:
    """Return ``outputs`` rebuilt with variables replaced by others.

    Nodes above a replaced variable are shared with the old graph; nodes below are rebuilt and keep their node ids.
    A replacement is taken as it is: what it is computed from is not searched for further replacements.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    mapping : mapping of Variable to Variable
        Old variable → new variable of a type that fits.

    Returns
    -------
    list of Variable
        The new outputs, in the order given.
    """
    if check:
        for old, new in mapping.items():
            if not fits(new.type, old.type):
                raise InternalError(
                    f"`{describe(new)}` cannot replace `{describe(old)}`", expected=old.type, found=new.type
                )
    new_of: dict[Variable, Variable] = dict(mapping)
    for node in toposort(outputs, mapping.keys()):
        if not new_of.keys().isdisjoint(node.inputs):
            fresh = rebuild_node(node, [new_of.get(variable, variable) for variable in node.inputs])
            for old, new in zip(node.outputs, fresh.outputs, strict=True):
                new_of.setdefault(old, new)
    return [new_of.get(output, output) for output in outputs]


def born_again(node: Apply, inputs: Sequence[Variable]) -> Apply:
    """Return a node over other inputs with a node id of its own: one of the step that is built now, not captured from outside."""
    names = [output.name for output in node.outputs]
    return Apply(node.op, inputs, provenance=node.provenance, names=names)
