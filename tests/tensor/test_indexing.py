"""Indexing functions against NumPy's of the same name, and unpacking."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.evaluate import evaluate
from tests.engine.ops.checking import check, dtypes, shapes, tame


@given(st.data(), shapes(min_dims=1, min_side=1))
def test_take_agrees_with_numpy(data, shape):
    array = data.draw(tame(data.draw(dtypes), shape))
    axis = data.draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)))
    size = array.size if axis is None else shape[axis]
    wanted = hnp.arrays("int64", shapes(max_dims=2), elements=st.integers(-size, size - 1))
    indices = data.draw(wanted)
    check(lambda x, i: T.take(x, i, axis), lambda x, i: np.take(x, i, axis), [array, indices], data)
    one = int(data.draw(st.integers(-size, size - 1)))
    check(lambda x: x.take(one, axis), lambda x: x.take(one, axis), [array], data)


@given(st.data(), shapes(min_dims=1, min_side=1))
def test_take_along_axis_agrees_with_numpy(data, shape):
    array = data.draw(tame("float32", shape))
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    sizes = list(shape)
    sizes[axis] = data.draw(st.integers(0, 3))
    indices = data.draw(
        hnp.arrays("int64", tuple(sizes), elements=st.integers(-shape[axis], shape[axis] - 1))
    )
    check(
        lambda x, i: T.take_along_axis(x, i, axis),
        lambda x, i: np.take_along_axis(x, i, axis),
        [array, indices],
        data,
    )


def test_take_along_axis_at_argsort_sorts():
    x = T.matrix("x")
    values = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    found = T.take_along_axis(x, T.argsort(x, axis=1), 1).eval({x: values})
    assert found.tolist() == np.sort(values, 1).tolist()
    assert T.take_along_axis(x, np.array([4, 0]), None).eval({x: values}).tolist() == [5.0, 3.0]


def test_axes_and_indices_of_taking_are_checked():
    x = T.matrix("x")
    with pytest.raises(ScanvizValueError, match="take: there is no axis 2"):
        T.take(x, [0], 2)
    with pytest.raises(ScanvizTypeError, match=r"(?s)`x`.*2 dimensions"):
        T.take_along_axis(x, [0], 0)
    with pytest.raises(ScanvizTypeError, match="integers"):
        T.take_along_axis(x, [[0.5]], 0)


@given(st.data(), shapes(min_dims=1))
def test_nonzero_agrees_with_numpy(data, shape):
    array = data.draw(tame(data.draw(dtypes), shape))
    for axis in range(array.ndim):
        check(
            lambda x, k=axis: T.nonzero(x)[k], lambda x, k=axis: np.nonzero(x)[k], [array], data, exact=False
        )
    check(T.flatnonzero, np.flatnonzero, [array], data, exact=False)


def test_places_that_are_not_zero_can_index_and_be_assigned_to():
    x = T.matrix("x")
    values = np.array([[1.0, -2.0], [-3.0, 4.0]])
    negative = T.lt(x, 0).nonzero()
    assert x[negative].eval({x: values}).tolist() == [-2.0, -3.0]
    assert T.set_subtensor(x[negative], 0).eval({x: values}).tolist() == [[1.0, 0.0], [0.0, 4.0]]
    with pytest.raises(ScanvizTypeError, match="scalar"):
        T.nonzero(T.scalar("s"))


def test_rows_of_a_known_number_can_be_unpacked():
    x = T.tensor("float64", (2, None), "x")
    first, second = x
    assert evaluate(second, {x: np.array([[1.0], [2.0]])}).tolist() == [2.0]
    assert first.type.ndim == 1
    rows, columns = T.matrix("m").shape
    assert rows.type == columns.type == T.lscalar().type


def test_rows_of_an_unknown_number_cannot_be_unpacked():
    with pytest.raises(ScanvizTypeError, match=r"(?s)`x` cannot be iterated.*scan"):
        list(T.matrix("x"))
    with pytest.raises(ScanvizTypeError, match="cannot be iterated"):
        list(T.scalar("s"))
