"""Rebuilt graphs know their nodes in the order that a walk would give, or say that they do not know it."""

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.mode import Mode
from scanviz.engine.rewrites.families import all_rules
from scanviz.engine.rewrites.level import Level, Rebuilt
from scanviz.engine.rewrites.levels import rebuilt
from scanviz.engine.rewrites.rule import Match


def gradient_of_a_loop():
    x, h, w = T.matrix("x"), T.vector("h"), T.matrix("w")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(h, w) + x_t[:3]), x, h, [w], name="rnn")
    cost = T.mean(rows * rows)
    return [x, h, w], [cost, *scanviz.grad(cost, [h, w])]


@pytest.fixture(scope="module")
def history():
    inputs, outputs = gradient_of_a_loop()
    return scanviz.function(inputs, outputs, mode=Mode("reference", "all")).rewrites


def test_graphs_after_rules_list_their_nodes_as_a_walk_does(history):
    graphs = [graph for graph in history.all_graphs() if isinstance(graph, Rebuilt)]
    known = [graph for graph in graphs if graph.nodes is not None]
    assert known
    assert all(graph.nodes == toposort(graph) for graph in known)


def test_a_replaced_operation_gives_way_to_what_stands_in_its_place():
    x, y = T.vector("x"), T.vector("y")
    old = T.exp(x)
    found = rebuilt([old * y + old], {old: T.sin(y) + T.cos(x)}, {})
    assert found.nodes == toposort(found)
    assert [node.op.name for node in found.nodes] == ["sin", "cos", "add", "multiply", "add"]


def test_what_reads_what_it_stands_in_the_place_of_has_nodes_in_no_known_order():
    x = T.vector("x")
    old = T.exp(x)
    found = rebuilt([old + 1], {old: T.sqrt(old)}, {})
    assert found.nodes is None
    assert [node.op.name for node in toposort(found)] == ["exp", "sqrt", "add"]


def test_results_that_different_operations_replace_have_nodes_in_no_known_order():
    x = T.scalar("x")
    results, _ = scanviz.scan(lambda a, b: (a + b, a * b), None, [x, x], n_steps=3)
    loop = results[0].owner
    instead = dict(zip(loop.outputs, [T.zeros(3), T.ones(3) * x], strict=True))
    found = rebuilt(loop.outputs, instead, {})
    assert found.nodes is None


class ShapesAlone:
    """A level that tells nothing but shapes."""

    def __init__(self, level):
        self.shape = level.shape


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.alone], ids=str)
def test_a_rule_that_looks_at_a_node_alone_asks_its_level_for_shapes_alone(rule, history):
    for graph in history.all_graphs():
        level = Level(graph)
        for node in level.nodes:
            if node.op.declaration in rule.on and len(node.outputs) == 1:
                whole, alone = rule.act(node, level), rule.act(node, ShapesAlone(level))
                assert isinstance(whole, Match) == isinstance(alone, Match)
