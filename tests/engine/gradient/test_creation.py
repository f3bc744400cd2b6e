"""Derivatives of arrays made from numbers, of triangles and of diagonals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.testing import verify_grad

seeds = st.integers(0, 2**32 - 1)
dtypes = st.sampled_from(["float64", "float32"])
matrices = st.lists(st.integers(0, 4), min_size=2, max_size=4).map(tuple)
offsets = st.integers(-5, 5)


@given(matrices, offsets, st.booleans(), seeds, dtypes, st.booleans())
def test_elements_outside_a_triangle_have_derivative_zero(shape, offset, lower, seed, dtype, known):
    x = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    cut = T.tril if lower else T.triu
    verify_grad(lambda v: cut(v, offset), [x], known_shapes=known)


@given(matrices, offsets, seeds, dtypes, st.booleans())
def test_gradients_of_any_diagonal_agree_with_finite_differences(shape, offset, seed, dtype, known):
    x = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    verify_grad(lambda v: T.diagonal(v, offset, -2, -1), [x], known_shapes=known)


@given(st.integers(0, 4), offsets, seeds, dtypes, st.booleans())
def test_gradients_of_diag_agree_with_finite_differences(size, offset, seed, dtype, known):
    x = np.random.default_rng(seed).normal(size=size).astype(dtype)
    verify_grad(lambda v: T.diag(v, offset), [x], known_shapes=known)


@pytest.mark.parametrize("offset", [-1, 0, 2])
def test_second_derivatives_pass_diagonals_and_triangles(offset):
    x = T.matrix("x")
    point = np.random.default_rng(0).normal(size=(3, 4))
    for cut, kept in (
        (lambda v: T.diagonal(v, offset), np.eye(3, 4, offset)),
        (lambda v: T.triu(v, offset), np.triu(np.ones((3, 4)), offset)),
    ):
        second = scanviz.hessian(T.sum(cut(x) ** 3), x).eval({x: point}).reshape(12, 12)
        np.testing.assert_allclose(second, np.diag((6 * point * kept).ravel()), atol=1e-12)


def test_derivatives_pass_through_diag_and_diagonal():
    x = T.vector("x")
    y = T.diagonal(T.diag(x, -2), -2)
    assert scanviz.grad(T.sum(y**2), x).eval({x: [1.0, 2.0]}).tolist() == [2.0, 4.0]


def test_the_trace_of_a_product_has_the_other_matrix_as_its_derivative():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 2)), rng.normal(size=(2, 3))
    x = T.matrix("x")
    g = scanviz.grad(T.sum(T.diagonal(T.dot(x, b))), x).eval({x: a})
    np.testing.assert_allclose(g, b.T)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_numbers_that_a_range_is_made_of_are_not_connected(position):
    bounds = [T.constant(0.0), T.constant(3.0), T.constant(1.0)]
    x = bounds[position] = T.scalar("x")
    y = T.sum(T.arange(*bounds))
    assert pull_back({y: T.constant(1.0)}, [x]) == [None]
    with pytest.raises(scanviz.ScanvizError, match="`x` is not connected"):
        scanviz.grad(y, x)


def test_a_range_scaled_and_moved_has_the_derivatives_that_its_bounds_lack():
    verify_grad(lambda start, step: start + step * T.arange(4), [0.5, 0.25])


def test_sizes_of_an_identity_matrix_are_not_connected_and_its_factor_is():
    x = T.matrix("x")
    y = T.sum(T.eye(x.shape[0]) * x)
    point = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(scanviz.grad(y, x).eval({x: point}), np.eye(3))
    with pytest.raises(scanviz.ScanvizError, match="`x` is not connected"):
        scanviz.grad(T.sum(T.eye(x.shape[0])), x)
