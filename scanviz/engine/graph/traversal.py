"""Walks over graphs: order of computation, inputs, users and dependence.

All walks are iterative (a graph may be deeper than Python's stack) and deterministic: the order follows outputs and
inputs as given, never a hash.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable


def toposort(
    outputs: Iterable[Variable], inputs: Collection[Variable] = (), met: set[Apply] | None = None
) -> list[Apply]:
    """Return the Applies that compute ``outputs``, each after those it reads from.

    Parameters
    ----------
    outputs : iterable of Variable
        Ends of the walk.
    inputs : collection of Variable, optional
        Variables to stop at, even if something computes them.
    met : set of Apply, optional
        Nodes to leave out, with all that only they need; those that are found are added.

    Returns
    -------
    list of Apply
        In an order of computation.
    """
    stop = {variable for variable in inputs if variable.owner is not None}
    begun: set[Apply] = set() if met is None else met
    order: list[Apply] = []
    reading: list[Apply] = []  # each has a None on the stack, and above that what it reads
    for output in outputs:
        if output in stop or output.owner is None:
            continue
        stack: list[Apply | None] = [output.owner]
        while stack:
            node = stack.pop()
            if node is None:
                order.append(reading.pop())
            elif node not in begun:
                begun.add(node)
                makers = _makers_beyond(node, stop) if stop else node.makers
                if makers:
                    reading.append(node)
                    stack.append(None)
                    stack += makers
                else:
                    order.append(node)
    return order


def _makers_beyond(node: Apply, stop: Collection[Variable]) -> list[Apply]:
    """Return the owners of a node's inputs, last first, except those to stop at."""
    return [
        variable.owner
        for variable in reversed(node.inputs)
        if variable.owner is not None and variable not in stop
    ]


def variables(outputs: Sequence[Variable], inputs: Collection[Variable] = ()) -> list[Variable]:
    """Return all variables of the graph above ``outputs``: leaves where first met, then each node's outputs."""
    met: list[Variable] = []
    for node in toposort(outputs, inputs):
        met += node.inputs
        met += node.outputs
    met += outputs
    return list(dict.fromkeys(met))


def leaves(outputs: Sequence[Variable], inputs: Collection[Variable] = ()) -> list[Variable]:
    """Return the leaves of a graph (inputs, constants, shared variables) and the variables to stop at, in order met."""
    stop = set(inputs)
    return [variable for variable in variables(outputs, inputs) if variable.owner is None or variable in stop]


def free_leaves(outputs: Sequence[Variable], inputs: Collection[Variable] = ()) -> list[Variable]:
    """Return the leaves that are neither given in ``inputs`` nor constants."""
    given = set(inputs)
    return [leaf for leaf in leaves(outputs, inputs) if leaf not in given and not isinstance(leaf, Constant)]


def first_free(
    nodes: Iterable[Apply], outputs: Iterable[Variable], inputs: Collection[Variable]
) -> Variable | None:
    """Return the first leaf that nodes or outputs read and that is neither given in ``inputs`` nor a constant."""
    given = set(inputs)
    for read in (*[node.inputs for node in nodes], outputs):
        for variable in read:
            if variable.owner is None and variable not in given and not isinstance(variable, Constant):
                return variable
    return None


def frontier(outputs: Sequence[Variable], stops: Callable[[Variable], bool]) -> list[Variable]:
    """Return the variables at which a walk back from ``outputs`` ends."""
    found: dict[Variable, None] = {}
    seen: set[Variable] = set()
    stack = list(reversed(outputs))
    while stack:
        variable = stack.pop()
        if variable not in seen:
            seen.add(variable)
            node = variable.owner
            if node is None or stops(variable):
                found[variable] = None
            else:
                stack += node.inputs[::-1]
    return list(found)


def users(nodes: Iterable[Apply]) -> dict[Variable, list[tuple[Apply, int]]]:
    """Map each variable to the Applies that read it, with the input positions."""
    found: dict[Variable, list[tuple[Apply, int]]] = {}
    for node in nodes:
        for position, variable in enumerate(node.inputs):
            if variable in found:
                found[variable].append((node, position))
            else:
                found[variable] = [(node, position)]
    return found


def depending_on(sources: Collection[Variable], outputs: Sequence[Variable]) -> set[Variable]:
    """Return the variables of a graph that depend on one of ``sources``, these included."""
    reached = set(sources)
    for node in toposort(outputs):
        if not reached.isdisjoint(node.inputs):
            reached.update(node.outputs)
    return reached
