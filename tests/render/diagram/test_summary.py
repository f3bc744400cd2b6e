"""Pictures too large to read are summarised with a note and stay true."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.record.snapshot import snapshot
from scanviz.render.diagram.analysis import to_networkx
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.difference import difference
from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.render.diagram.summary import summarised
from scanviz.render.diagram.unrolled import unrolled
from scanviz.testing import random_loops
from tests.render.diagram.graphs import assert_sound, dense, large_loop, several_taps, with_gradients


def assert_readable(picture, limit=400):
    assert len(picture.nodes) <= limit
    assert_sound(picture)
    assert "are more than" in picture.notes[-1]


def assert_no_circle(picture):
    import networkx

    graph = to_networkx(picture)
    graph.remove_edges_from(
        [(a, b, k) for a, b, k, role in graph.edges(keys=True, data="role") if role == "recurrence"]
    )
    assert networkx.is_directed_acyclic_graph(graph)


def test_a_small_picture_is_unchanged():
    picture = diagram_of(snapshot(several_taps()))
    assert summarised(picture) is picture


@pytest.mark.parametrize("reads", [1, 2, 6, 40])
def test_a_dense_graph_of_two_thousand_operations_is_drawn_as_groups(reads):
    picture = diagram_of(dense(2000, reads))
    small = summarised(picture)
    assert_readable(small)
    assert_no_circle(small)
    stands_for = sum(int(e.label.split()[0].replace(",", "")) for e in small.nodes if e.kind == "summary")
    assert stands_for + sum(node.kind == "operation" for node in small.nodes) == 2000
    assert {node.id for node in picture.nodes if node.kind in ("input", "output")} <= {
        node.id for node in small.nodes
    }


@pytest.mark.parametrize("states", [1, 30, 300])
def test_a_large_loop_is_closed_and_alone_it_keeps_its_ports(states):
    graph = large_loop(2000, states)
    small = summarised(diagram_of(graph), 1000)
    assert_readable(small, 1000)
    assert "closed: large" in small.notes[-1]
    alone = diagram_of(graph, scan="large")
    small = summarised(alone, 1000)
    assert_readable(small, 1000)
    ports = {node.id for node in alone.nodes if node.kind == "port"}
    if 5 * states < 500:
        assert ports <= {node.id for node in small.nodes}
        assert any(edge.role == "recurrence" for edge in small.edges)
    else:
        assert ports == {port.id for node in small.nodes for port in node.ports}


def test_hot_nodes_survive_summarising():
    picture = diagram_of(dense(2000, 2))
    hot = [node.id for node in picture.nodes if node.kind == "operation"][5::211]
    nodes = tuple(
        replace(node, time_ns=1e6 if node.id in hot else 1.0, share=0.1 if node.id in hot else 1e-6)
        for node in picture.nodes
    )
    small = summarised(replace(picture, nodes=nodes))
    assert_readable(small)
    assert_no_circle(small)
    assert set(hot) <= {node.id for node in small.nodes}
    assert f"{len(hot)} hot ones stay" in small.notes[-1]
    total = sum(node.time_ns for node in small.nodes)
    assert total == pytest.approx(sum(node.time_ns for node in nodes))


def test_inner_loops_are_closed_before_outer_ones():
    inner = large_loop(300, 2, "inner")
    step = replace(inner, title="outer")
    around = large_loop(3, 2, "outer")
    given = tuple(step.variables)[1:3]

    variables = tuple(
        replace(variable, inner_inputs=given, inner_outputs=(step.outputs[k],))
        for k, variable in enumerate(around.loops[0].variables)
    )
    node = replace(around.nodes[0], loop=replace(around.loops[0], variables=variables))
    picture = diagram_of(replace(around, nodes=(node,), steps={1: step}))
    small = summarised(picture, 60)
    assert_readable(small, 60)
    assert [cluster.label for cluster in small.clusters] == ["outer"]
    assert [node.label for node in small.nodes if node.kind == "loop"] == ["inner"]


@given(case=random_loops(), limit=st.integers(1, 60))
def test_no_picture_has_more_nodes_than_the_limit(case, limit):
    graph = snapshot(with_gradients(case)[0])
    for picture in (diagram_of(graph), diagram_of(graph, depth=0)):
        small = summarised(picture, limit)
        assert len(small.nodes) <= max(16, limit)
        assert_sound(small)
        kinds = {"summary", "operation", "loop", "input", "shared", "constant", "output"}
        assert small is picture or kinds >= {node.kind for node in small.nodes if node.cluster is None}


def test_thousands_of_inputs_outputs_and_loops_are_folded_too():
    inputs = tuple(Node(f"i{k}", "input", f"i{k}") for k in range(900))
    loops = tuple(Node(f"l{k}", "loop", f"loop {k}") for k in range(900))
    outputs = tuple(Node(f"o{k}", "output", f"o{k}") for k in range(900))
    edges = tuple(Edge(f"i{k}", f"l{k}") for k in range(900)) + tuple(
        Edge(f"l{k}", f"o{k}") for k in range(900)
    )
    small = summarised(Diagram("f", (*inputs, *loops, *outputs), (), edges), 100)
    assert_readable(small, 100)
    assert any(node.label.startswith("900 loops") or "loop" in node.label for node in small.nodes)


def test_a_difference_and_an_unrolled_loop_can_be_too_large_as_well():
    assert_readable(summarised(difference(dense(900, 3, 1), dense(900, 3, 2)), 200), 200)
    picture = unrolled(large_loop(500, 2), "large", 8)
    small = summarised(picture, 200)
    assert_readable(small, 200)
    assert len(small.clusters) == 8
