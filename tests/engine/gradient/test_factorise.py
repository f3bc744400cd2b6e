"""Derivatives of inverses, determinants, solutions and factors, by finite differences and formulas; unread triangles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import NumericalError
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.testing import verify_grad
from tests.engine.gradient.checking import check_in_lower_precision, gradient_of

modes = st.sampled_from(["reference", "numpy"])
batches = st.sampled_from([(), (), (0,), (1,), (2,), (2, 1)])
generators = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def solid(rng, *shape):
    """Return matrices far from singular, of either sign of determinant, with nothing symmetric about them."""
    near = 2 * np.eye(shape[-1]) + rng.uniform(-0.3, 0.3, shape)
    return near[..., rng.permutation(shape[-1]), :]


def near_diagonal(rng, *shape):
    """Return matrices whose symmetric part is far from not being positive definite, and so is either triangle."""
    return 2 * np.eye(shape[-1]) + rng.uniform(-0.3, 0.3, shape)


def symmetric(x):
    """Return the symmetric part, so that a change of one element changes two as one."""
    return (x + T.swapaxes(x, -1, -2)) / 2


@st.composite
def squares(draw, make, most=3):
    return make(draw(generators), *draw(batches), *[draw(st.integers(0, most))] * 2)


@st.composite
def systems(draw, make):
    """Matrices and right-hand sides: one vector, or matrices whose batches broadcast with those of the first."""
    rng, size = draw(generators), draw(st.integers(0, 2))
    if draw(st.booleans()):
        return [make(rng, *draw(batches), size, size), rng.normal(size=size)]
    both = draw(mutually_broadcastable_shapes(num_shapes=2, max_dims=2, max_side=2, min_side=0)).input_shapes
    columns = draw(st.integers(0, 2))
    return [make(rng, *both[0], size, size), rng.normal(size=(*both[1], size, columns))]


OF_ONE = {
    "inv": (T.linalg.inv, solid),
    "det": (T.linalg.det, solid),
    "slogdet": (lambda x: T.linalg.slogdet(x)[1], solid),
    "cholesky": (lambda x: T.linalg.cholesky(symmetric(x)), near_diagonal),
    "upper cholesky": (lambda x: T.linalg.cholesky(symmetric(x), lower=False), near_diagonal),
}


def triangular(**options):
    return lambda a, b: T.linalg.solve_triangular(a, b, **options)


SOLVED = {
    "solve": (T.linalg.solve, solid),
    "solve positive": (lambda a, b: T.linalg.solve(symmetric(a), b, assume_a="pos"), near_diagonal),
    **{
        f"triangular {'lower' if lower else 'upper'}{' transposed' * trans}{' unit' * unit}": (
            triangular(lower=lower, trans=trans, unit_diagonal=unit),
            near_diagonal,
        )
        for lower in (False, True)
        for trans in (0, 1)
        for unit in (False, True)
    },
}


@pytest.mark.parametrize("name", OF_ONE)
@given(st.data(), st.booleans(), modes)
def test_gradients_of_factorisations_agree_with_finite_differences(name, data, known, mode):
    build, make = OF_ONE[name]
    verify_grad(build, [data.draw(squares(make))], known_shapes=known, mode=mode, tolerance=1e-4)


@pytest.mark.parametrize("name", OF_ONE)
@given(st.data(), modes)
def test_second_derivatives_of_factorisations_agree_with_finite_differences(name, data, mode):
    build, make = OF_ONE[name]
    verify_grad(gradient_of(build), [data.draw(squares(make, 2))], mode=mode, tolerance=1e-4)


@given(st.sampled_from(list(SOLVED)), st.data(), st.booleans(), modes)
def test_gradients_of_batched_linear_systems_agree_with_finite_differences(name, data, known, mode):
    build, make = SOLVED[name]
    verify_grad(build, data.draw(systems(make)), known_shapes=known, mode=mode, tolerance=1e-4)


@pytest.mark.parametrize("name", SOLVED)
def test_gradients_of_each_kind_of_linear_system_agree_with_finite_differences(name):
    build, make = SOLVED[name]
    rng = np.random.default_rng(3)
    for sides in ((3,), (3, 2), (2, 3, 1)):
        points = [make(rng, 3, 3), rng.normal(size=sides)]
        verify_grad(build, points)
        verify_grad(gradient_of(build), points, tolerance=1e-4)


@given(st.sampled_from([*OF_ONE, *SOLVED]), generators)
def test_float32_gives_derivatives_in_float32_as_float64_does(name, rng):
    build, make = {**OF_ONE, **SOLVED}[name]
    points = [make(rng, 2, 3, 3)] if name in OF_ONE else [make(rng, 2, 3, 3), rng.normal(size=(3, 2))]
    check_in_lower_precision(build, points, "float32", 1e-3)


@given(squares(solid))
def test_gradients_of_determinants_are_those_of_jacobi_formula(values):
    x = T.tensor("float64", (None,) * values.ndim)
    sign, logarithm = T.linalg.slogdet(x)
    found = scanviz.function([x], [scanviz.grad(T.sum(y), x) for y in (T.linalg.det(x), logarithm, sign)])
    inverse = np.swapaxes(np.linalg.inv(values), -1, -2)
    wanted = [np.linalg.det(values)[..., None, None] * inverse, inverse, np.zeros_like(values)]
    for mine, theirs in zip(found(values), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize("lower", [True, False])
@given(squares(near_diagonal))
def test_the_gradient_of_a_cholesky_factor_is_symmetric_and_right_for_the_determinant(lower, values):
    matrix = values @ np.swapaxes(values, -1, -2)
    x = T.tensor("float64", (None,) * values.ndim)
    factor = T.linalg.cholesky(x, lower=lower)
    half = T.sum(T.log(T.sum(factor * np.eye(values.shape[-1]), -1)))
    found = scanviz.grad(2 * half, x).eval({x: matrix})
    np.testing.assert_allclose(found, np.linalg.inv(matrix), atol=1e-10)
    weights = np.random.default_rng(0).normal(size=values.shape)
    found = scanviz.grad(T.sum(factor * weights), x).eval({x: matrix})
    np.testing.assert_allclose(found, np.swapaxes(found, -1, -2))


@given(generators)
def test_the_gradient_of_a_positive_matrix_is_symmetric_and_its_tangent_that_of_the_symmetric_part(rng):
    root, change = near_diagonal(rng, 3, 3), rng.normal(size=(3, 3))
    matrix, b, t = T.matrix("a"), T.vector("b"), T.matrix("t")
    x = T.linalg.solve(matrix, b, assume_a="pos")
    (pushed,) = push_forward({matrix: t}, [x])
    f = scanviz.function([matrix, b, t], [scanviz.grad(T.sum(T.tanh(x)), matrix), pushed])
    points = root @ root.T, rng.normal(size=3)
    gradient, tangent = f(*points, change)
    np.testing.assert_allclose(gradient, gradient.T, atol=1e-12)
    np.testing.assert_allclose(tangent, f(*points, (change + change.T) / 2)[1], atol=1e-12)


@pytest.mark.parametrize("lower", [True, False])
def test_an_infinite_derivative_at_the_zeros_beside_a_cholesky_factor_does_not_count(lower):
    x = T.matrix("x")
    factor = T.linalg.cholesky(x, lower=lower)
    found = scanviz.grad(T.sum(T.sqrt(factor)), x)  # of sqrt(0) it is infinite
    read = T.sqrt(factor[0, 0]) + T.sqrt(factor[1, 1]) + T.sqrt(factor[1, 0] if lower else factor[0, 1])
    mine, theirs = scanviz.function([x], [found, scanviz.grad(read, x)])([[4.0, 2.0], [2.0, 3.0]])
    np.testing.assert_allclose(mine, theirs)
    assert np.isfinite(mine).all()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("unit", [True, False])
def test_the_unread_triangle_of_a_triangular_system_has_derivative_zero(lower, trans, unit):
    rng = np.random.default_rng(1)
    keep = np.tril if lower else np.triu
    read = keep(np.ones((3, 3), bool), (-1 if lower else 1) if unit else 0)
    clean = np.where(read, near_diagonal(rng, 3, 3), 0.0)
    a, b = T.matrix("a"), T.matrix("b")
    x = T.linalg.solve_triangular(a, b, lower=lower, trans=trans, unit_diagonal=unit)
    tangent = rng.normal(size=(3, 3))
    (pushed,) = push_forward({a: T.constant(tangent)}, [x])
    f = scanviz.function([a, b], [*scanviz.grad(T.sum(T.tanh(x)), [a, b]), pushed])
    sides = rng.normal(size=(3, 2))
    for dirty, same in zip(f(np.where(read, clean, np.nan), sides), f(clean, sides), strict=True):
        np.testing.assert_array_equal(dirty, same)
        assert np.isfinite(dirty).all()
    assert (f(clean, sides)[0][~read] == 0).all()


def test_a_gradient_of_a_zero_determinant_is_an_error():
    x = T.matrix("x")
    gradient = scanviz.function([x], scanviz.grad(T.linalg.det(x), x))
    with pytest.raises(NumericalError, match="singular"):
        gradient([[1.0, 2.0], [2.0, 4.0]])
