"""Derivatives of sorting: elements move, and their derivatives with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.testing import verify_grad

seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)


@given(shapes, st.data(), seeds, st.sampled_from(["float64", "float32"]), st.booleans())
def test_gradients_of_sort_agree_with_finite_differences(shape, data, seed, dtype, known):
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    x = np.random.default_rng(seed).permutation(np.prod(shape)).reshape(shape) * 0.37
    verify_grad(lambda v: T.sort(v, axis), [x.astype(dtype)], known_shapes=known)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_second_derivatives_of_sort_agree_with_finite_differences(axis):
    x = T.matrix("x")
    point = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    ranks = np.argsort(np.argsort(point, axis), axis).reshape(point.shape) + 1.0
    weights = np.sort(ranks, axis)  # of the k-th in order: the same for the element wherever it stood
    y = T.sum(T.sort(x, axis) ** 3 * weights)
    second = scanviz.hessian(y, x).eval({x: point}).reshape(6, 6)
    np.testing.assert_allclose(second, np.diag((6 * point * ranks).ravel()))


@given(st.lists(st.integers(0, 2), max_size=6))
def test_equal_elements_keep_their_order(row):
    x = T.vector("x")
    weights = np.arange(1.0, len(row) + 1)
    g = scanviz.grad(T.sum(T.sort(x) * weights), x).eval({x: row})
    np.testing.assert_array_equal(g[np.argsort(row, kind="stable")], weights)


def test_indices_from_argsort_have_no_derivative_and_elements_at_them_do():
    x, y = T.vector("x"), T.vector("y")
    taken = T.sum(y[T.argsort(x)] * np.array([1.0, 10.0, 100.0]))
    given_x, given_y = [3.0, 1.0, 2.0], [7.0, 8.0, 9.0]
    assert scanviz.grad(taken, y).eval({x: given_x, y: given_y}).tolist() == [100.0, 1.0, 10.0]
    with pytest.raises(scanviz.ScanvizError, match=r"gives int64, which has no derivative"):
        scanviz.grad(taken, x)


def test_nan_elements_sort_last_with_their_derivatives():
    x = T.vector("x")
    g = scanviz.grad(T.sum(T.sort(x)[:2] * np.array([1.0, 10.0])), x)
    assert g.eval({x: [np.nan, 2.0, 1.0]}).tolist() == [0.0, 10.0, 1.0]
