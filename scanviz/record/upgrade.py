"""Documents of profiles that earlier versions wrote, as the present version writes them: the only place that knows an old form.

Schema 1 kept a function's graph three times: as it was built as text lines and as rows of JSON, each with the edits that every
rewrite made in them, and after all rewrites as a graph with numbered variables.  Schema 2 has one table of nodes
(:mod:`scanviz.record.versions`).  Schema 3 calls what a rule did its message, and what held before a refusal preconditions met.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from scanviz.engine.errors import ScanvizValueError
from scanviz.record.codec import encode
from scanviz.record.graph_reading import LevelNodes
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
    {'schema': 3, 'script': 'rnn.py'}
    """
    try:
        for version, step in enumerate(_STEPS, start=1):
            if document["schema"] == version:
                document = _stepped(document, version + 1, step)
        return document
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, ScanvizValueError):
            raise
        raise ScanvizValueError(
            "a graph of the profile makes no sense", found=f"{type(error).__name__}: {str(error)[:80]}"
        ) from None


def _stepped(document: Document, schema: int, step: Callable[[Document], Document]) -> Document:
    """Return a document in the next form: its functions, and the runs that it repeats."""
    found = {**document, "schema": schema}
    if "functions" in document:
        found["functions"] = [step(function) for function in document["functions"]]
    if "repeats" in document:
        found["repeats"] = [_stepped(repeat, schema, step) for repeat in document["repeats"]]
    return found


def _with_one_graph(function: Document) -> Document:
    """Return a function's document of schema 1 with one form of its graph."""
    found = dict(function)
    graph, rewrites = found.pop("graph", None), found.pop("rewrites", None)
    if rewrites is None and graph is None:
        return found
    history = dict(rewrites or {})
    old = {name: history.pop(name, missing) for name, missing in _GRAPH.items()}
    applications = [dict(each) for each in history.get("applications", ())]
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


_STEPS = (_with_one_graph, _with_new_names)


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
            fields: list[Any] = [tuple(each) if isinstance(each, list) else each for each in row[2:]]
            variables.append(LoopVariableKeys(*fields))
        return place, LoopNodeRecord(name, step, tuple(variables), until, forward)


def _leaf(level: int, key: str, name: str, label: str, kind: str, role: str) -> NodeRecord:
    return NodeRecord(level, key, "", 0, (ResultRecord(key, name, kind, label),), role=role)


def versions_of_graph(graph: Document, after: int) -> VersionsRecord:
    """Return a graph with numbered variables, as JSON data, as the only version that was kept: that after so many rewrites."""
    nodes: dict[NodeRecord, int] = {}
    links: list[OperationOfNode] = []
    texts: dict[str, str] = {}
    levels = _Table()
    keys = _Keys(graph)
    _nodes_of(graph, keys, 0, levels, nodes, links, texts)
    outputs = tuple(keys.of(each) for each in graph["outputs"])
    names = tuple(graph["output_names"])
    return VersionsRecord(
        graph["title"], after, len(nodes), outputs, names, tuple(nodes), operations=tuple(links), texts=texts
    )


class _Keys:
    """Keys of a graph's variables and nodes, which it may be without."""

    def __init__(self, graph: Document) -> None:
        self._variables = graph["variables"]
        self._taken: dict[str, int] = {}

    def of(self, number: int) -> str:
        """Return the key of a variable."""
        given = self._variables[number].get("key", "")
        return given or f"v{number}"

    def node(self, node: Document, number: int) -> str:
        """Return the key of a node."""
        return node.get("key", "") or f"n{number}"


def _nodes_of(
    graph: Document,
    keys: _Keys,
    level: int,
    levels: _Table,
    found: dict[NodeRecord, int],
    links: list[OperationOfNode],
    texts: dict[str, str],
    parameters: Sequence[int] = (),
) -> None:
    """Collect the nodes of a graph with numbered variables, and of its loops' steps."""
    variables = graph["variables"]
    seen: set[int] = set()
    for number, each in enumerate(variables):
        if each["role"] != "computed":
            role = "parameter" if number in parameters else each["role"]
            leaf = _leaf(level, keys.of(number), each["name"], each["label"], each["type"], role)
            found.setdefault(leaf, len(found))
    for number, each in enumerate(graph["nodes"]):
        made = [(keys.of(one), variables[one]) for one in each["outputs"]]
        results = tuple(ResultRecord(key, one["name"], one["type"]) for key, one in made)
        read = tuple(map(keys.of, each["inputs"]))
        loop, key = None, keys.node(each, number)
        if each.get("loop") is not None:
            if each["loop"] in seen:
                raise ValueError("two operations are one loop")
            seen.add(each["loop"])
            old = graph["loops"][each["loop"]]
            inner = _Keys(old["step"])
            step = levels.level(level, key)
            loop = _loop_of(old, step, keys, inner)
            within = {one for variable in old["variables"] for one in variable["inner_inputs"]}
            _nodes_of(old["step"], inner, step, levels, found, links, texts, tuple(within))
        node = NodeRecord(level, key, each["op"], number + 1, results, read, each["source"], loop=loop)
        place = found.setdefault(node, len(found))
        if each.get("operation") is not None:
            known = graph["loops"][each["loop"]].get("key") if loop is not None else None
            links.append(OperationOfNode(place, each["operation"], known))
        if each["text"]:
            texts[each["source"]] = each["text"]


def _loop_of(old: Document, step: int, keys: _Keys, inner: _Keys) -> LoopNodeRecord:
    variables = tuple(
        LoopVariableKeys(
            each["kind"],
            each["name"],
            tuple(each["reads"]),
            tuple(each["writes"]),
            tuple(map(inner.of, each["inner_inputs"])),
            tuple(map(inner.of, each["inner_outputs"])),
            None if each["outer_input"] is None else keys.of(each["outer_input"]),
            None if each["outer_output"] is None else keys.of(each["outer_output"]),
            each.get("keep_last"),
        )
        for each in old["variables"]
    )
    until = old.get("until")
    return LoopNodeRecord(
        old["name"], step, variables, None if until is None else inner.of(until), old.get("gradient_of")
    )


def _operations(graphs: VersionsRecord, graph: Document) -> Iterator[OperationOfNode]:
    """Iterate over what the nodes of the last version became, as the graph with numbered variables says."""
    places = {
        (graphs.nodes[number].level, graphs.nodes[number].key): number for number in graphs.live(graphs.last)
    }
    waiting = [(graph, 0)]
    while waiting:
        around, level = waiting.pop()
        for each in around["nodes"]:
            place = places.pop((level, each["key"]), None)
            if place is None:
                continue
            node, old = graphs.nodes[place], each.get("loop")
            inner: Mapping[str, Any] = around["loops"][old] if old is not None else {}
            if each.get("operation") is not None:
                yield OperationOfNode(place, each["operation"], inner.get("key"))
            if node.loop is not None and inner:
                waiting.append((inner["step"], node.loop.step))


__all__ = ["upgraded", "versions_of_graph"]
