"""Adding the cotangents that meet in one variable.

The cotangent of a part that was read by index is an array of zeros with the part added in.  Several of these become one array
of zeros with all parts added in, instead of a sum of arrays that are mostly zeros.  Slices that follow one another from the
first row of an axis to its last are joined.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, tensor_type
from scanviz.engine.graph.notation import GRADIENT
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.elementwise import add
from scanviz.engine.ops.index_pattern import WHOLE, Number
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.shape import ALLOC

RULE = "gradient"


def add_cotangents(terms: Sequence[Variable]) -> Variable:
    """Return the sum of cotangents of one variable, all of its shape; its line is that of the first one.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> add_cotangents([x, x * 2]).eval({x: [1.0]})
    array([3.])
    """
    node = next((term.owner for term in terms if term.owner is not None), None)
    if node is None:
        return _summed(terms)
    with made_by(RULE, node.provenance, (node.node_id,)):
        return _summed(terms)


def _summed(terms: Sequence[Variable]) -> Variable:
    parts = [_parts_of_zeros(term) for term in terms]
    whole = [term for term, found in zip(terms, parts, strict=True) if not found]
    if not whole:
        joined = _joined([node for found in parts for node in found])
        if joined is not None:
            return joined
        whole, parts[0] = [terms[0]], []
    total = functools.reduce(add, whole)
    for node in (node for found in parts for node in found):
        total = build_one(node.op, total, *node.inputs[1:])
    return total


def added(*terms: Variable | None) -> Variable | None:
    """Return the sum of the terms, None without terms."""
    there = [term for term in terms if term is not None]
    return functools.reduce(add, there) if there else None


def _parts_of_zeros(variable: Variable) -> list[Apply]:
    """Return the nodes that added parts into zeros, one after the other, to make a variable; none if something else did."""
    found: list[Apply] = []
    node = variable.owner
    while node is not None and node.op.declaration is ASSIGN and node.op.parameters.increment:
        found.insert(0, node)
        if is_zeros(node.inputs[0]):
            return found
        node = node.inputs[0].owner
    return []


def _joined(parts: Sequence[Apply]) -> Variable | None:
    """Return slices added to zeros as one array, if they follow one another along one whole axis.

    Such slices part an array of any size, where their bounds all count from its first row, or all from its last.
    """
    entries = [node.op.parameters.pattern.entries for node in parts]
    axes = {k for one in entries for k, entry in enumerate(one) if entry != WHOLE}
    if len(parts) < 2 or len(axes) != 1:
        return None
    (axis,) = axes
    slices = [one[axis] for one in entries]
    if any(one.kind != "slice" or one.step not in (None, 1) for one in slices):
        return None
    bounds = {
        (one.start or None): (one.stop, node.inputs[1]) for one, node in zip(slices, parts, strict=True)
    }
    size = tensor_type(parts[0].outputs[0]).shape[axis]
    ordered: list[Variable] = []
    at: Number = None
    while at in bounds:
        stop, value = bounds.pop(at)
        ordered.append(value)
        if stop is not None and (
            not isinstance(stop, int) or (isinstance(at, int) and not (0 < at < stop or at < stop < 0))
        ):
            return None
        if stop is None or stop == size:
            return concatenate(ordered, axis) if not bounds and len(ordered) == len(parts) else None
        at = stop
    return None


def gradient_name(name: str) -> str:
    """Return the name of a gradient.

    Examples
    --------
    >>> gradient_name("W"), gradient_name("h[t-1]"), gradient_name("f * c")
    ('∂W', '∂h[t-1]', '∂(f * c)')
    """
    return f"{GRADIENT}({name})" if " " in name else f"{GRADIENT}{name}"


def is_zeros(variable: Variable) -> bool:
    """Return whether a variable is known to hold nothing but zeros."""
    node = variable.owner
    if node is not None and node.op.declaration is ALLOC:
        return is_zeros(node.inputs[0])
    return isinstance(variable, Constant) and not variable.value.any()
