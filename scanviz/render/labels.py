"""Texts of a picture: labels cut to a readable length, types, times, tooltips and the legend."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from scanviz.record.plain_text import sanitize
from scanviz.record.units import duration
from scanviz.render.colours import (
    CHANGE_SIGNS,
    CHANGES,
    EDGES,
    HEAT,
    KIND_TEXT,
    LOOP_KINDS,
    NODE_KINDS,
    PAPER,
    ROLE_SIGNS,
    ROLE_TEXT,
    Paint,
)
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node, Port

LONGEST = 44  # characters of a label; the whole of it is in the tooltip
LONGEST_IN_TIME = 24  # in a picture of steps side by side
_NARROW, _WIDE = frozenset("iljtfrI.,:;'|![]() -·"), frozenset("mwMW@%—")


class LegendItem(NamedTuple):
    """An entry of the legend: a sign, its meaning, its colours, and the kind of node it looks like."""

    text: str
    paint: Paint
    kind: str = "operation"


def short(text: str, longest: int = LONGEST) -> str:
    """Return text cut to fit and sanitised.

    Examples
    --------
    >>> short("a" * 50, 10)
    'aaaaaaaaa…'
    """
    clean = " ".join(sanitize(text).split())
    return clean if len(clean) <= longest else clean[: longest - 1].rstrip() + "…"


def time_text(part: Node | Cluster) -> str:
    """Return the time of a node or loop, with its share of the run; empty where unknown."""
    if part.time_ns is None:
        return ""
    share = f" · {part.share:.0%}" if part.share is not None and part.share >= 0.005 else ""
    return duration(part.time_ns) + share


def with_value(label: str, value: str) -> str:
    """Return a label with the value in a run behind it."""
    return f"{label} = {short(value)}" if value else label


def signed(label: str, change: str) -> str:
    """Return a label with the sign of its change in front."""
    return f"{CHANGE_SIGNS[change]} {label}" if change in CHANGE_SIGNS else label


def node_lines(node: Node, types: bool) -> list[str]:
    """Return the lines written on a node: its label first, then details."""
    whole = (
        node.band is None or node.operations is not None
    )  # a formula stands for operations that are not drawn
    label = signed(short(node.label, LONGEST if whole else LONGEST_IN_TIME), node.change)
    if node.value.startswith("("):  # an array
        lines = [label, short(node.value)]
    elif node.value and node.kind == "cell":  # below its name: steps stand nearer to one another
        lines = [label, f"= {short(node.value)}"]
    else:
        lines = [with_value(label, node.value)]
    if node.kind == "port" and node.loop_kind and node.loop_kind != "n_steps":
        lines.append(kind_name(node.loop_kind))
    if node.note:
        lines.append(short(node.note))
    if types and node.type:
        lines.append(short(node.type))
    if node.time_ns is not None:
        lines.append(time_text(node))
    return lines


def cluster_lines(cluster: Cluster) -> list[str]:
    """Return the lines written at the top of an open loop."""
    lines = [signed(short(cluster.label, 70), cluster.change)]
    if cluster.gradient_of:
        lines.append(f"back-propagation of {short(cluster.gradient_of)}")
    if cluster.time_ns is not None:
        lines.append(time_text(cluster))
    return lines


def kind_name(kind: str) -> str:
    """Return the name of a kind of loop variable."""
    return sanitize(kind).replace("_", "-")


def element_id(identity: str) -> str:
    r"""Return the id of an SVG element: the part's own id in characters that XML allows.

    Examples
    --------
    >>> element_id("n1"), element_id("a\x1b")
    ('n1', 'a\\x1b')
    """
    return "".join(
        text if text.isprintable() else text.encode("unicode_escape").decode() for text in identity
    )


def node_title(node: Node) -> str:
    """Return the tooltip of a node."""
    what = KIND_TEXT.get(node.kind, node.kind)
    loop_kind = f" ({kind_name(node.loop_kind)})" if node.loop_kind else ""
    changed = [f"{node.change} by the rewrite"] if node.change else []
    place = [f"{sanitize(node.source)}: {sanitize(node.text).strip()}"] if node.source else []
    name = sanitize(node.text if node.kind == "cell" and node.text else node.label)
    lines = [
        f"{what}{loop_kind}: {with_value(name, node.value)}",
        sanitize(node.note),
        sanitize(node.type),
        time_text(node),
        *place,
        *changed,
    ]
    return "\n".join(line for line in lines if line)


def port_title(port: Port) -> str:
    """Return the tooltip of a closed loop's port."""
    return f"loop variable ({kind_name(port.kind)}), {port.side}: {sanitize(port.label)}"


