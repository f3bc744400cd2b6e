"""Replacing variables rebuilds dependent nodes and shares the others; the old graph stays."""

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.errors import InternalError
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.replace import replace


def test_the_new_graph_reads_the_replacement_and_the_old_one_does_not_change():
    x, y = T.vector("x"), T.vector("y")
    old = T.exp(x) * 2
    (new,) = replace([old], {x: y})
    np.testing.assert_allclose(evaluate(new, {y: np.ones(2)}), 2 * np.e * np.ones(2))
    np.testing.assert_allclose(evaluate(old, {x: np.zeros(2)}), [2.0, 2.0])


def test_nodes_independent_of_a_replacement_are_shared_with_the_old_graph():
    x, y, z = T.vector("x"), T.vector("y"), T.vector("z")
    shared_part = T.exp(y)
    new = replace([shared_part + x, shared_part], {x: z})
    assert new[0].owner.inputs[0] is shared_part is new[1]


def test_rebuilt_nodes_keep_their_node_id_and_names():
    x, z = T.vector("x"), T.vector("z")
    old = T.exp(x)
    old.name = "e"
    (new,) = replace([old], {x: z})
    assert (new.owner.node_id, new.name) == (old.owner.node_id, "e")


def test_a_replacement_may_depend_on_the_replaced_variable():
    x = T.vector("x")
    e = T.exp(x)
    (new,) = replace([T.log(e)], {e: e + 1})
    np.testing.assert_allclose(evaluate(new, {x: np.zeros(1)}), np.log([2.0]))


def test_two_variables_are_exchanged_at_once():
    x, y = T.scalar("x"), T.scalar("y")
    (new,) = replace([x - y], {x: y, y: x})
    assert evaluate(new, {x: np.array(1.0), y: np.array(5.0)}) == 4.0


def test_an_output_itself_can_be_replaced():
    x, y = T.scalar("x"), T.scalar("y")
    assert replace([x, x + 1], {x: y})[0] is y


def test_a_replacement_of_another_type_is_refused():
    x, y = T.scalar("x"), T.vector("y")
    with pytest.raises(InternalError, match="`y` cannot replace `x`"):
        replace([x + 1], {x: y})


def test_types_are_inferred_anew_from_a_replacement_that_knows_more():
    x = T.vector("x")
    (new,) = replace([T.exp(x)], {x: T.tensor("float64", (3,))})
    assert new.type.shape == (3,)


def test_a_graph_over_another_input_computes_the_same():
    x, own = T.vector("x"), T.vector("x")
    outputs = replace([T.exp(x), x], {x: own})
    assert outputs[1] is own and structurally_equal([T.exp(x)], outputs[:1], {x: own})


def test_a_very_deep_graph_is_replaced():
    x = y = T.scalar("x")
    for _ in range(3000):
        y = y + 1
    z = T.scalar("z")
    assert evaluate(replace([y], {x: z})[0], {z: np.array(0.0)}) == 3000
