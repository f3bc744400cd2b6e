"""Write the versions of a graph as a table of nodes: each node once, under a lasting name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec.structs import replace

from scanviz.engine.graph.nodes import Apply, Constant, Variable, describe
from scanviz.engine.graph.provenance import SourceLine
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.program.instructions import AnyInstruction, LoopInstruction, Program
from scanviz.engine.rewrites.versions import Delta, NodeId
from scanviz.engine.scan.loop import Scan, ScanView
from scanviz.engine.scan.variables import (
    LoopVariable,
    inner_inputs,
    inner_outputs,
    kind_of,
    taps_of,
)
from scanviz.record.graphs.graph import LoopVariableRecord, NodeRecord, ResultRecord, ScanRecord
from scanviz.record.graphs.node_names import NodeNames
from scanviz.record.graphs.reading import LevelNodes, levels_of
from scanviz.record.graphs.versions import GraphVersion, VersionsRecord, WantedRecord


class GraphWriter:
    """Writes the versions of a graph one after the other.

    Parameters
    ----------
    output_names : sequence of str
        Names of the function's outputs; empty for those without.
    title : str
        Name of the function.
    occurrences : mapping of Apply to int
        Position of an Apply among the nodes with its node id, where it is not the first.
    """

    def __init__(
        self,
        output_names: Sequence[str] = (),
        title: str = "",
        occurrences: Mapping[Apply, int] | None = None,
    ) -> None:
        self.names = NodeNames({} if occurrences is None else occurrences)
        self._output_names, self._title = output_names, title
        self._table: dict[NodeRecord, int] = {}
        self._counts: Counter[int] = Counter()  # of nodes in the graph; leaves by how many read them
        self._of: dict[NodeId, list[int]] = {}
        self._outputs: list[str] = []
        self._output_leaves: dict[int, int] = {}
        self._versions: list[list[int]] = []  # of each node, in which it came, went and came again
        self._wanted: list[WantedRecord] = []
        self._number = -1  # of the version that was written last
        self._places: dict[int, int] = {}
        self._levels: dict[tuple[int, NodeId], int] = {}
        self._latest: dict[tuple[int, NodeId], tuple[Apply, tuple[str, ...], list[int]]] = {}
        self._leaves: dict[tuple[Variable, int, str], int] = {}
        self._node_ids: dict[tuple[int, str], int] = {}  # level and key of a node → its node id
        self._sources: dict[SourceLine, str] = {}

    def begin(self, outputs: Sequence[Variable]) -> None:
        """Write a graph without further versions."""
        nodes = toposort(outputs)
        self._number_equal_ids(nodes)
        self.become(Delta((), tuple((self.names.id(node), node) for node in nodes), dict(enumerate(outputs))))

    def loop_only(self, op: Scan) -> ScanRecord:
        """Write a loop and its step, without anything around it."""
        loop, _ = self._loop(op, None, self._level(0, (0, 0)))
        return loop

    def become(self, delta: Delta) -> None:
        """Write the changes since the version before."""
        before: Counter[int] = Counter()
        after: Counter[int] = Counter()
        for known in delta.gone:
            before.update(self._of.pop(known))
        self._put_in_place([node for _, node in delta.new])
        for known, node in delta.new:
            found = self._of[known] = self._node(node, 0, ())
            after.update(found)
        self._number += 1
        self._want(delta.outputs, before, after)
        was = {number: self._counts[number] > 0 for number in (*before, *after)}
        self._counts.subtract(before)
        self._counts.update(after)
        for number, there in was.items():
            if there != (self._counts[number] > 0):
                self._versions[number].append(self._number)

    def _want(self, outputs: Mapping[int, Variable], before: Counter[int], after: Counter[int]) -> None:
        """Write the outputs, if they differ from those before."""
        found = [*self._outputs, *[""] * (0 if self._number else len(outputs))]
        for place, variable in outputs.items():
            found[place] = self.names.of(variable)
            known = self._output_leaves.pop(place, None)
            if known is not None:
                before[known] += 1
            if variable.owner is None:
                known = self._output_leaves[place] = self._leaf(variable, 0, leaf_role(variable))
                after[known] += 1
        if found != self._outputs:
            self._outputs = found
            self._wanted.append(WantedRecord(self._number, tuple(found)))

    def _put_in_place(self, nodes: Sequence[Apply]) -> None:
        """Assign numbers and places to new nodes.

        The place is the number, or that of the first node that reads it where that was met before: else a reader would have to
        wait for it, and all others would pass them.
        """
        for node in nodes:
            self.names.number(node)
        earliest: dict[int, int] = {}  # place of a node's first reader
        for node in reversed(nodes):  # those that read a node come before it here
            own = self._places.get(node.node_id, self.names.number(node))
            place = min(own, earliest.get(node.node_id, own))
            self._places.setdefault(node.node_id, place)
            for variable in node.inputs:
                if variable.owner is not None:
                    earliest[variable.owner.node_id] = min(place, earliest.get(variable.owner.node_id, place))

    def _row(self, node: NodeRecord) -> int:
        found = self._table.setdefault(node, len(self._table))
        if found == len(self._versions):
            self._versions.append([])
        return found

    def _leaf(self, variable: Variable, level: int, role: str) -> int:
        known = self._leaves.get((variable, level, role))
        if known is None:
            named = variable.name or ""
            label = named if role == "parameter" and named else describe(variable)
            given = ResultRecord(self.names.of(variable), named, str(variable.type), label)
            known = self._row(NodeRecord(level, given.key, "", 0, (given,), role=role))
            self._leaves[variable, level, role] = known
        return known

    def _node(self, node: Apply, level: int, inside: Collection[Variable]) -> list[int]:
        """Write a node with its leaves, and its step if it is a loop; a rebuilt node was written before."""
        place = self.names.id(node)
        known = self._latest.get((level, place))
        if known is not None and is_rebuilt(node, known[0]) and self._reads(node) == known[1]:
            return known[2]
        written = self._written(node, level, inside)
        self._latest[level, place] = node, self._reads(node), written
        return written

    def _reads(self, node: Apply) -> tuple[str, ...]:
        return tuple(map(self.names.of, node.inputs))

    def _written(self, node: Apply, level: int, inside: Collection[Variable]) -> list[int]:
        of, op = self.names.of, node.op
        results = tuple(
            ResultRecord(of(output), output.name or "", str(output.type)) for output in node.outputs
        )
        loop: ScanRecord | None = None
        found: list[int] = []
        if isinstance(op, Scan):
            of(node.inputs[0])  # names go to those that people read first
            loop, found = self._loop(op, ScanView(node), self._level(level, self.names.id(node)))
        leaves = [
            variable
            for variable in dict.fromkeys(node.inputs)
            if variable.owner is None and variable not in inside
        ]
        found = [*found, *(self._leaf(leaf, level, leaf_role(leaf)) for leaf in leaves)]
        read, key = self._reads(node), self.names.node(node)
        self._node_ids[level, key] = node.node_id
        place, source = self._places[node.node_id], self._source(node.provenance.source)
        found.append(self._row(NodeRecord(level, key, str(op), place, results, read, source, loop=loop)))
        return found

    def _source(self, source: SourceLine | None) -> str:
        """Return a line as ``file:line``, cached because it is slow to format and often needed."""
        if source is None:
            return ""
        known = self._sources.get(source)
        if known is None:
            known = self._sources[source] = str(source)
        return known

    def _level(self, around: int, loop: NodeId) -> int:
        """Return the level of a loop's step."""
        return self._levels.setdefault((around, loop), len(self._levels) + 1)

    def _loop(self, op: Scan, view: ScanView | None, inner: int) -> tuple[ScanRecord, list[int]]:
        """Write a loop's step at its level; return the loop and the rows of its step."""
        for variable in op.variables:
            outer = view.outer_input(variable) if view is not None else None
            for named in (*inner_inputs(variable), *([outer] if outer is not None else [])):
                self.names.of(named)
        step = self._step(op, inner)
        variables = tuple(self._variable(variable, view) for variable in op.variables)
        until = self.names.of(op.until.condition) if op.until is not None else None
        forward = op.settings.gradient_of
        back_of = forward.name if forward is not None else None
        return ScanRecord(op.scan_name, inner, variables, until, back_of), step

    def _step(self, op: Scan, level: int) -> list[int]:
        """Write a step, which is shared by loops that differ only by their inputs."""
        inputs, outputs = op.inner_inputs, op.inner_outputs
        inside = frozenset(inputs)
        nodes = toposort(outputs, inputs)
        self._number_equal_ids(nodes)
        self._put_in_place(nodes)
        found = [self._leaf(variable, level, "parameter") for variable in inputs]
        leaves = [
            output for output in dict.fromkeys(outputs) if output.owner is None and output not in inside
        ]
        found += [self._leaf(leaf, level, leaf_role(leaf)) for leaf in leaves]
        for node in nodes:
            found += self._node(node, level, inside)
        return found

    def _number_equal_ids(self, nodes: Sequence[Apply]) -> None:
        """Number the nodes of a step that share a node id."""
        counts = Counter([node.node_id for node in nodes])
        if len(counts) == len(nodes):
            return
        seen: set[NodeId] = set()
        for node in [node for node in nodes if counts[node.node_id] > 1]:
            while self.names.id(node) in seen:
                self.names.inner[node] = self.names.inner.get(node, 0) + 1
                self._latest.clear()  # some hold its name
            seen.add(self.names.id(node))

    def _variable(self, variable: LoopVariable, view: ScanView | None) -> LoopVariableRecord:
        outer = view.outer_input(variable) if view is not None else None
        result = view.outer_output(variable) if view is not None else None
        keep = getattr(variable, "keep", None)
        return LoopVariableRecord(
            kind_of(variable),
            variable.name,
            *taps_of(variable),
            tuple(map(self.names.of, inner_inputs(variable))),
            tuple(map(self.names.of, inner_outputs(variable))),
            self.names.of(outer) if outer is not None else None,
            self.names.of(result) if result is not None else None,
            keep_last=keep.last if keep is not None else None,
        )

    def record(self, program: Program | None = None) -> VersionsRecord:
        """Return the table; with a program, each node of the last version names its operation there."""
        names = [*self._output_names, *[""] * len(self._outputs)][: len(self._outputs)]
        last = GraphVersion(self._number, [number for number, count in self._counts.items() if count], ())
        return VersionsRecord(
            self._title,
            last=max(0, self._number),
            wanted=tuple(self._wanted),
            output_names=tuple(names),
            nodes=tuple(self._nodes(program, last)),
            texts={name: source_line.text() for source_line, name in self._sources.items()},
        )

    def files(self) -> set[str]:
        """Return the files of the nodes' lines."""
        return {source.file for source in self._sources}

    def _nodes(self, program: Program | None, last: GraphVersion) -> Iterator[NodeRecord]:
        """Iterate over all nodes with their versions and origins; those of the last version with their operations."""
        became = {} if program is None else dict(self._operations(program, last))
        made = {self.names.of(node.outputs[0]): node for node in self.names.first.values()}
        for number, (node, versions) in enumerate(zip(self._table, self._versions, strict=True)):
            operation, loop = became.get(number, (None, None))
            by = made.get(node.results[0].key) if node.role == "computed" and node.results else None
            yield replace(
                node,
                versions=tuple(versions),
                rule="" if by is None else by.provenance.rule or "",
                parents=() if by is None else self._parents(by),
                operation=operation,
                loop=node.loop if node.loop is None else replace(node.loop, key=loop),
            )

    def _parents(self, node: Apply) -> tuple[str, ...]:
        first = self.names.first
        others = [first[one] for one in node.provenance.parents if one in first and one != node.node_id]
        return tuple(dict.fromkeys(self.names.of(other.outputs[0]) for other in others))

    def _operations(
        self, program: Program, last: GraphVersion
    ) -> Iterator[tuple[int, tuple[int, int | None]]]:
        """Iterate over nodes with their operation, the first free instruction of the node id, and its loop."""
        levels = levels_of(tuple(self._table), last)
        waiting = [(0, program)]
        while waiting:
            level, body = waiting.pop()
            nodes = levels.get(level, LevelNodes())
            of_node_id: dict[int, list[NodeRecord]] = {}
            for inner in reversed(list(nodes.ordered())):
                of_node_id.setdefault(self._node_ids[level, inner.key], []).append(inner)
            for index, instruction in enumerate(body.instructions):
                left = of_node_id.get(instruction.node_id)
                if not left:
                    continue
                node = left[-1] if len(left) == 1 else self._nearest(left, instruction, levels)
                left.remove(node)
                loop = (
                    instruction
                    if isinstance(instruction, LoopInstruction) and node.loop is not None
                    else None
                )
                yield nodes.numbers[node.key], (index, loop.key if loop is not None else None)
                if loop is not None and node.loop is not None:
                    waiting.append((node.loop.step, loop.body))

    def _nearest(
        self, nodes: Sequence[NodeRecord], instruction: AnyInstruction, levels: Mapping[int, LevelNodes]
    ) -> NodeRecord:
        """Return the node of an instruction, among several with one node id: for loops, the one with the most similar step."""
        if not isinstance(instruction, LoopInstruction):
            return nodes[-1]
        mine = Counter(part.node_id for part in instruction.body.instructions)

        def unlike(node: NodeRecord) -> int:
            step = levels.get(node.loop.step, LevelNodes()) if node.loop is not None else LevelNodes()
            theirs = Counter(self._node_ids[node.level, node.key] for node in step.nodes.values())
            return ((mine - theirs) + (theirs - mine)).total()

        return min(reversed(nodes), key=unlike)


def is_rebuilt(node: Apply, before: Apply) -> bool:
    """Return whether a node differs from an earlier one only by its inputs."""
    leaves = zip(node.inputs, before.inputs, strict=False)
    return (
        node.op is before.op
        and node.provenance is before.provenance
        and len(node.inputs) == len(before.inputs)
        and all(new is old for new, old in leaves if new.owner is None or old.owner is None)
        and all(
            (new.type, new.name) == (old.type, old.name)
            for new, old in zip(node.outputs, before.outputs, strict=True)
        )
    )


def leaf_role(variable: Variable) -> str:
    """Return the role of a variable without an operation."""
    if isinstance(variable, Constant):
        return "constant"
    return "shared" if isinstance(variable, SharedVariable) else "input"
