"""Two versions in one picture: nodes of one version alone are marked, and both versions can be recovered."""

from collections import Counter

import pytest
from hypothesis import given

import scanviz
from scanviz import tensor as T
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.difference import difference
from scanviz.render.layout.layered import layered
from scanviz.testing import random_loops
from tests.render.diagram.graphs import assert_sound, dense, history, several_taps, with_gradients


def before_it(picture):
    """Return the nodes that were there before."""
    return [node for node in picture.nodes if node.change != "added" and not node.note.startswith("was ")]


def after_it(picture):
    """Return the nodes that are there after."""
    return [node for node in picture.nodes if node.change != "removed" and not node.note.startswith("now ")]


@given(case=random_loops())
def test_a_difference_contains_the_graph_before_and_the_graph_after(case):
    record = history(with_gradients(case)[0])
    same = difference(record.snapshot(0), record.snapshot(0))
    assert {each.change for each in (*same.nodes, *same.clusters, *same.edges)} <= {""}
    assert same.notes == ("no operation changed",)
    for k in range(len(record.applications)):
        before, after = record.snapshot(k), record.snapshot(k + 1)
        picture = difference(before, after)
        assert_sound(picture)
        first, second = diagram_of(before, plumbing=True), diagram_of(after, plumbing=True)
        assert Counter(node.id for node in after_it(picture)) == Counter(node.id for node in second.nodes)
        assert len(before_it(picture)) == len(first.nodes)
        assert Counter((e.label, e.kind) for e in before_it(picture)) <= Counter(
            (e.label, e.kind) for e in (*first.nodes, *second.nodes)
        )
        assert sum(cluster.change != "added" for cluster in picture.clusters) == len(first.clusters)
        assert sum(cluster.change != "removed" for cluster in picture.clusters) == len(second.clusters)
        kept = Counter((e.source, e.target, e.role) for e in picture.edges if e.change != "removed")
        assert kept == Counter((e.source, e.target, e.role) for e in second.edges)
        assert sum(edge.change != "added" for edge in picture.edges) == len(first.edges)


def moved_out():
    """Return a history in which a product of non-sequences leaves its loop."""
    x, w, v = T.vector("x"), T.vector("w"), T.vector("v")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t * T.dot(w, v)), x, T.constant(0.0), name="rnn")
    return history([h])


def test_moved_operations_are_drawn_at_both_places_without_back_edges():
    record = moved_out()
    [k] = [k for k, application in enumerate(record.applications) if application.moved_out]
    picture = difference(record.snapshot(k), record.snapshot(k + 1))
    there, here = sorted(
        (node for node in picture.nodes if node.change == "moved"), key=lambda node: node.cluster or ""
    )
    assert (there.kind, there.label, there.cluster, there.note) == ("operation", "dot", None, "was in rnn")
    assert (here.kind, here.label, here.note) == ("operation", "dot", "now outside of loops")
    assert here.cluster == picture.clusters[0].id
    assert picture.notes[0] == "operations and loops: 1 moved"
    assert "dot moved: in rnn → outside of loops" in picture.notes
    for moved, change in ((there, "added"), (here, "removed")):
        around = [edge.change for edge in picture.edges if moved.id in (edge.source, edge.target)]
        assert set(around) == {change}
    boxes = layered(picture).boxes
    for edge in picture.edges:
        assert edge.role == "recurrence" or boxes[edge.source].y < boxes[edge.target].y
    assert [cluster.change for cluster in picture.clusters] == [""]
    new = [node.label for node in picture.nodes if node.kind == "port" and node.change == "added"]
    assert len(new) == 1


def test_a_reversed_difference_shows_work_moved_into_the_loop():
    record = moved_out()
    [k] = [k for k, application in enumerate(record.applications) if application.moved_out]
    picture = difference(record.snapshot(k + 1), record.snapshot(k))
    moved = {node.note: node.cluster for node in picture.nodes if node.change == "moved"}
    assert moved == {"was outside of loops": picture.clusters[0].id, "now in rnn": None}
    assert "dot moved: outside of loops → in rnn" in picture.notes


def test_a_removed_loop_is_drawn_with_its_contents():
    with_gradient, without = history(several_taps()), history(several_taps(gradient=False))
    picture = difference(with_gradient.snapshot(0), without.snapshot(0))
    changes = {cluster.label: cluster.change for cluster in picture.clusters}
    assert changes == {"rnn": "", "grad_of_rnn": "removed"}
    [gone] = [cluster.id for cluster in picture.clusters if cluster.change == "removed"]
    assert {node.change for node in picture.nodes if node.cluster == gone} <= {"removed", "moved"}
    assert_sound(picture)


def test_a_rebuilt_loop_is_recognized_by_its_name():
    x = T.vector("x")
    first = history([scanviz.scan(lambda a: a * 2, x, name="double")[0]]).snapshot(0)
    second = history([T.exp(x), scanviz.scan(lambda a: a * 2, x, name="double")[0]]).snapshot(0)
    picture = difference(first, second)
    assert [(cluster.label, cluster.change) for cluster in picture.clusters] == [("double", "")]
    assert {node.change for node in picture.nodes if node.kind == "port"} == {""}


@pytest.mark.parametrize("seed", range(3))
def test_unrelated_graphs_make_a_valid_difference(seed):
    picture = difference(dense(50, 3, seed), dense(60, 2, seed + 10))
    assert_sound(picture)
    assert any(node.change == "added" for node in picture.nodes)


def test_a_port_that_keeps_fewer_rows_is_drawn_before_and_after():
    x = T.vector("x")
    record = history([scanviz.scan(lambda x_t, h: x_t + h, x, 0.0, name="total")[0][-1]])
    [k] = [k for k, application in enumerate(record.applications) if application.rule == "ScanSaveMem"]
    picture = difference(record.snapshot(k), record.snapshot(k + 1))
    ports = {node.label: node.change for node in picture.nodes if node.kind == "port" and node.change}
    assert ports == {"h": "removed", "h (last row)": "added"}
    assert_sound(picture)
