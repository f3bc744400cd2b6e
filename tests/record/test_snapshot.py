"""Graphs as records: numbered in order of computation, linked across loops, the same after writing and reading."""

import pytest
from hypothesis import given

import scanviz
from scanviz import tensor as T
from scanviz.record.snapshot import snapshot
from scanviz.render.text import graph_text
from scanviz.testing.loops import random_loops


def nested():
    m, w = T.matrix("m"), T.scalar("w")

    def step(row, w):
        sums, _ = scanviz.scan(lambda v, total, w: total * w + v, row, 0.0, w, name="inner")
        return sums[-1], scanviz.until(sums[-1] > 3)

    return scanviz.scan(step, m, non_sequences=w, name="outer")[0], m, w


def test_nodes_and_variables_stand_in_order_of_computation():
    x = T.vector("x")
    graph = snapshot(T.tanh(x) * x)
    assert [node.op for node in graph.nodes] == ["tanh", "multiply"]
    assert graph.nodes[1].inputs == (graph.nodes[0].outputs[0], "x")
    assert [graph.role(key) for key in graph.variables] == ["input", "computed", "computed"]


def test_a_snapshot_records_roles_names_and_labels():
    x, s = T.vector("x"), scanviz.shared(1.0, "s")
    graph = snapshot(x * s + 2)
    assert {leaf.results[0].label: leaf.role for leaf in graph.leaves.values()} == {
        "x": "input",
        "s": "shared",
        "2.0": "constant",
    }


def test_a_node_has_the_users_line():
    y = T.tanh(T.vector("x"))
    graph = snapshot(y)
    (node,) = graph.nodes
    assert "test_snapshot.py:" in node.source and graph.text(node) == 'y = T.tanh(T.vector("x"))'


def test_a_loop_variable_links_the_step_to_outer_variables():
    x, h0 = T.vector("x"), T.scalar("h0")
    h, _ = scanviz.scan(lambda v, h: h + v, x, h0, name="sums")
    graph = snapshot(h)
    (loop,) = graph.loops
    state = next(variable for variable in loop.variables if variable.kind == "sitsot")
    assert (state.reads, state.writes) == ((-1,), (0,))
    assert graph.variables[state.outer_input].name == "h0"
    step = graph.step(loop)
    assert step.variables[state.inner_inputs[0]].label == "h[t-1]"
    assert state.outer_output == graph.outputs[0] and state.inner_outputs == step.outputs[:1]
    sequence = next(variable for variable in loop.variables if variable.kind == "sequence")
    assert graph.variables[sequence.outer_input].name == "x" and sequence.outer_output is None


def test_a_loop_inside_a_step_is_a_loop_of_that_steps_graph():
    graph = snapshot(nested()[0])
    (outer,) = graph.loops
    (inner,) = graph.step(outer).loops
    assert (outer.name, inner.name) == ("outer", "inner")
    assert outer.until is not None and inner.until is None


def forms():
    rows, m, w = nested()
    return {
        "a variable": rows,
        "several": [rows, rows.sum()],
        "an apply": rows.owner,
        "a function": scanviz.function([m, w], rows, updates={scanviz.shared(0.0, "count"): w}),
        "a draw": T.random.RandomStreams(1).uniform(size=(2,)),
    }


@pytest.mark.parametrize("form", forms())
def test_the_same_graph_built_again_gives_the_same_record(form):
    assert snapshot(forms()[form]) == snapshot(forms()[form])


def test_a_scan_alone_gives_the_graph_of_its_step():
    loop = nested()[0].owner.op
    graph = snapshot(loop)
    assert graph.title == "outer" and graph.output_names[-1] == "until" and graph.loops


def test_a_record_cannot_be_changed():
    with pytest.raises(AttributeError):
        snapshot(T.vector("x")).title = "other"


@pytest.mark.parametrize("what", [3, "x", None, [1], {}])
def test_an_object_without_a_graph_is_refused(what):
    with pytest.raises(scanviz.ScanvizError, match="has no graph"):
        snapshot(what)


@given(case=random_loops())
def test_any_loop_is_recorded_whole_and_printed(case):
    results = case.build()[0]
    graph = snapshot(list(results))
    shown = graph_text(graph, types=True)
    for loop in graph.loops:
        inside = graph.step(loop).variables
        assert f"loop {loop.name}" in shown
        given = [key for variable in loop.variables for key in variable.inner_inputs]
        assert given == list(inside)[: len(given)], "a step's inputs come first"
        for variable in loop.variables:
            assert set(variable.inner_inputs) | set(variable.inner_outputs) <= set(inside)
            assert {variable.outer_input, variable.outer_output} - {None} <= set(graph.variables)
