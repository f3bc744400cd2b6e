"""Jacobians and Hessians of any rank, size and dtype: their rows, their symmetry, and what their loop leaves outside."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError, ScanvizError, UndefinedGradientError

x, m = T.vector("x"), T.matrix("m")
seeds = st.integers(0, 2**32 - 1)
TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 3e-2}


def network(x, m):
    return T.tanh(T.dot(m, x)) * T.sum(x**2)


@functools.cache
def outer(ranks, dtype):
    """Return a function of b and a, and the Jacobians of ``sin(b) * sum(tanh(a)²)`` with respect to both."""
    b, a = (T.tensor(dtype, (None,) * rank, name) for rank, name in zip(ranks, "ba", strict=True))
    return scanviz.function([b, a], scanviz.jacobian(T.sin(b) * T.sum(T.tanh(a) ** 2), (b, a)))


@given(
    b=st.lists(st.integers(0, 3), min_size=1, max_size=3),
    a=st.lists(st.integers(0, 2), max_size=3),
    dtype=st.sampled_from(list(TOLERANCE)),
    seed=seeds,
)
def test_a_jacobian_has_the_shapes_of_its_expression_and_variable(b, a, dtype, seed):
    rng = np.random.default_rng(seed)
    at = [rng.normal(size=b).astype(dtype), rng.normal(size=a).astype(dtype)]
    to_b, to_a = outer((len(b), len(a)), dtype)(*at)
    assert (to_b.shape, to_a.shape) == ((*b, *b), (*b, *a)) and to_b.dtype == to_a.dtype == dtype
    one, other = (each.astype("float64") for each in at)
    wanted = np.sum(np.tanh(other) ** 2) * np.diag(np.cos(one).ravel()).reshape(to_b.shape)
    np.testing.assert_allclose(to_b, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    wanted = np.multiply.outer(np.sin(one), 2 * np.tanh(other) * (1 - np.tanh(other) ** 2))
    np.testing.assert_allclose(to_a, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


def test_a_jacobian_runs_the_forward_pass_once():
    y = T.exp(T.sin(x))
    f = scanviz.function([x], scanviz.jacobian(y, x), mode=Mode("auto").excluding("PushOutSeqScan"))
    (loop,) = [instruction for instruction in f.program.instructions if instruction.op.name == "scan"]
    assert loop.name.startswith("jacobian_of_")
    assert not {"exp", "sin", "cos"} & {instruction.op.name for instruction in loop.body.instructions}
    np.testing.assert_allclose(f([0.0, 1.0]), np.diag(np.exp(np.sin([0.0, 1.0])) * np.cos([0.0, 1.0])))


def test_a_jacobian_of_elementwise_work_needs_no_loop():
    f = scanviz.function([x], scanviz.jacobian(T.exp(T.sin(x)), x))
    assert "scan" not in {instruction.op.name for instruction in f.program.instructions}
    np.testing.assert_allclose(f([0.0, 1.0]), np.diag(np.exp(np.sin([0.0, 1.0])) * np.cos([0.0, 1.0])))


def test_a_jacobian_is_differentiated_like_any_graph():
    twice = scanviz.jacobian(scanviz.jacobian(x**3, x), x)
    for size in (0, 1, 3):
        at = np.arange(1.0, size + 1)
        expected = np.zeros((size, size, size))
        expected[(np.arange(size),) * 3] = 6 * at
        np.testing.assert_allclose(twice.eval({x: at}), expected)
    cost = T.sum(scanviz.jacobian(x**3, x) ** 2)  # 9 x⁴ summed
    np.testing.assert_allclose(scanviz.grad(cost, x).eval({x: [1.0, 2.0]}), [36.0, 288.0])


def test_a_jacobian_is_built_in_the_step_of_a_loop():
    h = T.tanh(x)  # from outside of the step
    found, _ = scanviz.scan(lambda k: scanviz.jacobian(h * k, x), sequences=T.arange(3.0), name="outer")
    at = np.array([0.2, -0.4])
    expected = np.arange(3)[:, None, None] * np.diag(1 - np.tanh(at) ** 2)
    np.testing.assert_allclose(scanviz.function([x], found)(at), expected)


def test_the_result_is_like_wrt():
    y = network(x, m)
    assert list(scanviz.jacobian(y, {"to x": x, "to m": m})) == ["to x", "to m"]
    assert type(scanviz.hessian(T.sum(y), (x, m))) is tuple
    products = scanviz.hessian_vector_product(T.sum(y), {"x": x, "m": m}, {"m": T.ones_like(m), "x": x})
    assert list(products) == ["x", "m"] and [product.ndim for product in products.values()] == [1, 2]


@functools.cache
def hessians():
    p, q = T.vector("p"), T.matrix("q")
    cost = T.sum(network(x, m)) + T.sum(T.exp(x[:-1] * x[1:]))
    rows = {"g": scanviz.grad(cost, [x, m]), "h": scanviz.hessian(cost, [x, m])}
    mixed = scanviz.jacobian(scanviz.grad(cost, x), m)
    products = scanviz.hessian_vector_product(cost, [x, m], [p, q])
    twice = scanviz.hessian_vector_product(cost, [x, m], [p, q], use_double_reverse=True)
    return scanviz.function([x, m, p, q], [*rows["g"], *rows["h"], mixed, *products, *twice])


@given(rows=st.integers(0, 3), columns=st.integers(1, 3), seed=seeds)
def test_hessians_are_symmetric_and_their_products_need_no_matrix(rows, columns, seed):
    rng = np.random.default_rng(seed)
    p, q = rng.normal(size=columns), rng.normal(size=(rows, columns))
    at = [rng.normal(size=columns), rng.normal(size=(rows, columns)) / 2]
    _, _, of_x, of_m, mixed, to_x, to_m, again_x, again_m = hessians()(*at, p, q)
    assert of_x.shape == (columns, columns) and of_m.shape == (rows, columns) * 2
    square = of_m.reshape(rows * columns, rows * columns)
    np.testing.assert_allclose(of_x, of_x.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(square, square.T, rtol=1e-9, atol=1e-9)
    across = mixed.reshape(columns, rows * columns)
    np.testing.assert_allclose(to_x, of_x @ p + across @ q.ravel(), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(to_m.ravel(), across.T @ p + square @ q.ravel(), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(again_x, to_x, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(again_m, to_m, rtol=1e-9, atol=1e-9)
    step = 1e-5
    above = hessians()(at[0] + step * p, at[1] + step * q, p, q)
    below = hessians()(at[0] - step * p, at[1] - step * q, p, q)
    for k, found in enumerate((to_x, to_m)):
        np.testing.assert_allclose(found, (above[k] - below[k]) / (2 * step), rtol=1e-4, atol=1e-4)


def test_a_zero_derivative_is_connected():
    assert scanviz.jacobian(T.floor(x), x).eval({x: [1.5, 2.5]}).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    one, other = scanviz.jacobian(x * T.floor(T.sum(m)), [x, m])
    f = scanviz.function([x, m], [one, other])
    assert [each.tolist() for each in f([1.0], [[2.5, 3.0]])] == [[[5.0]], [[[0.0, 0.0]]]]


def test_a_missing_connection_is_reported():
    with pytest.raises(DisconnectedInputError, match=r"`m` is not connected to `tanh\(x\)`: nothing that is"):
        scanviz.jacobian(T.tanh(x), m)
    with pytest.warns(UserWarning, match="`m` is not connected"):
        zeros = scanviz.jacobian(T.tanh(x), m, disconnected_inputs="warn")
    assert scanviz.function([x, m], zeros)([1.0], [[1.0, 2.0]]).tolist() == [[[0.0, 0.0]]]
    k = T.lvector("k")
    whole = scanviz.jacobian(T.tanh(x), k, disconnected_inputs="ignore")
    assert whole.dtype == "float64" and whole.eval({x: [1.0], k: [3, 4]}).tolist() == [[0.0, 0.0]]


def test_the_hessian_of_a_linear_cost_is_an_error_or_zeros_on_request():
    cost = T.sum(2 * x)
    with pytest.raises(DisconnectedInputError, match=r"`x` is not connected to `∂x`"):
        scanviz.hessian(cost, x)
    assert (
        scanviz.hessian(cost, x, disconnected_inputs="ignore").eval({x: [1.0, 2.0]}).tolist()
        == [[0.0] * 2] * 2
    )
    with pytest.raises(DisconnectedInputError, match='disconnected_outputs="ignore"'):
        scanviz.hessian_vector_product(cost, x, x)
    product = scanviz.hessian_vector_product(cost, x, x, disconnected_outputs="ignore")
    assert product.eval({x: [1.0, 2.0]}).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("alone", [True, False])
def test_constants_are_given_alone_or_in_a_list(alone):
    h = T.tanh(x)
    found = scanviz.jacobian(h * x, x, consider_constant=h if alone else [h])
    np.testing.assert_allclose(found.eval({x: [0.5]}), [[np.tanh(0.5)]])
    second = scanviz.hessian(T.sum(h * x**2), x, consider_constant=h if alone else [h])
    np.testing.assert_allclose(second.eval({x: [0.5]}), [[2 * np.tanh(0.5)]])
    with pytest.raises(DisconnectedInputError, match="consider_constant names `h`"):
        scanviz.jacobian(h * 2, x, consider_constant=h if alone else [h])


def test_expressions_that_cannot_be_differentiated_are_refused():
    with pytest.raises(ScanvizError, match="`k` has no derivative"):
        scanviz.jacobian(T.lvector("k"), x)
    with pytest.raises(ScanvizError, match="a floating expression"):
        scanviz.jacobian(3.0, x)
    with pytest.raises(ScanvizError, match="disconnected_inputs cannot be used"):
        scanviz.jacobian(T.tanh(x), x, disconnected_inputs="shout")
    p = T.scalar("p")
    values = T.random.RandomStreams(1).gamma(p, size=(2,))
    with pytest.raises(UndefinedGradientError, match="no derivative with respect to `p`") as caught:
        scanviz.jacobian(values, p)
    assert "null_gradients" not in str(caught.value)  # which jacobian does not take
