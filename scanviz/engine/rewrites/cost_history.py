"""What a graph costs before and after each rewrite, found once for all nodes that are alike.

A rewrite of one loop rebuilds all that reads it, so most nodes of two graphs in a row are other objects that compute the same.
A node costs what one of the same id, the same op and inputs of the same sizes does: then neither its sizes nor, of a loop, its
step are looked at again.  A graph's cost is that of the graph before, and what is new less what is gone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.rewrites.cost import Cost, Scope, node_cost
from scanviz.engine.rewrites.polynomial import Polynomial


def costs_of_graphs(graphs: Iterable[Sequence[Variable]]) -> list[Cost]:
    """Return the cost of each of several graphs that were made of one another.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> y = T.tanh(x)
    >>> [str(each.operations) for each in costs_of_graphs([[y], [y + y]])]
    ['1', '2']
    """
    alike, total = _Alike(), _Running()
    return [total.become([alike.cost(node) for node in toposort(outputs)]) for outputs in graphs]


class _Alike:
    """Costs of nodes, the same object for nodes that are alike."""

    def __init__(self) -> None:
        self._scope = Scope()
        self._costs: dict[Apply, Cost] = {}
        self._first: dict[Hashable, Apply] = {}
        self._sizes: dict[Variable, int] = {}
        self._numbers: dict[Hashable, int] = {}
        self._ops: dict[int, Op] = {}  # kept alive as long as their ids stand for them

    def cost(self, node: Apply) -> Cost:
        """Return what a node costs; those it reads were asked for before."""
        found = self._costs.get(node)
        if found is None:
            self._ops[id(node.op)] = node.op  # equal loops may have other names: an op stands for itself
            key = (node.birth, id(node.op), tuple(self._number(each) for each in node.inputs))
            first = self._first.setdefault(key, node)
            if first is node:
                found = node_cost(node, self._scope)
            else:
                found = self._costs[first]
                for new, old in zip(node.outputs, first.outputs, strict=True):
                    self._sizes[new] = self._number(old)
                    if isinstance(new.type, TensorType):
                        self._scope.memory[new] = self._scope.shape(old)
            self._costs[node] = found
        return found

    def _number(self, variable: Variable) -> int:
        """Return a number for the type and sizes of a variable, and for its value where that may be a size."""
        known = self._sizes.get(variable)
        if known is None:
            known = self._numbers.setdefault(self._described(variable), len(self._numbers))
            self._sizes[variable] = known
        return known

    def _described(self, variable: Variable) -> Hashable:
        kind = variable.type
        if isinstance(variable, Constant):
            return kind, variable.value.tobytes() if variable.value.ndim == 0 else variable
        if not isinstance(kind, TensorType):
            return kind
        shape = tuple(self._scope.size(each) for each in self._scope.shape(variable))
        whole = kind.ndim == 0 and kind.dtype.startswith(("int", "uint", "bool"))
        return kind, variable.name, shape, self._scope.size(variable) if whole else None


class _Running:
    """The cost of one graph after another, from the costs of their nodes."""

    def __init__(self) -> None:
        zero = Polynomial.of(0)
        self._sums = (zero, zero, zero, zero)
        self._counts: Counter[int] = Counter()
        self._costs: dict[int, Cost] = {}

    def become(self, costs: Sequence[Cost]) -> Cost:
        """Return the cost of the next graph."""
        self._costs.update((id(each), each) for each in costs)
        counts = Counter(map(id, costs))
        new, gone = counts - self._counts, self._counts - counts
        for changed, sign in ((new, 1), (gone, -1)):
            for key, count in changed.items():
                parts = _parts(self._costs[key])
                self._sums = tuple(  # type: ignore[assignment]  # as many as there are parts
                    total + part * (sign * count) for total, part in zip(self._sums, parts, strict=True)
                )
        self._counts = counts
        per_step: dict[tuple[str, ...], int] = {}
        for each in costs:
            for path, count in each.operations_per_step.items():
                per_step[path] = per_step.get(path, 0) + count
        operations, flops, moved, kept = self._sums
        return Cost(operations, per_step, flops, moved, kept)


def _parts(cost: Cost) -> tuple[Polynomial, Polynomial, Polynomial, Polynomial]:
    return cost.operations, cost.flops, cost.bytes_moved, cost.buffer_bytes
