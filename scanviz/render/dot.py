"""A picture as DOT text, the language of Graphviz.

All text stands in HTML-like labels, where only three characters have a meaning, so no name in a script can change the
drawing.  A node keeps its id in an SVG that Graphviz makes.
"""

from __future__ import annotations

from collections import defaultdict
from html import escape

from scanviz.render import colours
from scanviz.render.colours import CHANGES, CLUSTER, EDGES, FAINT, INK, LOOP_KINDS, Paint, node_paint
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.labels import (
    cluster_lines,
    cluster_title,
    edge_title,
    element_id,
    hottest,
    kind_name,
    legend_rows,
    node_lines,
    node_title,
    port_title,
    short,
    signed,
    warmth,
)
from scanviz.render.marks import MARK

_SHAPES = {
    "input": 'shape=box style="rounded,filled"',
    "shared": "shape=cylinder style=filled",
    "constant": 'shape=box style="filled,dashed"',
    "operation": "shape=box style=filled",
    "output": 'shape=box style="rounded,filled" peripheries=2',
    "port": "shape=box style=filled penwidth=1.6",
    "inner_input": 'shape=box style="rounded,filled"',
    "inner_output": 'shape=box style="rounded,filled" penwidth=1.8',
    "until": "shape=octagon style=filled",
    "cell": "shape=box style=filled margin=0.05 width=0.4 height=0.3",
    "summary": 'shape=box3d style="filled,dashed"',
}
_EDGE_STYLES = {"recurrence": "style=dashed constraint=false penwidth=1.4", "connection": "penwidth=2"}
_ROW = '<TABLE BORDER="0" CELLBORDER="{}" CELLSPACING="{}" CELLPADDING="0"><TR>{}</TR></TABLE>'


def to_dot(diagram: Diagram, *, types: bool = False) -> str:
    """Return a picture as DOT text.

    Parameters
    ----------
    diagram : Diagram
        The picture.
    types : bool
        Whether dtypes and shapes are written on nodes.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Node
    >>> text = to_dot(Diagram("f", nodes=(Node("a", "operation", "exp"),)))
    >>> [line.strip() for line in text.splitlines() if 'id="a"' in line]
    ['n0 [label=<exp> id="a" shape=box style=filled fillcolor="#ffffff" color="#57606a" ...]']
    """
    return _Writer(diagram, types).text()


def names_of(diagram: Diagram) -> dict[str, str]:
    """Return the DOT name of each node, and of each port of a closed loop as ``node:port``."""
    found: dict[str, str] = {}
    for number, node in enumerate(diagram.nodes):
        found[node.id] = f"n{number}"
        found.update({port.id: f"n{number}:p{k}" for k, port in enumerate(node.ports)})
    return found


