"""The shape of a loop's rows before it runs."""

import numpy as np

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.nodes import rebuild
from scanviz.engine.ops.sizes import size_of, sizes_kept, surely_equal
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.scan.loop import loop_of
from scanviz.engine.scan.variables import StepOutput
from scanviz.engine.sizes.dims import SIZES


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


def test_equal_sizes_of_a_step_are_distinguished_by_their_operands():
    x, y = T.matrix("x"), T.matrix("y")
    rows, _ = scanviz.scan(lambda u, v: (T.concatenate([u, v, v]), T.concatenate([v, v, u])), [x, y])
    first, other = rows[0].owner, scanviz.clone(rows[0], replace={x: y, y: x}).owner
    op = loop_of(other)
    gone = op.of_type(StepOutput)[0]  # the other size is met first then, with its unknowns in another order
    op = op.with_variables([variable for variable in op.variables if variable is not gone], None)
    turned = rebuild(other, other.inputs, op).outputs[0]
    n, m = (size_of(rows.shape[1]) for rows in (x, y))
    with sizes_kept():
        assert surely_equal(shape_of(first.outputs[0])[1], SIZES.add(n, SIZES.multiply(2, m)))
        assert surely_equal(shape_of(turned)[1], SIZES.add(m, SIZES.multiply(2, n)))
