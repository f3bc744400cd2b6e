"""A picture as DOT text, the language of Graphviz.

All text stands in HTML-like labels, where only three characters have a meaning, and names are quoted, so nothing that a script
calls a variable can change the drawing.  Nodes are named by their ids, which therefore stay in an SVG that Graphviz makes.
"""

from __future__ import annotations

from collections import defaultdict

from scanviz.render import colours
from scanviz.render.colours import CHANGES, CLUSTER, EDGES, FAINT, INK, LOOP_KINDS, node_paint
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node, Port
from scanviz.render.dot_labels import label_of_lines, quoted, shown, table_of_loop
from scanviz.render.labels import (
    cluster_lines,
    cluster_title,
    edge_title,
    element_id,
    hottest,
    kind_name,
    legend_of,
    node_lines,
    node_title,
    short,
    signed,
    warmth,
)
from scanviz.render.marks import MARK

# The title, the notes and the legend above a picture in DOT.

_LINES = {"recurrence": "- - &gt;", "accumulates": "+", "connection": "──&gt;"}
_SIGNS = {
    "input": "(rounded)",
    "shared": "(cylinder)",
    "constant": "(dashed)",
    "operation": "(box)",
    "output": "(double)",
    "port": "(box at the loop's edge)",
    "inner_input": "(rounded)",
    "inner_output": "(rounded, thick)",
    "until": "(octagon)",
    "cell": "(small box)",
    "summary": "(box in depth)",
    "loop": "(box with ports)",
}


def header_table(diagram: Diagram) -> str:
    """Return the header as an HTML-like label."""
    rows = [f'<TR><TD COLSPAN="9"><B>{shown(short(diagram.title, 90))}</B></TD></TR>']
    for note in diagram.notes:
        rows.append(f'<TR><TD COLSPAN="9">{shown(short(note, 160))}</TD></TR>')
    rows += [f"<TR>{''.join(row)}</TR>" for row in _legend_rows(diagram)]
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="2">{"".join(rows)}</TABLE>>'


def _legend_rows(diagram: Diagram) -> list[list[str]]:
    """Return the legend as rows of cells."""
    legend = legend_of(diagram)
    shapes = [
        f'<TD BGCOLOR="{colours.NODE_KINDS[kind].fill}" COLOR="{colours.NODE_KINDS[kind].line}" BORDER="1">'
        f"{_small(f'{colours.KIND_TEXT[kind]} {_SIGNS.get(kind, str())}'.strip())}</TD>"
        for kind in legend.kinds
    ]
    kinds = [
        f'<TD BGCOLOR="{LOOP_KINDS[kind].fill}" COLOR="{LOOP_KINDS[kind].line}" BORDER="1">{_small(kind_name(kind))}</TD>'
        for kind in legend.loop_kinds
    ]
    lines = [
        f'<TD><FONT COLOR="{EDGES[role]}">{_LINES[role]}</FONT> {_small(colours.ROLE_TEXT[role])}</TD>'
        for role in legend.roles
        if role in _LINES
    ]
    changes = [
        f'<TD COLOR="{CHANGES[change]}" BORDER="1">{_small(f"{colours.CHANGE_SIGNS[change]} {change}")}</TD>'
        for change in legend.changes
    ]
    heat = (
        [f'<TD BGCOLOR="{fill}" BORDER="0">{_small(" ")}</TD>' for fill in colours.HEAT]
        if legend.heat
        else []
    )
    heat_row = (
        [f"<TD>{_small('part of the time: 0')}</TD>", *heat, f"<TD>{_small(legend.heat_text())}</TD>"]
        if heat
        else []
    )
    rows = [_one_cell(row) for row in (shapes, [*kinds, *lines, *changes], heat_row) if row]
    return [[row] for row in rows]


def _one_cell(cells: list[str]) -> str:
    inner = (
        f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="2"><TR>{"".join(cells)}</TR></TABLE>'
    )
    return f'<TD ALIGN="LEFT">{inner}</TD>'


def _small(text: str) -> str:
    return f'<FONT POINT-SIZE="8.5">{shown(text)}</FONT>'


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


def to_dot(diagram: Diagram, *, types: bool = False) -> str:
    """Return a picture as DOT text.

    Parameters
    ----------
    diagram : Diagram
        What to draw.
    types : bool
        Whether dtypes and shapes are written on nodes.

    Examples
    --------
    >>> from scanviz.render.diagram.model import Diagram, Node
    >>> text = to_dot(Diagram("f", nodes=(Node("a", "operation", "exp"),)))
    >>> [line.strip() for line in text.splitlines() if line.strip().startswith('"a"')]
    ['"a" [label=<exp> id="a" class="sv-operation" shape=box style=filled fillcolor="#ffffff" color="#57606a" ...]']
    """
    return _Writer(diagram, types).text()


