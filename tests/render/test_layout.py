"""The layout that scanviz makes itself, and that of Graphviz: nothing overlaps, and everything is drawn."""

import os
import pickle
import shutil
import subprocess
import sys
import time
from html import escape
from itertools import combinations, pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.record.snapshot import snapshot
from scanviz.render.diagram.chips import with_chips
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.diagram.unrolled import unrolled
from scanviz.render.dot import to_dot
from scanviz.render.engines import DOT, LARGEST, OWN, CannotDrawError, drawn
from scanviz.render.labels import legend_rows
from scanviz.render.layout.layered import layered
from scanviz.render.layout.ordering import acyclic, crossings, layers_of, ordered
from scanviz.render.layout.stacked import stacked
from scanviz.render.layout.timeline import timeline
from scanviz.render.marks import MARK
from scanviz.render.svg import to_svg
from scanviz.testing import random_loops
from tests.render.pictures import hostile_picture, ids_of, pictures_of, taps_pictures, texts_of, xml_of

EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40)


def needs(engine):
    if engine == "dot" and shutil.which("dot") is None:
        pytest.skip("the program dot is not installed")


def test_title_and_legend_stand_in_the_pictures_of_every_engine():
    for picture in taps_pictures().values():
        words = [item.text.strip() for row in legend_rows(picture) for item in row]
        for text in (to_svg(picture, layered(picture)), to_dot(picture)):
            assert "labeljust" not in text  # Graphviz centres titles by default
            plain = " ".join(text.replace("\\n", " ").split())
            assert picture.title in plain and not [word for word in words if escape(word) not in plain]


# orders


@given(edges=EDGES)
def test_no_cycle_is_left_and_no_edge_lost(edges):
    found = acyclic(12, edges)
    assert sorted(map(sorted, found)) == sorted(sorted(edge) for edge in edges if edge[0] != edge[1])
    layer = layers_of(12, found, {}, {})
    assert all(layer[a] < layer[b] for a, b in found)
    assert set(layer) == set(range(max(layer) + 1))


@given(edges=EDGES)
def test_ordering_never_adds_crossings_and_keeps_layers(edges):
    forward = acyclic(12, edges)
    layer = layers_of(12, forward, {}, {})
    rows = [[k for k in range(12) if layer[k] == height] for height in range(max(layer) + 1)]
    links = [(a, b) for a, b in forward if layer[b] == layer[a] + 1]
    above = {}
    for a, b in links:
        above.setdefault(b, []).append(a)
    found = ordered(rows, links)
    assert [sorted(row) for row in found] == rows
    assert crossings(found, above) <= crossings(rows, above)


@given(edges=st.lists(st.tuples(st.integers(0, 5), st.integers(6, 11)), max_size=20))
def test_crossings_are_counted_pair_by_pair(edges):
    above = {}
    for a, b in edges:
        above.setdefault(b, []).append(a)
    pairs = [(x, y) for k, x in enumerate(edges) for y in edges[k + 1 :]]
    expected = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in pairs)
    assert crossings([list(range(6)), list(range(6, 12))], above) == expected


# places


def check_places(diagram):
    placed = layered(diagram)
    boxes = placed.boxes
    slack = 0.01
    parents = {cluster.id: cluster.parent for cluster in diagram.clusters} | {
        node.id: node.cluster for node in diagram.nodes
    }
    for part, parent in parents.items():
        box = boxes[part]
        assert -slack <= box.x and -slack <= box.y
        assert box.right <= placed.width + slack and box.bottom <= placed.height + slack
        if parent is not None:
            around = boxes[parent]
            assert around.x - slack <= box.x and box.right <= around.right + slack
            assert around.y - slack <= box.y and box.bottom <= around.bottom + slack
    beside = {}
    for part, parent in parents.items():
        beside.setdefault(parent, []).append(part)
    for parts in beside.values():
        for k, a in enumerate(parts):
            for b in parts[k + 1 :]:
                apart = boxes[a].right <= boxes[b].x + slack or boxes[b].right <= boxes[a].x + slack
                below = boxes[a].bottom <= boxes[b].y + slack or boxes[b].bottom <= boxes[a].y + slack
                assert apart or below, (a, b)
    for number, edge in enumerate(diagram.edges):
        route = placed.routes[number]
        for end, part in ((route[0], edge.source), (route[-1], edge.target)):
            box = boxes[part]
            assert box.x - 1 <= end[0] <= box.right + 1 and box.y - 1 <= end[1] <= box.bottom + 1


