"""A graph with numbered variables as the table of nodes that a record keeps."""

from collections.abc import Callable, Collection
from functools import partial

from msgspec.structs import replace

from scanviz.record.graph import GraphSnapshot, LoopSnapshot
from scanviz.record.graph_reading import with_names
from scanviz.record.versions import (
    LoopNodeRecord,
    LoopVariableKeys,
    NodeRecord,
    OperationOfNode,
    ResultRecord,
    VersionsRecord,
    WantedRecord,
)


def versions_of_graph(graph: GraphSnapshot, after: int) -> VersionsRecord:
    """Return a graph as the only version of a table: the one after so many rewrites."""
    read = _Numbered()
    read.add(graph, 0)
    outputs = tuple(_key(graph, number) for number in graph.outputs)
    return VersionsRecord(
        graph.title,
        after,
        after,
        (WantedRecord(after, outputs),),
        graph.output_names,
        tuple(replace(node, versions=(after,)) for node in read.nodes),
        operations=tuple(read.links),
        texts=read.texts,
    )


def _key(graph: GraphSnapshot, number: int) -> str:
    """Return the key of a variable, or a made-up one."""
    return graph.variables[number].key or f"v{number}"


class _Numbered:
    """The nodes of a graph with numbered variables and of its loops' steps."""

    def __init__(self) -> None:
        self.nodes: dict[NodeRecord, int] = {}
        self.links: list[OperationOfNode] = []
        self.texts: dict[str, str] = {}
        self._levels: dict[tuple[int, str], int] = {}

    def add(self, graph: GraphSnapshot, level: int, parameters: Collection[int] = ()) -> None:
        """Collect the nodes of a graph at a level; ``parameters`` are the variables that a loop supplies."""
        key = partial(_key, graph)
        for number, variable in enumerate(graph.variables):
            if variable.role != "computed":
                role = "parameter" if number in parameters else variable.role
                leaf = _leaf(level, key(number), variable.name, variable.label, variable.type, role)
                self.nodes.setdefault(leaf, len(self.nodes))
        for number, node in enumerate(graph.nodes):
            made = [(key(output), graph.variables[output]) for output in node.outputs]
            results = tuple(ResultRecord(name, variable.name, variable.type) for name, variable in made)
            name, old, loop = node.key or f"n{number}", None, None
            if node.loop is not None:
                old = graph.loops[node.loop]
                loop = self._loop(old, key, self._levels.setdefault((level, name), len(self._levels) + 1))
            read = tuple(map(key, node.inputs))
            found = NodeRecord(level, name, node.op, number + 1, results, read, node.source, loop=loop)
            place = self.nodes.setdefault(found, len(self.nodes))
            if node.operation is not None:
                self.links.append(OperationOfNode(place, node.operation, None if old is None else old.key))
            if node.text:
                self.texts[node.source] = node.text

    def _loop(self, old: LoopSnapshot, outer: Callable[[int], str], level: int) -> LoopNodeRecord:
        inner = partial(_key, old.step)
        variables = tuple(with_names(LoopVariableKeys, variable, inner, outer) for variable in old.variables)
        until = None if old.until is None else inner(old.until)
        self.add(old.step, level, {number for variable in old.variables for number in variable.inner_inputs})
        return LoopNodeRecord(old.name, level, variables, until, old.gradient_of)


def _leaf(level: int, key: str, name: str, label: str, kind: str, role: str) -> NodeRecord:
    return NodeRecord(level, key, "", 0, (ResultRecord(key, name, kind, label),), role=role)
