"""Functions that make arrays against NumPy's of the same name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.evaluate import evaluate
from tests.engine.ops.checking import check, dtypes, shapes, tame


@given(shapes(), dtypes)
def test_zeros_and_ones_agree_with_numpy(shape, dtype):
    for ours, numpys in ((T.zeros, np.zeros), (T.ones, np.ones)):
        made, expected = ours(shape, dtype), numpys(shape, dtype)
        assert (made.type.dtype, made.type.shape) == (dtype, shape)
        np.testing.assert_array_equal(evaluate(made), expected)


def test_sizes_come_as_an_int_a_scalar_a_list_or_a_vector():
    n, x = T.iscalar("n"), T.matrix("x")
    assert evaluate(T.zeros(n), {n: np.int32(2)}).shape == (2,)
    assert evaluate(T.zeros((n, 3)), {n: np.int32(2)}).shape == (2, 3)
    assert evaluate(T.ones(x.shape), {x: np.zeros((2, 3))}).shape == (2, 3)
    assert evaluate(T.full(x.shape[0], 1.5), {x: np.zeros((2, 3))}).tolist() == [1.5, 1.5]
    assert T.zeros(np.int64(3)).type.shape == (3,)
    assert T.zeros(()).type.shape == ()


def test_the_default_dtype_is_float_x(monkeypatch):
    monkeypatch.setattr(config, "floatX", "float32")
    for made in (T.zeros(2), T.ones(2), T.eye(2), T.identity(2), T.tri(2), T.full(2, 1.5)):
        assert made.type.dtype == "float32"
    assert T.full(2, 1).type.dtype == "int64"


@given(shapes(), dtypes, st.data())
def test_full_broadcasts_its_value(shape, dtype, data):
    value = data.draw(tame(dtype, shape[-1:]))
    check(lambda v: T.full(shape, v), lambda v: np.full(shape, v), [value], data)
    assert T.full(shape, 3, dtype).type.dtype == dtype


@given(shapes(), dtypes, st.one_of(st.none(), dtypes), st.data())
def test_arrays_like_another_agree_with_numpy(shape, dtype, other, data):
    array = data.draw(tame(dtype, shape))
    check(lambda x: T.zeros_like(x, other), lambda x: np.zeros_like(x, other), [array], data)
    check(lambda x: T.ones_like(x, other), lambda x: np.ones_like(x, other), [array], data)
    check(lambda x: T.full_like(x, 3, other), lambda x: np.full_like(x, 3, other), [array], data)


@given(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 4)), st.integers(-5, 5), dtypes)
def test_eye_tri_and_identity_agree_with_numpy(n, m, k, dtype):
    for ours, numpys in ((T.eye, np.eye), (T.tri, np.tri)):
        np.testing.assert_array_equal(evaluate(ours(n, m, k, dtype)), numpys(n, m, k, dtype))
    np.testing.assert_array_equal(evaluate(T.identity(n, dtype)), np.identity(n, dtype))


@given(st.data(), shapes(min_dims=2, max_dims=4), st.integers(-5, 5))
def test_diagonals_agree_with_numpy(data, shape, k):
    array = data.draw(tame(data.draw(dtypes), shape))
    check(lambda x: x.diagonal(k), lambda x: np.diagonal(x, k), [array], data)
    first, second = data.draw(st.permutations(range(array.ndim)))[:2]
    check(
        lambda x: T.diagonal(x, k, first, second),
        lambda x: np.diagonal(x, k, first, second),
        [array],
        data,
    )


@given(st.data(), shapes(min_dims=1, max_dims=2), st.integers(-4, 4))
def test_diag_goes_both_ways(data, shape, k):
    array = data.draw(tame(data.draw(dtypes), shape))
    check(lambda x: T.diag(x, k), lambda x: np.diag(x, k), [array], data)


@given(st.data(), shapes(min_dims=2), st.integers(-5, 5))
def test_triangles_agree_with_numpy(data, shape, k):
    array = data.draw(tame(data.draw(dtypes), shape))
    check(lambda x: T.tril(x, k), lambda x: np.tril(x, k), [array], data)
    check(lambda x: T.triu(x, k), lambda x: np.triu(x, k), [array], data)


def test_arrays_without_a_diagonal_are_refused():
    for x in (T.scalar("x"), T.tensor3("x")):
        with pytest.raises(ScanvizTypeError, match="diag needs"):
            T.diag(x)
    with pytest.raises(ScanvizTypeError, match="matrix"):
        T.diagonal(T.vector("x"))
    with pytest.raises(ScanvizValueError, match="an axis is named twice"):
        T.diagonal(T.matrix("x"), 0, 1, -1)
    with pytest.raises(ScanvizTypeError, match="matrix"):
        T.tril(T.vector("x"))


def test_sizes_that_mean_nothing_are_refused():
    with pytest.raises(ShapeError, match="negative"):
        T.zeros((2, -1))
    with pytest.raises(ScanvizTypeError, match="integer"):
        T.zeros(2.5)
    with pytest.raises(ScanvizTypeError, match="length of the shape `sizes`"):
        T.zeros(T.lvector("sizes"))
