"""A function's graph from one rewrite to the next: the changed nodes, and a description for people.

A node is known by its node id, which it keeps when it is only rebuilt.  So a rewrite changes the nodes that it makes or takes
away, and those that read something else afterwards, but not all that are computed from these.  An operation that left a loop is
one that stands at another path afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply, Variable, describe
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.variables import LoopVariable, has_outer_output, kind_of, taps_of

NodeId = tuple[int, int]  # a node's node id, and which it is of the nodes with that node id in one graph
Place = tuple[tuple[str, ...], Apply]  # the names of the loops around a node, and the node


class Delta(Struct, frozen=True):
    """The difference between two versions of a graph.

    Attributes
    ----------
    gone : tuple of NodeId
        Nodes that are there no more, or not as they were.
    new : tuple of (NodeId, Apply)
        Nodes that were not there, or not as they are, each after those of them that it reads.  An input may be the output of an
        older Apply of a node, which has the same type and sizes.
    outputs : dict of int to Variable
        Outputs of the graph that are others now, by their places.
    """

    gone: tuple[NodeId, ...]
    new: tuple[tuple[NodeId, Apply], ...]
    outputs: dict[int, Variable]


class Move(Struct, frozen=True):
    """A loop variable that changed kind, appeared or went away.

    Attributes
    ----------
    loop, variable : str
        Names.
    before, after : str or None
        Kinds, such as ``"sitsot"``; None where it was not there.
    """

    loop: str
    variable: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"`{self.variable}` joins `{self.loop}` as {self.after}"
        if self.after is None:
            return f"`{self.variable}` ({self.before}) leaves `{self.loop}`"
        return f"`{self.variable}` of `{self.loop}`: {self.before} → {self.after}"


class Change(Struct, frozen=True):
    """The changes of an application, node by node.

    Attributes
    ----------
    removed, added : tuple of str
        Operations that are gone, and those that are new, each with its loop.
    moved_out, moved_in : tuple of str
        Operations that left a loop for the graph around it, or went into one.
    loop_variables : tuple of Move
        Loop variables that changed kind, appeared or went away.
    """

    removed: tuple[str, ...]
    added: tuple[str, ...]
    moved_out: tuple[str, ...]
    moved_in: tuple[str, ...]
    loop_variables: tuple[Move, ...]


class Changes:
    """The changes from one version of a graph to the next, for people."""

    def __init__(self) -> None:
        self._nodes: dict[NodeId, Apply] = {}
        # what is in the steps of loops, as ops, of the last version
        self._steps: dict[int, tuple[Scan, list[Place]]] = {}
        # node id → at how many places of the graph and its steps it is
        self._counts: Counter[int] = Counter()

    def become(self, delta: Delta) -> Change:
        """Return the changes of a difference."""
        steps, self._steps = self._steps, {}
        before = [entry for known in delta.gone for entry in self._inside(self._nodes.pop(known), steps)]
        after = [entry for _, node in delta.new for entry in self._inside(node, steps)]
        self._nodes.update(delta.new)
        known = {node.node_id for _, node in after if self._counts[node.node_id]}
        self._counts.subtract(node.node_id for _, node in before)
        self._counts.update(node.node_id for _, node in after)
        old, new = _first(before), _first(after)
        both = [number for number in old if number in new]
        return Change(
            tuple(_described(old[number]) for number in old if not self._counts[number]),
            tuple(_described(new[number]) for number in new if number not in known),
            tuple(_described(old[number]) for number in both if len(new[number][0]) < len(old[number][0])),
            tuple(_described(new[number]) for number in both if len(new[number][0]) > len(old[number][0])),
            tuple(_moves(old, new)),
        )

    def _inside(self, node: Apply, steps: dict[int, tuple[Scan, list[Place]]]) -> list[Place]:
        """Return a node and the nodes of its step, if it is a loop; ``steps`` holds earlier answers."""
        found: list[Place] = [((), node)]
        op = node.op
        if isinstance(op, Scan):
            known = self._steps.get(id(op)) or steps.get(id(op))
            if known is None:
                within = [entry for node in toposort(op.inner_outputs) for entry in self._inside(node, steps)]
                known = op, [((op.scan_name, *path), entry) for path, entry in within]
            self._steps[id(op)] = known  # the op stays alive as long as its id stands for it
            found += known[1]
        return found


def _first(found: Sequence[Place]) -> dict[int, Place]:
    """Return where each node id comes first."""
    first: dict[int, Place] = {}
    for place in found:
        first.setdefault(place[1].node_id, place)
    return first


def places(outputs: Sequence[Variable], path: tuple[str, ...] = ()) -> dict[int, Place]:
    """Return all nodes of a graph and of the steps of its loops: node id → loops around it, and the node."""
    found: dict[int, Place] = {}
    for node in toposort(outputs):
        found.setdefault(node.node_id, (path, node))
        if isinstance(node.op, Scan):
            for node_id, place in places(node.op.inner_outputs, (*path, node.op.scan_name)).items():
                found.setdefault(node_id, place)
    return found


def _described(place: Place) -> str:
    path, node = place
    name = describe(node.outputs[0])
    return f"{name} in `{path[-1]}`" if path else name


def _moves(old: dict[int, Place], new: dict[int, Place]) -> Iterator[Move]:
    for node_id, (_, node) in old.items():
        if not isinstance(node.op, Scan) or node_id not in new:
            continue
        other = new[node_id][1].op
        if not isinstance(other, Scan) or other is node.op:
            continue
        before, after = _kinds(node.op), _kinds(other)
        for name in [*before, *(text for text in after if text not in before)]:
            if before.get(name) != after.get(name):
                yield Move(other.scan_name, name, before.get(name), after.get(name))


def _kinds(op: Scan) -> dict[str, str]:
    found: dict[str, str] = {}
    for variable in op.variables:
        found.setdefault(_label(variable), _kind_and_rows(variable))
    return found


def _label(variable: LoopVariable) -> str:
    tap = getattr(variable, "tap", 0)
    return f"{variable.name}[t{tap:+d}]" if tap else variable.name


def _kind_and_rows(variable: LoopVariable) -> str:
    keep = getattr(variable, "keep", None)
    rows = f", last {keep.last}" if keep is not None and keep.last is not None else ""
    return kind_of(variable) + rows


Which = (
    int | tuple[str, int]
)  # of a node's results: its place, or its loop variable's name and which of that name
_Read = Variable | tuple[NodeId, Which]


class Versions:
    """A graph that becomes another, time and again.

    Attributes
    ----------
    occurrences : dict of Apply to int
        Position of an Apply among the nodes with its node id.
    """

    def __init__(self) -> None:
        self.occurrences: dict[Apply, int] = {}
        self._ids: dict[Apply, NodeId] = {}
        self._nodes: dict[NodeId, tuple[Apply, tuple[_Read, ...]]] = {}
        self._outputs: list[_Read] = []

    def become(self, nodes: Sequence[Apply], outputs: Sequence[Variable]) -> Delta:
        """Become another graph, and return the difference.

        Parameters
        ----------
        nodes : sequence of Apply
            All nodes of the graph, each after those that it reads.
        outputs : sequence of Variable
            Its outputs.
        """
        before, ids = self._nodes, self._named(nodes)
        now: dict[NodeId, tuple[Apply, tuple[_Read, ...]]] = {}
        new: list[tuple[NodeId, Apply]] = []
        for node in nodes:
            known = ids[node]
            old = before.get(known)
            if old is None or old[0] is not node:
                read = tuple(_read_of(variable, ids) for variable in node.inputs)
                if old is None or old[1] != read or not _same(old[0], node):
                    new.append((known, node))
                old = node, read
            now[known] = old
        changed = {known for known, _ in new}
        gone = tuple(known for known in before if known not in now or known in changed)
        wanted = [_read_of(output, ids) for output in outputs]
        others = {
            k: output
            for k, output in enumerate(outputs)
            if k >= len(self._outputs) or wanted[k] != self._outputs[k]
        }
        self._ids, self._nodes, self._outputs = ids, now, wanted
        return Delta(gone, tuple(new), others)

    def _named(self, nodes: Sequence[Apply]) -> dict[Apply, NodeId]:
        """Return the identities of nodes: those of the graph before, and new ones for others in their order."""
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


def _read_of(variable: Variable, ids: Mapping[Apply, NodeId]) -> _Read:
    return (
        variable
        if variable.owner is None
        else (ids[variable.owner], which_result(variable.owner, variable.index))
    )


def which_result(node: Apply, index: int) -> Which:
    """Identify a result of a node: by index, or of a loop by loop variable, since indices change."""
    return node.op.once(_results)[index] if isinstance(node.op, Scan) else index


def _results(op: Scan) -> list[tuple[str, int]]:
    counts, found = Counter[str](), []
    for variable in filter(has_outer_output, op.variables):
        found.append((variable.name, counts[variable.name]))
        counts[variable.name] += 1
    return found


def _same(one: Apply, other: Apply) -> bool:
    """Return whether two Applies of a node differ only in their inputs."""
    if [(output.type, output.name) for output in one.outputs] != [
        (output.type, output.name) for output in other.outputs
    ]:
        return False
    if isinstance(one.op, Scan) and isinstance(other.op, Scan):
        return one.op is other.op or _loop_key(one.op) == _loop_key(other.op)
    return one.op == other.op


def _loop_key(op: Scan) -> list[object]:
    """Return the description of a loop, down to the variables of its step."""
    found: list[object] = [op.settings, *op.inner_inputs, *op.inner_outputs]
    for variable in op.variables:
        found.append((kind_of(variable), variable.name, *taps_of(variable), getattr(variable, "keep", None)))
    return found
