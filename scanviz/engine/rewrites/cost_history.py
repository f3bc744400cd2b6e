"""What a graph costs after each rewrite, found once for each node that changed.

A graph's cost is that of the graph before, less that of the nodes that are gone and with that of the new ones
(:mod:`scanviz.engine.rewrites.versions` says which these are).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.rewrites.changes import Delta, NodeId
from scanviz.engine.rewrites.cost import Scope, node_cost
from scanviz.engine.rewrites.cost_total import Cost, TotalCost
from scanviz.engine.slotted import replace


class SizeNumbers:
    """Numbers for what variables are to those who ask what operations cost: equal for equal types, names and sizes."""

    def __init__(self) -> None:
        self.scope = Scope()
        self._known: dict[Variable, int] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, variable: Variable) -> int:
        """Return a number for the type and sizes of a variable, and for its value where that may be a size."""
        known = self._known.get(variable)
        if known is None:
            known = self._numbers.setdefault(self._described(variable), len(self._numbers))
            self._known[variable] = known
        return known

    def same(self, new: Sequence[Variable], old: Sequence[Variable]) -> None:
        """Note that variables have the sizes of others, of the same operation over inputs of the same sizes."""
        for fresh, known in zip(new, old, strict=True):
            if fresh is known:
                continue
            self._known[fresh] = self.number(known)
            if isinstance(fresh.type, TensorType):
                self.scope.memory[fresh] = self.scope.shape(known)

    def _described(self, variable: Variable) -> Hashable:
        kind = variable.type
        if isinstance(variable, Constant):
            return kind, variable.value.tobytes() if variable.value.ndim == 0 else variable
        if not isinstance(kind, TensorType):
            return kind
        shape = tuple(self.scope.size(size) for size in self.scope.shape(variable))
        whole = kind.ndim == 0 and kind.dtype.startswith(("int", "uint", "bool"))
        return kind, variable.name, shape, self.scope.size(variable) if whole else None


class Costs:
    """The cost of one version of a graph after another, from the costs of the nodes that changed.

    Parameters
    ----------
    sizes : SizeNumbers
        What knows the sizes of the graph's variables.
    """

    def __init__(self, sizes: SizeNumbers) -> None:
        self._sizes = sizes
        self._known: dict[Hashable, tuple[Op, Cost]] = {}
        self._of: dict[NodeId, Cost] = {}
        self._total = TotalCost()

    def become(self, delta: Delta) -> tuple[Cost, Cost]:
        """Return the cost of the graph with this difference, and what of it is new, without operations of single steps."""
        changed = [(self._of.pop(node), -1) for node in delta.gone]
        for known, node in delta.new:
            cost = self._of[known] = self._cost(node)
            changed.append((cost, 1))
        difference = TotalCost()
        for cost, sign in changed:
            self._total.add(cost, sign)
            difference.add(cost, sign)
        return self._total.cost(), replace(difference.cost(), steps={})

    def _cost(self, node: Apply) -> Cost:
        """Return what a node costs: as much as it did over other inputs of the same sizes."""
        key = (node.node_id, id(node.op), *map(self._sizes.number, node.inputs))
        known = self._known.get(key)
        if known is None:
            # equal loops may have other names: an op stands for itself, and stays alive as long as its id does
            known = self._known[key] = (node.op, node_cost(node, self._sizes.scope))
        return known[1]
