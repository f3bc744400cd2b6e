"""Derivatives of products, solutions and factors of matrices, against finite differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.gradient.reverse import load_rows, pull_back
from scanviz.engine.gradient.table import PULLBACKS, PUSHFORWARDS
from scanviz.engine.graph.declaration import declarations
from scanviz.testing import verify_grad

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.normal(size=shape)


def solid(*shape):
    """Return matrices far from singular."""
    return normal(*shape) * 0.3 + 2 * np.eye(shape[-1])


def symmetric(x):
    return (x + T.swapaxes(x, -1, -2)) / 2


PRODUCTS = {
    "vector and vector": (T.dot, [normal(3), normal(3)]),
    "matrix and vector": (T.dot, [normal(2, 3), normal(3)]),
    "vector and matrix": (T.dot, [normal(3), normal(3, 2)]),
    "matrices": (T.dot, [normal(2, 3), normal(3, 4)]),
    "tensor and matrix": (T.dot, [normal(2, 5, 3), normal(3, 4)]),
    "tensor and vector": (T.dot, [normal(2, 5, 3), normal(3)]),
    "tensors": (T.dot, [normal(2, 2, 3), normal(4, 3, 2)]),
    "vector and tensor": (T.dot, [normal(3), normal(4, 3, 2)]),
    "no rows": (T.dot, [normal(0, 3), normal(3, 4)]),
    "nothing summed": (T.dot, [normal(2, 0), normal(0, 4)]),
    "matmul": (T.matmul, [normal(2, 3), normal(3, 4)]),
    "matmul of vectors": (T.matmul, [normal(3), normal(3)]),
    "matmul of vector and matrix": (T.matmul, [normal(3), normal(3, 2)]),
    "matmul of matrix and vector": (T.matmul, [normal(2, 3), normal(3)]),
    "batch and matrix": (T.matmul, [normal(5, 2, 3), normal(3, 4)]),
    "stretched batches": (T.matmul, [normal(5, 1, 2, 3), normal(4, 3, 2)]),
    "vector and batch": (T.matmul, [normal(3), normal(4, 3, 2)]),
    "batch and vector": (T.matmul, [normal(4, 2, 3), normal(3)]),
    "batched dot": (T.batched_dot, [normal(2, 3, 4), normal(2, 4, 5)]),
    "batched dot of vectors": (T.batched_dot, [normal(2, 4), normal(2, 4)]),
    "batched dot of tensors": (T.batched_dot, [normal(2, 3, 2, 4), normal(2, 3, 4, 2)]),
    "tensordot": (lambda a, b: T.tensordot(a, b, 2), [normal(2, 3, 4), normal(3, 4, 2)]),
    "tensordot of axes": (
        lambda a, b: T.tensordot(a, b, ([2, 0], [0, 2])),
        [normal(2, 3, 4), normal(4, 3, 2)],
    ),
    "outer tensordot": (lambda a, b: T.tensordot(a, b, 0), [normal(2), normal(3)]),
    "trace": (T.trace, [normal(3, 3)]),
    "trace of an offset": (lambda x: T.trace(x, 1, 2, 0), [normal(3, 2, 4)]),
}
FACTORS = {
    "inverse": (T.linalg.inv, [solid(3, 3)]),
    "inverses": (T.linalg.inv, [solid(2, 3, 3)]),
    "determinant": (T.linalg.det, [solid(3, 3)]),
    "determinants": (T.linalg.det, [solid(2, 2, 2)]),
    "logarithm of the determinant": (lambda x: T.linalg.slogdet(x)[1], [solid(2, 3, 3)]),
    "cholesky": (lambda x: T.linalg.cholesky(symmetric(x)), [solid(3, 3)]),
    "upper cholesky": (lambda x: T.linalg.cholesky(symmetric(x), lower=False), [solid(3, 3)]),
    "choleskys": (lambda x: T.linalg.cholesky(symmetric(x)), [solid(2, 3, 3)]),
    "solve": (T.linalg.solve, [solid(3, 3), normal(3, 2)]),
    "solve for a vector": (T.linalg.solve, [solid(3, 3), normal(3)]),
    "solve for batches": (T.linalg.solve, [solid(2, 3, 3), normal(3, 2)]),
    "solve batches for a matrix": (T.linalg.solve, [solid(3, 3), normal(2, 3, 2)]),
    "solve positive": (
        lambda a, b: T.linalg.solve(symmetric(a), b, assume_a="pos"),
        [solid(3, 3), normal(3)],
    ),
}
for _lower in (True, False):
    for _trans in (0, 1):
        for _unit in (True, False):
            FACTORS[f"triangular {_lower} {_trans} {_unit}"] = (
                lambda a, b, o=(_lower, _trans, _unit): T.linalg.solve_triangular(
                    a, b, lower=o[0], trans=o[1], unit_diagonal=o[2]
                ),
                [solid(3, 3), normal(3, 2) if _unit else normal(3)],
            )


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", [*PRODUCTS, *FACTORS])
def test_the_derivative_is_that_of_finite_differences(name, known):
    build, points = {**PRODUCTS, **FACTORS}[name]
    verify_grad(build, points, known_shapes=known)


@pytest.mark.parametrize("name", ["matrices", "tensors", "stretched batches", "tensordot of axes"])
def test_products_in_float32(name):
    build, points = PRODUCTS[name]
    verify_grad(build, [each.astype("float32") for each in points])


@pytest.mark.parametrize("name", [*PRODUCTS, *FACTORS])
def test_the_second_derivative_is_that_of_finite_differences(name):
    build, points = {**PRODUCTS, **FACTORS}[name]

    def gradient(*inputs):
        found = pull_back({T.sum(T.tanh(build(*inputs))): T.constant(1.0)}, list(inputs))
        return [g if g is not None else T.zeros_like(x) for g, x in zip(found, inputs, strict=True)]

    verify_grad(gradient, points, tolerance=1e-4)


@given(
    rows=st.integers(0, 3), inner=st.integers(0, 3), columns=st.integers(0, 3), seed=st.integers(0, 2**32 - 1)
)
def test_products_of_any_size(rows, inner, columns, seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(rows, inner)), rng.normal(size=(inner, columns))
    verify_grad(lambda x, y: T.tanh(T.dot(x, y)) + T.matmul(x, y), [a, b])


def test_every_op_of_these_families_has_rows():
    load_rows()
    for each in declarations():
        if each.family in ("linalg", "factorise"):
            assert each in PULLBACKS and each in PUSHFORWARDS, each.name
