"""A graph as the table of nodes that a record keeps."""

from collections.abc import Collection

from msgspec.structs import replace

from scanviz.record.graphs.graph import GraphSnapshot, LoopSnapshot
from scanviz.record.graphs.versions import (
    LoopNodeRecord,
    NodeRecord,
    ResultRecord,
    VersionsRecord,
    WantedRecord,
)


def versions_of_graph(graph: GraphSnapshot, after: int) -> VersionsRecord:
    """Return a graph as the only version of a table: the one after so many rewrites."""
    read = _Numbered()
    read.add(graph, 0)
    return VersionsRecord(
        graph.title,
        after,
        after,
        (WantedRecord(after, graph.outputs),),
        graph.output_names,
        tuple(replace(node, versions=(after,)) for node in read.nodes),
        texts=read.texts,
    )


class _Numbered:
    """The nodes of a graph with numbered variables and of its loops' steps."""

    def __init__(self) -> None:
        self.nodes: dict[NodeRecord, int] = {}
        self.texts: dict[str, str] = {}
        self._levels: dict[tuple[int, str], int] = {}

    def add(self, graph: GraphSnapshot, level: int, parameters: Collection[str] = ()) -> None:
        """Collect the nodes of a graph at a level; ``parameters`` are the variables that a loop supplies."""
        for key, variable in graph.variables.items():
            if variable.role != "computed":
                role = "parameter" if key in parameters else variable.role
                leaf = _leaf(level, key, variable.name, variable.label, variable.type, role)
                self.nodes.setdefault(leaf, len(self.nodes))
        for number, node in enumerate(graph.nodes):
            made = [(key, graph.variables[key]) for key in node.outputs]
            results = tuple(ResultRecord(key, variable.name, variable.type) for key, variable in made)
            name, old, loop = node.key or f"n{number}", None, None
            if node.loop is not None:
                old = graph.loops[node.loop]
                loop = self._loop(old, self._levels.setdefault((level, name), len(self._levels) + 1))
            found = NodeRecord(level, name, node.op, number + 1, results, node.inputs, node.source, loop=loop)
            self.nodes.setdefault(replace(found, operation=node.operation), len(self.nodes))
            if node.text:
                self.texts[node.source] = node.text

    def _loop(self, old: LoopSnapshot, level: int) -> LoopNodeRecord:
        self.add(old.step, level, {key for variable in old.variables for key in variable.inner_inputs})
        return LoopNodeRecord(old.name, level, old.variables, old.until, old.gradient_of, old.key)


def _leaf(level: int, key: str, name: str, label: str, kind: str, role: str) -> NodeRecord:
    return NodeRecord(level, key, "", 0, (ResultRecord(key, name, kind, label),), role=role)