class _Writer:
    """Writes one picture."""

    def __init__(self, diagram: Diagram, types: bool) -> None:
        self.diagram, self.types = diagram, types
        self.lines: list[str] = []
        self.hottest = hottest(diagram)
        self.names = names_of(diagram)
        self.titles = {cluster.id: f'"title {k}"' for k, cluster in enumerate(diagram.clusters)}
        self.inside: dict[str | None, list[Node]] = defaultdict(list)
        self.children: dict[str | None, list[Cluster]] = defaultdict(list)
        clusters = {cluster.id for cluster in diagram.clusters}
        for node in diagram.nodes:
            self.inside[node.cluster if node.cluster in clusters else None].append(node)
        for cluster in diagram.clusters:
            self.children[cluster.parent if cluster.parent in clusters else None].append(cluster)
        entered = {edge.source for edge in diagram.edges if edge.role == "enters"}
        left = {edge.target for edge in diagram.edges if edge.role == "leaves"}
        self.level = {node.id: _level(node, entered, left) for node in diagram.nodes}
        self.top = _top(diagram)

    def text(self) -> str:
        """Return the whole text."""
        # Rows of a grid go through several boxes, which only the newer way to rank can do; it has trouble with curves there.
        newrank = (
            " newrank=true splines=line" if any(node.row is not None for node in self.diagram.nodes) else ""
        )
        self.lines = [
            f"// {MARK}",
            "digraph scanviz {",
            f'  graph [rankdir=TB ranksep=0.42 nodesep=0.22 bgcolor="{colours.PAPER}" fontname="Helvetica" fontsize=11',
            f'    fontcolor="{INK}"',
            f"    labelloc=t compound=true{newrank} label={header_table(self.diagram)}]",
            f'  node [fontname="Helvetica" fontsize=11 margin="0.09,0.04" height=0.32 width=0.3 fontcolor="{INK}"]',
            f'  edge [fontname="Helvetica" fontsize=9 arrowsize=0.6 color="{EDGES["data"]}"]',
        ]
        self._level_of(None, "  ")
        self._grid()
        for number, edge in enumerate(self.diagram.edges):
            self._edge(number, edge)
        self.lines.append("}")
        return "\n".join(self.lines) + "\n"

    def _level_of(self, cluster: str | None, indent: str) -> None:
        """Write what stands directly in a loop, or in none."""
        for node in self.inside[cluster]:
            self.lines.append(f"{indent}{self._node(node)}")
        for level in ("first", "inputs", "outputs", "last"):
            same = [self.names[node.id] for node in self.inside[cluster] if self.level[node.id] == level]
            if len(same) > 1:
                self.lines.append(f"{indent}{{rank=same; {'; '.join(same)}}}")
        for child in self.children[cluster]:
            self._cluster(child, indent)

    def _cluster(self, cluster: Cluster, indent: str) -> None:
        line = CHANGES.get(cluster.change, CLUSTER.line)
        self.lines += [
            f"{indent}subgraph {quoted('cluster ' + _safe_name(cluster.id, f'c{self.diagram.clusters.index(cluster)}'))} {{",
            f'{indent}  graph [label=""',
            f'{indent}    id={quoted(element_id(cluster.id))} class="sv-cluster"',
            f'{indent}    style="rounded,filled" penwidth=1.4 fillcolor="{CLUSTER.fill}" color="{line}" fontcolor="{INK}"',
            f"{indent}    tooltip={quoted(cluster_title(cluster))} margin=10]",
            f"{indent}  {self._title(cluster)}",
        ]
        self._level_of(cluster.id, indent + "  ")
        self.lines.append(f"{indent}}}")

    def _title(self, cluster: Cluster) -> str:
        """Return the title of a loop as a node above all in it: lines go around nodes, and through a label of Graphviz's own."""
        name, label = self.titles[cluster.id], label_of_lines(cluster_lines(cluster), True, FAINT)
        below = [self.names[node] for node in self.top[cluster.id]]
        below += [self.titles[child.id] for child in self.children[cluster.id]]
        ranked = f" {name} -> {{{'; '.join(below)}}} [style=invis weight=3]" if below else ""
        return f"{name} [label={label} shape=plaintext margin=0 tooltip={quoted(cluster_title(cluster))}]{ranked}"

    def _node(self, node: Node) -> str:
        warm = warmth(node, self.hottest)
        paint = node_paint(node.kind, node.loop_kind, warm, node.change)
        name, tooltip = self.names[node.id], quoted(node_title(node))
        classes = colours.node_classes(node.kind, node.loop_kind, warm, node.change)
        common = f'id={quoted(element_id(node.id))} class="{classes}"'
        if node.kind == "loop":
            label = table_of_loop(node, paint, self.types, colours.small_ink(warm))
            return f"{name} [label={label} {common} shape=plain tooltip={tooltip}]"
        label = label_of_lines(node_lines(node, self.types), False, colours.small_ink(warm))
        thick = " penwidth=2.4" if node.change else ""
        shape = _SHAPES.get(node.kind, _SHAPES["operation"])
        column = getattr(node, "column", None)
        group = f" group=column{column}" if isinstance(column, int) else ""
        return (
            f'{name} [label={label} {common} {shape} fillcolor="{paint.fill}" color="{paint.line}"{thick}{group}'
            f" tooltip={tooltip}]"
        )

    def _edge(self, number: int, edge: Edge) -> None:
        if edge.source not in self.names or edge.target not in self.names:
            return
        colour = colours.edge_line(edge.role, edge.change)
        settings = [
            f'id="edge-{number}" class="{colours.edge_classes(edge.role, edge.change)}" color="{colour}"',
            f"tooltip={quoted(edge_title(edge))}",
        ]
        if edge.role == "recurrence":
            settings.append("style=dashed constraint=false penwidth=1.4")
        if edge.role == "connection":
            settings.append("penwidth=2")
        if edge.change:
            settings.append(f"penwidth=2.2{' style=dotted' if edge.change == 'removed' else ''}")
        words = (
            [] if edge.role == "data" and edge.label.isdigit() else [short(edge.label)] if edge.label else []
        )
        if self.types and edge.type and edge.role in ("enters", "data") and edge.source in self.ports:
            words.append(short(edge.type))
        if words or edge.change:
            label = label_of_lines([signed(" ".join(words), edge.change)], False, FAINT)
            settings.append(f'label={label} fontcolor="{colour}"')
        source = self.names[edge.source] + (":s" if edge.source in self.ports else "")
        target = self.names[edge.target] + (":n" if edge.target in self.ports else "")
        self.lines.append(f"  {source} -> {target} [{' '.join(settings)}]")

    @property
    def ports(self) -> dict[str, Port]:
        """Ports of closed loops by id."""
        return {port.id: port for node in self.diagram.nodes for port in node.ports}

    def _grid(self) -> None:
        """Ask for rows and columns where nodes have a place in a grid."""
        rows: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for node in self.diagram.nodes:
            row, column = getattr(node, "row", None), getattr(node, "column", None)
            if isinstance(row, int) and isinstance(column, int):
                rows[row].append((column, self.names[node.id]))
        before = ""
        for row in sorted(rows):
            names = [name for _, name in sorted(rows[row])]
            self.lines.append(f"  {{rank=same; {'; '.join(names)}}}")
            if len(names) > 1:
                self.lines.append(f"  {' -> '.join(names)} [style=invis weight=2]")
            if before:
                self.lines.append(f"  {before} -> {names[0]} [style=invis]")
            before = names[0]


