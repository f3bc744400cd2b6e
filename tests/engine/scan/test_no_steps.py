"""A loop that takes no step: rows of the right shape on every tier, whatever the step chooses or masks, rewritten or not."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode, ifelse
from scanviz import tensor as T

MODES = [Mode(tier, rewrites) for tier in ("numpy", "reference") for rewrites in ("all", "none")]
x, w, v = T.matrix("x"), T.vector("w"), T.vector("v")
n, k, flag = T.lscalar("n"), T.iscalar("k"), T.iscalar("flag")
VALUES = {x: np.ones((4, 3)), w: np.array([1.0, -2.0, 3.0]), v: np.ones(2), n: 0, k: 5, flag: 0}


def shapes_of(step, mode, wanted=lambda rows: rows):
    rows, _ = scanviz.scan(step, x, n_steps=n)
    f = scanviz.function(list(VALUES), [rows, wanted(rows)], mode=mode, on_unused_input="ignore")
    found, other = f(*VALUES.values())
    assert found.dtype == rows.dtype
    return found.shape, np.asarray(other)


def nested(row):
    inner, _ = scanviz.scan(lambda each: each + T.zeros(k), row, n_steps=2)
    return inner


def nested_until(row):
    inner, _ = scanviz.scan(lambda: (w, scanviz.until(T.sum(w) > 0)), n_steps=4)
    return inner + 0 * row


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(
    ("step", "shape"),
    [
        (lambda row: ifelse(T.sum(row) > 0, row, w), (0, 3)),
        (lambda row: ifelse(T.sum(row) > 0, T.sin(row), row * 2), (0, 3)),
        (lambda row: ifelse(T.sum(row) > 0, row[:2], v)[None] + row[0], (0, 1, 2)),
        (lambda row: ifelse(flag, row, row[:2]), (0, 2)),
        (lambda row: ifelse(T.sum(w) > 0, row, row[:2]), (0, 3)),
        (lambda row: T.switch(row > 0, row, w), (0, 3)),
        (lambda row: T.reshape(row[row > 0], row.shape), (0, 3)),
        (lambda row: row[w > 0], (0, 2)),
        (lambda row: w[w > 0] * row[0], (0, 2)),
        (lambda row: T.zeros(k) + row[0], (0, 5)),
        (lambda row: T.zeros((T.cast(w[2], "int64"), k * 2)) + row[0], (0, 3, 10)),
        (nested, (0, 2, 5)),
        (nested_until, (0, 1, 3)),
        (lambda row: T.concatenate([ifelse(T.sum(row) > 0, row, w), v]), (0, 5)),
    ],
)
def test_rows_have_the_shape_that_they_would_have_had(step, shape, mode):
    assert shapes_of(step, mode)[0] == shape
    assert tuple(shapes_of(step, mode, lambda rows: rows.shape)[1]) == shape


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(
    ("step", "shape"),
    [
        (lambda row: row[row > 0], (0, 0)),
        (lambda row: ifelse(T.sum(row) > 0, row, row[:2]), (0, 0)),
        (lambda row: row[row > 0][:, None] + w, (0, 0, 3)),
        (lambda row: T.zeros(T.cast(row[0], "int64")), (0, 0)),
    ],
)
def test_a_value_dependent_size_is_0_without_steps(step, shape, mode):
    assert shapes_of(step, mode)[0] == shape
    assert tuple(shapes_of(step, mode, lambda rows: rows.shape)[1]) == shape


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize(
    "step",
    [
        lambda row: ifelse(T.sum(row) > 0, row * w, w),
        lambda row: T.where(row > w, row, w) * T.sum(w),
        lambda row: T.reshape(row[row > 0], row.shape) * w,
        lambda row: T.sum(w) * T.reshape(row, (1, -1)),
    ],
)
def test_gradients_of_loops_without_steps_are_zeros(step, mode):
    rows, _ = scanviz.scan(step, x, n_steps=n)
    wanted = scanviz.grad(T.sum(T.sin(rows)), [x, w])
    f = scanviz.function([x, w, n], wanted, mode=mode)
    for found, like in zip(f(VALUES[x], VALUES[w], 0), (VALUES[x], VALUES[w]), strict=True):
        np.testing.assert_array_equal(found, np.zeros_like(like))
