import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.function import function
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import join
from tests.engine.ops.checking import check, dtypes, shapes, tame


def variable(name, *shape, dtype="float64"):
    return Variable(TensorType(dtype, shape), name)


@st.composite
def joined_arrays(draw):
    """Arrays that agree but along an axis."""
    shape, count = draw(shapes(min_dims=1)), draw(st.integers(1, 3))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    arrays = []
    for _ in range(count):
        size = list(shape)
        size[axis] = draw(st.integers(0, 3))
        arrays.append(draw(tame(draw(dtypes), tuple(size))))
    return arrays, axis


@given(joined_arrays(), st.data())
def test_concatenate_agrees_with_numpy(case, data):
    arrays, axis = case
    check(lambda *xs: join.concatenate(xs, axis), lambda *xs: np.concatenate(xs, axis), arrays, data)


def test_arrays_that_cannot_be_joined_are_an_error_with_their_names():
    a, b, c = variable("a", 2, 3), variable("b", 3), variable("c", 2, 4)
    with pytest.raises(ScanvizTypeError, match=r"(?s)`a`.*`b`.*T.stack"):
        join.concatenate([a, b])
    with pytest.raises(ShapeError, match=r"(?s)`a`.*`c`"):
        join.concatenate([a, c], 0)
    with pytest.raises(ScanvizTypeError, match="at least 1"):
        join.concatenate([variable("s"), variable("t")])
    with pytest.raises(ScanvizTypeError, match="stack"):
        join.stack([a, b])
    with pytest.raises(ScanvizValueError, match="no axis 2"):
        join.concatenate([a, a], 2)
    for each in (join.concatenate, join.stack):
        with pytest.raises(ScanvizValueError, match="nothing"):
            each([])


def test_a_failed_join_at_run_time_names_the_shapes():
    a, b = variable("a", None, None), variable("b", None, None)
    with pytest.raises(ShapeError, match=r"(?s)axis 0.*\(2, 3\).*\(2, 4\)"):
        evaluate(join.concatenate([a, b]), {a: np.zeros((2, 3)), b: np.zeros((2, 4))})


@given(st.data(), shapes())
def test_repeat_agrees_with_numpy(data, shape):
    array = data.draw(tame(data.draw(dtypes), shape))
    axis = data.draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)) if shape else st.none())
    count = data.draw(st.integers(0, 3))
    check(lambda x: join.repeat(x, count, axis), lambda x: np.repeat(x, count, axis), [array], data)
    size = array.size if axis is None else array.shape[axis]
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)), "int64")
    check(
        lambda x, n: join.repeat(x, n, axis),
        lambda x, n: np.repeat(x, n, axis),
        [array, counts],
        data,
        exact=False,
    )


def test_counts_of_repeat_are_checked():
    x, n = variable("x", None), variable("n", None, dtype="int64")
    with pytest.raises(ScanvizTypeError, match="integers"):
        join.repeat(x, 1.5)
    with pytest.raises(ShapeError, match=r"(?s)3 counts.*2 counts"):
        evaluate(join.repeat(x, n), {x: np.zeros(3), n: np.array([1, 2])})
    with pytest.raises(ScanvizValueError, match="negative"):
        evaluate(join.repeat(x, n), {x: np.zeros(1), n: np.array([-1])})


@given(st.data(), shapes())
def test_roll_agrees_with_numpy(data, shape):
    array = data.draw(tame(data.draw(dtypes), shape))
    shifts = st.integers(-9, 9)
    axes = st.integers(-array.ndim, array.ndim - 1) if shape else st.nothing()
    several = st.lists(axes, min_size=1, max_size=2).map(tuple)
    axis = data.draw(st.one_of(st.none(), axes, several))
    shift = data.draw(st.tuples(*[shifts] * len(axis)) if isinstance(axis, tuple) else shifts)
    check(lambda x: join.roll(x, shift, axis), lambda x: np.roll(x, shift, axis), [array], data, exact=False)


def test_a_shift_of_roll_may_be_an_input():
    x, n = variable("x", None), variable("n", dtype="int32")
    for shift in (-7, 0, 2):
        found = evaluate(join.roll(x, n), {x: np.arange(3.0), n: np.int32(shift)})
        assert found.tolist() == np.roll(np.arange(3.0), shift).tolist()
    with pytest.raises(ScanvizValueError, match="one shift for each axis"):
        join.roll(variable("y", 2, 3), (1, 2), (0,))


@given(st.data(), st.integers(0, 2), st.integers(1, 3), st.booleans())
def test_split_into_equal_parts_agrees_with_numpy(data, size, count, hide):
    array = data.draw(tame("float64", (2, size * count)))
    x = variable("x", 2, None if hide else size * count)
    parts = join.split(x, count, 1)
    expected = np.split(array, count, 1)
    for part, wanted in zip(parts, expected, strict=True):
        assert part.type.shape == (2, None if hide else size)
        np.testing.assert_array_equal(evaluate(part, {x: array}), wanted)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_split_into_parts_of_given_sizes_agrees_with_numpy(sizes, hide, symbolic):
    array = np.arange(float(sum(sizes)))
    x = variable("x", None if hide else array.size)
    wanted = [variable(f"n{k}", dtype="int64") for k in range(len(sizes))] if symbolic else sizes
    givens = {x: array, **(dict(zip(wanted, sizes, strict=True)) if symbolic else {})}
    parts = join.split(x, wanted)
    for part, expected in zip(parts, np.split(array, np.cumsum(sizes)[:-1]), strict=True):
        if not hide and not symbolic:
            assert part.type.shape == expected.shape
        np.testing.assert_array_equal(evaluate(part, givens), expected)


def test_sizes_of_split_may_be_one_vector_of_known_length():
    x, sizes = variable("x", None), variable("sizes", 2, dtype="int64")
    first, second = join.split(x, sizes)
    givens = {x: np.arange(5.0), sizes: np.array([2, 3])}
    assert evaluate(second, givens).tolist() == [2.0, 3.0, 4.0]
    assert evaluate(first, givens).tolist() == [0.0, 1.0]
    with pytest.raises(ScanvizTypeError, match="`many`"):
        join.split(x, variable("many", None, dtype="int64"))


@pytest.mark.parametrize("parts", [2, [1, 1], [3, 3]])
def test_parts_that_do_not_make_the_whole_are_refused(parts):
    with pytest.raises(ShapeError, match="`x` cannot be split"):
        join.split(variable("x", 5), parts)
    x = variable("x", None)
    call = function([x], join.split(x, parts))
    with pytest.raises(ShapeError, match="`x`"):
        call(np.zeros(5))


def test_numbers_of_parts_that_mean_nothing_are_refused():
    x = variable("x", None)
    for parts in (0, -1, [-1, 3]):
        with pytest.raises(ScanvizValueError, match=r"parts|negative"):
            join.split(x, parts)
    with pytest.raises(ScanvizTypeError, match="size"):
        join.split(x, [1.5])
