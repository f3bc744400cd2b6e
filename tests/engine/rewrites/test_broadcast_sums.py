"""Sums that leave a loop where the term has fewer dimensions than the state, or size 1 along some, or does not fit it."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.errors import ShapeError

MODES = [Mode(tier, rewrites) for tier in ("numpy", "reference") for rewrites in ("all", "none")]
c, m, n = T.vector("c"), T.matrix("m"), T.lscalar("n")
VALUES = {c: np.array([1.0, 2.0]), m: np.arange(6.0).reshape(2, 3), n: 3}


def run(wanted, mode, values=VALUES):
    f = scanviz.function(list(values), wanted, mode=mode, on_unused_input="ignore")
    return f(*values.values())


def summed(step, sequence, start):
    rows, _ = scanviz.scan(step, sequence, start)
    return rows[-1]


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (lambda: summed(lambda t, s: s + t[None], c, T.zeros(n)), [3.0, 3, 3]),
        (lambda: summed(lambda t, s: s + t, c, T.zeros(n)), [3.0, 3, 3]),
        (lambda: summed(lambda t, s: t + s, c, T.ones((2, n))), [[4.0] * 3] * 2),
        (lambda: summed(lambda t, s: s + T.sum(t), m, T.zeros(n)), [15.0] * 3),
        (lambda: summed(lambda t, s: s + t[:, None], m, T.zeros((3, n))), [[3.0] * 3, [5.0] * 3, [7.0] * 3]),
        (lambda: summed(lambda t, s: s + t[:1], m, T.zeros(n)), [3.0] * 3),
    ],
)
def test_a_sum_over_the_steps_has_the_shape_of_its_state(wanted, expected, mode):
    np.testing.assert_array_equal(run(wanted(), mode), expected)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_gradient_of_a_value_broadcast_in_each_step_has_its_shape(mode):
    x = T.tensor("float64", (3,), "x")
    rows, _ = scanviz.scan(lambda: T.sum(x), n_steps=n)
    gradient = scanviz.grad(T.sum(rows), x)
    found = run([gradient, T.sum(gradient)], mode, {x: np.ones(3), n: 2})
    np.testing.assert_array_equal(found[0], [2.0, 2, 2])
    assert found[1] == 6


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "bool", "float16"])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_sum_keeps_its_dtype(dtype, mode):
    x = T.tensor(dtype, (None,), "x")
    values = np.array([100, 0, 100]).astype(dtype)
    found = run(summed(lambda t, s: s + t, x, T.zeros((), dtype)), mode, {x: values})
    expected = np.sum(values).astype(dtype)  # wraps round, as each sum does
    assert found.dtype == dtype and found == expected


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("steps", [1, 2, "n"])
def test_a_term_that_does_not_fit_its_state_is_the_error_of_the_loop(mode, steps):
    count = {"n": n}.get(steps, steps)
    rows, _ = scanviz.scan(lambda t, s: s + t, m, T.zeros(T.minimum(n, 1)), n_steps=count, name="adds")
    values = {**VALUES, n: 2}
    for wanted in (rows, rows[-1], T.sum(rows[-1])):
        with pytest.raises(ShapeError, match=r"`\w+` of loop `adds` changed its shape") as text:
            run(wanted, mode, values)
        assert "(1,)" in str(text.value) and "(3,)" in str(text.value)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_one_step_with_an_unread_sequence_still_needs_a_row(mode):
    rows, _ = scanviz.scan(lambda a, s: s + 1, c, T.constant(0.0), n_steps=1)
    assert run(rows, mode, {c: np.ones(1)}) == [1]
    with pytest.raises(scanviz.ScanvizError, match="too short"):
        run(rows, mode, {c: np.ones(0)})


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(
    "step",
    [
        lambda a, b, s: (a * 2, s + 1),
        lambda a, b, s: (T.exp(a), s + a),
        lambda a, b, s: (T.constant(1.0), s + a),
        lambda a, b, s: (a, s),
    ],
)
def test_unread_sequences_are_checked_for_length_after_push_out(step, mode):
    other = T.vector("other")
    (rows, sums), _ = scanviz.scan(step, [c, other], [None, T.constant(0.0)], n_steps=n)
    for wanted in (rows, sums[-1], [rows, sums[-1]]):
        run(wanted, mode, {c: np.ones(3), other: np.ones(3), n: 3})
        with pytest.raises(scanviz.ScanvizError, match="`other` is too short"):
            run(wanted, mode, {c: np.ones(3), other: np.ones(2), n: 3})
