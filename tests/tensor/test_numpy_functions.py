"""NumPy's operators work with variables; its functions are refused by the name they have here."""

import numpy as np
import pytest

from scanviz import tensor as T
from scanviz.engine.graph.nodes import Variable
from tests.trap_helpers import trapped

x, s, n = T.vector("x"), T.scalar("s"), T.lscalar("n")
row, grid = np.array([1.0, 2.0, 3.0]), np.arange(1.0, 10.0).reshape(3, 3)
given = np.array([4.0, 5.0, 6.0])


@pytest.mark.parametrize(
    "operate",
    [
        lambda a, v: a + v,
        lambda a, v: a - v,
        lambda a, v: a * v,
        lambda a, v: a / v,
        lambda a, v: a // v,
        lambda a, v: a % v,
        lambda a, v: a**v,
        lambda a, v: a @ v,
        lambda a, v: a < v,
        lambda a, v: a >= v,
        lambda a, v: a[0] * v,
        lambda a, v: np.add(a, v),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_operators_of_arrays_and_variables_are_symbolic(operate, swapped):
    def both(a, v):
        return operate(v, a) if swapped else operate(a, v)

    made = both(grid, x)
    assert isinstance(made, Variable)
    np.testing.assert_allclose(made.eval({x: given}), both(grid, given))


@pytest.mark.parametrize(
    "operate",
    [
        lambda v: np.float64(2) - v,
        lambda v: v - np.float32(2),
        lambda v: np.int64(2) ** v,
        lambda v: np.bool_(True) | (v > 1),
        lambda v: np.float64(5) > v,
    ],
)
def test_operators_of_numpys_numbers_and_variables_are_symbolic(operate):
    made = operate(x)
    assert isinstance(made, Variable)
    np.testing.assert_allclose(made.eval({x: given}), operate(given))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: np.tanh(x), "T.tanh instead of np.tanh"),
        (lambda: np.maximum(x, 0), "T.maximum instead of np.maximum"),
        (lambda: np.sum(x), "T.sum instead of np.sum"),
        (lambda: np.mean(x, axis=0), "T.mean instead of np.mean"),
        (lambda: np.dot(grid, x), "T.dot instead of np.dot"),
        (lambda: np.zeros_like(x), "T.zeros_like"),
        (lambda: np.concatenate([x, row]), "T.concatenate"),
        (lambda: np.stack([s, s]), "T.stack"),
        (lambda: np.where(x > 0, x, 0), "T.where"),
        (lambda: np.linalg.norm(x), "T.linalg.norm instead of np.linalg.norm"),
        (lambda: np.add.reduce(x), "T.sum instead of np.add.reduce"),
        (lambda: np.add.accumulate(x), "T.cumsum instead of np.add.accumulate"),
        (lambda: np.shape(x), "x.shape"),
        (lambda: np.array_equal(row, x), "T.all(T.eq(a, b))"),
        (lambda: np.histogram(x), "dir(T)"),
        (lambda: np.asarray(x), "x.eval("),
        (lambda: np.array([s, s]), "T.stack([a, b])"),
        (lambda: row[n], "T.as_tensor(array)[n]"),
        (lambda: row == x, "T.eq(array, x)"),
        (lambda: row != x, "T.neq(array, x)"),
        (lambda: np.add(row, x, out=row.copy()), "a = a + x"),
        (lambda: np.multiply(x, 2, where=row > 1), "T.multiply"),
    ],
)
def test_numpys_functions_name_ours(call, expected):
    assert expected in trapped(call, TypeError).fix


def test_an_array_cannot_hold_a_variable():
    target = row.copy()
    with pytest.raises(ValueError, match="sequence") as caught:  # NumPy's own, which names ours as its cause
        target[0] = s
    assert "T.set_subtensor" in str(caught.value.__cause__) or "has no value" in str(caught.value.__cause__)
    with pytest.raises(TypeError, match="a = a \\+ x"):
        target += x
    np.testing.assert_array_equal(target, row)
