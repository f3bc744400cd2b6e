"""Documents of profiles that earlier versions wrote, as the present version writes them: the only place that knows an old form.

Schema 1 kept a function's graph three times: as it was built as text lines and as rows of JSON, each with the edits that every
rewrite made in them, and after all rewrites as a graph with numbered variables.  Schema 2 has one table of nodes
(:mod:`scanviz.record.versions`).  Schema 3 calls what a rule did its message, and what held before a refusal preconditions met.
Schema 4 has a typical time of an operation beside its average.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from scanviz.engine.errors import ScanvizValueError
from scanviz.record.codec import decode, encode
from scanviz.record.graph import GraphSnapshot, LoopSnapshot
from scanviz.record.graph_reading import LevelNodes, no_graph, with_names
from scanviz.record.versions import (
    DeltaRecord,
    LoopNodeRecord,
    LoopVariableKeys,
    NodeRecord,
    OperationOfNode,
    OriginOfNode,
    ResultRecord,
    VersionsRecord,
)

MOST_ROWS = 5_000_000  # of all versions of a graph together: more than was ever written
# Fields of schema 1 about graphs, and what they are if missing.
_GRAPH: dict[str, Any] = {"lines": (), "rows": (), "texts": {}, "origins": ()}

Document = dict[str, Any]


def upgraded(document: Document) -> Document:
    """Return the document of a profile in the present form; one that is in it already as it is.

    Raises
    ------
    ScanvizValueError
        If it makes no sense.

    Examples
    --------
    >>> upgraded({"schema": 1, "script": "rnn.py"})
    {'schema': 4, 'script': 'rnn.py'}
    """
    try:
        for version, steps in enumerate(_STEPS, start=1):
            if document["schema"] == version:
                document = _stepped(document, version + 1, steps)
        return document
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise no_graph(error) from None


def _stepped(document: Document, schema: int, steps: dict[str, Callable[[Document], Document]]) -> Document:
    """Return a document in the next form: its functions and loops, and the runs that it repeats."""
    found = {**document, "schema": schema}
    for rows, step in steps.items():
        if rows in document:
            found[rows] = [step(row) for row in document[rows]]
    if "repeats" in document:
        found["repeats"] = [_stepped(repeat, schema, steps) for repeat in document["repeats"]]
    return found


def _with_one_graph(function: Document) -> Document:
    """Return a function's document of schema 1 with one form of its graph."""
    found = dict(function)
    old_graph, rewrites = found.pop("graph", None), found.pop("rewrites", None)
    if rewrites is None and old_graph is None:
        return found
    graph = None if old_graph is None else decode(GraphSnapshot, old_graph, "graph")
    history = dict(rewrites or {})
    old = {name: history.pop(name, missing) for name, missing in _GRAPH.items()}
    applications = [dict(application) for application in history.get("applications", ())]
    for application in applications:
        application.pop("edits", None)
    edits = [application.pop("row_edits", ()) for application in applications]
    graphs = None
    if old["rows"]:
        graphs = _of_rows(old["rows"], edits, old["texts"], old["origins"])
        graphs = replace(graphs, operations=tuple(_operations(graphs, graph)) if graph is not None else ())
    elif graph is not None:
        graphs = versions_of_graph(graph, len(applications))
    found["rewrites"] = {**history, "applications": applications, "graphs": encode(graphs)}
    return found


_RENAMED = (("applications", "says", "message"), ("refusals", "near", "preconditions_met"))


def _with_new_names(function: Document) -> Document:
    """Return a function's document of schema 2 with the names that fields have since."""
    history = dict(function.get("rewrites") or {})
    for rows, old, new in _RENAMED:
        if rows in history:
            history[rows] = [
                {new if name == old else name: value for name, value in row.items()} for row in history[rows]
            ]
    return {**function, "rewrites": history} if history else function


def _with_typical_operations(function: Document) -> Document:
    """Return a function's document of schema 3 with typical times of its operations beside their averages."""
    return _with_operations(function, is_mean=True)


def _with_typical_step(loop: Document) -> Document:
    """Return a loop's document of schema 3 with its times under their name: averages of its operations were not kept."""
    found = _with_operations(loop, is_mean=False)
    if "sides" in found:
        found["sides"] = [_with_operations(side, is_mean=False) for side in found["sides"]]
    return found


def _with_operations(around: Document, is_mean: bool) -> Document:
    rows = [_with_typical_time(row, is_mean) for row in around.get("operations", ())]
    return {**around, "operations": rows} if rows else around


