"""Shared by tests of drawings: pictures of all kinds, and readers of drawings."""

import functools
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from scanviz.record.snapshot import snapshot
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.difference import difference
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node, Port
from scanviz.render.diagram.unrolled import unrolled
from tests.render.diagram.graphs import history, several_taps, with_gradients

HOSTILE = (
    "a \"quoted\" 'name'",
    "back\\slash\\N\\n\\",
    "<b>bold</b> &amp; &lt;script&gt;alert(1)</script> <!-- --> ]]>",
    "red \x1b[31m\x1b]0;title\x07",
    "two\nlines\r\tand\x00nul\x7f",
    "日本語 \u202eabc\u2066 \U0001f600 e\u0301",
    "lone \ud800 surrogate \ufffe",
    "x" * 3000,
    "",
    " ",
    "{a|b|<p>c}",
    "-->",
    "%0a%22",
)


def pictures_of(case):
    """Return pictures of a random loop with its gradient: open, closed, in characters of time."""
    wanted, _ = with_gradients(case)
    graph = snapshot(wanted)
    found = [diagram_of(graph), diagram_of(graph, depth=0)]
    if graph.loops:
        found.append(unrolled(graph, None, 3))
    return found


@functools.cache
def taps_pictures():
    """Return the pictures of the guide's network with its gradient: open, closed, unrolled, before and after a rewrite."""
    outputs = several_taps()
    graph = snapshot(outputs)
    rewrites = history(outputs)
    pushed = next(k for k, each in enumerate(rewrites.applications) if each.rule == "PushOutSeqScan")
    changed = difference(rewrites.snapshot(pushed), rewrites.snapshot(pushed + 1))
    return {
        "open": diagram_of(graph),
        "closed": diagram_of(graph, depth=0),
        "unrolled": unrolled(graph, None, 3),
        "changed": changed,
    }


def hostile_picture():
    """Return a picture in which every text is hostile, ids as well."""
    nodes, edges = [], []
    for k, name in enumerate(HOSTILE):
        port = Port(f"port {k} {name}", "in", name, "sitsot", 0)
        out = Port(f"out {k} {name}", "out", name, name, 0)
        nodes.append(
            Node(f"op {k} {name}", "operation", name, f"box {k} {name}", name, source=name, text=name)
        )
        nodes.append(Node(f"in {k} {name}", "inner_input", name, f"box {k} {name}", loop_kind=name))
        nodes.append(Node(f"loop {k} {name}", "loop", name, type=name, ports=(port, out)))
        edges += [
            Edge(nodes[-2].id, nodes[-3].id, "enters", name, name),
            Edge(nodes[-3].id, port.id, "leaves"),
        ]
        edges.append(Edge(nodes[-3].id, nodes[-2].id, "recurrence", name))
    boxes = tuple(Cluster(f"box {k} {name}", name, gradient_of=name) for k, name in enumerate(HOSTILE))
    return Diagram(HOSTILE[2], tuple(nodes), boxes, tuple(edges), HOSTILE)


def ids_of(diagram):
    """Return all ids of a picture: of nodes, of ports of closed loops, and of boxes."""
    nodes = [node.id for node in diagram.nodes] + [cluster.id for cluster in diagram.clusters]
    return nodes + [port.id for node in diagram.nodes for port in node.ports]


def xml_of(svg):
    return ElementTree.fromstring(svg)


def texts_of(svg):
    """Return the text of an SVG, without tooltips."""
    return ["".join(each.itertext()) for each in xml_of(svg).iter() if each.tag.endswith("}text")]


def dot_svg(text, form="svg"):
    """Return the output of the program dot for DOT text, which it must accept silently."""
    if shutil.which("dot") is None:
        pytest.skip("needs the program dot of Graphviz")
    done = subprocess.run(["dot", f"-T{form}"], input=text.encode(), capture_output=True, timeout=300)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout


def contrast(*colours):
    """Return the contrast of two colours, as ``#rrggbb`` or ``rgb(r, g, b)``, as WCAG 2.2 defines it."""
    levels = []
    for colour in colours:
        if colour.startswith("#"):
            numbers = [int(colour[k : k + 2], 16) for k in (1, 3, 5)]
        else:
            numbers = [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
        parts = [number / 255 for number in numbers]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        levels.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(levels) + 0.05) / (min(levels) + 0.05)