class _Writer:
    """Writes one picture."""

    def __init__(self, diagram: Diagram, types: bool) -> None:
        self.diagram, self.types = diagram, types
        self.lines: list[str] = []
        self.hottest = hottest(diagram)
        self.names = names_of(diagram)
        self.ports = {port.id for node in diagram.nodes for port in node.ports}
        self.titles = {cluster.id: f'"title {k}"' for k, cluster in enumerate(diagram.clusters)}
        self.inside: dict[str | None, list[Node]] = defaultdict(list)
        self.children: dict[str | None, list[Cluster]] = defaultdict(list)
        for node in diagram.nodes:
            self.inside[node.cluster if node.cluster in self.titles else None].append(node)
        for cluster in diagram.clusters:
            self.children[cluster.parent if cluster.parent in self.titles else None].append(cluster)
        self.top = _top(diagram)

    def text(self) -> str:
        """Return the whole DOT text."""
        self.lines = [
            f"// {MARK}",
            "digraph scanviz {",
            f'  graph [rankdir=TB ranksep=0.42 nodesep=0.22 bgcolor="{colours.PAPER}" fontname="Helvetica" fontsize=11',
            f'    fontcolor="{INK}" labelloc=t compound=true label={_header(self.diagram)}]',
            f'  node [fontname="Helvetica" fontsize=11 margin="0.09,0.04" height=0.32 width=0.3 fontcolor="{INK}"]',
            f'  edge [fontname="Helvetica" fontsize=9 arrowsize=0.6 color="{EDGES["data"]}"]',
        ]
        self._level(None, "  ")
        for number, edge in enumerate(self.diagram.edges):
            if edge.source in self.names and edge.target in self.names:
                self.lines.append(self._edge(number, edge))
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"

    def _level(self, cluster: str | None, indent: str) -> None:
        """Write the nodes and loops that stand directly in a loop, or in none."""
        ranks: dict[tuple[str, str], list[str]] = defaultdict(list)
        for node in self.inside[cluster]:
            self.lines.append(f"{indent}{self._node(node)}")
            if node.kind in ("port", "inner_input", "inner_output"):
                ranks[node.kind, node.side].append(self.names[node.id])
        self.lines += [
            f"{indent}{{rank=same; {'; '.join(names)}}}" for names in ranks.values() if len(names) > 1
        ]
        for child in self.children[cluster]:
            self._cluster(child, indent)

    def _cluster(self, cluster: Cluster, indent: str) -> None:
        line = CHANGES.get(cluster.change, CLUSTER.line)
        self.lines += [
            f'{indent}subgraph "cluster {self.diagram.clusters.index(cluster)}" {{',
            f'{indent}  graph [label="" id={_quoted(element_id(cluster.id))}',
            f'{indent}    style="rounded,filled" penwidth=1.4 fillcolor="{CLUSTER.fill}" color="{line}" fontcolor="{INK}"',
            f"{indent}    tooltip={_quoted(cluster_title(cluster))} margin=10]",
            f"{indent}  {self._title(cluster)}",
        ]
        self._level(cluster.id, indent + "  ")
        self.lines.append(f"{indent}}}")

    def _title(self, cluster: Cluster) -> str:
        """Return the title of a loop as a node at its top: Graphviz routes edges around nodes, but through its own labels."""
        name, label = self.titles[cluster.id], _label(cluster_lines(cluster), True, FAINT)
        below = [self.names[node] for node in self.top[cluster.id]]
        below += [self.titles[child.id] for child in self.children[cluster.id]]
        ranked = f" {name} -> {{{'; '.join(below)}}} [style=invis weight=3]" if below else ""
        return f"{name} [label={label} shape=plaintext margin=0 tooltip={_quoted(cluster_title(cluster))}]{ranked}"

    def _node(self, node: Node) -> str:
        warm = warmth(node, self.hottest)
        paint, small = node_paint(node.kind, node.loop_kind, warm, node.change), colours.small_ink(warm)
        lines = node_lines(node, self.types)
        if node.kind == "loop":
            label, shape = _table_of_loop(node, lines, paint, small), "shape=plain"
        else:
            label = _label(lines, False, small)
            shape = f'{_SHAPES[node.kind]} fillcolor="{paint.fill}" color="{paint.line}"'
            shape += " penwidth=2.4" if node.change else ""
        known = f"id={_quoted(element_id(node.id))}"
        return f"{self.names[node.id]} [label={label} {known} {shape} tooltip={_quoted(node_title(node))}]"

    def _edge(self, number: int, edge: Edge) -> str:
        colour = colours.edge_line(edge.role, edge.change)
        settings = [
            f'id="edge-{number}" color="{colour}"',
            f"tooltip={_quoted(edge_title(edge))}",
            _EDGE_STYLES.get(edge.role, ""),
        ]
        if edge.change:
            settings.append(f"penwidth=2.2{' style=dotted' if edge.change == 'removed' else ''}")
        words = [] if edge.role == "data" and edge.label.isdigit() else [short(edge.label)]
        if self.types and edge.role in ("enters", "data") and edge.source in self.ports:
            words.append(short(edge.type))
        label = " ".join(filter(None, words))
        if label or edge.change:
            settings.append(
                f'label={_label([signed(label, edge.change)], False, FAINT)} fontcolor="{colour}"'
            )
        source = self.names[edge.source] + (":s" if edge.source in self.ports else "")
        target = self.names[edge.target] + (":n" if edge.target in self.ports else "")
        return f"  {source} -> {target} [{' '.join(filter(None, settings))}]"


