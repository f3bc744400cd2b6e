"""Structural equality: do two graphs compute the same, node by node?

Names and provenance do not count.  Constants are equal if dtype, shape and every bit are (so NaN equals NaN and 0.0
differs from -0.0).  Ops compare by ``==``; an op that holds a graph, such as Scan, compares it in its own ``__eq__``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.graph.nodes import Constant, Variable


def equal_constants(first: Constant, second: Constant) -> bool:
    """Return whether two constants hold the same bits in the same type."""
    a, b = first.value, second.value
    return bool(first.type == second.type and a.shape == b.shape and a.tobytes() == b.tobytes())


def structurally_equal(
    first: Sequence[Variable], second: Sequence[Variable], pairs: Mapping[Variable, Variable] | None = None
) -> bool:
    """Return whether two graphs are the same but for names.

    Parameters
    ----------
    first, second : sequence of Variable
        The outputs of the two graphs.
    pairs : mapping of Variable to Variable, optional
        Inputs of the first graph that stand for inputs of the second; all other leaves must be the same variable
        or equal constants.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x, y = T.vector("x"), T.vector("y")
    >>> structurally_equal([x + 1], [y + 1], {x: y}), structurally_equal([x + 1], [y + 1])
    (True, False)
    """
    if len(first) != len(second):
        return False
    matched: dict[Variable, Variable] = dict(pairs or {})
    taken = set(matched.values())  # inputs of the second graph: only what stands for them equals them
    stack = list(zip(first, second, strict=True))
    while stack:
        a, b = stack.pop()
        known = matched.get(a)
        if known is not None:
            if known is not b:
                return False
            continue
        if b in taken:
            return False
        matched[a] = b
        if a is b and (
            a.owner is None or not pairs
        ):  # a shared node may read an input that stands for another
            continue
        if isinstance(a, Constant) and isinstance(b, Constant):
            if not equal_constants(a, b):
                return False
            continue
        x, y = a.owner, b.owner
        if x is None or y is None or a.index != b.index or len(x.inputs) != len(y.inputs) or x.op != y.op:
            return False
        stack.extend(zip(x.inputs, y.inputs, strict=True))
    return True
