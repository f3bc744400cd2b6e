"""Which inputs are used is judged on the graph as it was written: a derivative or a shape may need no value of them."""

import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import UnusedInputError

w, u, x, A = T.scalar("w"), T.scalar("u"), T.vector("x"), T.matrix("A")
of_three = T.tensor("float64", (3,), "of_three")
y = w * 2


def sums(step, start=0.0):
    return scanviz.scan(step, x, start)[0]


NAMED = {
    "a gradient that is constant": ([w, u], lambda: scanviz.grad(w * 2 + u, w), [2.0]),
    "a gradient of a known shape": ([of_three], lambda: scanviz.grad(T.sum(of_three * 2), of_three), None),
    "a gradient of a gradient": ([w], lambda: scanviz.grad(scanviz.grad(w**2, w), w), [2.0]),
    "a variable that the derivative is taken by": ([x, w], lambda: scanviz.grad(T.sum(x * w), w), None),
    "a variable without a connection": (
        [w],
        lambda: scanviz.grad(u, w, disconnected_inputs="ignore"),
        [0.0],
    ),
    "a Jacobian": ([A, of_three], lambda: scanviz.jacobian(A @ of_three, of_three), None),
    "a Jacobian by a scalar": ([x, w], lambda: scanviz.jacobian(x * w, w), None),
    "a Hessian": ([A, of_three], lambda: scanviz.hessian(of_three @ A @ of_three, of_three), None),
    "a Hessian by a scalar": ([w], lambda: scanviz.hessian(w**2, w), [2.0]),
    "ones like a scalar": ([w], lambda: T.ones_like(w), [1.0]),
    "zeros like a sum": ([w, u], lambda: T.zeros_like(w + u), [0.0]),
    "ones of another dtype": ([w], lambda: T.ones_like(w, dtype="int64"), [1]),
    "a number like a scalar": ([w], lambda: T.exp(T.full_like(w, 0)), [1.0]),
    "the shape of a scalar": ([w], lambda: w.shape, []),
    "a gradient of a loop": ([x, w], lambda: scanviz.grad(sums(lambda v, s: s + v, w)[-1], x), None),
    "ones in a step": ([x, w], lambda: sums(lambda v, s: s + v * T.ones_like(w)), None),
    "a gradient in a step": ([x, w], lambda: sums(lambda v, s: s + scanviz.grad(v * w, w)), None),
    "a gradient in a loop in a loop": (
        [x, w],
        lambda: sums(lambda v, s: s + v * sums(lambda a, b: b + scanviz.grad(a * w, w))[-1]),
        None,
    ),
    "a computed input": ([y], lambda: scanviz.grad(y * 3, y), [3.0]),
}


@pytest.mark.parametrize("name", NAMED)
def test_an_input_that_the_graph_names_is_used(name):
    inputs, build, expected = NAMED[name]
    f = scanviz.function(inputs, build())
    if expected is not None:
        assert f(*(3.0 for _ in inputs)).ravel().tolist() == expected


def test_an_input_of_a_given_is_used():
    f = scanviz.function([u], scanviz.grad(w * 2, w), givens={w: u + 1})
    assert f(1.0) == 2.0


@pytest.mark.parametrize(
    "build",
    [lambda: w, lambda: scanviz.grad(w * 2, w), lambda: T.ones_like(w), lambda: sums(lambda v, s: s + v * w)],
)
def test_an_input_that_the_graph_does_not_name_is_unused(build):
    with pytest.raises(UnusedInputError, match="no output or update needs input `u`"):
        scanviz.function([x, w, u], [x, build()])


def test_the_shape_of_a_scalar_is_no_shape():
    assert scanviz.function([w], T.zeros(w.shape) + w)(2.0) == 2.0
    assert scanviz.function([w], w.shape, mode="reference")(2.0).shape == (0,)
