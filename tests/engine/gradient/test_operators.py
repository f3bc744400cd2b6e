"""``Lop``, ``Rop``, Jacobians and Hessians, against each other and against finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError, ScanvizError, UndefinedGradientError

x, m = T.vector("x"), T.matrix("m")


def network(x, m):
    return T.tanh(T.dot(m, x)) * T.sum(x**2)


@given(rows=st.integers(0, 3), columns=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_a_jacobian_times_a_vector_from_either_side(rows, columns, seed):
    rng = np.random.default_rng(seed)
    at = [rng.normal(size=columns), rng.normal(size=(rows, columns))]
    v, w, u = rng.normal(size=columns), rng.normal(size=(rows, columns)), rng.normal(size=rows)
    y = network(x, m)
    pushed = scanviz.Rop(y, [x, m], [v, w])
    doubled = scanviz.Rop(y, [x, m], [v, w], use_double_reverse=True)
    left, right = scanviz.Lop(y, [x, m], u)
    f = scanviz.function([x, m], [y, pushed, doubled, left, right])
    _, forward, twice, to_x, to_m = f(*at)
    step = 1e-6
    above, below = f(at[0] + step * v, at[1] + step * w)[0], f(at[0] - step * v, at[1] - step * w)[0]
    np.testing.assert_allclose(forward, (above - below) / (2 * step), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(twice, forward, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(u @ forward, np.sum(to_x * v) + np.sum(to_m * w), rtol=1e-9, atol=1e-10)


@given(rows=st.integers(0, 3), columns=st.integers(0, 3), seed=st.integers(0, 2**32 - 1))
def test_rows_of_a_jacobian_are_gradients(rows, columns, seed):
    rng = np.random.default_rng(seed)
    at = [rng.normal(size=columns), rng.normal(size=(rows, columns))]
    y = network(x, m)
    to_x, to_m = scanviz.function([x, m], scanviz.jacobian(y, [x, m]))(*at)
    assert to_x.shape == (rows, columns) and to_m.shape == (rows, rows, columns)
    for k in range(rows):
        one, other = scanviz.function([x, m], scanviz.grad(y[k], [x, m]))(*at)
        np.testing.assert_allclose(to_x[k], one)
        np.testing.assert_allclose(to_m[k], other)


def test_a_jacobian_of_any_shape():
    y = T.sin(m) * T.sum(m)
    found = scanviz.function([m], scanviz.jacobian(y, m))(np.ones((2, 3)))
    assert found.shape == (2, 3, 2, 3)
    expected = np.full((6, 6), np.sin(1)) + 6 * np.cos(1) * np.eye(6)
    np.testing.assert_allclose(found.reshape(6, 6), expected)
    scalar = scanviz.jacobian(T.sum(m**2), m)
    assert scalar.eval({m: [[3.0]]}).tolist() == [[6.0]]


def test_a_jacobian_runs_the_forward_pass_once():
    y = T.exp(T.sin(x))
    f = scanviz.function([x], scanviz.jacobian(y, x))
    (loop,) = [each for each in f.program.instructions if each.op.name == "scan"]
    assert loop.name.startswith("jacobian_of_")
    assert not {"exp", "sin", "cos"} & {each.op.name for each in loop.body.instructions}
    np.testing.assert_allclose(f([0.0, 1.0]), np.diag(np.exp(np.sin([0.0, 1.0])) * np.cos([0.0, 1.0])))


def test_jacobians_keep_float32():
    z = T.fvector("z")
    found = scanviz.jacobian(T.tanh(z), z)
    assert found.dtype == "float32" and found.eval({z: np.zeros(1, "float32")}).tolist() == [[1.0]]


def test_a_hessian_is_symmetric_and_its_product_needs_no_matrix():
    cost = T.sum(T.exp(x[:-1] * x[1:]))
    at, p = np.array([0.3, -0.2, 0.5]), np.array([1.0, -2.0, 0.5])
    whole, product = scanviz.function(
        [x], [scanviz.hessian(cost, x), scanviz.hessian_vector_product(cost, x, p)]
    )(at)
    np.testing.assert_allclose(whole, whole.T)
    np.testing.assert_allclose(product, whole @ p)


def test_blocks_of_a_hessian():
    first, second = scanviz.hessian(T.sum(x**2) + T.sum(m**3), [x, m])
    a, b = scanviz.function([x, m], [first, second])([1.0], [[2.0, 3.0]])
    assert a.tolist() == [[2.0]] and b.shape == (1, 2, 1, 2)
    np.testing.assert_allclose(b.reshape(2, 2), [[12.0, 0.0], [0.0, 18.0]])


def test_what_is_not_connected_is_told():
    with pytest.raises(DisconnectedInputError, match="`m` is not connected"):
        scanviz.jacobian(T.tanh(x), m)
    with pytest.raises(DisconnectedInputError, match="`m` is not connected"):
        scanviz.Lop(T.tanh(x), m, [1.0])
    with pytest.raises(DisconnectedInputError, match="is not connected to `m`"):
        scanviz.Rop(T.tanh(x), m, [[1.0]])
    zeros = scanviz.jacobian(T.tanh(x), m, disconnected_inputs="ignore")
    assert scanviz.function([x, m], zeros, on_unused_input="ignore")([1.0], [[1.0, 2.0]]).shape == (1, 1, 2)
    assert (
        scanviz.Rop(T.tanh(x), m, [[1.0]], disconnected_outputs="ignore", return_disconnected="none") is None
    )
    ignored = scanviz.Lop(T.tanh(x), m, [1.0], disconnected_inputs="ignore")
    assert ignored.eval({m: [[5.0]]}).tolist() == [[0.0]]


def test_vectors_must_fit():
    with pytest.raises(ScanvizError, match="one vector a variable"):
        scanviz.Rop(T.tanh(x), [x], [])
    with pytest.raises(ScanvizError, match="another number of dimensions"):
        scanviz.Rop(T.tanh(x), x, 1.0)
    with pytest.raises(ScanvizError, match="has no derivative"):
        scanviz.jacobian(T.lvector("k"), x)


def test_none_stands_for_a_vector_of_zeros():
    found = scanviz.Rop(network(x, m), [x, m], [None, np.ones((1, 2))])
    zero = scanviz.Rop(network(x, m), [x, m], [np.zeros(2), np.ones((1, 2))])
    f = scanviz.function([x, m], [found, zero])
    np.testing.assert_allclose(*f([0.1, 0.2], [[0.3, 0.4]]))


def test_forward_mode_tells_what_has_no_derivative():
    p = T.scalar("p")
    values = T.random.RandomStreams(1).gamma(p, size=(2,))
    with pytest.raises(UndefinedGradientError, match="rejection"):
        scanviz.Rop(values, p, 1.0)


def test_old_scripts_find_them_in_tensor():
    for name in ("grad", "Lop", "Rop", "jacobian", "hessian"):
        assert getattr(T, name) is getattr(scanviz, name)
