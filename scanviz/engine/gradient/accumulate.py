"""Adding the cotangents that meet in one variable.

Parts of an array that were read by index come back as zeros with the part added in; several of these become one array of
zeros with all parts added in, instead of a sum of arrays that are mostly zeros.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.elementwise import add
from scanviz.engine.ops.shape import ALLOC


def add_cotangents(terms: Sequence[Variable]) -> Variable:
    """Return the sum of cotangents of one variable, all of its shape.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> add_cotangents([x, x * 2]).eval({x: [1.0]})
    array([3.])
    """
    parts = [term for term in terms if _assigned_to_zeros(term) is not None]
    whole = [term for term in terms if _assigned_to_zeros(term) is None]
    if not whole:
        whole, parts = parts[:1], parts[1:]
    total = functools.reduce(add, whole)
    for part in parts:
        node = _assigned_to_zeros(part)
        assert node is not None
        total = build_one(node.op, total, *node.inputs[1:])
    return total


def added(*terms: Variable | None) -> Variable | None:
    """Return the sum of the terms that there are, None if there are none."""
    there = [term for term in terms if term is not None]
    return functools.reduce(add, there) if there else None


def _assigned_to_zeros(variable: Variable) -> Apply | None:
    """Return the node that added one part into zeros, None if that is not what made a variable."""
    node = variable.owner
    if node is None or node.op.declaration is not ASSIGN or not node.op.parameters.increment:
        return None
    return node if is_zeros(node.inputs[0]) else None


def gradient_name(name: str) -> str:
    """Return what the gradient of something is called.

    Examples
    --------
    >>> gradient_name("W"), gradient_name("h[t-1]"), gradient_name("f * c")
    ('∂W', '∂h[t-1]', '∂(f * c)')
    """
    return f"∂({name})" if " " in name else f"∂{name}"


def is_zeros(variable: Variable) -> bool:
    """Return whether a variable is known to hold nothing but zeros."""
    node = variable.owner
    if node is not None and node.op.declaration is ALLOC:
        return is_zeros(node.inputs[0])
    return isinstance(variable, Constant) and not variable.value.any()
