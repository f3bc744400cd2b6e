from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizValueError, ShapeError
from tests.engine.ops.checking import check, dtypes, shapes, tame

A = np.array([[4.0, 1.0], [1.0, 3.0]])
B = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 5.0]])
V = np.array([1.0, 2.0])
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize(
    ("build", "oracle", "arrays"),
    [
        (T.dot, np.dot, [A, B]),
        (lambda a, b: a.dot(b), np.dot, [A, V]),
        (T.matmul, np.matmul, [A, B]),
        (lambda a, b: a @ b, np.matmul, [A, B]),
        (lambda a: A @ a, lambda a: A @ a, [B]),
        (T.batched_dot, lambda a, b: np.einsum("bij,bjk->bik", a, b), [A[None], B[None]]),
        (T.tensordot, np.tensordot, [A, A]),
        (T.inv, np.linalg.inv, [A]),
        (T.solve, np.linalg.solve, [A, B]),
        (lambda a, b: T.solve(a, b, assume_a="pos"), np.linalg.solve, [A, V]),
        (
            lambda a, b: T.solve_triangular(a, b, lower=True),
            lambda a, b: np.linalg.solve(np.tril(a), b),
            [A, V],
        ),
        (T.cholesky, np.linalg.cholesky, [A]),
        (lambda a: T.cholesky(a, lower=False), lambda a: np.linalg.cholesky(a).T, [A]),
        (T.det, np.linalg.det, [A]),
        (lambda a: T.slogdet(a)[1], lambda a: np.linalg.slogdet(a)[1], [A]),
        (T.trace, np.trace, [A]),
        (lambda a: a.trace(1), lambda a: np.trace(a, 1), [B]),
    ],
)
def test_each_public_function_gives_what_numpy_gives(build, oracle, arrays):
    check(build, oracle, arrays, **CLOSE)


@given(st.data())
def test_inner_outer_and_kron_are_numpys(data):
    first = data.draw(dtypes.flatmap(lambda dtype: shapes().flatmap(lambda shape: tame(dtype, shape))))
    second = data.draw(dtypes.flatmap(lambda dtype: shapes().flatmap(lambda shape: tame(dtype, shape))))
    check(T.outer, np.outer, [first, second], data)
    check(T.kron, np.kron, [first, second], data)
    fitting = np.ones((2, *first.shape[-1:]), first.dtype)
    check(T.inner, np.inner, [first, fitting], data)
    check(T.inner, np.inner, [first, np.array(3, second.dtype)], data)


ORDERS = {1: [None, 1, 2, 3, 0.5, 0, -1, math.inf, -math.inf], 2: [None, "fro", 1, -1, math.inf, -math.inf]}


@given(st.sampled_from([1, 2]), st.booleans(), st.data())
def test_norms_are_numpys(axes, keepdims, data):
    array = data.draw(st.sampled_from(["float64", "int32"]).flatmap(lambda dtype: tame(dtype, (2, 3, 4))))
    axis = data.draw(st.permutations([0, 1, -1]))[:axes]
    axis = axis[0] if axes == 1 else tuple(axis)
    ord = data.draw(st.sampled_from(ORDERS[axes]))
    check(
        lambda x: T.norm(x, ord, axis, keepdims=keepdims),
        lambda x: np.linalg.norm(x, ord, axis, keepdims=keepdims),
        [array],
        data,
        **CLOSE,
    )


@pytest.mark.parametrize("array", [V, A, np.ones((2, 3, 4))])
def test_the_norm_of_a_whole_tensor_is_the_root_of_its_sum_of_squares(array):
    check(T.norm, np.linalg.norm, [array], **CLOSE)


def test_a_norm_without_meaning_is_an_error_that_lists_those_with_one():
    with pytest.raises(
        ScanvizValueError, match=r"norm of `A`: ord='most' has no meaning over 2 axes(.|\n)*'fro'"
    ):
        T.norm(T.matrix("A"), "most")


def test_everything_of_linear_algebra_is_also_under_its_own_name():
    assert T.linalg.solve is T.solve
    assert T.linalg.dot is T.dot
    assert set(T.linalg.__all__) <= set(dir(T))


def test_a_product_that_cannot_be_is_an_error_where_the_user_wrote_it():
    with pytest.raises(ShapeError, match=r"test_linalg\.py:\d+: matmul: .*`W`.*`v`"):
        T.tensor("float64", (None, 3), name="W") @ T.tensor("float64", (4,), name="v")
