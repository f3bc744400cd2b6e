"""Costs in numbers: those of a graph after each rewrite, with the sizes of a call.

Costs are sums of products of named sizes (:mod:`scanviz.engine.rewrites.cost`).  The meaning of a name is written in sizes of a
function's inputs, without a variable, so no array is kept alive.  A size that a graph computes is followed back to the inputs,
through operations on whole numbers of any dtype.  So the costs of graphs that never ran are known too.  What depends on values
of arrays, such as a number of chosen elements, has no number; neither has a name that stands for two things that differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.ops.sizes import calculated, is_whole, size_of
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.cost import Cost, Meanings, size_name
from scanviz.engine.sizes.dims import Dim
from scanviz.engine.sizes.in_turn import in_turn
from scanviz.engine.sizes.polynomial import Call, Number, Polynomial, Unknown, mapped


class Calculated(NamedTuple):
    """A whole number that an operation gives of whole numbers, in their own dtypes.

    Attributes
    ----------
    op : Op
        The operation.
    dtypes : tuple of str
        The dtypes of its inputs.
    args : tuple of Polynomial
        Its inputs.
    """

    op: Op
    dtypes: tuple[str, ...]
    args: tuple[Polynomial, ...]


class NamedSizes(NamedTuple):
    """The meaning of named sizes, in sizes of inputs.

    Attributes
    ----------
    meanings : mapping of str to tuple of Polynomial
        All that a name stands for; names with a meaning that depends on values of arrays are left out.  Unknowns are sizes
        whose ``source`` is the position of an input, :class:`~scanviz.engine.sizes.polynomial.Call` and :class:`Calculated`.
    inputs : mapping of Unknown to str
        Names of the sizes of inputs.
    """

    meanings: Mapping[str, tuple[Polynomial, ...]]
    inputs: Mapping[Unknown, str]


def named_sizes(meanings: Meanings, inputs: Sequence[Variable], names: Iterable[str]) -> NamedSizes:
    """Return the meaning of named sizes, in sizes of a function's inputs.

    Parameters
    ----------
    meanings : dict
        Their meanings, in sizes of variables.
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
        """Return a size in sizes of inputs; None if it depends on values of arrays."""
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
    """Return the operands of a whole number, if all are whole numbers."""
    node = variable.owner
    if node is None or len(node.outputs) > 1 or not node.op.facts.foldable or node.op.facts.raises:
        return ()
    return node.inputs if is_whole(variable) and all(map(is_whole, node.inputs)) else ()


class CostNumbers(NamedTuple):
    """Costs of a graph in numbers; None for those that depend on values.

    Attributes
    ----------
    operations, flops, bytes_moved, buffer_bytes : int or None
        As of :class:`~scanviz.engine.rewrites.cost.Cost`.
    steps : dict
        Loop (names from the outermost) → operations, floating-point operations and bytes of one step.
    """

    operations: int | None
    flops: int | None
    bytes_moved: int | None
    buffer_bytes: int | None
    steps: dict[tuple[str, ...], tuple[int, int | None, int | None]]


class SizesMet:
    """Values of named sizes in a call.

    Parameters
    ----------
    named : NamedSizes
        Meanings of the names.
    shapes : sequence of tuple of int
        Of the inputs; None of one that has none.
    values : mapping of int to int
        Of the inputs that are one whole number, by their positions.

    Attributes
    ----------
    used : dict of str to int
        Sizes of inputs, and whole numbers, that were asked for.
    """

    def __init__(
        self, named: NamedSizes, shapes: Sequence[Sequence[int] | None], values: Mapping[int, int]
    ) -> None:
        self._named, self._shapes, self._values = named, shapes, values
        self._known: dict[str, int | None] = {}
        self.used: dict[str, int] = {}

    def size(self, name: str) -> int | None:
        """Return a named size; None if unknown."""
        if name not in self._known:
            found = {self._value(meaning) for meaning in self._named.meanings.get(name, ())}
            self._known[name] = found.pop() if len(found) == 1 else None
        return self._known[name]

    def number(self, cost: Polynomial) -> int | None:
        """Return a cost in numbers; None if a size is not known."""
        total: Number = 0
        for product, factor in cost.terms.items():
            sizes = [size for name in product if (size := self.size(name)) is not None]
            if len(sizes) < len(product):
                return None
            total += prod(sizes) * factor
        return round(total)

    def _value(self, size: Polynomial) -> int | None:
        """Return a size made of sizes of inputs; None if an input has no such size, or sizes contradict one another."""
        known: dict[Polynomial, Dim] = {}

        def value(unknown: Unknown | Call | Calculated) -> Dim:
            if isinstance(unknown, Unknown):
                return self._given(unknown)
            if isinstance(unknown, Call):
                return calculated(unknown.name, [known.get(arg, arg) for arg in unknown.args])
            return self._performed(unknown)

        found = mapped(size, value, known)
        return int(found) if isinstance(found, int) else None

    def _given(self, unknown: Unknown) -> int | None:
        position, axis = unknown
        shape = self._shapes[position]
        found = self._values.get(position) if axis is None else None if shape is None else shape[axis]
        if found is not None:
            self.used[self._named.inputs[unknown]] = found
        return found

    def _performed(self, calculation: Calculated) -> int | None:
        args = [self._value(arg) for arg in calculation.args]
        known = [arg for arg in args if arg is not None]
        if len(known) < len(args):
            return None
        given = [np.asarray(arg, dtype) for arg, dtype in zip(known, calculation.dtypes, strict=True)]
        with np.errstate(all="ignore"):
            return int(calculation.op.perform(given)[0])


def names_in(costs: Iterable[Cost]) -> Iterator[str]:
    """Iterate over the names of sizes in costs."""
    for cost in costs:
        for whole in (cost.operations, cost.flops, cost.bytes_moved, cost.buffer_bytes):
            yield from whole.unknowns
        for step in cost.steps.values():
            yield from (*step.flops.unknowns, *step.bytes_moved.unknowns)


def cost_met(cost: Cost, sizes: SizesMet) -> CostNumbers:
    """Return a cost in numbers, with the sizes of a call."""
    steps = {
        path: (step.operations, sizes.number(step.flops), sizes.number(step.bytes_moved))
        for path, step in cost.steps.items()
    }
    return CostNumbers(
        sizes.number(cost.operations),
        sizes.number(cost.flops),
        sizes.number(cost.bytes_moved),
        sizes.number(cost.buffer_bytes),
        steps,
    )