def cluster_title(cluster: Cluster) -> str:
    """Return the tooltip of an open loop."""
    return "\n".join(
        line for line in ("loop " + sanitize(cluster.label), *cluster_lines(cluster)[1:]) if line
    )


def edge_title(edge: Edge) -> str:
    """Return the tooltip of an edge."""
    lines = [
        ROLE_TEXT.get(edge.role, edge.role) + (f": {sanitize(edge.label)}" if edge.label else ""),
        sanitize(edge.type),
    ]
    return "\n".join(line for line in lines if line)


def legend_rows(diagram: Diagram) -> list[list[LegendItem]]:
    """Return the legend in rows: kinds of nodes; kinds of loop variables, lines and changes; the scale of heat."""
    kinds = {node.kind for node in diagram.nodes}
    loop_kinds = {node.loop_kind for node in diagram.nodes}
    loop_kinds |= {port.kind for node in diagram.nodes for port in node.ports}
    roles = {edge.role for edge in diagram.edges}
    changes = {node.change for node in diagram.nodes} | {cluster.change for cluster in diagram.clusters}
    changes |= {edge.change for edge in diagram.edges}
    most, blank = hottest(diagram), Paint(PAPER, PAPER)
    rows = [
        [LegendItem(text, NODE_KINDS[kind], kind) for kind, text in KIND_TEXT.items() if kind in kinds],
        [
            *(loop_kind_item(kind) for kind in LOOP_KINDS if kind in loop_kinds),
            *(
                LegendItem(f"{sign} {ROLE_TEXT[role]}", Paint(PAPER, EDGES[role]))
                for role, sign in ROLE_SIGNS.items()
                if role in roles
            ),
            *(
                LegendItem(f"{sign} {change}", Paint(PAPER, CHANGES[change]))
                for change, sign in CHANGE_SIGNS.items()
                if change in changes
            ),
        ],
    ]
    if most:
        hotter = any(node.share is not None and node.share > most for node in diagram.nodes)
        rows.append(
            [
                LegendItem("part of the time: none", blank),
                *(LegendItem(" ", Paint(fill, fill)) for fill in HEAT),
                LegendItem(f"{percent(most)}{' and more' if hotter else ''}", blank),
            ]
        )
    return [row for row in rows if row]


def loop_kind_item(kind: str) -> LegendItem:
    """Return the sign of a kind of loop variable."""
    return LegendItem(kind_name(kind), LOOP_KINDS[kind])


def hottest(diagram: Diagram) -> float:
    """Return the share of the hottest node, to which colours are scaled; 0 without times.

    A closed loop beside operations of an open one counts as its hottest operation does, or the open loop would be pale.

    Examples
    --------
    >>> inside, closed = Node("a", "operation", "exp", "l", share=0.2), Node("b", "loop", "rnn", share=0.7, hottest=0.1)
    >>> hottest(Diagram("f", (inside, closed))), hottest(Diagram("f", (closed,)))
    (0.2, 0.7)
    """
    timed = [node for node in diagram.nodes if node.share is not None]
    opened = any(node.cluster is not None and node.kind != "loop" for node in timed)
    return max(
        ((node.share if node.hottest is None or not opened else node.hottest) or 0.0 for node in timed),
        default=0.0,
    )


def percent(share: float) -> str:
    """Return a share as text, with one decimal if it is small.

    Examples
    --------
    >>> percent(0.424), percent(0.0034)
    ('42%', '0.3%')
    """
    return f"{share:.0%}" if share >= 0.1 else f"{share:.1%}"


def warmth(node: Node, most: float) -> float | None:
    """Return the heat of a node relative to the hottest, from 0 to 1; None if its time is unknown."""
    return None if node.share is None else min(1.0, node.share / most) if most > 0 else 0.0


def text_width(text: str, size: float) -> float:
    """Return the approximate width of text in a common sans-serif font, in units of the font size.

    Examples
    --------
    >>> text_width("mm", 10) > text_width("ab", 10) > text_width("ii", 10)
    True
    """
    return size * sum(map(_width, text))


def _width(letter: str) -> float:
    if letter in _NARROW:
        return 0.33
    if letter in _WIDE:
        return 0.92
    if letter.isupper():
        return 0.70
    if ord(letter) > 0x2E80 and unicodedata.east_asian_width(letter) in "WF":
        return 1.02
    return 0.57
