"""Functions of shape against NumPy's of the same name."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizValueError, ShapeError
from scanviz.engine.graph.evaluate import evaluate
from tests.engine.ops.checking import check, dtypes, shapes, tame


@st.composite
def arrays(draw, min_dims=0, max_dims=3):
    return draw(tame(draw(dtypes), draw(shapes(min_dims=min_dims, max_dims=max_dims))))


@st.composite
def arrays_and_axes(draw, count=1):
    array = draw(arrays(min_dims=1))
    axis = st.integers(-array.ndim, array.ndim - 1)
    return array, *(draw(axis) for _ in range(count))


@given(arrays(), st.data())
def test_flatten_and_ravel_give_a_vector(array, data):
    check(T.flatten, lambda x: x.flatten(), [array], data)
    check(lambda x: x.ravel(), np.ravel, [array], data)


@given(arrays(min_dims=1), st.data())
def test_flatten_may_keep_the_first_axes(array, data):
    kept = data.draw(st.integers(1, array.ndim))
    check(
        lambda x: T.flatten(x, kept),
        lambda x: x.reshape((*x.shape[: kept - 1], math.prod(x.shape[kept - 1 :]))),
        [array],
        data,
    )
    with pytest.raises(ScanvizValueError, match="flatten"):
        T.flatten(array, array.ndim + 1)


@given(arrays_and_axes(count=2), st.data())
def test_swapaxes_and_moveaxis_agree_with_numpy(case, data):
    array, first, second = case
    check(lambda x: T.swapaxes(x, first, second), lambda x: np.swapaxes(x, first, second), [array], data)
    check(lambda x: T.moveaxis(x, first, second), lambda x: np.moveaxis(x, first, second), [array], data)


def test_several_axes_move_at_once():
    array = np.zeros((2, 3, 4, 5))
    for source, destination in (((0, 1), (-1, -2)), ([3, 0], [0, 1]), ((2,), (0,))):
        check(
            lambda x, s=source, d=destination: T.moveaxis(x, s, d),
            lambda x, s=source, d=destination: np.moveaxis(x, s, d),
            [array],
        )
    with pytest.raises(ScanvizValueError, match="twice"):
        T.moveaxis(array, (0, 0), (1, 2))
    with pytest.raises(ScanvizValueError, match="one destination"):
        T.moveaxis(array, (0, 1), 2)


@given(arrays(min_dims=1), st.data())
def test_transpose_takes_axes_in_every_form(array, data):
    order = tuple(data.draw(st.permutations(range(array.ndim))))
    for build in (
        lambda x: T.transpose(x, order),
        lambda x: T.transpose(x, axes=order),
        lambda x: x.transpose(*order),
        lambda x: x.transpose(list(order)),
    ):
        check(build, lambda x: np.transpose(x, order), [array], data)
    for build in (T.transpose, lambda x: x.transpose(None), lambda x: x.T):
        check(build, np.transpose, [array], data)


@given(st.lists(st.sampled_from([1, 1, 2]), max_size=3), st.data())
def test_squeeze_and_expand_dims_agree_with_numpy(shape, data):
    array = data.draw(tame("float64", tuple(shape)))
    ones = [k for k, size in enumerate(shape) if size == 1]
    axis = tuple(data.draw(st.lists(st.sampled_from(ones), unique=True))) if ones else ()
    check(lambda x: T.squeeze(x, axis), lambda x: np.squeeze(x, axis), [array], data)
    known = check(T.squeeze, lambda x: np.squeeze(x), [array], None) if not ones else None
    assert known is None or known.type.ndim == array.ndim
    rank = array.ndim + 2
    places = tuple(data.draw(st.lists(st.integers(0, rank - 1), min_size=2, max_size=2, unique=True)))
    check(lambda x: T.expand_dims(x, places), lambda x: np.expand_dims(x, places), [array], data)
    check(lambda x: T.expand_dims(x, -1), lambda x: np.expand_dims(x, -1), [array], data)


def test_missing_axes_are_refused():
    x = T.matrix("x")
    with pytest.raises(ScanvizValueError, match="no axis 2"):
        T.squeeze(x, 2)
    with pytest.raises(ScanvizValueError, match="twice"):
        T.expand_dims(x, (0, 0))
    with pytest.raises(ScanvizValueError, match="cannot be dropped"):
        T.squeeze(T.tensor("float64", (2, 3), "x"), 0)
    with pytest.raises(ShapeError, match="axis 1"):
        evaluate(T.squeeze(x, 1), {x: np.zeros((2, 3))})


@given(arrays(), st.integers(0, 2), st.data())
def test_padding_a_shape_adds_axes_of_size_1(array, count, data):
    left, right = (1,) * count + array.shape, array.shape + (1,) * count
    check(lambda x: T.shape_padleft(x, count), lambda x: x.reshape(left), [array], data)
    check(lambda x: T.shape_padright(x, count), lambda x: x.reshape(right), [array], data)


@given(arrays(max_dims=2), st.data())
def test_broadcast_to_agrees_with_numpy(array, data):
    sizes = tuple(data.draw(st.integers(0, 3)) if n == 1 else n for n in array.shape)
    wanted = (*data.draw(st.lists(st.integers(0, 2), max_size=1)), *sizes)
    check(lambda x: T.broadcast_to(x, wanted), lambda x: np.broadcast_to(x, wanted), [array], data)


@given(arrays(), st.data())
def test_size_and_shape_are_numpys(array, data):
    check(T.size, lambda x: np.int64(x.size), [array], data)
    check(T.shape, lambda x: np.array(x.shape, "int64"), [array], data)


def test_reshape_takes_sizes_in_every_form():
    x, n = T.vector("x"), T.lscalar("n")
    sizes = T.lvector("sizes")
    values = np.arange(6.0)
    for made in (x.reshape((n, 3)), x.reshape(n, 3), x.reshape([n, -1]), T.reshape(x, (n, 3))):
        assert evaluate(made, {x: values, n: 2}).shape == (2, 3)
    assert evaluate(x.reshape(sizes, ndim=2), {x: values, sizes: np.array([3, -1])}).shape == (3, 2)
    assert evaluate(x.reshape(x.shape), {x: values}).shape == (6,)
    assert evaluate(x.reshape(np.array([2, 3])), {x: values}).shape == (2, 3)
    assert evaluate(x.reshape(n), {x: values, n: 6}).shape == (6,)
