"""Read one version of a graph from the table of nodes: in order, and as a GraphSnapshot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.scan.variables import step_name
from scanviz.record.graphs.graph import (
    GraphSnapshot,
    LoopVariableRecord,
    NodeRecord,
    ScanRecord,
    cell_name,
)
from scanviz.record.graphs.versions import GraphVersion, VersionsRecord

DEEPEST = 50  # loops in loops that are read
_STATES = ("sitsot", "mitsot", "mitmot")


class LevelNodes(Struct):
    """The nodes of one level: the function's graph, or the step of a loop.

    Attributes
    ----------
    leaves : dict of str to NodeRecord
        Inputs, constants and shared variables, by key.
    nodes : dict of str to NodeRecord
        Operations, by key.
    numbers : dict of str to int
        Places of operations in the table.
    """

    leaves: dict[str, NodeRecord] = {}  # msgspec copies them
    nodes: dict[str, NodeRecord] = {}
    numbers: dict[str, int] = {}

    def add(self, number: int, node: NodeRecord) -> None:
        """Add a node."""
        together = self.nodes if node.role == "computed" else self.leaves
        if together.setdefault(node.key, node) is not node:
            raise ScanvizValueError("two nodes of a graph in the profile have one name", found=node.key[:80])
        self.numbers[node.key] = number

    def ordered(self) -> Iterator[NodeRecord]:
        """Iterate over the operations in reading order: by their places, but each after its inputs."""
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
    """Return the results of a step that enter a loop variable: names, such as ``h[t]``, and keys."""
    outputs = variable.inner_outputs
    if variable.kind not in _STATES:
        return [(step_name(variable.name, 0), key) for key in outputs]
    reads = list(zip(variable.reads, variable.inner_inputs, strict=False))
    return [
        (cell_name(variable.name, tap, reads), key) for tap, key in zip(variable.writes, outputs, strict=True)
    ]


def step_outputs(loop: ScanRecord) -> list[tuple[str, str]]:
    """Return the results of a step that the loop uses, in order."""
    found = [pair for variable in loop.variables for pair in taken(variable)]
    return found if loop.until is None else [*found, ("until", loop.until)]


def snapshot_of(record: VersionsRecord, number: int) -> GraphSnapshot | None:
    """Return the graph after k rewrites, for pictures; None if it was not kept.

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
    """Return a version for pictures; the last one has the program's operations of its nodes.

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
    except ScanvizValueError:
        raise
    except (KeyError, IndexError, ValueError, RecursionError) as error:
        found = f"{type(error).__name__}: {str(error)[:80]}"
        raise ScanvizValueError("a graph of the profile is invalid", found=found) from None


def step_of(record: VersionsRecord, loop: ScanRecord) -> GraphSnapshot:
    """Return the step of the only loop in a table."""
    found = GraphVersion(0, list(range(len(record.nodes))), ())
    return _Builder(levels_of(record.nodes, found), record.texts).step(loop, 0)


class _Builder:
    """Builds the graphs of all levels."""

    def __init__(self, levels: Mapping[int, LevelNodes], texts: dict[str, str], runs: bool = False) -> None:
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
            raise ScanvizValueError("loops of a graph in the profile are nested too deep, or share a step")
        self._read.add(level)
        nodes = self.levels.get(level, LevelNodes())
        ordered: list[NodeRecord] = []
        leaves: dict[str, NodeRecord] = {}
        steps: dict[int, GraphSnapshot] = {}
        made: set[str] = set()

        def read(keys: Iterable[str | None]) -> None:
            leaves.update((key, nodes.leaves[key]) for key in keys if key is not None and key not in made)

        read(parameters)
        for node in nodes.ordered():
            read(node.inputs)
            made.update(node.outputs)
            if node.loop is not None:
                steps[node.loop.step] = self.step(node.loop, depth + 1)
                for variable in node.loop.variables:
                    read((variable.outer_input, variable.outer_output))
            ordered.append(node if self.runs else _not_run(node))
        wanted = tuple(key for _, key in outputs)
        read(wanted)
        given = [*leaves, *(key for node in ordered for key in node.outputs)]
        if len(set(given)) < len(given) or any(leaf.outputs != (key,) for key, leaf in leaves.items()):
            raise ScanvizValueError("a graph of the profile computes a value twice, or under another name")
        names = tuple(name for name, _ in outputs)
        return GraphSnapshot(title, leaves, tuple(ordered), steps, wanted, names, self.texts)

    def step(self, loop: ScanRecord, depth: int) -> GraphSnapshot:
        """Return the graph of a loop's step."""
        parameters = [key for variable in loop.variables for key in variable.inner_inputs]
        return self.graph(loop.step, loop.name, parameters, step_outputs(loop), depth)


def _not_run(node: NodeRecord) -> NodeRecord:
    """Return a node without an operation of the program and a loop of the profile, for versions that do not run."""
    if node.operation is None and node.loop is None:
        return node
    loop = None if node.loop is None else replace(node.loop, key=None)
    return replace(node, operation=None, loop=loop)
