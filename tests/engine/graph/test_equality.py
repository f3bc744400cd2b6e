"""Structural equality: the same operations on the same leaves, whatever the names."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.equality import equal_constants, structurally_equal


def test_equality_depends_on_operations_not_names():
    x = T.vector("x")
    first, second = T.exp(x) + 1, T.exp(x) + 1
    first.name = "first"
    assert structurally_equal([first], [second])
    assert not structurally_equal([first], [T.exp(x) - 1])
    assert not structurally_equal([first], [T.exp(x) + 2])
    assert not structurally_equal([first], [1 + T.exp(x)])
    assert not structurally_equal([first], [first, first])


def test_leaves_are_equal_only_if_they_are_the_same_or_paired():
    x, y = T.vector("x"), T.vector("y")
    assert not structurally_equal([T.exp(x)], [T.exp(y)])
    assert structurally_equal([T.exp(x)], [T.exp(y)], {x: y})
    assert not structurally_equal([x], [T.exp(x)])


def test_a_shared_graph_differs_from_itself_with_other_paired_inputs():
    x, y = T.scalar("x"), T.scalar("y")
    difference = x - y
    assert not structurally_equal([difference], [difference], {x: y, y: x})
    assert structurally_equal([difference], [difference], {x: x, y: y})
    assert structurally_equal([difference], [y - x], {x: y, y: x})


def test_a_leaf_equals_no_variable_that_another_stands_for():
    x, y = T.scalar("x"), T.scalar("y")
    assert not structurally_equal([x + y], [y + y], {x: y})


def test_outputs_of_one_node_are_not_equal():
    sign, logarithm = T.linalg.slogdet(T.matrix("x"))
    assert structurally_equal([sign], [sign]) and not structurally_equal([sign], [logarithm])


CONSTANTS = [
    (np.nan, np.nan, True),
    (0.0, -0.0, False),
    (1, 1.0, False),
    (np.float32(1), np.float64(1), False),
    ([1, 2], [1, 2], True),
    ([1, 2], [[1, 2]], False),
    (np.arange(6).reshape(2, 3).T, np.ascontiguousarray(np.arange(6).reshape(2, 3).T), True),
]


@pytest.mark.parametrize(("first", "second", "expected"), CONSTANTS)
def test_constants_are_equal_if_type_and_bits_are(first, second, expected):
    a, b = T.constant(first), T.constant(second)
    assert equal_constants(a, b) is structurally_equal([a], [b]) is expected


def loop(order):
    """A loop over two non-sequences, in one of two orders, by one and the same step."""
    x, a, b = T.vector("x"), T.scalar("a"), T.scalar("b")
    result, _ = scanviz.scan(
        lambda v, p, q: v * p - q if order else v * q - p, x, non_sequences=[a, b], name="l"
    )
    return result, x, a, b


def test_loops_are_equal_if_their_steps_are():
    (first, *ins), (second, *others) = loop(True), loop(True)
    assert structurally_equal([first], [second], dict(zip(ins, others, strict=True)))


def test_loops_differ_if_their_steps_read_other_inputs():
    (first, *ins), (second, *others) = loop(True), loop(False)
    assert not structurally_equal([first], [second], dict(zip(ins, others, strict=True)))


def test_a_very_deep_graph_is_compared():
    x, ends = T.scalar("x"), []
    for _ in range(2):
        y = x
        for _ in range(3000):
            y = y + x
        ends.append(y)
    assert structurally_equal(ends[:1], ends[1:])
