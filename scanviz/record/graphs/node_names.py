"""Names of nodes and variables that stay the same in all versions of a graph.

A node is known by its node id, which it keeps when it is only rebuilt.  Its name is the user's name for its value, or a number
given at its first appearance.  So a node has one name in every version and every process.
"""

from __future__ import annotations

from collections.abc import Mapping

from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe
from scanviz.engine.rewrites.versions import NodeId, Which, which_result
from scanviz.engine.scan.loop import Scan
from scanviz.record.names import TakenNames


class NodeNames:
    """Names of nodes and variables, each given once.

    Parameters
    ----------
    occurrences : mapping of Apply to int
        Position of an Apply among the nodes with its node id, where it is not the first.
    """

    def __init__(self, occurrences: Mapping[Apply, int]) -> None:
        self._occurrences = occurrences
        self._names: dict[tuple[int, int, Which], str] = {}
        self._leaves: dict[Variable, str] = {}
        self._unnamed = 0  # constants without a name
        self._taken = TakenNames()
        self._numbers: dict[int, int] = {}
        self._loops: dict[NodeId, str] = {}
        self.inner: dict[Apply, int] = {}  # the same as occurrences, of nodes in steps
        self.first: dict[int, Apply] = {}  # each node as it was met first, by its node id

    def id(self, node: Apply) -> NodeId:
        """Return the id of a node in its graph."""
        return node.node_id, self._occurrences.get(node) or self.inner.get(node, 0)

    def number(self, node: Apply) -> int:
        """Return the number of a node, assigned on first use."""
        known = self._numbers.get(node.node_id)
        if known is None:
            known = self._numbers[node.node_id] = len(self._numbers) + 1
            self.first[node.node_id] = node
        return known

    def of(self, variable: Variable) -> str:
        """Return the lasting name of a variable."""
        node = variable.owner
        if node is None:
            return self._leaf(variable)
        key = (*self.id(node), which_result(node, variable.index))
        known = self._names.get(key)
        if known is None:
            which = f".{variable.index}" if len(node.outputs) > 1 else ""
            known = self._names[key] = self._taken.claim(variable.name or f"v{self.number(node)}{which}")
        return known

    def _leaf(self, variable: Variable) -> str:
        known = self._leaves.get(variable)
        if known is None:
            if isinstance(variable, Constant) and not variable.name:
                self._unnamed += 1
                known = f"{describe(variable)}#{self._unnamed}"
            else:
                known = self._taken.claim(variable.name or f"input{len(self._leaves) - self._unnamed + 1}")
            self._leaves[variable] = known
        return known

    def node(self, node: Apply) -> str:
        """Return the key of a node: its first result; for a loop, its own name, since its results may change."""
        if not isinstance(node.op, Scan):
            return self.of(node.outputs[0])
        place = self.id(node)
        known = self._loops.get(place)
        if known is None:
            known = self._loops[place] = self._taken.claim(f"loop{self.number(node)}")
        return known
