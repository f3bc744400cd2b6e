"""One version of a graph out of the table of its nodes: in order, and as a GraphSnapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.scan.variables import step_name
from scanviz.record.graphs.graph import (
    GraphSnapshot,
    LoopSnapshot,
    LoopVariableRecord,
    NodeSnapshot,
    VariableSnapshot,
)
from scanviz.record.graphs.versions import (
    GraphVersion,
    LoopNodeRecord,
    NodeRecord,
    ResultRecord,
    VersionsRecord,
)
from scanviz.record.traces.cell_names import cell_name

DEEPEST = 50  # loops in loops that are read
_STATES = ("sitsot", "mitsot", "mitmot")


class LevelNodes:
    """The nodes of one graph: the function's, or that of a loop's step.

    Attributes
    ----------
    leaves : dict of str to NodeRecord
        Inputs, constants and shared variables, by key.
    nodes : dict of str to NodeRecord
        Operations, by key.
    numbers : dict of str to int
        Places of operations in the table.
    """

    __slots__ = ("leaves", "nodes", "numbers")

    def __init__(self) -> None:
        self.leaves: dict[str, NodeRecord] = {}
        self.nodes: dict[str, NodeRecord] = {}
        self.numbers: dict[str, int] = {}

    def add(self, number: int, node: NodeRecord) -> None:
        """Put in a node."""
        together = self.nodes if node.role == "computed" else self.leaves
        if together.setdefault(node.key, node) is not node:
            raise ScanvizValueError("two nodes of a graph in the profile have one name", found=node.key[:80])
        self.numbers[node.key] = number

    def ordered(self) -> Iterator[NodeRecord]:
        """Iterate over the operations as people read them: by their places, but each after all that it reads."""
        maker = {result.key: node.key for node in self.nodes.values() for result in node.results}
        done: set[str] = set()
        opened: set[str] = set()
        for first in sorted(self.nodes.values(), key=lambda node: (node.place, self.numbers[node.key])):
            waiting = [first.key]
            while waiting:
                key = waiting[-1]
                node = self.nodes[key]
                missing = [maker[text] for text in node.inputs if text in maker and maker[text] not in done]
                if key in done or not missing:
                    waiting.pop()
                    if key not in done:
                        done.add(key)
                        yield node
                elif key in opened:
                    raise ScanvizValueError("an operation of a graph in the profile needs its own result")
                else:
                    opened.add(key)
                    waiting += reversed(missing)


def levels_of(nodes: Sequence[NodeRecord], version: GraphVersion) -> dict[int, LevelNodes]:
    """Return the nodes of a version by their graphs."""
    found: dict[int, LevelNodes] = {0: LevelNodes()}
    for number in version.live:
        node = nodes[number]
        level = found.get(node.level)
        if level is None:
            level = found[node.level] = LevelNodes()
        level.add(number, node)
    return found


def taken(variable: LoopVariableRecord) -> list[tuple[str, str]]:
    """Return what a loop variable takes of the step: what that is called, such as ``h[t]``, and its key."""
    outputs = variable.inner_outputs
    if variable.kind not in _STATES:
        return [(step_name(variable.name, 0), key) for key in outputs]
    reads = list(zip(variable.reads, variable.inner_inputs, strict=False))
    return [
        (cell_name(variable.name, tap, reads), key) for tap, key in zip(variable.writes, outputs, strict=True)
    ]


def step_outputs(loop: LoopNodeRecord) -> list[tuple[str, str]]:
    """Return what a loop takes of its step, in order."""
    found = [pair for variable in loop.variables for pair in taken(variable)]
    return found if loop.until is None else [*found, ("until", loop.until)]


def snapshot_of(record: VersionsRecord, number: int) -> GraphSnapshot | None:
    """Return the graph after so many rewrites, for pictures; None if that is not kept.

    Raises
    ------
    ScanvizValueError
        If the nodes are no graph.
    """
    number = min(number, record.last)
    known = record.made.get(number)
    if known is None:
        found = record.version(number)
        if found is None:
            return None
        known = graph_of(record, found)
        if number in (record.first, record.last):
            record.made[number] = known
    return known


def graph_of(record: VersionsRecord, version: GraphVersion) -> GraphSnapshot:
    """Return a version for pictures, with the operations that its nodes became if it is the last.

    Raises
    ------
    ScanvizValueError
        If the nodes are no graph.
    """
    try:
        builder = _Builder(levels_of(record.nodes, version), record.texts, version.number == record.last)
        return builder.graph(
            0, record.title, (), list(zip(record.output_names, version.outputs, strict=True)), 0
        )
    except (KeyError, IndexError, ValueError, RecursionError) as error:
        raise no_graph(error) from None


def no_graph(error: Exception) -> ScanvizValueError:
    """Return the error to raise for data that are no graph, which raised ``error`` where they were read."""
    if isinstance(error, ScanvizValueError):
        return error
    found = f"{type(error).__name__}: {str(error)[:80]}"
    return ScanvizValueError("a graph of the profile makes no sense", found=found)


def step_of(record: VersionsRecord, loop: LoopNodeRecord) -> GraphSnapshot:
    """Return the step of a loop that is alone in a table."""
    found = GraphVersion(0, list(range(len(record.nodes))), ())
    return _Builder(levels_of(record.nodes, found), record.texts).step(loop, 0)


class _Builder:
    """Makes graphs of levels."""

    def __init__(
        self, levels: Mapping[int, LevelNodes], texts: Mapping[str, str], runs: bool = False
    ) -> None:
        self.levels, self.texts, self.runs = levels, texts, runs
        self._read: set[int] = set()

    def graph(
        self,
        level: int,
        title: str,
        parameters: Sequence[str],
        outputs: Sequence[tuple[str, str]],
        depth: int,
    ) -> GraphSnapshot:
        """Return the graph at a level."""
        if depth > DEEPEST or level in self._read:
            raise ScanvizValueError("loops of a graph in the profile are too deep, or have one step together")
        self._read.add(level)
        nodes = self.levels.get(level, LevelNodes())
        variables = _Variables(nodes)
        for parameter in parameters:
            variables.read(parameter)
        made: list[NodeSnapshot] = []
        loops: list[LoopSnapshot] = []
        for node in nodes.ordered():
            read = tuple(map(variables.read, node.inputs))
            given = tuple(map(variables.give, node.results))
            operation = node.operation if self.runs else None
            number = None
            if node.loop is not None:
                number = len(loops)
                loops.append(self.loop(node.loop, variables, depth))
            text = self.texts.get(node.source, "")
            made.append(NodeSnapshot(node.op, read, given, node.source, text, number, node.key, operation))
        wanted = tuple(variables.read(key) for _, key in outputs)
        names = tuple(name for name, _ in outputs)
        return GraphSnapshot(title, variables.found, tuple(made), tuple(loops), wanted, names)

    def step(self, loop: LoopNodeRecord, depth: int) -> GraphSnapshot:
        """Return the graph of a loop's step."""
        parameters = [key for variable in loop.variables for key in variable.inner_inputs]
        return self.graph(loop.step, loop.name, parameters, step_outputs(loop), depth)

    def loop(self, loop: LoopNodeRecord, outer: _Variables, depth: int) -> LoopSnapshot:
        """Return a loop."""
        step = self.step(loop, depth + 1)
        for variable in loop.variables:
            for key_around in (variable.outer_input, variable.outer_output):
                if key_around is not None:
                    outer.read(key_around)
        key = loop.key if self.runs else None
        return LoopSnapshot(loop.name, loop.variables, step, loop.until, loop.gradient_of, key)


class _Variables:
    """Collects the variables of one graph as they are met."""

    def __init__(self, nodes: LevelNodes) -> None:
        self._leaves = nodes.leaves
        self.found: dict[str, VariableSnapshot] = {}

    def give(self, result: ResultRecord) -> str:
        """Take the result of a node, and return its key."""
        self.found[result.key] = VariableSnapshot(
            result.name, result.name, result.type, "computed", result.key
        )
        return result.key

    def read(self, key: str) -> str:
        """Take what is read, a leaf if it was not met before, and return its key."""
        if key not in self.found:
            leaf = self._leaves[key]
            (given,) = leaf.results
            role = "input" if leaf.role == "parameter" else leaf.role
            self.found[key] = VariableSnapshot(given.name, given.label, given.type, role, key)
        return key
