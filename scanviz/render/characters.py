"""A picture in plain characters: a row a node, values as lines that run down on the left to where they are read.

A line begins at the node of a value and ends at its last reader; a node joins the lines of its inputs.  Loops are boxes around
their rows.  Values for a later step are named with an arrow, because their lines would go back up.  The same holds for cells that
an operation of a step-by-step picture writes: all cells stand above all steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from textwrap import wrap

from msgspec import Struct, field

from scanviz.record.plain_text import sanitize
from scanviz.render.diagram.model import Change, Cluster, Diagram, Edge, Node
from scanviz.render.labels import cluster_lines, kind_name, short, signed, time_text, with_value
from scanviz.render.rails import fitting, lanes_of, rail_rows, reading_order, without

WIDEST_RAILS = (
    40  # columns that lines may take, more on a wide terminal: the longest beyond that are named instead
)
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
_GONE = "−"
_LEAST = 16  # columns of words that a time needs beside it
_READERS = ("operation", "output", "loop", "summary", "until", "inner_output", "port")
_ASCII = str.maketrans(
    {
        **dict(zip("○◎·●◉▣◆◇■▫≡", "oO.*@#+<X.=", strict=True)),
        **dict(zip("│├┤╰╯╭╮─┼║╔╚═╗╝…←→↻⇢↓", "|++++++-+|++=++.<>@>v", strict=True)),
        "µ": "u",
        "−": "-",
    }
)


class DrawnLine(Struct, frozen=True):
    """A line of a drawing.

    Attributes
    ----------
    text : str
        Its row.
    part : str
        Id of the node, or of the loop whose box begins here; empty for others.
    rails : int
        Columns for lines between nodes.
    kept : int
        Characters at its end that a cut keeps: a time, or the operation count of a closed loop.
    """

    text: str
    part: str = ""
    rails: int = 0
    kept: int = 0


class Moment(Struct, frozen=True):
    """The visible nodes, loops and edges of a picture at one moment.

    Attributes
    ----------
    shown : collection of str
        Ids of nodes and loops.
    edges : collection of int
        Edges, by their numbers in the picture.
    changes : mapping of str to str
        ``"added"`` or ``"removed"``, for nodes that changed.
    """

    shown: Collection[str]
    edges: Collection[int]
    changes: Mapping[str, Change] = field(default_factory=dict)


class CharacterDrawing:
    """A picture laid out as rows, to be drawn whole or at several moments: every node keeps its row and its lane.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    width : int
        Columns; longer lines are cut.
    types : bool
        Whether dtypes and shapes are shown.
    words : int
        Columns that words have, also where lines leave less of the width.
    moments : sequence of Moment
        All moments at which it is going to be drawn, if it is not drawn whole.
    """

    def __init__(
        self,
        diagram: Diagram,
        width: int,
        *,
        types: bool = False,
        words: int = 0,
        moments: Sequence[Moment] = (),
    ) -> None:
        self.diagram, self.types = diagram, types
        widest = max(WIDEST_RAILS, width * 55 // 100)
        self.owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
        self.nodes = {node.id: node for node in diagram.nodes}
        self.clusters = {cluster.id: cluster for cluster in diagram.clusters}
        self.ends = [self._ends(edge) for edge in diagram.edges]
        reads = self.reads_by(range(len(diagram.edges)))
        self.order = reading_order(diagram, reads)
        names = [node.id for node in self.order]
        self.rows = {name: k for k, name in enumerate(names)}
        self.named = fitting(names, reads, widest)
        lasting = self._lasting(moments)
        drawn = without(reads, self.named)
        self.lanes = lanes_of(names, drawn, lambda ended, name: lasting is None or (ended, name) in lasting)
        lanes = max(self.lanes.values(), default=0) + 1
        self.close = 2 * lanes - 1 > width * 2 // 5  # adjacent lanes leave more room for words
        self.room = lanes if self.close else 2 * lanes - 1
        self.width = max(40, width, self.room + 2 + words)
        self.in_sight = max(40, width)

    def _ends(self, edge: Edge) -> tuple[str, str] | None:
        source, target = (self.owner.get(text, text) for text in (edge.source, edge.target))
        return (source, target) if source in self.nodes and target in self.nodes else None

    def reads_by(self, edges: Collection[int]) -> dict[str, list[str]]:
        """Return the sources of each node, by some of the edges."""
        reads: dict[str, list[str]] = defaultdict(list)
        for number, (edge, ends) in enumerate(zip(self.diagram.edges, self.ends, strict=True)):
            if ends is not None and edge.role != "recurrence" and number in edges:
                source, target = ends
                if source not in reads[target]:
                    reads[target].append(source)
        return reads

    def _lasting(self, moments: Sequence[Moment]) -> set[tuple[str, str]] | None:
        """Return the pairs of node and reader that are adjacent whenever both are drawn: only those share a lane."""
        if not moments:
            return None
        found = {ends for ends in self.ends if ends is not None}
        for moment in moments:
            joined = {ends for number, ends in enumerate(self.ends) if number in moment.edges}
            found = {ends for ends in found if ends in joined or not set(ends) <= set(moment.shown)}
        return found

    def lines(self, moment: Moment | None = None) -> Iterator[DrawnLine]:
        """Iterate over all lines; their number is the same at each moment."""
        for line in _Lines(self, moment).all():
            text, width = line.text.rstrip(), self.width
            if line.kept and self.room + line.kept + _LEAST < self.in_sight:
                width = self.in_sight
            if len(text) > width:
                text = f"{text[: width - 1 - line.kept]}…{text[len(text) - line.kept :]}"
            yield DrawnLine(text, line.part, line.rails)


class _Lines:
    """The lines of a drawing at a moment."""

    def __init__(self, drawing: CharacterDrawing, moment: Moment | None) -> None:
        self.drawing, self.room = drawing, drawing.room
        edges = range(len(drawing.ends)) if moment is None else moment.edges
        every = (*drawing.nodes, *drawing.clusters)
        self.shown = frozenset(every if moment is None else moment.shown)
        self.changes: Mapping[str, Change] = {} if moment is None else moment.changes
        self.reads = drawing.reads_by(edges)
        self.later: dict[str, list[tuple[str, Edge]]] = defaultdict(list)
        self.before: dict[str, list[tuple[str, Edge]]] = defaultdict(list)
        self.into: dict[str, list[tuple[str, Edge]]] = defaultdict(list)  # cells that stand further up
        for number, (edge, ends) in enumerate(zip(drawing.diagram.edges, drawing.ends, strict=True)):
            if ends is None or number not in edges:
                continue
            source, target = ends
            if edge.role == "recurrence":
                self.later[source].append((target, edge))
                self.before[target].append((source, edge))
            elif drawing.nodes[target].kind == "cell" and self._is_below(source, target):
                self.into[source].append((target, edge))

    def all(self) -> Iterator[DrawnLine]:
        """Iterate over all lines."""
        drawing = self.drawing
        diagram = drawing.diagram
        notes = [*diagram.notes, *([_named_note(len(drawing.named))] if drawing.named else [])]
        yield DrawnLine(short(diagram.title, drawing.width))
        yield from (DrawnLine(line) for note in notes for line in wrap(sanitize(note), drawing.width))
        names = [node.id for node in drawing.order]
        signs = {name: self._sign(name) for name in names if name in self.shown or name in self.changes}
        rows = rail_rows(names, without(self.reads, drawing.named), drawing.lanes, signs, drawing.close)
        around: list[str] = []
        for node, (above, row) in zip(drawing.order, rows, strict=True):
            yield from self._frames(around, node, above)
            label = self._label(node) if node.id in signs else ""
            time = _amounts(node) if label else ""
            yield DrawnLine(f"{self._beside(row, around)}{label}{time}", node.id, self.room, len(time))
        while around:
            yield self._bottom(around, "")

    def _sign(self, name: str) -> str:
        gone = self.changes.get(name) == "removed"
        return _GONE if gone else SIGNS.get(self.drawing.nodes[name].kind, "●")

    def _beside(self, rails: str, around: Sequence[str]) -> str:
        """Return the text left of words: lines between nodes, and sides of the boxes."""
        return f"{rails:<{self.room}}  {''.join('║ ' if box in self.shown else '  ' for box in around)}"

    def _bottom(self, around: list[str], above: str) -> DrawnLine:
        box = around.pop()
        return DrawnLine(self._beside(above, around) + ("╚═" if box in self.shown else ""), "", self.room)

    def _frames(self, around: list[str], node: Node, above: str) -> Iterator[DrawnLine]:
        """Close the boxes that end before a row, and open those that begin with it."""
        wanted = self._way(node.cluster)
        while around and around != wanted[: len(around)]:
            yield self._bottom(around, above)
        for cluster in wanted[len(around) :]:
            head = self._beside(above, around)
            if cluster in self.shown:
                head += f"╔═ {self._heading(self.drawing.clusters[cluster])} "
                head += "═" * max(2, min(self.drawing.width, 100) - len(head))
            elif cluster in self.changes:
                head += self._heading(self.drawing.clusters[cluster])
            time = time_text(self.drawing.clusters[cluster])
            kept = len(head) - head.rindex(time) + 3 if time and time in head else 0
            yield DrawnLine(head, cluster, self.room, kept)
            around.append(cluster)

    def _heading(self, cluster: Cluster) -> str:
        first, *more = cluster_lines(cluster)
        return signed("loop " + " · ".join([first, *more]), self.changes.get(cluster.id, ""))

    def _way(self, cluster: str | None) -> list[str]:
        way: list[str] = []
        while cluster is not None and cluster in self.drawing.clusters:
            way.insert(0, cluster)
            cluster = self.drawing.clusters[cluster].parent
        return way

    def _label(self, node: Node) -> str:
        label = with_value(short(node.label), node.value)
        parts = [signed(label, self.changes.get(node.id, node.change))]
        if node.kind == "cell" and node.note:
            parts.append(f"({short(node.note)})")
        if node.loop_kind and node.kind == "port":
            side = {"in": "into", "out": "out of"}.get(node.side, "of")
            counts = node.loop_kind == "n_steps"  # no step reads it: it is the number of steps
            what = "number of steps" if counts else f"{kind_name(node.loop_kind)} {side} the loop"
            parts.append(f"({what})")
        sources = self.reads.get(node.id, [])
        if sources and (
            node.kind in _READERS or any(self._has_no_line(source, node.id) for source in sources)
        ):
            parts.append("← " + ", ".join(self._result(source, node.id) for source in sources))
        if node.id in self.into:
            parts.append("→ " + ", ".join(self._cell(name, edge) for name, edge in self.into[node.id]))
        if node.kind == "loop":
            outs = [short(port.label, 24) for port in node.ports if port.side == "out"]
            parts.append("→ " + ", ".join(outs) if outs else "")
        parts += [f"⇢ {self._name(name)} {short(edge.label)} later" for name, edge in self.later[node.id]]
        parts += [
            f"↻ {self._name(name)} of {short(edge.label)} before" for name, edge in self.before[node.id]
        ]
        if self.drawing.types and node.type:
            parts.append(f"[{sanitize(node.type)}]")
        return "  ".join(part for part in parts if part).replace("  ← ", " ← ")

    def _has_no_line(self, source: str, reader: str) -> bool:
        return source in self.drawing.named or self._is_below(source, reader)

    def _is_below(self, source: str, reader: str) -> bool:
        """Return whether a value stands further down than its reader, as results of loops may in a film."""
        return self.drawing.rows[source] > self.drawing.rows[reader]

    def _result(self, source: str, reader: str) -> str:
        sign = "↓ " if self._is_below(source, reader) else ""
        return sign + short(self.drawing.nodes[source].label.partition(" = ")[0], 24)

    def _cell(self, name: str, edge: Edge) -> str:
        """Return the cell that a value goes into, with a plus where the value is added."""
        return f"{'+ ' if edge.role == 'accumulates' else ''}{self._name(name)}"

    def _name(self, name: str) -> str:
        return short(self.drawing.nodes[name].label, 24)


def _amounts(node: Node) -> str:
    """Return the operation count of a closed loop and the time of a node, as text behind the label."""
    operations = node.operations
    count = "" if operations is None else f"  · {operations:,} operation{'' if operations == 1 else 's'}"
    return count + (f"  · {time_text(node)}" if node.time_ns is not None else "")


def _named_note(count: int) -> str:
    what = "1 value is" if count == 1 else f"{count} values are"
    return f"{what} read far below: named there, without a line"


def drawing_text(diagram: Diagram, width: int = 80, *, types: bool = False, ascii_only: bool = False) -> str:
    """Return a picture in characters as one text.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    width : int
        Columns; longer lines are cut.
    types : bool
        Whether dtypes and shapes are shown.
    ascii_only : bool
        Whether to use no other than ASCII characters.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Edge, Node
    >>> nodes = (Node("x", "input", "x"), Node("y", "input", "y"), Node("s", "operation", "add"))
    >>> print(drawing_text(Diagram("f", nodes, edges=(Edge("x", "s"), Edge("y", "s")))), end="")
    f
    ○    x
    │ ○  y
    ●─╯  add ← x, y
    """
    text = "".join(f"{line.text}\n" for line in CharacterDrawing(diagram, width, types=types).lines())
    return text.translate(_ASCII).encode("ascii", "replace").decode() if ascii_only else text
