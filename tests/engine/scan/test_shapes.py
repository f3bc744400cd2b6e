"""The shape of a loop's rows before it runs."""

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.dims import SIZES
from scanviz.engine.graph.nodes import rebuild
from scanviz.engine.ops.sizes import size_of, sizes_kept, surely_equal
from scanviz.engine.ops.symbolic_shape import shape_of


def test_a_size_that_a_step_draws_is_asked_of_the_rows():
    draws = T.random.RandomStreams(1)
    x = T.vector("x")
    rows, updates = scanviz.scan(lambda v: T.zeros(draws.integers(size=(), low=3, high=4)) + v, x)
    f = scanviz.function([x], [rows.shape, scanviz.grad((rows**2).sum(), x)], updates=updates)
    shape, gradient = f(np.ones(4))
    assert shape.tolist() == [4, 3]
    assert gradient.tolist() == [6.0] * 4


def test_one_step_run_over_other_rows_has_their_sizes():
    x, y, start = T.matrix("x"), T.tensor("float64", (None, 5), "y"), T.vector("start")
    rows, _ = scanviz.scan(lambda x_t, h: (h, T.concatenate([x_t, h[:3], x_t])), x, [start, None])
    loop = rows[1].owner
    other = rebuild(loop, [variable if variable is not x else y for variable in loop.inputs])
    with sizes_kept():
        n, m = (size_of(T.minimum(variable.shape[0], 3)) for variable in (start, x[0]))
        first, second = shape_of(rows[1])[1], shape_of(other.outputs[1])[1]
        assert surely_equal(first, SIZES.add(SIZES.multiply(2, size_of(x.shape[1])), n)) and n != m
        assert surely_equal(second, SIZES.add(10, n)) and not surely_equal(first, second)
