"""Costs as data, and costs added up: of a graph, of a step, of a graph from which nodes went and to which others came.

A sum is kept as terms of polynomials, so that a node is added or taken away by as many additions as its cost has terms; what the
nodes of one graph cost (:mod:`scanviz.engine.rewrites.cost`) becomes what those of the next cost by the nodes that changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply
from scanviz.engine.sizes.polynomial import Polynomial


class StepCost(Struct, frozen=True):
    """What one step of a loop costs.

    Attributes
    ----------
    operations : int
        Operations of its own, without those of loops inside.
    flops : Polynomial
        Floating-point operations, with those of loops inside.
    bytes_moved : Polynomial
        Bytes read and written, with those of loops inside.
    """

    operations: int
    flops: Polynomial
    bytes_moved: Polynomial


class Cost(Struct, frozen=True):
    """What a graph costs.

    Attributes
    ----------
    operations : Polynomial
        Operations run, those of a step as often as there are steps.
    steps : mapping
        Loop (names from the outermost) → what one step costs.
    flops : Polynomial
        Floating-point operations.
    bytes_moved : Polynomial
        Bytes read and written by operations that are no views.
    buffer_bytes : Polynomial
        Bytes of the rows that loops keep.
    """

    operations: Polynomial
    steps: Mapping[tuple[str, ...], StepCost]
    flops: Polynomial
    bytes_moved: Polynomial
    buffer_bytes: Polynomial

    @property
    def operations_per_step(self) -> dict[tuple[str, ...], int]:
        """Loop (names from the outermost) → operations of one step."""
        return {path: step.operations for path, step in self.steps.items()}

    def less(self, other: Cost) -> Cost:
        """Return how much more it is than another cost, without single steps."""
        return Cost(
            self.operations - other.operations,
            {},
            self.flops - other.flops,
            self.bytes_moved - other.bytes_moved,
            self.buffer_bytes - other.buffer_bytes,
        )


def add(total: dict[Any, Any], polynomial: Polynomial, times: int = 1) -> None:
    """Add a polynomial, so many times, to the terms of a sum."""
    for term, value in polynomial.terms.items():
        total[term] = total.get(term, 0) + times * value


ZERO = Polynomial.of(0)
FREE = Cost(ZERO, {}, ZERO, ZERO, ZERO)
_NO_STEP = StepCost(0, ZERO, ZERO)


class TotalCost:
    """Costs of nodes that are computed as often as one another, added up; of other nodes later, by what changed."""

    def __init__(self) -> None:
        self._nodes: dict[Apply, Cost] = {}
        self._operations: dict[Any, Any] = {}
        self._flops: dict[Any, Any] = {}
        self._moved: dict[Any, Any] = {}
        self._kept: dict[Any, Any] = {}
        self._single = 0  # operations that are no loops
        self._steps: dict[tuple[str, ...], _StepTotal] = {}

    def become(self, nodes: Sequence[Apply], cost: Callable[[Apply], Cost]) -> None:
        """Be the sum of these nodes, and ask for the costs of those that are new."""
        before, now = self._nodes, dict.fromkeys(nodes)
        for node in [node for node in before if node not in now]:
            self.add(before.pop(node), -1)
        for node in [node for node in nodes if node not in before]:
            before[node] = cost(node)
            self.add(before[node], 1)

    def add(self, cost: Cost, times: int) -> None:
        """Add a cost so many times; -1 takes it away."""
        if cost is FREE:
            return
        add(self._operations, cost.operations, times)
        add(self._flops, cost.flops, times)
        add(self._moved, cost.bytes_moved, times)
        add(self._kept, cost.buffer_bytes, times)
        if not cost.steps:  # no loop
            self._single += times
        for path, step in cost.steps.items():
            self._steps.setdefault(path, _StepTotal()).add(step, times)

    def cost(self, path: tuple[str, ...] = (), times: Polynomial | int = 1, rows: Polynomial = ZERO) -> Cost:
        """Return the costs of so many times the sum, by default of the sum.

        Parameters
        ----------
        path : tuple of str
            The loop whose step the nodes are in, if they are in one.
        times : Polynomial or int
            How often they are computed.
        rows : Polynomial
            Bytes of rows, which are kept once however often they are written.
        """
        found = [Polynomial(terms) * times for terms in (self._operations, self._flops, self._moved)]
        steps = {path + within: total.cost for within, total in self._steps.items() if total.loops}
        if path:
            steps = {path: StepCost(self._single, Polynomial(self._flops), Polynomial(self._moved))} | steps
        return Cost(found[0], steps, found[1], found[2], Polynomial(self._kept) + rows)


class _StepTotal:
    """What a step costs of the loops at one path: of several of one name, all together."""

    __slots__ = ("cost", "loops")

    def __init__(self) -> None:
        self.loops, self.cost = 0, _NO_STEP

    def add(self, step: StepCost, times: int) -> None:
        """Count a loop so many times; -1 takes it away."""
        known = self.cost
        self.loops += times
        self.cost = StepCost(
            known.operations + times * step.operations,
            known.flops + step.flops * times,
            known.bytes_moved + step.bytes_moved * times,
        )
