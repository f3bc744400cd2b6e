"""Operators, methods and attributes of variables mean what they mean on NumPy arrays."""

import inspect

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError

A = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
INTEGERS = np.array([[3, 5, 6], [7, 9, 12]])

EXPRESSIONS = {
    "arithmetic": lambda a, i: (a + 1 - a * 2) / (i + 1) + 2 * a - a**2 + 2**i,
    "reflected": lambda a, i: 1 - a + 2 / (i + 1.0) + 7 // i + 17 % i,
    "matrix product": lambda a, i: a @ a.T,
    "bits": lambda a, i: ((i & 6) | 1) ^ 3,
    "shifts": lambda a, i: (i << 2) >> 1,
    "inversion": lambda a, i: ~i,
    "signs": lambda a, i: abs(-a) + (+a),
    "comparisons": lambda a, i: (a < 2) & (a >= -2) | (a > 4) & (a <= 5),
    "sum": lambda a, i: a.sum(axis=0) + a.mean(axis=0) + a.prod(axis=0),
    "extremes": lambda a, i: a.max(axis=1) - a.min(axis=1) + a.argmax(axis=1) + a.argmin(axis=1),
    "spread": lambda a, i: a.std(axis=1) + a.var(axis=1),
    "shape": lambda a, i: a.reshape((3, 2)).T.flatten()[1:4],
    "types": lambda a, i: a.astype("float32"),
    "cumulative": lambda a, i: a.cumsum(axis=1) + a.cumprod(axis=1),
    "clipped": lambda a, i: a.clip(-1, 2).round(),
    "indexed": lambda a, i: a[::-1, 1:][:, np.array([1, 0])],
    "new axes": lambda a, i: a[:, None, ..., None],
    "repeated": lambda a, i: a.repeat(2, axis=1),
    "diagonal": lambda a, i: a.diagonal(),
    "numpy on the left": lambda a, i: A * a + np.float64(2) - a,
    "taken": lambda a, i: a.take(np.array([2, 0]), axis=1),
    "taken flat": lambda a, i: a.take(np.array([5, 0])),
    "squeezed": lambda a, i: a[:1].squeeze(axis=0),
    "swapped": lambda a, i: a.swapaxes(0, 1),
    "sorted": lambda a, i: a.sort(axis=1) if not isinstance(a, np.ndarray) else np.sort(a, axis=1),
    "order": lambda a, i: a.argsort(axis=1),
    "trace": lambda a, i: a.trace(),
    "truth": lambda a, i: (a > 0).any(axis=0) & (i > 0).all(),
    "raveled": lambda a, i: a.ravel() + i.ravel(),
    "transposed": lambda a, i: a.transpose() @ a.transpose((0, 1)),
    "transposed by axes": lambda a, i: a.transpose(1, 0),
    "multiplied": lambda a, i: a.dot(a.T),
    "copied": lambda a, i: a.copy() + (i > 4).copy(),
    "nonzero": lambda a, i: (a > 0).nonzero()[1],
    "all of it": lambda a, i: a.sum() + a.mean() + a.max() - a.min() + a.argmax() + a.size,
    "kept dimensions": lambda a, i: a.sum(axis=-1, keepdims=True) + a.max(axis=(0, 1), keepdims=True),
    "sizes": lambda a, i: a * a.shape[0] + a.shape[1],
    "reflected shifts and bits": lambda a, i: (1 << (i & 3)) + (256 >> (i & 3)) + (6 & i) + (8 | i) + (5 ^ i),
    "reflected power and comparisons": lambda a, i: (2.0**a) * (2 > a) * (5 >= a) * (-7 < a) * (-6 <= a),  # noqa: SIM300
    "division by negative numbers": lambda a, i: (a // -2) + (i % -4) + (-i // 4),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_agree_with_numpy(name):
    a, i = T.matrix("a"), T.lmatrix("i")
    expected = EXPRESSIONS[name](A, INTEGERS)
    result = EXPRESSIONS[name](a, i)
    found = scanviz.function([a, i], result, on_unused_input="ignore")(A, INTEGERS)
    assert found.dtype == expected.dtype == result.dtype
    assert result.ndim == found.ndim
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_attributes_are_known_without_values():
    x = T.row("x")
    assert (x.ndim, x.dtype, x.broadcastable) == (2, "float64", (True, False))
    assert x.T.broadcastable == (False, True)
    assert int(x.size.eval({x: [[1.0, 2.0, 3.0]]})) == 3
    assert x.shape.eval({x: [[1.0, 2.0]]}).tolist() == [1, 2]


def test_equality_is_identity_and_eq_is_elementwise():
    x, y = T.vector("x"), T.vector("y")
    assert x == x and x != y and len({x, y}) == 2
    assert T.eq(x, y).eval({x: [1.0, 2.0], y: [1.0, 3.0]}).tolist() == [True, False]


MISTAKES = {
    "truth": (lambda x: bool(x > 0), "T.switch"),
    "length": (lambda x: len(x), "x.shape"),
    "iteration": (lambda x: list(x), "scan"),
    "range": (lambda x: range(x[0]), "n_steps"),
    "float": (lambda x: float(x[0]), "eval"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_methods_that_need_a_value_are_errors_with_a_fix(name):
    mistake, part = MISTAKES[name]
    with pytest.raises(ScanvizTypeError, match=part):
        mistake(T.vector("x"))


def test_variables_are_immutable_but_for_their_name():
    x = T.vector("x")
    x.name = "y"
    with pytest.raises(AttributeError, match="immutable"):
        x.type = None
    with pytest.raises(AttributeError, match="no attribute"):
        _ = x.nonsense


def test_complex_numbers_are_refused_clearly():
    for make in (lambda: T.tensor("complex128", ()), lambda: T.constant(1j), lambda: scanviz.shared(1j)):
        with pytest.raises(scanviz.ScanvizError, match=r"complex|two real variables"):
            make()


def test_methods_are_documented_and_have_signatures():
    x = T.vector("x")
    assert (
        x.sum.__doc__ == T.sum.__doc__ and x.eval.__name__ and "axis" in inspect.signature(x.sum).parameters
    )


def test_eval_accepts_values_of_inputs_and_names_a_missing_one():
    x, y = T.vector("x"), T.vector("y")
    assert (x + y).eval({x: [1.0], y: [2.0]}).tolist() == [3.0]
    assert T.constant(2).eval() == 2
    with pytest.raises(scanviz.ScanvizError, match="`y`"):
        (x + y).eval({x: [1.0]})


@pytest.mark.parametrize("given", [{"x": 1.0}, [1.0, 2.0], 3.0])
def test_eval_takes_values_of_variables(given):
    with pytest.raises(scanviz.ScanvizError, match="eval"):
        T.vector("x").eval(given)
