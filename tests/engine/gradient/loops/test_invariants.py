"""Expressions of non-sequences alone are differentiated once, outside of the loop."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan

VALUES = {"x": np.linspace(-1, 1, 12).reshape(4, 3), "w": np.linspace(0.2, 1, 9).reshape(3, 3)}


def positive(x, h, w):
    """Return a step's result by weights that it makes positive first."""
    return T.tanh(T.dot(h, T.softplus(w)) + x)


def both_ways(x, h, w):
    """Return what depends on the weights as they are, too."""
    return positive(x, h, w) + T.dot(h, w.T)


def twice(x, h, w):
    """Return what depends on a value of the weights and on a value of that."""
    inner = T.exp(w)
    return T.sin(T.dot(h, inner) + T.sum(T.sqrt(inner)) + x)


def given_out(x, h, w):
    """Return the invariant value as a result of its own."""
    return positive(x, h, w), T.sum(T.log(w) * 2)


def by_scan(step, **options):
    x, w = T.matrix("x"), T.matrix("w")
    several = step is given_out
    results, _ = scanviz.scan(step, x, [T.ones_like(x[0]), *([None] * several)], w, name="loop", **options)
    return x, w, results if several else [results]


def unrolled(step, x, w, steps, first=0):
    h, rows = T.ones_like(x[0]), []
    for t in range(steps):
        found = step(x[t], h, w if t >= first else T.disconnected_grad(w))
        found = found if isinstance(found, tuple) else (found,)
        h = found[0]
        rows.append(found)
    return [T.stack(column) for column in zip(*rows, strict=True)]


def cost(results):
    return sum(T.sum(T.sin(result)) for result in results)


def backward_loop(gradient):
    loops = [node.op for node in toposort([gradient]) if isinstance(node.op, Scan)]
    return next(op for op in loops if op.scan_name == "grad_of_loop")


@pytest.mark.parametrize("mode", ["reference", "numpy"])
@pytest.mark.parametrize("step", [positive, both_ways, twice, given_out])
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_are_those_of_the_loop_unrolled(step, order, mode):
    x, w, results = by_scan(step)
    costs = [cost(results), cost(unrolled(step, x, w, 4))]
    for _ in range(order):
        costs = [T.sum(scanviz.grad(each, w) * T.cos(w)) for each in costs]
    mine, expected = scanviz.function([x, w], costs, mode=mode)(*VALUES.values())
    np.testing.assert_allclose(mine, expected, rtol=1e-9)


def test_a_truncated_gradient_adds_up_the_last_steps_alone():
    x, w, results = by_scan(positive, truncate_gradient=2)
    rows = unrolled(positive, x, w, 4)[0]
    gradients = [scanviz.grad(T.sum(each[-1]), w) for each in (results[0], rows)]
    truncated, whole = scanviz.function([x, w], gradients)(*VALUES.values())
    h = scanviz.function([x, w], rows)(*VALUES.values())[1]
    start, last = T.vector("start"), T.matrix("last")
    state = start
    for t in range(2):
        state = positive(last[t], state, w)
    expected = scanviz.function([start, last, w], scanviz.grad(T.sum(state), w))(
        h, VALUES["x"][2:], VALUES["w"]
    )
    np.testing.assert_allclose(truncated, expected)
    assert not np.allclose(truncated, whole)


def test_gradients_without_steps_are_zeros():
    x, w, results = by_scan(both_ways, n_steps=0)
    gradient = scanviz.function([x, w], scanviz.grad(cost(results), w))(*VALUES.values())
    assert gradient.shape == (3, 3) and not gradient.any()


def test_the_backward_step_adds_up_and_the_rest_is_done_once():
    _, w, results = by_scan(positive)
    gradient = scanviz.grad(cost(results), w)
    op = backward_loop(gradient)
    names = {node.op.name for node in toposort(op.inner_outputs)}
    assert not names & {"softplus", "sigmoid", "exp"}, names
    assert "sigmoid" in {node.op.name for node in toposort([gradient])}
    assert "∂softplus(w)" in {variable.name for variable in op.variables}


def test_an_index_into_a_non_sequence_stays_in_the_step():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda x, h, w: T.tanh(T.dot(h, w.T) + x), x, T.ones_like(x[0]), w, name="loop")
    assert "∂w" in {variable.name for variable in backward_loop(scanviz.grad(T.sum(h), w)).variables}


def test_a_branch_that_may_not_be_taken_stays_in_the_step():
    x, w = T.vector("x"), T.vector("w")

    def step(x, h, w):
        return T.ifelse(x > 0, h * T.sum(T.log(w)), h)

    h, _ = scanviz.scan(step, x, T.constant(1.0), w, name="loop")
    f = scanviz.function([x, w], scanviz.grad(h[-1], w))
    assert not f([-1.0, -1.0], [-1.0, 0.0]).any()


def test_a_value_without_a_derivative_is_refused_by_name():
    x, w = T.vector("x"), T.vector("w")
    h, _ = scanviz.scan(lambda x, h, w: h * x + T.gammainc(w, 1.0).sum(), x, T.constant(1.0), w, name="loop")
    with pytest.raises(scanviz.ScanvizError, match="gammainc"):
        scanviz.grad(h[-1], w)
