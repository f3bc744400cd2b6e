"""Structural equality: do two graphs compute the same, node by node?

Names and provenance do not count.  Constants are equal if dtype, shape and every bit are (so NaN equals NaN and 0.0
differs from -0.0).  Ops compare by ``==``; an op that holds a graph, such as Scan, compares it in its own ``__eq__``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from scanviz.engine.graph.nodes import Constant, Variable


def equal_constants(first: Constant, second: Constant) -> bool:
    """Return whether two constants hold the same bits in the same type."""
    a, b = first.value, second.value
    return bool(first.type == second.type and a.shape == b.shape and a.tobytes() == b.tobytes())


class Numbers:
    """Numbers for variables such that structurally equal ones have equal numbers, each graph walked once.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x, numbers = T.vector("x"), Numbers()
    >>> numbers.of(x + 1) == numbers.of(x + 1), numbers.of(x + 1) == numbers.of(x)
    (True, False)
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[Variable, int] = {}

    def of(self, variable: Variable) -> int:
        """Return the number of a variable."""
        stack = [] if variable.owner is None or variable in self._known else [variable.owner]
        while stack:
            node = stack[-1]
            waiting = [
                each.owner for each in node.inputs if each.owner is not None and each not in self._known
            ]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            own = (node.op, tuple(self._leaf(each) for each in node.inputs))
            for output in node.outputs:
                self._known[output] = self._number((own, output.index))
        return self._leaf(variable)

    def _leaf(self, variable: Variable) -> int:
        """Return the number of a variable that has one, or that nothing computes."""
        known = self._known.get(variable)
        if known is None:
            constant = isinstance(variable, Constant)
            key = (variable.type, variable.value.tobytes()) if isinstance(variable, Constant) else variable
            known = self._known[variable] = self._number((constant, key))
        return known

    def _number(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


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
