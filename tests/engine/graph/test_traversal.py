"""Walks: deterministic, iterative, each node once and after its inputs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.graph.traversal import (
    depending_on,
    first_free,
    free_leaves,
    leaves,
    toposort,
    users,
    variables,
)


@st.composite
def graphs(draw):
    """Inputs and all values of a random graph of additions."""
    inputs = [T.scalar(f"x{k}") for k in range(draw(st.integers(1, 3)))]
    values = list(inputs)
    for _ in range(draw(st.integers(0, 12))):
        values.append(draw(st.sampled_from(values)) + draw(st.sampled_from(values)))
    return inputs, values


@given(graphs())
def test_every_node_comes_once_and_after_its_inputs(graph):
    _, values = graph
    order = toposort(values)
    assert len(set(order)) == len(order) == len([value for value in values if value.owner])
    place = {node: k for k, node in enumerate(order)}
    for node in order:
        assert all(place[each.owner] < place[node] for each in node.inputs if each.owner)


@given(graphs())
def test_toposort_visits_only_ancestors_of_the_outputs(graph):
    _, values = graph
    reached, pending = set(), [values[-1]]
    while pending:
        each = pending.pop()
        if each.owner and each.owner not in reached:
            reached.add(each.owner)
            pending.extend(each.owner.inputs)
    assert set(toposort([values[-1]])) == reached


@given(graphs())
def test_dependents_of_an_input_have_it_among_their_leaves(graph):
    inputs, values = graph
    dependent = depending_on([inputs[0]], values)
    for value in values:
        assert (value in dependent) == (inputs[0] in leaves([value]))


@given(graphs())
def test_users_are_the_places_where_a_variable_is_read(graph):
    _, values = graph
    found = users(toposort(values))
    read = [(each, node, k) for node in toposort(values) for k, each in enumerate(node.inputs)]
    assert sorted((id(v), id(n), k) for v in found for n, k in found[v]) == sorted(
        (id(v), id(n), k) for v, n, k in read
    )


def test_the_walk_stops_at_given_variables():
    x = T.scalar("x")
    y = T.exp(x)
    z = T.log(y) + y
    assert [str(node.op) for node in toposort([z], [y])] == ["log", "add"]
    assert leaves([z], [y]) == [y] and leaves([y], [y]) == [y]


def test_leaves_come_in_the_order_of_the_walk():
    x, y = T.scalar("x"), T.scalar("y")
    assert leaves([y - x, x]) == [y, x]
    assert variables([y - x])[:2] == [y, x]


def test_constants_and_given_inputs_are_not_free():
    x, y = T.scalar("x"), T.scalar("y")
    assert free_leaves([x + y + 1], [x]) == [y]


def test_a_graph_deeper_than_the_stack_is_walked():
    x = y = T.scalar("x")
    for _ in range(5000):
        y = y + x
    assert len(toposort([y])) == 5000 and len(depending_on([x], [y])) == 5001


def test_a_graph_of_many_shared_values_is_walked_once():
    y = T.scalar("x")
    for _ in range(200):  # 2**200 paths
        y = y + y
    assert len(toposort([y])) == 200
    assert np.isfinite(len(variables([y])))


@given(graphs(), st.data())
def test_a_walk_has_the_order_of_a_recursive_one(graph, data):
    _, values = graph
    outputs = data.draw(st.lists(st.sampled_from(values)))
    stop = data.draw(st.lists(st.sampled_from(values)))
    order = []

    def visit(variable):
        node = variable.owner
        if node is None or variable in stop or node in order or node in begun:
            return
        begun.append(node)
        for read in node.inputs:
            visit(read)
        order.append(node)

    begun = []
    for output in outputs:
        visit(output)
    assert toposort(outputs, stop) == order


def test_the_first_free_leaf_is_the_first_that_a_node_reads():
    x, y, z = T.scalar("x"), T.scalar("y"), T.scalar("z")
    outputs = [x + 1 - y, z]
    for given_inputs in ([], [x], [x, y], [x, y, z]):
        free = free_leaves(outputs, given_inputs)
        assert first_free(toposort(outputs), outputs, given_inputs) is (free[0] if free else None)
