"""Plumbing of a graph, and its replacement in a picture without it."""

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.declaration import declarations
from scanviz.record.graphs import plumbing as module
from scanviz.record.graphs.plumbing import folded_rows, plumbing, plumbing_operations, shown_variable
from scanviz.record.snapshot import snapshot


def folded(*results):
    """Return the operations of a graph that are plumbing, and the others."""
    graph = snapshot(list(results))
    numbers = plumbing(graph)
    return [node.op for k, node in enumerate(graph.nodes) if k in numbers], [
        node.op for k, node in enumerate(graph.nodes) if k not in numbers
    ]


def test_sizes_and_expressions_of_sizes_are_plumbing():
    x = T.matrix("x")
    hidden, shown = folded(T.sum(x) * T.zeros((x.shape[0] + 1, x.shape[1])))
    assert "dimension{axis=0}" in hidden and "add" in hidden and "alloc" in hidden
    assert [op.split("{")[0] for op in shown] == ["sum", "multiply"]


def test_a_size_that_becomes_a_number_is_shown():
    x = T.vector("x")
    hidden, shown = folded(T.sum(x) / T.cast(x.shape[0], "float64"))
    assert hidden == ["dimension{axis=0}"]
    assert [op.split("{")[0] for op in shown] == ["sum", "cast", "divide"]


def test_named_variables_and_outputs_are_not_plumbing():
    x = T.vector("x")
    count = x.shape[0] + 1
    count.name = "count"
    hidden, shown = folded(T.arange(count), x.shape[0] * 2)
    assert set(hidden) == {"dimension{axis=0}"}
    assert [op.split("{")[0] for op in shown] == ["add", "arange", "multiply"]


def test_axes_added_for_broadcasting_are_plumbing_and_a_transpose_is_none():
    x, y = T.vector("x"), T.matrix("y")
    hidden, shown = folded(T.exp(x[None, :]) + T.tanh(T.dimshuffle(x, (0, None))) + T.log(y.T) + y[0])
    assert hidden == ["index[None]", "dimshuffle{order=(0, None)}"]
    assert "index[0]" in shown and any(op.startswith("dimshuffle") for op in shown)


def test_sum_to_shape_is_plumbing_unless_its_type_shows_that_it_sums():
    x, w, b = T.matrix("x"), T.matrix("w"), T.tensor("float64", (1, None), name="b")
    cost = T.sum(T.tanh(x * w + b))
    graph = snapshot([T.exp(g) for g in scanviz.grad(cost, [w, b])])
    numbers = plumbing(graph)
    sums = [k for k, node in enumerate(graph.nodes) if node.op.startswith("sum_to_shape")]
    assert {graph.variables[graph.nodes[k].outputs[0]].type for k in sums if k in numbers} == {
        "float64[?, ?]"
    }
    assert {graph.variables[graph.nodes[k].outputs[0]].type for k in sums if k not in numbers} == {
        "float64[1, ?]"
    }


def test_a_picture_without_plumbing_draws_the_original_variable():
    x = T.vector("x")
    graph = snapshot(T.exp(T.specify_shape(x[None], (1, None))) + T.zeros((1, x.shape[0])))
    stands = shown_variable(plumbing(graph), graph)
    (exp,) = (node for node in graph.nodes if node.op == "exp")
    assert graph.variables[stands[exp.inputs[0]]].name == "x"
    (add,) = (node for node in graph.nodes if node.op == "add")
    assert stands[add.inputs[1]] is None


def test_a_row_that_takes_noticeable_time_is_no_plumbing():
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros_like(x[0]), name="rnn")
    f = scanviz.function([x], scanviz.grad(T.sum(h), x), name="train")
    with scanviz.profile() as p:
        f(np.ones((5, 3)))
    function = p.record.functions[0]
    graph = function.graph
    hidden = folded_rows(function, plumbing_operations(graph))
    times = {each.index: function.ran_ns(each) for each in function.operations}
    assert hidden and all(times[index] <= 0.02 * sum(times.values()) for index in hidden)
    numbers = plumbing(graph)
    assert hidden <= {graph.nodes[k].operation for k in numbers}
    assert plumbing_operations(None) == frozenset()


def test_the_operations_of_plumbing_are_declared():
    names = {declaration.name for declaration in declarations()}
    assert names >= module._OF_ARRAYS | module._CHECKS | {"alloc", "sum_to_shape", "dimshuffle", "index"}
