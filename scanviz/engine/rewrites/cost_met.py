"""Costs in numbers: what a graph costs after each rewrite with the sizes of a call put in.

Costs are sums of products of named sizes (:mod:`scanviz.engine.rewrites.cost`), and a name stands for a size of an input or for
what is computed of such sizes (:mod:`scanviz.engine.rewrites.named_sizes`); so the costs of graphs that never ran are known as
well.  What depends on values of arrays, such as a number of elements that were chosen, has no number; neither has a name that
stands for two things which differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from scanviz.engine.cost.totals import Cost
from scanviz.engine.ops.sizes import calculated
from scanviz.engine.rewrites.named_sizes import Calculated, NamedSizes
from scanviz.engine.sizes.dims import Dim
from scanviz.engine.sizes.polynomial import Number, Polynomial
from scanviz.engine.sizes.unknowns import Call, Unknown, mapped


class CostNumbers(NamedTuple):
    """What a graph costs, in numbers; None for what depends on values.

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
    """What named sizes were in a call.

    Parameters
    ----------
    named : NamedSizes
        What the names stand for.
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
        """Return a named size; None where it is not known."""
        if name not in self._known:
            found = {self._value(meaning) for meaning in self._named.meanings.get(name, ())}
            self._known[name] = found.pop() if len(found) == 1 else None
        return self._known[name]

    def number(self, cost: Polynomial) -> int | None:
        """Return a cost in numbers; None where a size is not known."""
        total: Number = 0
        for product, factor in cost.terms.items():
            sizes = [size for name in product if (size := self.size(name)) is not None]
            if len(sizes) < len(product):
                return None
            total += prod(sizes) * factor
        return round(total)

    def _value(self, size: Polynomial) -> int | None:
        """Return a size made of sizes of inputs; None where an input has no such size, or sizes contradict one another."""
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
