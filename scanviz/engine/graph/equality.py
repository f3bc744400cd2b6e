"""Structural equality: compare two graphs node by node.

Names and provenance do not count, nor do the words of messages.  Constants are equal if dtype, shape and every bit are (so NaN
equals NaN and 0.0 differs from -0.0).  Ops compare by :meth:`~scanviz.engine.graph.declaration.Op.does_the_same`; one that holds
a graph, such as Scan, compares it in its ``__eq__``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from scanviz.engine.graph.nodes import Constant, Variable


def equal_constants(first: Constant, second: Constant) -> bool:
    """Return whether two constants have the same type and bits."""
    return same_value(first) == same_value(second)


class Numbers:
    """Value numbers: structurally equal variables have equal numbers.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x, numbers = T.vector("x"), Numbers()
    >>> numbers.of(x + 1) == numbers.of(x + 1), numbers.of(x + 1) == numbers.of(x)
    (True, False)
    """

    def __init__(self, keys: dict[Hashable, int] | None = None) -> None:
        self._keys: dict[Hashable, int] = {} if keys is None else keys
        self._known: dict[Variable, int] = {}

    def afresh(self) -> Numbers:
        """Return the same numbers for the same keys, which know of no variable yet."""
        return Numbers(self._keys)

    def give(self, variable: Variable, key: Hashable) -> None:
        """Let a variable have the number of a key, whatever it is computed from."""
        self._known[variable] = self.of_key(key)

    def of_key(self, key: Hashable) -> int:
        """Return a small number for a key: -1 and -2 have the same hash."""
        return self._keys.setdefault(key, len(self._keys))

    def of(self, variable: Variable) -> int:
        """Return the number of a variable."""
        known, stack = self._known, [variable]
        while stack:
            value = stack[-1]
            if value not in known:
                node = value.owner
                if node is None:
                    self.of_leaf(value)
                elif waiting := [given for given in node.inputs if given not in known]:
                    stack += waiting
                    continue
                else:
                    self.give(value, (node.op, tuple([known[given] for given in node.inputs]), value.index))
            stack.pop()
        return known[variable]

    def of_leaf(self, variable: Variable) -> int:
        """Return the number of a variable that has one, or is taken as nothing computed it: equal constants have one."""
        known = self._known.get(variable)
        if known is None:
            known = self._known[variable] = self.of_key(("leaf", same_value(variable)))
        return known


def same_value(variable: Variable) -> Hashable:
    """Return a key that equal constants share; other variables are their own key."""
    if isinstance(variable, Constant):
        return variable.type, variable.value.shape, variable.value.tobytes()
    return variable


def structurally_equal(
    first: Sequence[Variable], second: Sequence[Variable], pairs: Mapping[Variable, Variable] | None = None
) -> bool:
    """Return whether two graphs are equal up to names.

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
        # a shared node may read an input that stands for another
        if a is b and (a.owner is None or not pairs):
            continue
        if isinstance(a, Constant) and isinstance(b, Constant):
            if not equal_constants(a, b):
                return False
            continue
        x, y = a.owner, b.owner
        if x is None or y is None or a.index != b.index or len(x.inputs) != len(y.inputs):
            return False
        if not x.op.does_the_same(y.op):
            return False
        stack.extend(zip(x.inputs, y.inputs, strict=True))
    return True
