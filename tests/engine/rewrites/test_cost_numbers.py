"""Costs in numbers: what graphs that never ran cost with the sizes of a call put in."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observe import Observer, observed_by
from scanviz.record.graphs.rewrites_snapshot import rewrites_of


class Weighed(Observer):
    weighs = True


def called(inputs, wanted, *values):
    f = scanviz.function(inputs, wanted, mode="numpy")
    with observed_by(Weighed()):
        f(*values)
    return rewrites_of(f)


def test_products_of_a_step_are_counted_with_the_shapes_of_the_call():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x_t, h: T.dot(x_t, w) + h, x, T.zeros(4), name="rnn")
    record = called([x, w], h, np.ones((7, 3)), np.ones((3, 4)))
    first, last = record.numbers(0), record.numbers(len(record.applications))
    assert (first.per_step["rnn"].operations, first.per_step["rnn"].flops) == (2, 2 * 3 * 4 + 4)
    assert (last.per_step["rnn"].operations, last.per_step["rnn"].flops) == (1, 4)
    assert first.flops == last.flops == 7 * (2 * 3 * 4 + 4)  # the product of all rows is as much work
    assert last.buffer_bytes == 8 * 8 * 4  # with the initial row
    assert record.sizes == {"x.shape[0]": 7, "x.shape[1]": 3, "w.shape[1]": 4, "w.shape[0]": 3}


def test_a_number_of_steps_that_is_given_is_put_in():
    x, n = T.vector("x"), T.iscalar("n")
    h, _ = scanviz.scan(lambda h: T.tanh(h), outputs_info=x, n_steps=2 * n + 1, name="rnn")
    record = called([x, n], h, np.ones(5), 3)
    assert record.sizes == {"x.shape[0]": 5, "n": 3}
    assert record.numbers(0).flops == 7 * 5 * 10 + 3  # the tanh of 7 steps, and what counts the steps


def test_only_value_dependent_costs_have_no_number():
    x = T.vector("x")
    record = called([x], [T.exp(x[x > 0]), T.exp(x)], np.array([1.0, -1.0, 2.0]))
    assert record.numbers(0).flops is None and record.numbers(0).operations == 4


def test_two_inputs_of_one_name_and_other_sizes_give_no_wrong_number():
    one, other = T.vector("x"), T.vector("x")
    record = called([one, other], [T.exp(one), T.exp(other)], np.ones(3), np.ones(4))
    assert record.numbers(0).flops is None
    assert called([one, other], [T.exp(one), T.exp(other)], np.ones(3), np.ones(3)).numbers(0).flops == 60


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_a_function_that_was_never_called_has_named_sizes_alone(mode):
    x = T.vector("x")
    record = rewrites_of(scanviz.function([x], T.exp(x) + T.exp(x), mode=mode))
    assert record.numbers(0) is None and record.sizes == {} and record.cost.flops == "21·x.shape[0]"