@settings(deadline=None)
@given(case=random_loops())
def test_nodes_do_not_overlap_and_every_line_ends_at_its_node(case):
    for diagram in pictures_of(case):
        check_places(diagram)


@pytest.mark.parametrize("name", ["open", "closed", "changed"])
def test_the_guides_network_is_placed_without_overlap(name):
    check_places(taps_pictures()[name])


def test_time_goes_from_left_to_right_in_an_unrolled_picture():
    diagram = taps_pictures()["unrolled"]
    boxes = layered(diagram).boxes
    for a in diagram.nodes:
        for b in diagram.nodes:
            if a.column < b.column:
                assert boxes[a.id].right < boxes[b.id].x
            if a.band < b.band:
                assert boxes[a.id].bottom < boxes[b.id].y


def test_lines_to_cells_of_a_backward_walk_run_apart():
    """Lesson 6's picture: a reader must see which product goes into which cell."""
    first, a, b = T.vector("first"), T.scalar("a"), T.scalar("b")
    y, _ = scanviz.scan(
        lambda y_tm2, y_tm1, a, b: a * y_tm1 + b * y_tm2,
        outputs_info=dict(initial=first, taps=[-2, -1]),
        non_sequences=[a, b],
        n_steps=3,
        name="y",
    )
    diagram = unrolled(snapshot([y, scanviz.grad(y[2], first)]), "y", 3)
    routes, kinds = layered(diagram).routes, {node.id: node.kind for node in diagram.nodes}
    written = [
        (edge.source, list(pairwise(routes[number])))
        for number, edge in enumerate(diagram.edges)
        if kinds[edge.target] == "cell"
    ]
    assert len(written) == 9  # each step writes a row, and adds to two
    for (one, pieces), (other, more) in combinations(written, 2):
        shared = [pair for pair in product(pieces, more) if _same_line(*pair)]
        assert one == other or not shared, (one, other)


def _same_line(one, other):
    """Whether two pieces of straight lines lie on one another for more than a point."""
    for along, across in ((0, 1), (1, 0)):
        if len({round(point[across], 1) for point in (*one, *other)}) == 1:
            (a, b), (c, d) = (sorted(point[along] for point in piece) for piece in (one, other))
            return min(b, d) - max(a, c) > 0.5
    return False


def test_cycles_and_edges_of_nothing_do_no_harm():
    nodes = tuple(Node(f"n{k}", "operation", str(k), "box" if k % 2 else None) for k in range(6))
    edges = tuple(Edge(f"n{k}", f"n{(k + 1) % 6}") for k in range(6))
    strange = (Edge("n0", "nowhere"), Edge("n1", "n1"), Edge("box", "n2"))
    picture = Diagram("f", nodes, (Cluster("box", "loop"),), (*edges, *strange))
    placed = layered(picture)
    assert set(placed.boxes) == {"box", *(node.id for node in nodes)}
    xml_of(to_svg(picture, placed))


