"""The graph of a picture has all of the picture, and exports are read back by networkx as they were."""

import json

import networkx
from hypothesis import given

from scanviz.record.snapshot import snapshot
from scanviz.render.diagram.analysis import to_graphml, to_json, to_networkx
from scanviz.render.diagram.build import diagram_of
from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.testing import random_loops
from tests.render.diagram.graphs import history, several_taps, with_gradients


@given(case=random_loops())
def test_a_random_picture_is_analysed_as_it_is(case):
    """One graph serves all: differentiating and rewriting it takes longer than the checks."""
    graph = history(with_gradients(case)[0]).snapshot(0)
    for depth in (None, 0):
        picture = diagram_of(graph, depth=depth)
        has_all_of_the_picture(to_networkx(picture), picture)
        exports_are_read_back_as_they_were(picture)


def has_all_of_the_picture(graph, picture):
    ports = [port for node in picture.nodes for port in node.ports]
    assert set(graph) == {each.id for each in (*picture.nodes, *ports)}
    assert graph.number_of_edges() == len(picture.edges) + len(ports)
    for node in picture.nodes:
        assert graph.nodes[node.id]["label"] == node.label and graph.nodes[node.id]["kind"] == node.kind
        assert graph.nodes[node.id]["cluster"] == node.cluster
    assert [each["id"] for each in graph.graph["clusters"]] == [cluster.id for cluster in picture.clusters]


def strings(graph):
    """Return nodes and edges of a graph as text that both formats keep."""
    nodes = {(name, data.get("label", ""), data["kind"]) for name, data in graph.nodes(data=True)}
    edges = sorted(
        (a, b, data["role"], data.get("label", ""), data.get("place", -1))
        for a, b, data in graph.edges(data=True)
    )
    return nodes, [edge if edge[4] is not None else (*edge[:4], -1) for edge in edges]


def exports_are_read_back_as_they_were(picture):
    wanted = strings(to_networkx(picture))
    data = json.loads(json.dumps(to_json(picture), allow_nan=False))
    assert strings(networkx.node_link_graph(data, edges="edges")) == wanted
    assert strings(networkx.parse_graphml(to_graphml(picture), force_multigraph=True)) == wanted


def test_two_ids_that_are_written_alike_stay_two():
    nodes = (Node("\x1b", "input", "a"), Node("\\x1b", "input", "b"), Node("\ufffe", "input", "c"))
    picture = Diagram("f", nodes, (), (Edge("\x1b", "\\x1b"),))
    back = networkx.parse_graphml(to_graphml(picture))
    assert len(back) == 3 and back.number_of_edges() == 1


def test_numbers_that_json_lacks_are_left_out():
    picture = Diagram("f", (Node("a", "operation", "a", time_ns=float("inf"), share=float("nan")),))
    json.dumps(to_json(picture), allow_nan=False)
    assert "time_ns" not in to_json(picture)["nodes"][0]


def test_keys_of_graphml_are_unique_and_the_text_is_the_same_every_time():
    picture = diagram_of(snapshot(several_taps()))
    text = to_graphml(picture)
    keys = [line.split('id="')[1].split('"')[0] for line in text.splitlines() if "<key " in line]
    assert len(keys) == len(set(keys)) > 10
    assert text == to_graphml(diagram_of(snapshot(several_taps())))