def _with_typical_time(operation: Document, is_mean: bool) -> Document:
    found = dict(operation)
    known, median = found.pop("mean_ns", 0.0), found.pop("median_ns", 0.0)
    mean = known if is_mean and found.get("samples") else None
    return {**found, "typical_ns": median or known, "mean_ns": mean}


_STEPS: tuple[dict[str, Callable[[Document], Document]], ...] = (
    {"functions": _with_one_graph},
    {"functions": _with_new_names},
    {"functions": _with_typical_operations, "loops": _with_typical_step},
)


class _Table:
    """Collects the nodes of one version after the other."""

    def __init__(self) -> None:
        self.nodes: dict[NodeRecord, int] = {}
        self.places: dict[tuple[int, str], int] = {}
        self.levels: dict[tuple[int, str], int] = {}

    def level(self, around: int, key: str) -> int:
        """Return the level of a loop's step."""
        return self.levels.setdefault((around, key), len(self.levels) + 1)

    def placed(self, nodes: Sequence[NodeRecord]) -> dict[int, None]:
        """Return where the nodes of a version are in the table, with those put in that are new."""
        levels: dict[int, LevelNodes] = {}
        for number, node in enumerate(nodes):
            if node.role == "computed":
                levels.setdefault(node.level, LevelNodes()).add(number, node)
        for number, level in levels.items():
            self._put_in_place(number, level)
        placed = (replace(node, place=self.places.get((node.level, node.key), 0)) for node in nodes)
        return {self.nodes.setdefault(node, len(self.nodes)): None for node in placed}

    def _put_in_place(self, number: int, level: LevelNodes) -> None:
        """Give nodes that are new their places: the next ones, or those of nodes that read them and were there before."""
        new = [node for node in level.nodes if (number, node) not in self.places]
        if not new:
            return
        own = {key: len(self.places) + k + 1 for k, key in enumerate(new)}
        earliest: dict[str, int] = {}  # place of those that read a value
        for node in reversed(list(level.ordered())):
            read = [earliest[result.key] for result in node.results if result.key in earliest]
            place = min([self.places.get((number, node.key), own.get(node.key, 0)), *read])
            self.places.setdefault((number, node.key), place)
            for text in node.inputs:
                earliest[text] = min(place, earliest.get(text, place))


def _of_rows(
    rows: Sequence[str],
    edits: Sequence[Sequence[Document]],
    texts: dict[str, str],
    origins: Sequence[Document],
) -> VersionsRecord:
    """Return the versions that rows of the first one and the edits of each rewrite tell of."""
    table, read = _Table(), _Rows()
    current, visited = list(rows), 0
    root = read.version(current, table)
    before = table.placed(root.nodes)
    first, outputs = root, root.outputs
    start, deltas = len(before), []
    last = max(
        (k + 1 for k, edit in enumerate(edits) if edit), default=0
    )  # those after it are of the program
    for sequence in edits[:last]:
        if not sequence:
            deltas.append(DeltaRecord())
            continue
        for edit in sequence:
            current[edit["start"] : edit["stop"]] = edit["lines"]
        visited += len(current)
        if visited > MOST_ROWS:
            raise ScanvizValueError("a graph of the profile is too large")
        root = read.version(current, table)
        after = table.placed(root.nodes)
        gone, new = [one for one in before if one not in after], [one for one in after if one not in before]
        deltas.append(DeltaRecord(tuple(gone), tuple(new), root.outputs if root.outputs != outputs else None))
        before, outputs = after, root.outputs
    made = (
        OriginOfNode(origin["name"], origin.get("rule", ""), tuple(origin.get("parents", ())))
        for origin in origins
    )
    return VersionsRecord(
        first.title,
        start=start,
        outputs=first.outputs,
        output_names=first.names,
        nodes=tuple(table.nodes),
        deltas=tuple(deltas),
        origins=tuple(
            origin_of_node for origin_of_node in made if origin_of_node.rule or origin_of_node.parents
        ),
        texts=texts,
    )


class _Root:
    """What the rows of one version say."""

    def __init__(self, nodes: list[NodeRecord], end: Sequence[Any]) -> None:
        outputs, names, self.title = end
        self.nodes, self.outputs, self.names = nodes, tuple(outputs), tuple(names)