# drawings


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        *product(["own", "dot"], ["open", "closed", "changed"]),
        ("own", "unrolled"),
    ],
)
def test_every_part_is_in_the_drawing_of_every_engine_once(engine, name):
    needs(engine)
    diagram = taps_pictures()[name]
    drawing = drawn(diagram, "svg", engine, 30)
    ids = [each.get("id") for each in xml_of(drawing.data).iter()]
    diagram = with_chips(diagram)  # the drawing of a large one
    for wanted in ids_of(diagram):
        assert 1 in (ids.count(wanted), ids.count(f"a_{wanted}")), wanted  # as Graphviz names cells
    written = " ".join(texts_of(drawing.data)).replace("\xa0", " ")
    for node in diagram.nodes:
        assert node.label[:20] in written, node.label
    assert drawing.engine == {"own": OWN, "dot": DOT}[engine]


def test_steps_side_by_side_are_laid_out_by_scanviz_alone():
    needs("dot")
    with pytest.raises(CannotDrawError, match="draws lines across boxes where steps stand side by side"):
        drawn(taps_pictures()["unrolled"], "svg", "dot", 30)


@pytest.mark.parametrize("engine", ["own", "dot"])
def test_hostile_names_are_text_in_every_drawing(engine):
    needs(engine)
    svg = drawn(hostile_picture(), "svg", engine, 30).data
    root = xml_of(svg)
    assert not [
        each for each in root.iter() if each.tag.rpartition("}")[2] in ("script", "image", "foreignObject")
    ]
    assert b"\x1b" not in svg and b"<script" not in svg
    assert "alert(1)" in " ".join(texts_of(svg))


DRAWINGS = [("own", "svg"), ("dot", "svg"), ("own", "png")]


@pytest.fixture(scope="module")
def drawings_of_two_processes():
    """Return what each of two processes draws."""
    script = f"""
import pickle, shutil, sys
from scanviz.render.characters import drawing_text
from scanviz.render.engines import drawn
from tests.render.pictures import taps_pictures
picture = taps_pictures()["open"]
there = [(engine, form) for engine, form in {DRAWINGS} if engine != "dot" or shutil.which("dot")]
found = {{each: drawn(picture, each[1], each[0], 30).data for each in there}}
pickle.dump(found | {{("own", "txt"): drawing_text(picture, 120)}}, sys.stdout.buffer)
"""
    return [
        pickle.loads(
            subprocess.run(
                [sys.executable, "-c", script],
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()},
                capture_output=True,
                check=True,
                timeout=300,
            ).stdout
        )
        for seed in ("1", "2")
    ]


@pytest.mark.parametrize("engine, form", [*DRAWINGS, ("own", "txt")])
def test_a_drawing_is_the_same_in_every_process(engine, form, drawings_of_two_processes):
    needs(engine)
    first, second = (found[engine, form] for found in drawings_of_two_processes)
    assert first == second and first


# engines


SMALL = Diagram("f", (Node("x", "input", "x"), Node("y", "operation", "exp")), (), (Edge("x", "y"),))


