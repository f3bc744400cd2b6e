"""A picture in plain characters: a row a node, values as lines that run down on the left to where they are read.

A line begins at the node that gives a value and ends at the last that reads it; a node that reads joins the lines of what it reads.
Loops are boxes around their rows.  What a later step reads is said in words, with an arrow, because its line would go back up.
(The idea of lines beside rows is that of ``git log --graph``.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.labels import cluster_lines, kind_name, short, signed, time_text
from scanviz.render.reading_order import reading_order

WIDEST_RAILS = 40  # columns that lines may take, more on a wide terminal: beyond it, values are named instead
SIGNS = {
    "input": "○",
    "shared": "◎",
    "constant": "·",
    "operation": "●",
    "output": "◉",
    "loop": "▣",
    "port": "◆",
    "inner_input": "◇",
    "inner_output": "◆",
    "until": "■",
    "cell": "▫",
    "summary": "≡",
}
_ASCII = str.maketrans(
    {
        **dict(zip("○◎·●◉▣◆◇■▫≡", "oO.*@#+<X.=", strict=True)),
        **dict(zip("│├┤╰╯╭╮─┼║╔╚═╗╝…←→↻⇢", "|++++++-+|++=++.<>@>", strict=True)),
        "µ": "u",
        "−": "-",
    }
)


def drawing_lines(
    diagram: Diagram, width: int = 80, *, types: bool = False, ascii_only: bool = False
) -> Iterator[str]:
    """Iterate over the lines of a picture in characters.

    Parameters
    ----------
    diagram : Diagram
        What to draw.
    width : int
        Columns; what is longer is cut.
    types : bool
        Whether dtypes and shapes are shown.
    ascii_only : bool
        Whether to use no other than ASCII characters.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Edge, Node
    >>> nodes = (Node("x", "input", "x"), Node("y", "input", "y"), Node("s", "operation", "add"))
    >>> for line in drawing_lines(Diagram("f", nodes, edges=(Edge("x", "s"), Edge("y", "s")))):
    ...     print(line)
    f
    ○    x
    │ ○  y
    ●─╯  add ← x, y
    """
    for line in _Drawing(diagram, max(40, width), types).lines():
        text = line if len(line) <= width else line[: width - 1] + "…"
        yield text.translate(_ASCII).encode("ascii", "replace").decode() if ascii_only else text


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the drawing: its node, and how it joins the lines."""

    rails: str
    node: Node


