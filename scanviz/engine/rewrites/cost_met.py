"""Costs in numbers: what a graph costs after each rewrite with the sizes of a call put in.

Costs are sums of products of named sizes (:mod:`scanviz.engine.rewrites.cost`), and a name stands for a size of an input or for
what is computed of such sizes (:mod:`scanviz.engine.rewrites.named_sizes`); so the costs of graphs that never ran are known as
well.  What depends on values of arrays, such as a number of elements that were chosen, has no number; neither has a name that
stands for two things which differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from scanviz.engine.graph.dims import Dim
from scanviz.engine.graph.polynomial import Number, Polynomial
from scanviz.engine.graph.sizes import Call, Unknown, inside_out
from scanviz.engine.named_tuple import NamedTuple
from scanviz.engine.ops.sizes import calculated
from scanviz.engine.rewrites.cost_total import Cost, StepCost
from scanviz.engine.rewrites.named_sizes import Calculated, NamedSizes


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


class CostChange(NamedTuple):
    """What a graph costs more than the one before it.

    Attributes
    ----------
    difference : Cost
        How much more; its steps are not looked at.
    steps : mapping
        Loop (names from the outermost) → what one step costs now, of steps that cost something else before.
    """

    difference: Cost
    steps: Mapping[tuple[str, ...], StepCost]


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

    def split(self, cost: Polynomial) -> tuple[int, Polynomial]:
        """Return what a cost is as far as sizes are known, and the terms that are not."""
        known: Number = 0
        rest: dict[Any, Number] = {}
        for product, factor in cost.terms.items():
            sizes = [self.size(name) for name in product]
            numbers = [size for size in sizes if size is not None]
            if len(numbers) == len(sizes):
                known += prod(numbers) * factor
            else:
                rest[product] = factor
        return round(known), Polynomial(rest)

    def number(self, cost: Polynomial) -> int | None:
        """Return a cost in numbers; None where a size is not known."""
        known, rest = self.split(cost)
        return None if rest.terms else known

    def _value(self, size: Polynomial) -> int | None:
        """Return a size made of sizes of inputs; None where an input has no such size, or sizes contradict one another."""
        known: dict[Polynomial, Dim] = {}

        def value(unknown: Unknown | Call | Calculated) -> Dim:
            if isinstance(unknown, Unknown):
                found = self._given(unknown)
            elif isinstance(unknown, Call):
                found = calculated(unknown.name, [known.get(arg, arg) for arg in unknown.args])
            else:
                found = self._performed(unknown)
            if found is None:
                raise LookupError(unknown)
            return found

        try:
            for part in inside_out(size, known.__contains__):
                known[part] = part.replaced(value).simplest
        except LookupError:
            return None
        found = known[size]
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


def names_in(first: Cost, changes: Sequence[CostChange]) -> Iterator[str]:
    """Iterate over the names of sizes in costs."""
    for cost, steps in [(first, first.steps), *changes]:
        for whole in (cost.operations, cost.flops, cost.bytes_moved, cost.buffer_bytes):
            yield from whole.unknowns
        for step in steps.values():
            yield from (*step.flops.unknowns, *step.bytes_moved.unknowns)


def costs_met(first: Cost, changes: Sequence[CostChange], sizes: SizesMet) -> list[CostNumbers]:
    """Return what graphs cost in numbers, one after the other, each from what it costs more than the one before.

    Parameters
    ----------
    first : Cost
        Of the first graph.
    changes : sequence of CostChange
        Of those after it.
    sizes : SizesMet
        The sizes to put in.
    """
    totals = [_Total(sizes) for _ in range(4)]
    found = []
    for cost, steps in [(first, first.steps), *changes]:
        kinds = (cost.operations, cost.flops, cost.bytes_moved, cost.buffer_bytes)
        operations, flops, moved, kept = (total.plus(kind) for total, kind in zip(totals, kinds, strict=True))
        in_numbers = {path: _step(step, sizes) for path, step in steps.items()}
        found.append(CostNumbers(operations, flops, moved, kept, in_numbers))
    return found


def _step(step: StepCost, sizes: SizesMet) -> tuple[int, int | None, int | None]:
    return step.operations, sizes.number(step.flops), sizes.number(step.bytes_moved)


class _Total:
    """A sum of costs: as far as it is known, and the terms that are not."""

    def __init__(self, sizes: SizesMet) -> None:
        self._sizes = sizes
        self._known, self._rest = 0, Polynomial({})

    def plus(self, cost: Polynomial) -> int | None:
        """Add a cost, and return the sum; None as long as something of it is not known."""
        known, rest = self._sizes.split(cost)
        self._known += known
        self._rest += rest
        return None if self._rest.terms else self._known
