"""Plumbing of a graph: operations that a reader may skip, such as sizes and checks.

Plumbing are sizes (``x.shape[0]``, and integers computed of sizes alone), arrays filled with a constant, axes of size 1 added
for broadcasting, and checks of a shape.  So is ``sum_to_shape`` where the types show no axis that it could sum over.  Values
named in the user's code and outputs of a graph are no plumbing; nor is a row of a list that takes noticeable time.

Pictures and lists leave plumbing out until they are asked for it, and count it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from scanviz.record.graphs.graph import GraphSnapshot, NodeRecord, ResultRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord

NOTICEABLE = 0.02  # of the time of its list: from then on a row is shown, whatever it does
DERIVATIVE = "∂"  # a name that a gradient gave, not the user
_OF_ARRAYS = frozenset({"dimension", "broadcast_size"})  # give a size, whatever they read
_CHECKS = frozenset(
    {"specify_shape", "state_shape", "first_rows", "last_row"}
)  # give their first input, or rows of it
_TYPE = re.compile(r"(\w+)\[(.*)\]")
_ORDER = re.compile(r"order=\((.*?)\)")


def plumbing(graph: GraphSnapshot) -> dict[int, str | None]:
    """Return the numbers of a graph's plumbing operations, without those in its loops' steps.

    Parameters
    ----------
    graph : GraphSnapshot
        A graph of a function, or of a loop's step.

    Returns
    -------
    dict of int to str or None
        Of each such operation the key of the variable that its result is a form of (the same numbers over more axes, or fewer
        rows of them): a picture without the operation draws that one's arrow in its place.  None of one that gives a size, or
        fills an array with a constant: a picture without it draws no arrow.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> from scanviz.record.snapshot import snapshot
    >>> x = T.vector("x")
    >>> graph = snapshot(x * 2.0 + T.zeros(x.shape[0] + 1)[1:])
    >>> [graph.nodes[number].op for number in plumbing(graph)]
    ['dimension{axis=0}', 'add', 'alloc']
    """
    sizes: set[str] = set()
    found: dict[int, str | None] = {}
    for number, node in enumerate(graph.nodes):
        if node.loop is not None or len(node.outputs) != 1:
            continue
        (result,) = node.outputs
        if _is_size(node, graph, sizes):
            sizes.add(result)
        elif not _is_form(node, graph.variables):
            continue
        name = graph.variables[result].name
        if result not in graph.outputs and (not name or name.startswith(DERIVATIVE)):
            found[number] = None if result in sizes or _is_fill(node, graph) else node.inputs[0]
    return found


def plumbing_operations(graph: GraphSnapshot | None) -> frozenset[int]:
    """Return the indices of a program's plumbing operations; none for a graph that was not kept."""
    if graph is None:
        return frozenset()
    folded = plumbing(graph)
    others = {node.operation for number, node in enumerate(graph.nodes) if number not in folded}
    found = {graph.nodes[number].operation for number in folded} - others
    return frozenset(index for index in found if index is not None)


def folded_rows(owner: FunctionRecord | LoopRecord, candidates: Collection[int]) -> frozenset[int]:
    """Return the operations to leave out of a list: plumbing that takes less than ``NOTICEABLE`` of its time.

    Parameters
    ----------
    owner : FunctionRecord or LoopRecord
        The owner of the listed operations.
    candidates : collection of int
        Result of :func:`plumbing_operations` for its graph.
    """
    times = {operation.index: owner.ran_ns(operation) for operation in owner.operations}
    least = NOTICEABLE * sum(times.values())
    return frozenset(index for index, time in times.items() if index in candidates and time <= least)


def shown_variable(folded: Mapping[int, str | None], graph: GraphSnapshot) -> dict[str, str | None]:
    """Return, for each result of plumbing, the variable drawn in its place; None for nothing.

    Parameters
    ----------
    folded : mapping of int to str or None
        As :func:`plumbing` returns it, or a part of that.
    graph : GraphSnapshot
        The graph.
    """
    found: dict[str, str | None] = {}
    for number in sorted(folded):  # nodes are in order of computation, so replacements of inputs are known
        source = folded[number]
        (result,) = graph.nodes[number].outputs
        found[result] = found.get(source, source) if source is not None else None
    return found


def _is_size(node: NodeRecord, graph: GraphSnapshot, sizes: Collection[str]) -> bool:
    """Return whether a node computes sizes: a property of an array, or integers from sizes and constants."""
    if node.op_name in _OF_ARRAYS:
        return True
    dtype, shape = _type(node.results[0])
    counted = dtype == "int64" and len(shape) <= 1 and "?" not in shape
    known = [key in sizes for key in node.inputs if graph.role(key) != "constant"]
    return counted and bool(known) and all(known)


def _is_form(node: NodeRecord, variables: Mapping[str, ResultRecord]) -> bool:
    """Return whether a node changes only the form of its input: more axes, or a check."""
    op = node.op_name
    if op in _CHECKS or op == "alloc":
        return True
    if op == "sum_to_shape":
        (_, given), (_, wanted) = _type(variables[node.inputs[0]]), _type(variables[node.outputs[0]])
        return len(given) == len(wanted) and all(
            size != "1" or old == "1" for old, size in zip(given, wanted, strict=True)
        )
    if op == "dimshuffle":
        order = _ORDER.search(node.op)
        axes = [entry.strip() for entry in order.group(1).split(",") if entry.strip()] if order else []
        kept = [entry for entry in axes if entry != "None"]
        return kept == [str(k) for k in range(len(kept))] and len(kept) == len(
            _type(variables[node.inputs[0]])[1]
        )
    if op == "index":
        inside = node.op[len("index[") : -1].split(",")
        return all(entry.strip() in (":", "None") for entry in inside)
    return False


def _is_fill(node: NodeRecord, graph: GraphSnapshot) -> bool:
    """Return whether a node fills an array with a constant."""
    return node.op_name == "alloc" and graph.role(node.inputs[0]) == "constant"


def _type(variable: ResultRecord) -> tuple[str, list[str]]:
    """Return the dtype and sizes of a printed type; no sizes if it is no array."""
    found = _TYPE.fullmatch(variable.type)
    if found is None:
        return variable.type, []
    return found.group(1), [size.strip() for size in found.group(2).split(",") if size.strip()]
