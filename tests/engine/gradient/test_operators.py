"""``Lop`` and ``Rop``, against each other and against finite differences, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import jvp, vjp
from scanviz import tensor as T
from scanviz.engine.errors import (
    DisconnectedInputError,
    ScanvizError,
    ScanvizTypeError,
    ScanvizValueError,
    ShapeError,
    UndefinedGradientError,
)

x, m = T.vector("x"), T.matrix("m")


def network(x, m):
    return T.tanh(T.dot(m, x)) * T.sum(x**2)


@given(rows=st.integers(0, 3), columns=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_rop_and_lop_agree_with_jacobian_products(rows, columns, seed):
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


def test_a_missing_connection_is_reported():
    with pytest.raises(DisconnectedInputError, match="`m` is not connected"):
        scanviz.Lop(T.tanh(x), m, [1.0])
    with pytest.raises(DisconnectedInputError, match="is not connected to `m`"):
        scanviz.Rop(T.tanh(x), m, [[1.0]])
    with pytest.raises(DisconnectedInputError, match="`x` is not connected to what Lop is taken of"):
        scanviz.Lop(T.constant([1.0]), x, [1.0])
    assert (
        scanviz.Rop(T.tanh(x), m, [[1.0]], disconnected_outputs="ignore", return_disconnected="none") is None
    )
    ignored = scanviz.Lop(T.tanh(x), m, [1.0], disconnected_inputs="ignore")
    assert ignored.eval({m: [[5.0]]}).tolist() == [[0.0]]


def test_vectors_must_fit():
    with pytest.raises(ScanvizError, match="one vector per variable"):
        scanviz.Rop(T.tanh(x), [x], [])
    with pytest.raises(ScanvizError, match="the wrong number of dimensions"):
        scanviz.Rop(T.tanh(x), x, 1.0)
    u = T.tensor("float64", (3,), "u")
    for operator in (scanviz.Rop, scanviz.Lop):
        for size in (1, 4):  # a vector is not stretched
            with pytest.raises(ScanvizError, match="the vector for `.*u.*` has the wrong shape") as caught:
                operator(T.exp(u), u, np.ones(size))
            assert "float64[3]" in str(caught.value) and f"float64[{size}]" in str(caught.value)


def test_vectors_are_found_by_key_where_variables_have_keys():
    b = T.vector("b")
    at = {x: [1.0, 2.0], b: [3.0, 4.0]}
    pushed = scanviz.Rop(x * b, {"x": x, "b": b}, {"b": [0.0, 1.0], "x": [1.0, 0.0]})
    assert pushed.eval(at).tolist() == [3.0, 2.0]
    to_x, to_b = scanviz.Lop({"p": 2 * x, "q": 3 * b}, [x, b], {"q": [1.0, 1.0], "p": [10.0, 10.0]})
    assert to_x.eval(at).tolist() == [20.0, 20.0] and to_b.eval(at).tolist() == [3.0, 3.0]
    with pytest.raises(ScanvizError, match="one vector per variable, under its key") as caught:
        scanviz.Rop(x * b, {"x": x, "b": b}, {"x": x, "c": b})
    assert "'x', 'b'" in str(caught.value) and "'x', 'c'" in str(caught.value)


@given(seed=st.integers(0, 2**32 - 1), double=st.booleans())
def test_directions_of_a_variable_that_is_given_twice_are_added(seed, double):
    rng = np.random.default_rng(seed)
    at, v, w, u = rng.normal(size=(4, 3))
    y = T.sin(x) * T.sum(x)
    pushed = scanviz.Rop(y, [x, x], [v, w], use_double_reverse=double)
    forward, left, right = scanviz.function([x], [pushed, *scanviz.Lop(y, [x, x], u)])(at)
    np.testing.assert_allclose(u @ forward, left @ v + right @ w, rtol=1e-9, atol=1e-10)
    pulled = scanviz.Lop([y, y], x, [v, w]).eval({x: at})
    np.testing.assert_allclose(pulled, scanviz.Lop(y, x, v + w).eval({x: at}), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("double", [True, False])
def test_operators_keep_the_dtype(dtype, double):
    z = T.tensor(dtype, (None,), "z")
    y = T.tanh(z) * T.sum(z)
    found = scanviz.Rop(y, z, [1.0, 0.0], use_double_reverse=double)
    at = np.array([0.25, -0.5], dtype)
    assert found.dtype == dtype and scanviz.Lop(y, z, [1.0, 0.0]).dtype == dtype
    slope = (1 - np.tanh(0.25) ** 2) * -0.25
    expected = [slope + np.tanh(0.25), np.tanh(-0.5)]
    np.testing.assert_allclose(found.eval({z: at}), expected, rtol=1e-2 if dtype == "float16" else 1e-5)


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(ScanvizError, match="disconnected_inputs cannot be used"):
        scanviz.Lop(T.tanh(x), x, [1.0], disconnected_inputs="shout")
    with pytest.raises(ScanvizError, match="disconnected_outputs cannot be used"):
        scanviz.Rop(T.tanh(x), x, [1.0], disconnected_outputs="shout")
    with pytest.raises(ScanvizError, match="return_disconnected cannot be used"):
        scanviz.Rop(T.tanh(x), x, [1.0], return_disconnected="shout")


def test_rop_names_the_variables_disconnected_from_an_output():
    b = T.vector("b")
    outputs = [x * 2, T.cast(b.shape[0], "float64"), T.constant([1.0])]
    with pytest.raises(
        DisconnectedInputError, match=r"is not connected to `x` or `b`: for `b`, on the way"
    ) as caught:
        scanviz.Rop(outputs[1], [x, b], [x, b])
    assert 'disconnected_outputs="ignore" for zeros, or leave it out of f' in str(caught.value)
    with pytest.raises(DisconnectedInputError, match=r"`\[1\.\]` is not computed from any of them"):
        scanviz.Rop(outputs[2], [x, b], [x, b])
    first, *rest = scanviz.Rop(
        outputs, [x, b], [x, b], disconnected_outputs="ignore", return_disconnected="disconnected"
    )
    assert first.eval({x: [3.0]}).tolist() == [6.0]
    assert [bool(each) for each in rest] == [False, False] and "is a size" in rest[0].why
    with pytest.warns(UserWarning, match="is not connected to `x`"):
        zeros = scanviz.Rop(outputs[2], x, x, disconnected_outputs="warn")
    assert zeros.eval().tolist() == [0.0]


def test_none_means_a_vector_of_zeros():
    found = scanviz.Rop(network(x, m), [x, m], [None, np.ones((1, 2))])
    zero = scanviz.Rop(network(x, m), [x, m], [np.zeros(2), np.ones((1, 2))])
    f = scanviz.function([x, m], [found, zero])
    np.testing.assert_allclose(*f([0.1, 0.2], [[0.3, 0.4]]))


def test_forward_mode_names_operations_without_a_derivative():
    p = T.scalar("p")
    values = T.random.RandomStreams(1).gamma(p, size=(2,))
    with pytest.raises(UndefinedGradientError, match="rejection"):
        scanviz.Rop(values, p, 1.0)
    scaled = values * x[0]  # which has a derivative with respect to x: p is the one to name
    with pytest.raises(UndefinedGradientError, match="no derivative with respect to `p`") as caught:
        scanviz.Rop(scaled, [x, p], [x, 1.0])
    assert "null_gradients" not in str(caught.value)  # which Rop does not take


def test_derivative_functions_are_found_in_tensor_too():
    for name in ("grad", "Lop", "Rop", "jacobian", "hessian"):
        assert getattr(T, name) is getattr(scanviz, name)


def rnn(x, w):
    h, _ = scanviz.scan(lambda x_t, h: T.tanh(h @ w + x_t), x, T.zeros((3,)), name="rnn")
    return h


X, W = np.linspace(-1, 1, 12).reshape(4, 3), np.eye(3) * 0.5


def test_a_graph_a_function_and_arrays_give_the_same():
    x, w = T.matrix("x"), T.matrix("w")
    tangents = [np.ones((4, 3)), None]
    of_graph = jvp(rnn(x, w), [x, w], tangents)
    of_function = jvp(rnn, [x, w], tangents)
    at_point = jvp(rnn, [X, W], tangents)
    expected = scanviz.Rop(rnn(x, w), [x, w], tangents).eval({x: X, w: W})
    for values, slopes in (of_graph, of_function):
        found = scanviz.function([x, w], [values, slopes])(X, W)
        np.testing.assert_allclose(found[1], expected)
        np.testing.assert_allclose(found[0], rnn(x, w).eval({x: X, w: W}))
    np.testing.assert_allclose(at_point[1].eval(), expected)


def test_a_pullback_has_the_structure_of_the_function():
    x, w = T.matrix("x"), T.matrix("w")
    value, pullback = vjp(lambda x, w: {"last": rnn(x, w)[-1], "all": rnn(x, w)}, {"x": x, "w": w})
    slopes = pullback({"last": np.ones(3), "all": None})
    assert set(value) == {"last", "all"} and set(slopes) == {"x", "w"}
    expected = scanviz.grad(rnn(x, w)[-1].sum(), w).eval({x: X, w: W})
    np.testing.assert_allclose(slopes["w"].eval({x: X, w: W}), expected)


def test_disconnected_results_of_jvp_and_vjp_are_an_error_or_zeros():
    x, y = T.vector("x"), T.vector("y")
    with pytest.raises(DisconnectedInputError):
        jvp(lambda x: y * 2, x, np.ones(2))
    with pytest.raises(DisconnectedInputError):
        vjp(lambda x: y * 2, x)[1](np.ones(2))
    _, tangent = jvp(lambda x: y * 2, x, np.ones(2), disconnected_outputs="ignore")
    assert tangent.eval({y: [1.0, 2.0]}).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("wrong", "kind", "text"),
    [
        (lambda x: jvp(lambda a: a, x, [[1.0]]), ScanvizTypeError, "number of dimensions"),
        (lambda x: jvp(lambda a: None, x, [1.0]), ScanvizTypeError, "returned nothing"),
        (lambda x: jvp(lambda a, b: a, [x, x], [1.0]), ScanvizValueError, "one vector per variable"),
        (lambda x: vjp(lambda a: a * 1.0, np.ones(2))[1](np.ones(3)), ShapeError, "the wrong shape"),
        (lambda x: vjp(lambda a: a, x, disconnected_inputs="never"), ScanvizValueError, "never"),
        (lambda x: jvp(3.0, x, [1.0]), ScanvizTypeError, "no symbolic array"),
    ],
)
def test_wrong_use_is_refused(wrong, kind, text):
    with pytest.raises(kind) as caught:
        wrong(T.vector("x"))
    assert text in str(caught.value)
