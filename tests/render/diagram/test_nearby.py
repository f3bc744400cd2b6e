"""Changes and their neighbourhood: every change is drawn, the rest counted, unchanged loops closed."""

from graphlib import CycleError, TopologicalSorter

from hypothesis import given, settings

from scanviz.render.diagram.difference import difference, near_changes
from scanviz.render.diagram.model import Diagram, Edge, Node
from scanviz.testing import random_loops
from tests.render.diagram.graphs import assert_sound, history, several_taps, with_gradients


def changes(picture):
    return {(node.id, node.change) for node in picture.nodes if node.change}


@given(case=random_loops())
@settings(max_examples=8)
def test_every_change_is_drawn(case):
    record = history(with_gradients(case)[0])
    for k in range(len(record.applications)):
        whole = difference(record.snapshot(k), record.snapshot(k + 1), plumbing=False)
        small = near_changes(whole)
        assert_sound(small)
        assert changes(small) == changes(whole)
        assert small == whole or len(small.nodes) <= len(whole.nodes)
        ends = {node.id for node in small.nodes} | {p.id for node in small.nodes for p in node.ports}
        assert all(edge.source in ends and edge.target in ends for edge in small.edges)
        assert not leading_back(small) or leading_back(whole)


def leading_back(picture):
    """Return whether lines lead round in a circle, but for those that a later step reads."""
    owner = {port.id: node.id for node in picture.nodes for port in node.ports}
    waiting = {node.id: set() for node in picture.nodes}
    for edge in picture.edges:
        source, target = owner.get(edge.source, edge.source), owner.get(edge.target, edge.target)
        if edge.role != "recurrence" and source != target:
            waiting[target].add(source)
    try:
        TopologicalSorter(waiting).prepare()
    except CycleError:
        return True
    return False


def test_a_loop_without_a_change_is_closed():
    record = history(several_taps())
    [k, *_] = [each.index for each in record.applications if each.rule.startswith("PushOut")]
    whole = difference(record.snapshot(k), record.snapshot(k + 1), plumbing=False)
    small = near_changes(whole)
    with_changes = {node.cluster for node in whole.nodes if node.change} - {None}
    assert {cluster.id for cluster in small.clusters} == with_changes
    assert len(small.nodes) < len(whole.nodes) and "not drawn" in small.notes[-1]


def test_other_readers_of_an_input_are_not_near():
    nodes = [
        Node("x", "input", "x"),
        Node("new", "operation", "dot", change="added"),
        Node("after", "output", "y"),
    ]
    nodes += [Node(f"other{k}", "operation", "exp") for k in range(30)]
    edges = [Edge("x", "new", change="added"), Edge("new", "after", change="added")]
    edges += [Edge("x", f"other{k}") for k in range(30)]
    small = near_changes(Diagram("f", tuple(nodes), (), tuple(edges)))
    assert {"x", "new", "after"} <= {node.id for node in small.nodes}
    assert "not drawn: 30 nodes further than 2 lines from any change" in small.notes