class _Rows:
    """Reads rows: ``[depth, kind, …]``, a loop's rows and those of its step after its node."""

    def __init__(self) -> None:
        self._known: dict[str, list[Any]] = {}

    def version(self, rows: Sequence[str], table: _Table) -> _Root:
        """Return the nodes of a version."""
        found: list[NodeRecord] = []
        place = self._graph(rows, 0, 0, 0, table, found)
        return _Root(found, self._row(rows[place - 1])[2:])

    def _row(self, text: str) -> list[Any]:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = json.loads(text)
        return known

    def _graph(
        self, rows: Sequence[str], place: int, depth: int, level: int, table: _Table, found: list[NodeRecord]
    ) -> int:
        """Read the graph that begins at a row, and return where the next one begins."""
        while True:
            row = self._row(rows[place])
            place += 1
            at, kind, *parts = row
            if at != depth:
                raise ValueError("a row stands where it does not belong")
            if kind == "o":
                return place
            if kind == "v":
                found.append(_leaf(level, *parts))
                continue
            if kind != "n":
                raise ValueError("a row stands where it does not belong")
            key, op, inputs, results, source = parts
            made = tuple(ResultRecord(*result) for result in results)
            node = NodeRecord(level, key, op, 0, made, tuple(inputs), source)
            head = self._row(rows[place]) if place < len(rows) else [None, None]
            if head[:2] == [depth, "l"]:
                place, loop = self._loop(rows, place, depth, table.level(level, key))
                found.append(replace(node, loop=loop))
                place = self._graph(rows, place, depth + 1, loop.step, table, found)
            else:
                found.append(node)

    def _loop(self, rows: Sequence[str], place: int, depth: int, step: int) -> tuple[int, LoopNodeRecord]:
        name, forward, until = self._row(rows[place])[2:]
        variables: list[LoopVariableKeys] = []
        while (row := self._row(rows[(place := place + 1)]))[:2] == [depth, "s"]:
            variables.append(decode(LoopVariableKeys, row[2:]))
        return place, LoopNodeRecord(name, step, tuple(variables), until, forward)


def _leaf(level: int, key: str, name: str, label: str, kind: str, role: str) -> NodeRecord:
    return NodeRecord(level, key, "", 0, (ResultRecord(key, name, kind, label),), role=role)


def versions_of_graph(graph: GraphSnapshot, after: int) -> VersionsRecord:
    """Return a graph with numbered variables as the only version that was kept: that after so many rewrites."""
    read = _Numbered()
    read.add(graph, 0)
    outputs = tuple(_key(graph, number) for number in graph.outputs)
    return VersionsRecord(
        graph.title,
        after,
        len(read.nodes),
        outputs,
        graph.output_names,
        tuple(read.nodes),
        operations=tuple(read.links),
        texts=read.texts,
    )


def _key(graph: GraphSnapshot, number: int) -> str:
    """Return the key of a variable, which a graph may be without."""
    return graph.variables[number].key or f"v{number}"


class _Numbered:
    """Collects the nodes of a graph with numbered variables, and of its loops' steps."""

    def __init__(self) -> None:
        self.nodes: dict[NodeRecord, int] = {}
        self.links: list[OperationOfNode] = []
        self.texts: dict[str, str] = {}
        self._table = _Table()

    def add(self, graph: GraphSnapshot, level: int, parameters: Collection[int] = ()) -> None:
        """Collect the nodes of a graph at a level, of which a loop gives some variables."""
        key, seen = partial(_key, graph), set[int]()
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
                if node.loop in seen:
                    raise ValueError("two operations are one loop")
                seen.add(node.loop)
                old = graph.loops[node.loop]
                loop = self._loop(old, key, self._table.level(level, name))
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


def _operations(graphs: VersionsRecord, graph: GraphSnapshot) -> Iterator[OperationOfNode]:
    """Iterate over what the nodes of the last version became, as the graph with numbered variables says."""
    places = {
        (graphs.nodes[number].level, graphs.nodes[number].key): number for number in graphs.live(graphs.last)
    }
    waiting = [(graph, 0)]
    while waiting:
        around, level = waiting.pop()
        for old in around.nodes:
            place = places.pop((level, old.key), None)
            if place is None:
                continue
            node, inner = graphs.nodes[place], None if old.loop is None else around.loops[old.loop]
            if old.operation is not None:
                yield OperationOfNode(place, old.operation, None if inner is None else inner.key)
            if node.loop is not None and inner is not None:
                waiting.append((inner.step, node.loop.step))


__all__ = ["upgraded", "versions_of_graph"]
