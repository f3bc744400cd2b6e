"""What names of sizes stand for, written in sizes of a function's inputs: it holds no variable, so no array is kept alive by it.

A cost names a size by what the user calls it (:mod:`scanviz.engine.rewrites.cost`).  A size of something that a graph computes is
followed back to the inputs; whole numbers of other dtypes than sizes have are followed through their operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.ops.sizes import is_whole, size_of
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.cost import Meanings, size_name
from scanviz.engine.sizes.dims import Dim
from scanviz.engine.sizes.in_turn import in_turn
from scanviz.engine.sizes.polynomial import Polynomial
from scanviz.engine.sizes.unknowns import Call, Unknown, mapped


class Calculated(NamedTuple):
    """A whole number that an operation gives of whole numbers, in their own dtypes.

    Attributes
    ----------
    op : Op
        The operation.
    dtypes : tuple of str
        Of what it is given.
    args : tuple of Polynomial
        What it is given.
    """

    op: Op
    dtypes: tuple[str, ...]
    args: tuple[Polynomial, ...]


class NamedSizes(NamedTuple):
    """What names of sizes stand for, in sizes of inputs.

    Attributes
    ----------
    meanings : mapping of str to tuple of Polynomial
        All that a name stands for; names with a meaning that depends on values of arrays are left out.  Unknowns are sizes
        whose ``source`` is the position of an input, :class:`~scanviz.engine.sizes.unknowns.Call` and :class:`Calculated`.
    inputs : mapping of Unknown to str
        What sizes of inputs are called.
    """

    meanings: Mapping[str, tuple[Polynomial, ...]]
    inputs: Mapping[Unknown, str]


def named_sizes(meanings: Meanings, inputs: Sequence[Variable], names: Iterable[str]) -> NamedSizes:
    """Return what names of sizes stand for, in sizes of a function's inputs.

    Parameters
    ----------
    meanings : dict
        What they stand for, in sizes of variables.
    inputs : sequence of Variable
        Of the function.
    names : iterable of str
        The names.
    """
    walk = _Walk(inputs)
    found: dict[str, tuple[Polynomial, ...]] = {}
    for name in dict.fromkeys(names):
        sizes = [walk.size(Polynomial.of(meaning)) for meaning in meanings.get(name, ())]
        known = tuple(size for size in sizes if size is not None)
        if len(known) == len(sizes):
            found[name] = known
    return NamedSizes(found, walk.names)


class _Walk:
    """Follows sizes back to inputs.

    Attributes
    ----------
    names : dict
        Sizes of inputs that were met, and what they are called.
    """

    def __init__(self, inputs: Sequence[Variable]) -> None:
        self._positions = {variable: position for position, variable in enumerate(inputs)}
        self._shapes: dict[Variable, tuple[Dim, ...]] = {}
        self.names: dict[Unknown, str] = {}

    def size(self, size: Dim) -> Polynomial | None:
        """Return a size in sizes of inputs; None where it depends on values of arrays."""
        if not isinstance(size, Polynomial):
            return Polynomial.of(size)
        known: dict[Polynomial, Dim] = {}

        def followed(unknown: Unknown | Call) -> Polynomial | None:
            if isinstance(unknown, Unknown):
                return self._unknown(unknown)
            args = tuple(known.get(arg, arg) for arg in unknown.args)
            return None if None in args else Polynomial.of(Call(unknown.name, args))

        found = mapped(size, followed, known)
        return None if found is None else found * Polynomial.of(1)

    def _unknown(self, unknown: Unknown) -> Polynomial | None:
        variable, axis = unknown
        if variable in self._positions:
            given = Unknown(self._positions[variable], axis)
            self.names[given] = size_name(unknown)
            return Polynomial.of(given)
        made = size_of(variable) if axis is None else shape_of(variable, self._shapes)[axis]
        if made != Polynomial.of(unknown):
            return self.size(made)
        return self._calculated(variable) if axis is None else None

    def _calculated(self, variable: Variable) -> Polynomial | None:
        """Return a whole number that is calculated of whole numbers alone."""
        known: dict[Variable, Polynomial | None] = {}
        for integer in in_turn(variable, _whole_numbers, known.__contains__):
            given = [known[number] for number in _whole_numbers(integer)]
            args = tuple(number for number in given if number is not None)
            if not given:
                known[integer] = self._first(integer)
            elif integer.owner is None or len(args) < len(given):
                known[integer] = None
            else:
                dtypes = tuple(getattr(number.type, "dtype", "int64") for number in integer.owner.inputs)
                known[integer] = Polynomial.of(Calculated(integer.owner.op, dtypes, args))
        return known[variable]

    def _first(self, variable: Variable) -> Polynomial | None:
        """Return a whole number that is calculated of nothing: a constant, an input, or a size."""
        made = size_of(variable)
        if made == Polynomial.of(Unknown(variable)) and variable not in self._positions:
            return None
        return self.size(made)


def _whole_numbers(variable: Variable) -> Sequence[Variable]:
    """Return what a whole number is calculated of, if that is whole numbers alone."""
    node = variable.owner
    if node is None or len(node.outputs) > 1 or not node.op.facts.foldable or node.op.facts.raises:
        return ()
    return node.inputs if is_whole(variable) and all(map(is_whole, node.inputs)) else ()