def _header(diagram: Diagram) -> str:
    """Return the title, the notes and the legend as an HTML-like label."""
    rows = [
        f"<B>{_shown(short(diagram.title, 90))}</B>",
        *(_shown(short(note, 160)) for note in diagram.notes),
    ]
    for items in legend_rows(diagram):
        cells = (
            f'<TD BGCOLOR="{item.paint.fill}" COLOR="{item.paint.line}" CELLPADDING="2">{_small(item.text)}</TD>'
            for item in items
        )
        rows.append(_ROW.format(1, 3, "".join(cells)))
    return (
        f'<<TABLE BORDER="0" CELLSPACING="3">{"".join(f"<TR><TD>{row}</TD></TR>" for row in rows)}</TABLE>>'
    )


def _top(diagram: Diagram) -> dict[str, list[str]]:
    """Return the top nodes of each loop: those that read nothing inside it."""
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    home = {node.id: node.cluster for node in diagram.nodes}
    reads = set()
    for edge in diagram.edges:
        source, target = owner.get(edge.source, edge.source), owner.get(edge.target, edge.target)
        if edge.role != "recurrence" and home.get(source) == home.get(target):
            reads.add(target)
    found: dict[str, list[str]] = {cluster.id: [] for cluster in diagram.clusters}
    for node in diagram.nodes:
        if node.cluster in found and node.id not in reads:
            found[node.cluster].append(node.id)
    return found


# text in which nothing has a meaning


def _quoted(text: str) -> str:
    """Return text as a quoted DOT string, without DOT escapes."""
    kept = "\n".join(map(_printable, text.split("\n")))
    kept = kept.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("&", "&amp;")
    return f'"{kept}"'


def _shown(text: str) -> str:
    """Return text for an HTML-like label or an attribute of it."""
    return escape(_printable(text), quote=True).replace("\\", "&#92;") or " "


def _printable(text: str) -> str:
    """Return text with a question mark for each invisible character."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _small(text: str, colour: str = INK) -> str:
    return f'<FONT POINT-SIZE="8.5" COLOR="{colour}">{_shown(text)}</FONT>'


def _label(lines: list[str], bold: bool, below: str) -> str:
    """Return lines as an HTML-like label, all but the first small and in another colour."""
    return f"<{_lines(lines, bold, below)}>"


def _lines(lines: list[str], bold: bool, below: str) -> str:
    first = f"<B>{_shown(lines[0])}</B>" if bold else _shown(lines[0])
    return first + "".join(f"<BR/>{_small(line, below)}" for line in lines[1:])


def _table_of_loop(node: Node, lines: list[str], paint: Paint, below: str) -> str:
    """Return a closed loop as a table: ports that go in, its name, ports that go out."""
    middle = (
        f'<TD BGCOLOR="{paint.fill}" COLOR="{paint.line}" CELLPADDING="6">{_lines(lines, True, below)}</TD>'
    )
    rows = "".join(f"<TR>{row}</TR>" for row in (_ports(node, "in"), middle, _ports(node, "out")) if row)
    return f'<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="0">{rows}</TABLE>>'


def _ports(node: Node, side: str) -> str:
    """Return the ports of one side of a closed loop as a cell of its table."""
    cells = []
    for number, port in enumerate(node.ports):
        if port.side == side:
            paint = LOOP_KINDS.get(port.kind, colours.NODE_KINDS["port"])
            cells.append(
                f'<TD PORT="p{number}" BGCOLOR="{paint.fill}" COLOR="{paint.line}" CELLPADDING="3" TARGET="_self"'
                f' TITLE="{_shown(port_title(port))}" ID="{_shown(element_id(port.id))}">'
                f"{_shown(short(port.label, 24))}<BR/>{_small(kind_name(port.kind), FAINT)}</TD>"
            )
    return f'<TD BORDER="0">{_ROW.format(1, 2, "".join(cells))}</TD>' if cells else ""
