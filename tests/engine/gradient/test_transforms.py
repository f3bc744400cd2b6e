"""jvp and vjp: of graphs and functions, structures, what is not connected, and wrong use."""

import numpy as np
import pytest

import scanviz
from scanviz import jvp, vjp, vmap
from scanviz import tensor as T
from scanviz.engine.errors import DisconnectedInputError, ScanvizTypeError, ScanvizValueError, ShapeError


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


def test_a_pullback_takes_and_gives_what_the_function_does():
    x, w = T.matrix("x"), T.matrix("w")
    value, pullback = vjp(lambda x, w: {"last": rnn(x, w)[-1], "all": rnn(x, w)}, {"x": x, "w": w})
    slopes = pullback({"last": np.ones(3), "all": None})
    assert set(value) == {"last", "all"} and set(slopes) == {"x", "w"}
    expected = scanviz.grad(rnn(x, w)[-1].sum(), w).eval({x: X, w: W})
    np.testing.assert_allclose(slopes["w"].eval({x: X, w: W}), expected)


def test_forward_over_reverse_is_a_product_with_the_hessian():
    x = T.vector("x")

    def slope(x):
        return vjp(lambda x: (x**3).sum(), x)[1](1.0)

    assert jvp(slope, x, [1.0, 10.0])[1].eval({x: [1.0, 2.0]}).tolist() == [6.0, 120.0]


def test_rows_of_a_jacobian_are_pullbacks_of_unit_vectors():
    x = T.vector("x")
    _, pullback = vjp(lambda x: x[:2] * x[1:], x)
    table = vmap(pullback)(np.eye(2))
    expected = scanviz.jacobian(x[:2] * x[1:], x)
    point = [1.0, 2.0, 3.0]
    assert table.eval({x: point}).tolist() == expected.eval({x: point}).tolist()


def test_what_is_not_connected_is_an_error_or_zeros():
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
        (lambda x: jvp(lambda a, b: a, [x, x], [1.0]), ScanvizValueError, "one vector a variable"),
        (lambda x: vjp(lambda a: a * 1.0, np.ones(2))[1](np.ones(3)), ShapeError, "another shape"),
        (lambda x: vjp(lambda a: a, x, disconnected_inputs="never"), ScanvizValueError, "never"),
        (lambda x: jvp(3.0, x, [1.0]), ScanvizTypeError, "no symbolic array"),
    ],
)
def test_wrong_use_is_refused(wrong, kind, text):
    with pytest.raises(kind) as caught:
        wrong(T.vector("x"))
    assert text in str(caught.value)