def test_dot_is_used_on_request(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert drawn(SMALL).engine == OWN
    with pytest.raises(CannotDrawError, match="the program dot is not installed; --engine own"):
        drawn(SMALL, engine="dot")


@pytest.mark.parametrize(
    "body, why",
    [
        ("exec sleep 60", "took longer than 1 s"),
        ("kill -ABRT $$", "ended with code"),
        ("echo RuntimeError: too deep >&2; exit 1", "RuntimeError: too deep"),
        ("exit 0", "gave nothing"),
    ],
)
def test_a_dot_that_hangs_breaks_or_gives_nothing_is_named(monkeypatch, tmp_path, body, why):
    (tmp_path / "dot").write_text(f"#!/bin/sh\n{body}\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(CannotDrawError, match=f"Graphviz dot: .*{why}"):
        drawn(SMALL, engine="dot", seconds=1 if "sleep" in body else 30)


def test_a_graph_too_large_to_read_is_summarised_with_a_note():
    nodes = tuple(Node(f"n{k}", "operation", f"op {k}") for k in range(900))
    edges = tuple(Edge(f"n{k}", f"n{k + 1}") for k in range(899))
    drawing = drawn(Diagram("f", nodes, (), edges), engine="own", seconds=60)
    drawn_nodes = [each for each in xml_of(drawing.data).iter() if each.get("class") == "sv-node"]
    assert len(drawn_nodes) <= LARGEST and drawing.notes


def test_a_dense_graph_is_drawn_within_its_time():
    nodes = tuple(Node(f"n{k}", "operation", str(k)) for k in range(300))
    edges = tuple(Edge(f"n{a}", f"n{b}") for a in range(300) for b in range(a + 1, min(300, a + 100)))
    begun = time.process_time()
    drawing = drawn(Diagram("f", nodes, (), edges))
    assert xml_of(drawing.data) is not None and time.process_time() - begun < 60
    assert "4,000 of 24,750 lines are drawn" in drawing.notes


@pytest.mark.parametrize("engine", ["own", "dot"])
def test_every_engine_gives_png(engine):
    needs(engine)
    png = drawn(SMALL, "png", engine, 30).data
    assert png.startswith(b"\x89PNG") and MARK.encode() in png


def test_dot_gives_pdf():
    needs("dot")
    drawing = drawn(SMALL, "pdf")
    assert drawing.engine == "Graphviz dot"
    assert drawing.data.startswith(b"%PDF") and MARK.encode() in drawing.data


def test_without_dot_a_pdf_is_refused_and_svg_or_png_is_advised(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    for engine in ("auto", "own", "dot"):
        with pytest.raises(CannotDrawError, match=r"only dot writes PDF: write \.svg or \.png instead"):
            drawn(SMALL, "pdf", engine)


def test_types_are_written_on_request():
    typed = replace(SMALL, nodes=tuple(replace(node, type="float64[?]") for node in SMALL.nodes))
    assert "float64[?]" in texts_of(drawn(typed, engine="own", types=True).data)
    assert "float64[?]" not in texts_of(drawn(typed, engine="own").data)


def test_steps_are_stacked_where_they_would_be_too_wide():
    picture = taps_pictures()["unrolled"]
    wide = timeline(picture)
    narrow, placed = stacked(picture, False, 358.0)
    assert placed.width < wide.width / 2
    for prefix in ("", "back/"):
        tops = [placed.boxes[f"{prefix}step {step}"] for step in range(3)]
        assert all(above.bottom < below.y for above, below in pairwise(tops))
    lowest = max(placed.boxes[f"step {step}"].bottom for step in range(3))
    assert all(placed.boxes[f"back/step {step}"].y > lowest for step in range(3))
    ends = {node.id: node for node in narrow.nodes} | {p.id: n for n in narrow.nodes for p in n.ports}
    assert all(ends[edge.source].band == ends[edge.target].band for edge in narrow.edges)
    assert {node.label for node in narrow.nodes} == {node.label for node in picture.nodes}


def test_a_stacked_picture_is_no_wider_than_its_notes_and_legend_are_broken():
    picture = taps_pictures()["unrolled"]
    wide, narrow = (xml_of(drawn(picture, widest=widest).text) for widest in (None, 358.0))
    assert float(narrow.get("width")) <= 400 < float(wide.get("width"))
    assert float(xml_of(drawn(picture, widest=5000.0).text).get("width")) == float(wide.get("width"))


def test_steps_with_a_closed_loop_are_stacked():
    def inner(row, total):
        sums, _ = scanviz.scan(lambda element, before: before + element, row, total, name="inner")
        return sums[-1]

    totals, _ = scanviz.scan(inner, T.matrix("rows"), T.scalar("start"), name="outer")
    picture, placed = stacked(unrolled(snapshot(totals), "outer", 3), False, 358.0)
    closed = [placed.boxes[node.id] for node in picture.nodes if node.kind == "loop"]
    assert len(closed) == 3 and all(above.bottom < below.y for above, below in pairwise(closed))
