"""Nodes: immutable but for names, compared by identity, and labelled as users would name them."""

import copy
import pickle

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import (
    Apply,
    Constant,
    Variable,
    build,
    describe,
    next_node_id,
    rebuild,
    tensor_type,
)
from scanviz.engine.graph.types import RANDOM_STATE, TensorType

VECTOR = TensorType("float64", (None,))


def test_outputs_belong_to_the_node_that_makes_them():
    x = T.vector("x")
    node = (x + 1).owner
    assert node.inputs[0] is x and node.outputs[0].owner is node and node.outputs[0].index == 0


def test_each_node_is_born_later_than_those_before():
    x = T.vector("x")
    first, second = (x + 1).owner, (x + 1).owner
    assert first.node_id < second.node_id < next_node_id()


def test_a_node_rebuilt_keeps_node_id_provenance_and_names_and_infers_types_anew():
    x = T.vector("x")
    y = x + 1
    y.name = "y"
    again = rebuild(y.owner, [T.tensor("float64", (3,)), y.owner.inputs[1]])
    assert (again.node_id, again.outputs[0].name) == (y.owner.node_id, "y")
    assert again.provenance is y.owner.provenance and again.outputs[0].type.shape == (3,)


def test_nodes_and_variables_cannot_be_changed():
    y = T.vector("x") + 1
    with pytest.raises(AttributeError, match="immutable"):
        y.owner.inputs = ()
    with pytest.raises(AttributeError, match="immutable"):
        y.type = VECTOR
    with pytest.raises(AttributeError, match="immutable"):
        y.owner.op.parameters = 1


def test_equality_is_identity_so_variables_can_be_keys():
    x, y = Variable(VECTOR, "same"), Variable(VECTOR, "same")
    assert x != y and {x: 1, y: 2}[x] == 1 and x in [y, x]


def test_a_constant_keeps_its_value_when_the_array_changes():
    array = np.zeros(2)
    constant = T.constant(array)
    array[0] = 5
    assert constant.value.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        constant.value[0] = 1


NAMES = [
    (lambda: T.vector("x"), "x"),
    (lambda: T.fmatrix(), "unnamed float32[?, ?]"),
    (lambda: T.constant([1, 2]), "[1 2]"),
    (lambda: T.constant(np.zeros(9)), "constant float64[9]"),
    (lambda: T.tanh(T.vector("x")), "tanh(x)"),
    (lambda: T.tanh(T.vector("x") + 1), "tanh(x + 1)"),
    (lambda: T.vector("x")[1:], "x[1:]"),
]


@pytest.mark.parametrize(("make", "expected"), NAMES, ids=[name for _, name in NAMES])
def test_a_variable_is_labelled_by_name_value_or_operation(make, expected):
    assert describe(make()) == str(make()) == expected


def test_a_variable_of_another_type_is_not_an_array_of_numbers():
    with pytest.raises(ScanvizTypeError, match="not an array of numbers"):
        tensor_type(Variable(RANDOM_STATE, "state"))


def test_outputs_can_be_named_when_built():
    op = T.tanh(T.vector("x")).owner.op
    assert build(op, [T.vector("x")], ["y"])[0].name == "y"


def test_a_graph_pickles_with_its_names_and_gives_the_same_values():
    x = T.vector("x")
    y = T.tanh(x * 2)
    y.name = "y"
    again_x, again_y = pickle.loads(pickle.dumps((x, y)))
    assert again_y.name == "y" and again_y.type == y.type
    assert again_y.owner.provenance.source == y.owner.provenance.source
    np.testing.assert_array_equal(evaluate(again_y, {again_x: np.ones(2)}), np.tanh([2.0, 2.0]))


def test_a_very_deep_graph_pickles_and_copies():
    x = T.scalar("x")
    y = x
    for _ in range(3000):
        y = y + 1
    assert pickle.loads(pickle.dumps(y)).type == copy.deepcopy(y).type == y.type


def test_a_constant_pickles_with_its_weak_number():
    constant = (T.vector("x") + 2).owner.inputs[1]
    again = pickle.loads(pickle.dumps(constant))
    assert isinstance(again, Constant) and again.value == constant.value and again.weak == constant.weak


def test_an_apply_prints_its_inputs():
    assert repr((T.vector("x") + T.vector("y")).owner) == "<add(x, y)>"
    assert isinstance((T.vector("x") + 1).owner, Apply)
