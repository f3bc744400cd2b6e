"""The drawing in characters: one row per node, and lines that join values with their readers."""

import functools

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.record.snapshot import snapshot
from scanviz.render.characters import SIGNS, CharacterDrawing, drawing_text
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.model import Cluster, Diagram, Edge, Node
from scanviz.render.diagram.unrolled import unrolled
from tests.laws.rails import joined
from tests.render.diagram.graphs import history, several_taps
from tests.render.pictures import hostile_picture, taps_pictures


def lines_of(drawing):
    """Return the ends of the lines of a drawing, by their characters alone."""
    rows = [
        (line.text, line.part if line.part in drawing.nodes else "") for line in drawing.lines() if line.rails
    ]
    return joined(rows, {name: SIGNS[node.kind] for name, node in drawing.nodes.items()}, drawing.room)


def test_a_delayed_read_is_marked_at_its_writer_and_its_reader():
    text = drawing_text(taps_pictures()["open"], 200)
    assert "x[t-3]  ↻ x[t] of 3 steps before" in text
    [written] = [line for line in text.splitlines() if "x[t] ←" in line]
    assert "⇢ x[t-3] 3 steps later" in written and "⇢ x[t-1] 1 step later" in written


def test_an_operation_that_writes_an_earlier_cell_names_it_and_marks_addition():
    lines = drawing_text(unrolled(history(several_taps()).snapshot(0), "rnn", 3), 100).splitlines()
    text = [line.partition(" → ")[2].split(", ") for line in lines if " → " in line and "▫" not in line]
    written = [cell for cells in text for cell in cells]
    for line in lines:
        cell, arrow, writers = line.partition(" ← ↓ ")
        if arrow:
            label = cell.partition("▫")[2].replace("│", "").strip()
            added, whole = written.count(f"+ {label}"), written.count(label)
            assert added + whole == 1 + writers.count("↓"), line
            if label.startswith("∂") and "after" not in label:
                assert whole <= 1, f"the first may be what the row is, all others are added: {line}"
            else:
                assert not added, line
    assert any(cell.startswith("+ ∂x") for cell in written)
    assert "+ ∂x[0]" in written and "x[0]" in written


def test_long_notes_continue_on_another_line():
    diagram = Diagram("f", (Node("x", "input", "x"),), notes=("a note of many words " * 3,))
    assert drawing_text(diagram, 40).splitlines()[1:3] == [
        "a note of many words a note of many",
        "words a note of many words",
    ]


def test_loops_are_boxes_that_open_and_close():
    text = drawing_text(taps_pictures()["open"], 120)
    assert text.count("╔═ loop ") == text.count("╚═") == len(taps_pictures()["open"].clusters)
    closed = drawing_text(taps_pictures()["closed"], 120)
    assert "╔═" not in closed and "▣" in closed


@pytest.mark.parametrize("width", [40, 80, 132])
def test_no_line_is_wider_than_wanted(width):
    for diagram in (*taps_pictures().values(), hostile_picture()):
        assert all(len(line) <= width for line in drawing_text(diagram, width).splitlines())


@pytest.mark.parametrize("width", [46, 60, 120])
@pytest.mark.parametrize("words", [0, 60])
def test_times_stay_in_sight_where_words_are_cut(width, words):
    long = "an operation whose label goes on and on and on"
    nodes = tuple(
        Node(f"n{k}", "operation", long, "loop", time_ns=k * 1e6, share=0.1 * k) for k in range(1, 4)
    )
    box = Cluster("loop", f"a loop with {long}", None, time_ns=5e6, share=0.5)
    picture = Diagram("f", nodes, (box,), (Edge("n1", "n2"), Edge("n2", "n3")))
    lines = [line.text for line in CharacterDrawing(picture, width, words=words).lines()]
    for text in ("· 5.00 ms · 50%", "· 1.00 ms · 10%", "· 2.00 ms · 20%", "· 3.00 ms · 30%"):
        [line] = [line for line in lines if text in line]
        assert len(line) <= width


def test_drawings_are_ascii_only_on_request():
    for diagram in (*taps_pictures().values(), hostile_picture()):
        for line in drawing_text(diagram, 100, ascii_only=True).splitlines():
            assert line.isascii() and line.isprintable()


def test_a_picture_with_very_many_open_values_names_those_of_the_longest_lines():
    nodes = [Node(f"x{k}", "input", f"x{k}") for k in range(60)]
    nodes.append(Node("all", "operation", "concatenate"))
    edges = tuple(Edge(f"x{k}", "all") for k in range(60))
    diagram = Diagram("f", tuple(nodes), (), edges)
    lines = drawing_text(diagram, 120).splitlines()
    assert "concatenate ← x0, x1" in lines[-1]
    drawing = CharacterDrawing(diagram, 120)
    assert lines_of(drawing) == {(f"x{k}", "all") for k in range(60)} and drawing.close
    drawing = CharacterDrawing(diagram, 80)
    assert lines_of(drawing) == {(f"x{k}", "all") for k in range(60)} - {
        (name, "all") for name in drawing.named
    }
    assert 60 - len(drawing.named) == 44  # as many as there is room for


@functools.cache
def lstm_graph():
    """Return the graph of a batched LSTM's cross-entropy and its gradients."""
    x, zeros = T.lmatrix("x"), T.zeros((4, 8))
    embedding, w, u, v = (scanviz.shared(np.zeros(shape), name) for shape, name in _LSTM_WEIGHTS)
    bias = scanviz.shared(np.zeros(32), "b")

    def cell(x_t, h, c):
        gates = T.dot(embedding[x_t], w) + T.dot(h, u) + bias
        i, f, o = (T.sigmoid(gates[:, k * 8 : (k + 1) * 8]) for k in range(3))
        c_t = f * c + i * T.tanh(gates[:, 24:])
        return o * T.tanh(c_t), c_t

    (h, _), _ = scanviz.scan(cell, x[:-1], [zeros, zeros], name="lstm")
    scores = T.log_softmax(T.dot(h, v))
    loss = -scores[T.arange(x.shape[0] - 1)[:, None], T.arange(x.shape[1])[None, :], x[1:]].mean()
    return snapshot([loss, *scanviz.grad(loss, [embedding, w, u, v, bias])])


_LSTM_WEIGHTS = ((5, 6), "E"), ((6, 32), "W"), ((8, 32), "U"), ((8, 5), "V")


@pytest.mark.parametrize("scan", [None, "lstm", "grad_of_lstm"])
def test_an_lstm_with_its_gradient_keeps_every_edge_beside_the_tree_of_a_terminal_of_120_columns(scan):
    for plumbing in (False, True):
        diagram = diagram_of(lstm_graph(), scan=scan, plumbing=plumbing)
        assert len(diagram.nodes) > (200 if scan is None else 40)
        drawing = CharacterDrawing(diagram, 86)
        wanted = {
            ends for edge, ends in zip(diagram.edges, drawing.ends, strict=True) if edge.role != "recurrence"
        }
        assert lines_of(drawing) == wanted