def _level(node: Node, entered: set[str], left: set[str]) -> str:
    if node.kind == "port":
        return "first" if node.id in entered and node.id not in left else "last" if node.id in left else ""
    return {"inner_input": "inputs", "inner_output": "outputs"}.get(node.kind, "")


def _top(diagram: Diagram) -> dict[str, list[str]]:
    """Return the nodes of each loop that read nothing in it: whatever is above them is above all."""
    home = {node.id: node.cluster for node in diagram.nodes}
    home.update({port.id: node.cluster for node in diagram.nodes for port in node.ports})
    owner = {port.id: node.id for node in diagram.nodes for port in node.ports}
    reads = {
        owner.get(edge.target, edge.target)
        for edge in diagram.edges
        if edge.role != "recurrence"
        and home.get(edge.source) is not None
        and home.get(edge.source) == home.get(edge.target)
    }
    found: dict[str, list[str]] = {cluster.id: [] for cluster in diagram.clusters}
    for node in diagram.nodes:
        if node.cluster in found and node.id not in reads:
            found[node.cluster].append(node.id)
    return found


def names_of(diagram: Diagram) -> dict[str, str]:
    """Return the DOT name of each node, and of each port of a closed loop as ``node:port``."""
    found: dict[str, str] = {}
    for number, node in enumerate(diagram.nodes):
        name = quoted(_safe_name(node.id, f"n{number}"))
        found[node.id] = name
        found.update({port.id: f"{name}:p{k}" for k, port in enumerate(node.ports)})
    return found


def _safe_name(identity: str, otherwise: str) -> str:
    plain_enough = identity.isprintable() and not set(identity) & set('\\"&<>')
    return identity if identity and plain_enough else otherwise
