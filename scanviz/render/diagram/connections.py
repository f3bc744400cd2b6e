"""Outer inputs of a loop that reach its outer outputs over any number of steps, and the paths.

The pattern is the record's; the path is found in the loop's picture: through ports, the step's operations, loops inside it, and
from a step to a later one.  Of all paths it is one of fewest steps, and of these one of fewest nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

from msgspec import Struct

from scanviz.record.errors import ScanvizValueError
from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.record.loops import LoopRecord
from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.build import whole_picture
from scanviz.render.diagram.folding import inside
from scanviz.render.diagram.heat import HeatMap
from scanviz.render.diagram.mappings import ListEntry, entries_of
from scanviz.render.diagram.model import Cluster, Diagram, Node

if TYPE_CHECKING:
    import networkx

NAMED_WITHIN = 80  # columns of text in which the names of a matrix's columns stand above them
_A_STEP = 10**6  # cost of a later step in nodes: fewer steps come first
_NO_LATER = 10**12  # cost of a way through a state's rows that no later step reads


class ConnectionMatrix(Struct, frozen=True):
    """The paths from outer inputs to outer outputs.

    Attributes
    ----------
    loop : str
        The loop's name.
    rows : tuple of ListEntry
        Outer inputs in the documents' order.
    columns : tuple of ListEntry
        Outer outputs in the documents' order.
    cells : tuple of tuple of bool
        ``[row][column]``.
    """

    loop: str
    rows: tuple[ListEntry, ...]
    columns: tuple[ListEntry, ...]
    cells: tuple[tuple[bool, ...], ...]

    def as_text(self) -> str:
        """Return the matrix as text, ``●`` where an input reaches an output; long column names stand below."""
        labels = [f"{entry.index} {sanitize(entry.label)}" for entry in self.rows]
        named = [f"{entry.index} {sanitize(entry.label)}" for entry in self.columns]
        width = max(map(len, labels), default=0)
        fits = width + sum(len(name) + 3 for name in named) <= NAMED_WITHIN
        heads = named if fits else [str(entry.index) for entry in self.columns]
        lines = [f"loop {sanitize(self.loop)}", _columns("".ljust(width), heads, heads)]
        for label, cells in zip(labels, self.cells, strict=True):
            lines.append(_columns(label.ljust(width), ["●" if cell else "·" for cell in cells], heads))
        lines += [] if fits else [f"{entry.index} = {sanitize(entry.label)}" for entry in self.columns]
        return "".join(f"{line.rstrip()}\n" for line in lines)


def _columns(label: str, texts: Sequence[str], heads: Sequence[str]) -> str:
    """Return a line of texts aligned with the column heads."""
    return label + "".join(f"   {text:<{len(head)}}" for text, head in zip(texts, heads, strict=True))


class ConnectingPath(Struct, frozen=True):
    """A shortest path from an outer input to an outer output.

    Attributes
    ----------
    row, column : str
        Labels of the input and the output.
    words : tuple of str
        The way in words, a line for each step that is passed.
    ids : tuple of str
        Ids along it, in the picture of the graph with every loop open.
    steps : int
        Number of steps until it arrives.
    """

    row: str
    column: str
    words: tuple[str, ...]
    ids: tuple[str, ...]
    steps: int


def connection_matrix(loop: LoopRecord) -> ConnectionMatrix:
    """Return a loop's connection pattern with names.

    Raises
    ------
    ScanvizValueError
        If the record has no pattern, or one of other inputs and outputs.

    Examples
    --------
    >>> from scanviz.record.graphs.graph import LoopVariableRecord
    >>> h = LoopVariableRecord("sitsot", "h", (-1,), (0,), ("h[t-1]",), ("tanh(h[t-1])",), "h0", "h")
    >>> loop = LoopRecord(1, 1, None, "rnn", None, variables=(h,), connection_pattern=((False,), (True,)))
    >>> print(connection_matrix(loop).as_text(), end="")
    loop rnn
                0 h
    0 n_steps   ·
    1 h         ●
    """
    lists = entries_of(loop)
    rows, columns, cells = lists["outer_inp"], lists["outer_out"], loop.connection_pattern
    if len(cells) != len(rows) or any(len(cell) != len(columns) for cell in cells):
        raise ScanvizValueError(
            f"the connection pattern of loop `{sanitize(loop.name)}` does not fit its loop variables",
            expected=f"{len(rows)} × {len(columns)}",
            found=f"{len(cells)} × {len(cells[0]) if cells else 0}",
        )
    return ConnectionMatrix(loop.name, rows, columns, cells)


def connecting_path(
    graph: GraphSnapshot, loop: LoopRecord, row: int | str, column: int | str
) -> ConnectingPath | None:
    """Return a shortest path from an outer input to an outer output; None if there is none.

    Parameters
    ----------
    graph : GraphSnapshot
        The graph that the loop is in.
    loop : LoopRecord
        The loop.
    row : int or str
        An outer input: its place in the documents' order, or its name.
    column : int or str
        An outer output, likewise.

    Raises
    ------
    ScanvizValueError
        If there is no such loop, input or output.
    """
    lists = entries_of(loop)
    source = _chosen(lists["outer_inp"], row, "outer input", loop)
    target = _chosen(lists["outer_out"], column, "outer output", loop)
    picture = whole_picture(graph, HeatMap(None, None))
    box = _box(picture, loop)
    kept = inside(picture, [box.id])
    nodes = {node.id: node for node in picture.nodes if node.cluster in kept}
    ends = [_port(nodes.values(), box, source, "in"), _port(nodes.values(), box, target, "out")]
    if ends[0] is None or ends[1] is None or source.kind in ("n_steps", "nitsot"):
        return None
    import networkx

    try:
        ids = networkx.shortest_path(_ways(picture, nodes), ends[0], ends[1], weight="cost")
    except networkx.NetworkXNoPath:
        return None
    jumps = {
        (edge.source, edge.target): int(edge.label.split()[0])
        for edge in picture.edges
        if edge.role == "recurrence"
    }
    words = _words([nodes[place] for place in ids], jumps)
    return ConnectingPath(
        source.label,
        target.label,
        tuple(words),
        tuple(ids),
        sum(jumps.get(jump, 0) for jump in pairwise(ids)),
    )


def _ways(picture: Diagram, nodes: dict[str, Node]) -> networkx.DiGraph[str]:
    """Return the graph of all paths through a loop, with the cost of each edge."""
    import networkx

    ways: networkx.DiGraph[str] = networkx.DiGraph()
    ways.add_nodes_from(nodes)
    edges = [edge for edge in picture.edges if edge.source in nodes and edge.target in nodes]
    ways.add_edges_from(((edge.source, edge.target) for edge in edges if edge.role != "recurrence"), cost=1)
    places: dict[tuple[str | None, int | None], list[Node]] = {}
    for node in nodes.values():
        if node.kind in ("port", "inner_input", "inner_output"):
            places.setdefault((node.cluster, node.variable), []).append(node)
    later: dict[tuple[str, str], int] = {}
    for together in places.values():
        kind = together[0].loop_kind
        for a, b in permutations(together, 2):
            # The pattern takes the rows of a mitmot as one value: its results reach all that it reads.
            if (
                kind == "mitmot"
                and (a.kind, b.kind) == ("inner_output", "inner_input")
                and not ways.has_edge(a.id, b.id)
            ):
                later[a.id, b.id] = _NO_LATER
            # Rows of a mitmot that no step writes, and a carry's first value where there are no steps, go through.
            elif kind in ("mitmot", "carry") and (a.side, b.side) == ("in", "out"):
                later[a.id, b.id] = 1
    for edge in edges:
        if edge.role == "recurrence":
            later[edge.source, edge.target] = 1 + _A_STEP * int(edge.label.split()[0])
    ways.add_edges_from((*ends, {"cost": cost}) for ends, cost in later.items())
    return ways


def _words(path: list[Node], jumps: dict[tuple[str, str], int]) -> Iterator[str]:
    line = [_called(path[0])]
    for a, b in pairwise(path):
        later = jumps.get((a.id, b.id))
        if later is not None:
            yield " → ".join(line)
            line = [f"{later} step{'s' if later > 1 else ''} later, read as {_called(b)}"]
        elif a.label != b.label or b.kind == "operation":
            line.append(_called(b))
    yield " → ".join(line)


def _called(node: Node) -> str:
    return (
        f"result {sanitize(node.label)}"
        if node.kind == "port" and node.side == "out"
        else sanitize(node.label)
    )


def _chosen(entries: tuple[ListEntry, ...], wanted: int | str, what: str, loop: LoopRecord) -> ListEntry:
    if isinstance(wanted, int):
        if 0 <= wanted < len(entries):
            return entries[wanted]
    else:
        names = [loop.variables[entry.variable].name if entry.variable >= 0 else "" for entry in entries]
        exact = [entry for entry in entries if entry.label == wanted]
        named = [entry for entry, name in zip(entries, names, strict=True) if name == wanted]
        found = exact or [entry for entry in named if entry.kind != "nitsot" or what == "outer output"]
        if len(found) == 1:
            return found[0]
        if found:
            listed = ", ".join(f"{entry.index} ({sanitize(entry.label)})" for entry in found)
            raise ScanvizValueError(
                f"loop `{sanitize(loop.name)}` has {len(found)} {what}s `{sanitize(wanted)}`",
                fix=f"choose one by its number: {listed}",
            )
    listed = ", ".join(f"{entry.index} {sanitize(entry.label)}" for entry in entries)
    raise ScanvizValueError(
        f"loop `{sanitize(loop.name)}` has no {what} `{sanitize(str(wanted))}`", expected=f"one of {listed}"
    )


def has_ends(loop: LoopRecord, row: int | str, column: int | str) -> bool:
    """Return whether a loop has an outer input and an outer output of these names."""
    lists = entries_of(loop)
    try:
        _chosen(lists["outer_inp"], row, "outer input", loop)
        _chosen(lists["outer_out"], column, "outer output", loop)
    except ScanvizValueError:
        return False
    return True


def _box(picture: Diagram, loop: LoopRecord) -> Cluster:
    found = [cluster for cluster in picture.clusters if cluster.loop == loop.key]
    found = found or [
        cluster for cluster in picture.clusters if cluster.loop is None and cluster.label == loop.name
    ]
    if not found:
        raise ScanvizValueError(f"the graph has no loop `{sanitize(loop.name)}`")
    return found[0]


def _port(nodes: Iterable[Node], box: Cluster, entry: ListEntry, side: str) -> str | None:
    for node in nodes:
        if (node.cluster, node.kind, node.side, node.variable) == (box.id, "port", side, entry.variable):
            return node.id
    return None