class _Drawing:
    def __init__(self, diagram: Diagram, width: int, types: bool) -> None:
        self.diagram, self.width, self.types = diagram, width, types
        self.widest = max(WIDEST_RAILS, width * 55 // 100)
        self.owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
        self.nodes = {node.id: node for node in diagram.nodes}
        self.clusters = {cluster.id: cluster for cluster in diagram.clusters}
        self.reads: dict[str, list[str]] = defaultdict(list)
        self.later: dict[str, list[Edge]] = defaultdict(list)
        self.before: dict[str, list[Edge]] = defaultdict(list)
        for edge in diagram.edges:
            self._edge(edge)
        self.order = reading_order(diagram, self.reads)
        self.last = {source: k for k, node in enumerate(self.order) for source in self.reads[node.id]}

    def _edge(self, edge: Edge) -> None:
        source, target = (self.owner.get(text, text) for text in (edge.source, edge.target))
        if source not in self.nodes or target not in self.nodes:
            return
        if edge.role == "recurrence":
            self.later[source].append(edge)
            self.before[target].append(edge)
        elif source not in self.reads[target]:
            self.reads[target].append(source)

    def lines(self) -> Iterator[str]:
        """Iterate over all lines."""
        yield short(self.diagram.title, self.width)
        yield from (short(note, self.width) for note in self.diagram.notes)
        rows = list(self._rails())
        room = max((len(row.rails) for row in rows), default=0)
        if room > self.widest:
            rows = [_Row(SIGNS.get(row.node.kind, "●"), row.node) for row in rows]
            room = 1
        around: list[str] = []
        for row in rows:
            yield from self._frames(around, row, room)
            yield f"{row.rails:<{room}}  {'║ ' * len(around)}{self._label(row.node)}".rstrip()
        while around:
            around.pop()
            yield f"{'':<{room}}  {'║ ' * len(around)}╚═"

    def _frames(self, around: list[str], row: _Row, room: int) -> Iterator[str]:
        """Close the boxes that a row is not in any more, and open those that it is in."""
        wanted = self._way(row.node.cluster)
        passing = "".join(text if text in "│ " else "│" for text in self._open_before(row))
        while around and around != wanted[: len(around)]:
            around.pop()
            yield f"{passing:<{room}}  {'║ ' * len(around)}╚═"
        for cluster in wanted[len(around) :]:
            head = f"{passing:<{room}}  {'║ ' * len(around)}╔═ {self._heading(self.clusters[cluster])} "
            yield head + "═" * max(2, min(self.width, 100) - len(head))
            around.append(cluster)

    def _open_before(self, row: _Row) -> str:
        return self.passing.get(row.node.id, "") if row.rails and len(row.rails) <= self.widest else ""

    def _heading(self, cluster: Cluster) -> str:
        lines = cluster_lines(cluster)
        return "loop " + " · ".join([lines[0], *lines[1:]])

    def _way(self, cluster: str | None) -> list[str]:
        way: list[str] = []
        while cluster is not None and cluster in self.clusters:
            way.insert(0, cluster)
            cluster = self.clusters[cluster].parent
        return way

    def _rails(self) -> Iterator[_Row]:
        """Iterate over rows with the lines beside them."""
        lanes: list[str | None] = []
        unread: int | None = (
            None  # the lane of the row above, if nothing reads it: a node below it would seem to
        )
        self.passing: dict[str, str] = {}
        for k, node in enumerate(self.order):
            self.passing[node.id] = " ".join("│" if lane is not None else " " for lane in lanes)
            inputs = [
                place for place, lane in enumerate(lanes) if lane is not None and lane in self.reads[node.id]
            ]
            ended = [place for place in inputs if self.last[lanes[place] or ""] <= k]
            own = next(iter(ended), None)
            if own is None:
                free = (place for place, lane in enumerate(lanes) if lane is None and place != unread)
                own = next(free, len(lanes) + (len(lanes) == unread))
            while len(lanes) < own:
                lanes.append(None)
            if own == len(lanes):
                lanes.append(None)
            yield _Row(self._row(lanes, own, inputs, ended, SIGNS.get(node.kind, "●")), node)
            for place in ended:
                lanes[place] = None
            lanes[own] = node.id if self.last.get(node.id, -1) > k else None
            unread = own if lanes[own] is None else None
            while lanes and lanes[-1] is None:
                lanes.pop()

    @staticmethod
    def _row(lanes: list[str | None], own: int, inputs: list[int], ended: list[int], sign: str) -> str:
        low, high = min([own, *inputs]), max([own, *inputs])
        cells = []
        for place, lane in enumerate(lanes):
            if place == own:
                cells.append(sign)
            elif place in inputs and place in ended:
                cells.append("╰" if place < own else "╯")
            elif place in inputs:
                cells.append("├" if place < own else "┤")
            elif low < place < high:
                cells.append("┼" if lane is not None else "─")
            else:
                cells.append("│" if lane is not None else " ")
            cells.append("─" if low <= place < high else " ")
        return "".join(cells).rstrip()

    def _label(self, node: Node) -> str:
        parts = [signed(short(node.label), node.change)]
        if node.loop_kind and node.kind == "port":
            side = {"in": "into", "out": "out of"}.get(node.side, "of")
            parts.append(f"({kind_name(node.loop_kind)} {side} the loop)")
        sources = [short(self.nodes[read].label.partition(" = ")[0], 24) for read in self.reads[node.id]]
        if sources and node.kind in (
            "operation",
            "output",
            "loop",
            "summary",
            "until",
            "inner_output",
            "port",
        ):
            parts.append("← " + ", ".join(sources))
        if node.kind == "loop":
            outs = [short(port.label, 24) for port in node.ports if port.side == "out"]
            parts.append("→ " + ", ".join(outs) if outs else "")
        parts += [f"⇢ {self._name(each.target)} {short(each.label)} later" for each in self.later[node.id]]
        parts += [
            f"↻ {self._name(each.source)} of {short(each.label)} before" for each in self.before[node.id]
        ]
        if self.types and node.type:
            parts.append(f"[{sanitize(node.type)}]")
        if node.time_ns is not None:
            parts.append(f"· {time_text(node)}")
        return "  ".join(part for part in parts if part).replace("  ← ", " ← ")

    def _name(self, part: str) -> str:
        node = self.nodes.get(self.owner.get(part, part))
        return short(node.label, 24) if node is not None else ""


def drawing_text(diagram: Diagram, width: int = 80, *, types: bool = False, ascii_only: bool = False) -> str:
    r"""Return a picture in characters as one text.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Node
    >>> drawing_text(Diagram("f", (Node("x", "input", "x"),)), ascii_only=True)
    'f\no  x\n'
    """
    return "".join(f"{line}\n" for line in drawing_lines(diagram, width, types=types, ascii_only=ascii_only))
