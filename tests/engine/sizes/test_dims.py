"""Arithmetic on dimensions: unknown sizes stay unknown, known ones agree with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ShapeError
from scanviz.engine.sizes.dims import Dims

D = Dims([], lambda i: None)
sizes = st.integers(0, 4)
shape = st.lists(sizes, max_size=3).map(tuple)
index = st.none() | st.integers(-6, 6)


@given(st.lists(shape, min_size=1, max_size=3))
def test_known_shapes_broadcast_as_numpy_does_or_fail_as_numpy_does(shapes):
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        with pytest.raises(ShapeError, match="broadcast"):
            D.broadcast(*shapes)
    else:
        assert D.broadcast(*shapes) == expected


@given(st.lists(shape, min_size=1, max_size=3), st.data())
def test_the_known_sizes_of_a_broadcast_agree_with_numpy(shapes, data):
    try:
        expected = np.broadcast_shapes(*shapes)
    except ValueError:
        return
    hidden = [tuple(None if data.draw(st.booleans()) else size for size in each) for each in shapes]
    found = D.broadcast(*hidden)
    assert len(found) == len(expected)
    assert all(a in (None, b) for a, b in zip(found, expected, strict=True))


@given(sizes, index, index, st.integers(-3, 3).filter(bool))
def test_a_slice_has_the_length_python_gives_it(size, start, stop, step):
    given_ends = (start is not None, stop is not None)
    assert D.slice_length(size, start, stop, step, given_ends) == len(range(size)[start:stop:step])


@pytest.mark.parametrize("arguments", [(None, 0, 1, 1), (5, None, 1, 1), (5, 0, None, 1), (5, 0, 1, None)])
def test_a_slice_with_an_unknown_part_has_an_unknown_length(arguments):
    assert D.slice_length(*arguments, (True, True)) is None


@given(st.none() | sizes, st.none() | sizes)
def test_arithmetic_is_unknown_where_a_part_is_but_for_zero(a, b):
    known = a is not None and b is not None
    assert D.add(a, b) == (a + b if known else None)
    assert D.subtract(a, b) == (a - b if known else None)
    assert D.multiply(a, b) == (0 if a == 0 or b == 0 else a * b if known else None)
    assert D.floor_divide(a, b) == (a // b if known and b else None)
    assert D.maximum(a, b) == (max(a, b) if known else None)
    assert D.minimum(a, b) == (min(a, b) if known else None)


def test_equal_dimensions_take_the_known_size_of_either():
    assert (D.same(None, 3), D.same(3, None), D.same(3, 3), D.same(None, None)) == (3, 3, 3, None)
    with pytest.raises(ShapeError, match="must agree"):
        D.same(2, 3)


def test_an_empty_product_is_one_and_zero_times_unknown_is_zero():
    assert (D.product([]), D.product([2, 3]), D.product([None, 0]), D.product([None, 2])) == (1, 6, 0, None)


def test_minus_one_takes_the_remaining_size():
    assert D.fill_in((2, -1), 6) == (2, 3)
    assert D.fill_in((2, 3), 6) == (2, 3)
    assert D.fill_in((None, -1), 6) == (None, None)


def test_a_choice_is_known_with_its_condition_or_two_equal_sides():
    assert (D.choose(1, 2, 3), D.choose(0, 2, 3), D.choose(None, 2, 2), D.choose(None, 2, 3)) == (
        2,
        3,
        2,
        None,
    )
