"""The shape of a loop's rows before it runs."""

import numpy as np

import scanviz
from scanviz import tensor as T


def test_a_size_that_a_step_draws_is_asked_of_the_rows():
    draws = T.random.RandomStreams(1)
    x = T.vector("x")
    rows, updates = scanviz.scan(lambda v: T.zeros(draws.integers(size=(), low=3, high=4)) + v, x)
    f = scanviz.function([x], [rows.shape, scanviz.grad((rows**2).sum(), x)], updates=updates)
    shape, gradient = f(np.ones(4))
    assert shape.tolist() == [4, 3]
    assert gradient.tolist() == [6.0] * 4
