"""A function's graph from one rewrite to the next, as the nodes that each rewrite changed.

A node is known by its node id, which it keeps when it is only rebuilt.  So a rewrite changes the nodes that it makes or takes
away, and those that read something else afterwards; not all that are computed from these, though they are rebuilt too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.rewrites.driver.changes import Delta, NodeId
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import has_outer_output, kind_of, taps_of

Which = (
    int | tuple[str, int]
)  # of a node's results: its place, or its loop variable's name and which of that name
_Read = Variable | tuple[NodeId, Which]


class Versions:
    """A graph that becomes another, time and again.

    Attributes
    ----------
    occurrences : dict of Apply to int
        Which of the nodes with its node id an Apply is.
    """

    def __init__(self) -> None:
        self.occurrences: dict[Apply, int] = {}
        self._ids: dict[Apply, NodeId] = {}
        self._nodes: dict[NodeId, tuple[Apply, tuple[_Read, ...]]] = {}
        self._outputs: list[_Read] = []

    def become(self, nodes: Sequence[Apply], outputs: Sequence[Variable]) -> Delta:
        """Go to another graph, and return what is different there.

        Parameters
        ----------
        nodes : sequence of Apply
            All nodes of the graph, each after those that it reads.
        outputs : sequence of Variable
            What is wanted of it.
        """
        before, ids = self._nodes, self._named(nodes)
        now: dict[NodeId, tuple[Apply, tuple[_Read, ...]]] = {}
        new: list[tuple[NodeId, Apply]] = []
        for node in nodes:
            known = ids[node]
            old = before.get(known)
            if old is None or old[0] is not node:
                read = tuple(_read(variable, ids) for variable in node.inputs)
                if old is None or old[1] != read or not _same(old[0], node):
                    new.append((known, node))
                old = node, read
            now[known] = old
        changed = {known for known, _ in new}
        gone = tuple(known for known in before if known not in now or known in changed)
        wanted = [_read(output, ids) for output in outputs]
        others = {
            k: output
            for k, output in enumerate(outputs)
            if k >= len(self._outputs) or wanted[k] != self._outputs[k]
        }
        self._ids, self._nodes, self._outputs = ids, now, wanted
        return Delta(gone, tuple(new), others)

    def _named(self, nodes: Sequence[Apply]) -> dict[Apply, NodeId]:
        """Return what nodes are known by: nodes of the graph before by the same, and others of one node id in their order."""
        ids = {node: self._ids[node] for node in nodes if node in self._ids}
        taken = set(ids.values())
        for node in nodes:
            if node in ids:
                continue
            free = (node.node_id, 0)
            while free in taken:
                free = (node.node_id, free[1] + 1)
            ids[node] = free
            taken.add(free)
            self.occurrences[node] = free[1]
        return ids


def _read(variable: Variable, ids: Mapping[Apply, NodeId]) -> _Read:
    return (
        variable
        if variable.owner is None
        else (ids[variable.owner], which_result(variable.owner, variable.index))
    )


def which_result(node: Apply, index: int) -> Which:
    """Return which result of its node a variable is: of a loop by loop variable, whose places change as others come and go."""
    return node.op.once(_results)[index] if isinstance(node.op, Scan) else index


def _results(op: Scan) -> list[tuple[str, int]]:
    counts, found = Counter[str](), []
    for variable in filter(has_outer_output, op.variables):
        found.append((variable.name, counts[variable.name]))
        counts[variable.name] += 1
    return found


def _same(one: Apply, other: Apply) -> bool:
    """Return whether two Applies of a node are alike but for what they read."""
    if [(output.type, output.name) for output in one.outputs] != [
        (output.type, output.name) for output in other.outputs
    ]:
        return False
    if isinstance(one.op, Scan) and isinstance(other.op, Scan):
        return one.op is other.op or _described(one.op) == _described(other.op)
    return one.op == other.op


def _described(op: Scan) -> list[object]:
    """Return what a loop is, up to the very variables of its step."""
    found: list[object] = [op.settings, *op.inner_inputs, *op.inner_outputs]
    for variable in op.variables:
        found.append((kind_of(variable), variable.name, *taps_of(variable), getattr(variable, "keep", None)))
    return found
