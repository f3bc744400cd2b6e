import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Constant, Variable, build_one
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import shape as ops
from scanviz.engine.ops.shape import BROADCAST_SIZE
from scanviz.engine.ops.size_checks import specify_shape
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.symbolic_shape import shape_of
from tests.engine.ops.checking import check, dtypes, shape_before, shapes, symbol, tame


def matrix(*shape, name="x", dtype="float64"):
    return Variable(TensorType(dtype, shape or (None, None)), name)


@st.composite
def reshapes(draw):
    """An array and another shape of its elements, perhaps with one size written -1."""
    array = draw(tame(draw(dtypes), draw(shapes())))
    left, wanted = array.size, []
    for _ in range(draw(st.integers(0, 3))):
        divisors = [k for k in range(1, left + 1) if left % k == 0] or [0, 1, 2]
        wanted.append(draw(st.sampled_from(divisors)))
        left = left // wanted[-1] if wanted[-1] else left
    if math.prod(wanted) != array.size:
        wanted.append(left)
    if array.size and wanted and draw(st.booleans()):
        wanted[draw(st.integers(0, len(wanted) - 1))] = -1
    return array, tuple(wanted)


@given(reshapes(), st.data())
def test_reshape_agrees_with_numpy(case, data):
    array, wanted = case
    check(lambda x: ops.reshape(x, wanted), lambda x: x.reshape(wanted), [array], data)


@given(reshapes())
def test_reshape_accepts_symbolic_sizes(case):
    array, wanted = case
    x = symbol(array, "x", [True] * array.ndim)
    sizes = [Variable(TensorType("int64", ()), f"n{k}") for k in range(len(wanted))]
    givens = {x: array, **dict(zip(sizes, wanted, strict=True))}
    np.testing.assert_array_equal(evaluate(ops.reshape(x, sizes), givens), array.reshape(wanted))
    vector = Variable(TensorType("int64", (None,)), "sizes")
    turned = ops.reshape(x, vector, ndim=len(wanted))
    assert turned.type.ndim == len(wanted)
    found = evaluate(turned, {x: array, vector: np.array(wanted, "int64")})
    np.testing.assert_array_equal(found, array.reshape(wanted))


@given(reshapes())
def test_the_shape_of_a_reshape_to_inputs_is_forecast(case):
    array, wanted = case
    x = symbol(array, "x", [True] * array.ndim)
    sizes = [Variable(TensorType("int64", ()), f"n{k}") for k in range(len(wanted))]
    givens = {x: array, **dict(zip(sizes, wanted, strict=True))}
    assert shape_before(ops.reshape(x, sizes), givens) == array.reshape(wanted).shape


def test_a_shape_vector_of_unknown_length_needs_ndim():
    vector = Variable(TensorType("int64", (None,)), "sizes")
    with pytest.raises(ScanvizTypeError, match="`sizes` is not known"):
        ops.reshape(matrix(), vector)
    with pytest.raises(ScanvizTypeError, match="sizes must be integers"):
        ops.reshape(matrix(), Variable(TensorType("float64", (None,)), "sizes"))


@pytest.mark.parametrize("wanted", [(-1, -1), (-2, 3)])
def test_a_reshape_with_sizes_that_mean_nothing_is_refused(wanted):
    with pytest.raises(ScanvizValueError, match="-1"):
        ops.reshape(matrix(2, 3), wanted)


def test_a_reshape_to_sizes_made_of_sizes_needs_no_search_for_minus_one():
    x = matrix()
    rows, columns = ops.dimension(x, 0), ops.dimension(x, 1)
    text = shape_of(ops.reshape(x, (columns, rows)))
    assert tuple(map(as_size, text)) == (columns, rows)


@pytest.mark.parametrize("wanted", [(4,), (2, 2), (-1, 4), (5, -1)])
def test_a_reshape_that_cannot_hold_the_elements_is_refused_when_building(wanted):
    with pytest.raises(ShapeError, match="`x` cannot be reshaped"):
        ops.reshape(matrix(2, 3), wanted)


def test_a_reshape_that_does_not_fit_at_run_time_names_both_shapes():
    x = matrix()
    with pytest.raises(ShapeError, match=r"(?s)\(2, 3\).*\(4,\)"):
        evaluate(ops.reshape(x, (4,)), {x: np.zeros((2, 3))})


@st.composite
def shuffles(draw):
    array = draw(tame(draw(dtypes), draw(shapes(max_dims=4))))
    kept = [axis for axis in range(array.ndim) if array.shape[axis] != 1 or draw(st.booleans())]
    pattern = list(draw(st.permutations(kept)))
    for _ in range(draw(st.integers(0, 2))):
        pattern.insert(draw(st.integers(0, len(pattern))), "x")
    return array, pattern


def numpy_dimshuffle(array, pattern):
    kept = [each for each in pattern if each != "x"]
    dropped = [axis for axis in range(array.ndim) if axis not in kept]
    turned = array.transpose([*kept, *dropped]).reshape([array.shape[axis] for axis in kept])
    return np.expand_dims(turned, [k for k, each in enumerate(pattern) if each == "x"])


@given(shuffles(), st.data())
def test_dimshuffle_permutes_adds_and_drops_axes(case, data):
    array, pattern = case
    check(lambda x: ops.dimshuffle(x, *pattern), lambda x: numpy_dimshuffle(x, pattern), [array], data)
    check(lambda x: ops.dimshuffle(x, pattern), lambda x: numpy_dimshuffle(x, pattern), [array], data)


@pytest.mark.parametrize("pattern", [(0, 0), (0,), (0, 1, 2), ("y", 0), (0.0, 1)])
def test_a_pattern_that_does_not_fit_is_refused(pattern):
    with pytest.raises((ScanvizValueError, ScanvizTypeError), match="dimshuffle"):
        ops.dimshuffle(matrix(2, 3), *pattern)


def test_dropping_an_axis_of_a_size_other_than_1_fails_at_run_time():
    x = matrix()
    with pytest.raises(ShapeError, match=r"(?s)axis 1.*size 3"):
        evaluate(ops.dimshuffle(x, 0), {x: np.zeros((2, 3))})


def test_transposed_axes_must_be_each_named_once():
    with pytest.raises(ScanvizValueError, match="each axis once"):
        ops.transpose(matrix(), (0, 0))


@given(shapes(max_dims=3), st.data())
def test_alloc_fills_a_shape_by_broadcasting(shape, data):
    given_rank = data.draw(st.integers(0, len(shape)))
    small = tuple(data.draw(st.sampled_from([1, n])) for n in shape[len(shape) - given_rank :])
    value = data.draw(tame(data.draw(dtypes), small))
    found = check(lambda x: ops.alloc(x, shape), lambda x: np.array(np.broadcast_to(x, shape)), [value], data)
    assert found.type.shape == shape, "sizes that are known are in the type, whatever the value's"


def test_alloc_refuses_values_that_do_not_broadcast():
    x = Variable(TensorType("float64", (None,)), "x")
    with pytest.raises(ShapeError, match=r"(?s)\(3,\).*\(2,\)"):
        evaluate(ops.alloc(x, 3), {x: np.zeros(2)})
    n = Variable(TensorType("int64", ()), "n")
    with pytest.raises(ShapeError, match="negative"):
        evaluate(ops.alloc(0.0, n), {n: -1})
    with pytest.raises(ShapeError, match="more dimensions"):
        ops.alloc(matrix(), 3)
    with pytest.raises(ShapeError, match="broadcast"):
        ops.alloc(Variable(TensorType("float64", (2,)), "y"), 3)
    with pytest.raises(ShapeError, match="negative"):
        ops.alloc(0.0, -1)
    with pytest.raises(ScanvizTypeError, match="a size"):
        ops.alloc(0.0, [1.5])


def test_a_new_array_of_alloc_never_shares_memory_with_its_value():
    x = matrix()
    array = np.zeros((2, 3))
    assert not np.shares_memory(evaluate(ops.alloc(x, 2, 3), {x: array}), array)


@pytest.mark.parametrize(
    "build",
    [
        lambda x: ops.reshape(x, (-1,)),
        lambda x: ops.dimshuffle(x, 1, 0),
        lambda x: specify_shape(x, (2, None)),
    ],
)
def test_views_of_numpy_are_declared_as_views(build):
    x, array = matrix(), np.zeros((2, 3))
    made = build(x)
    assert made.owner.op.declaration.views == 0
    assert np.shares_memory(evaluate(made, {x: array}), array)


def test_sizes_that_are_known_are_constants():
    x = matrix(None, 3)
    assert isinstance(ops.dimension(x, 1), Constant)
    assert isinstance(ops.dimension(x, -1), Constant)
    assert evaluate(ops.shape(x), {x: np.zeros((5, 3))}).tolist() == [5, 3]
    assert ops.shape(x).type == TensorType("int64", (2,))
    assert ops.shape(1.0).type == TensorType("int64", (0,))


@pytest.mark.parametrize(
    ("axis", "kind"), [(2, ValueError), (-3, ValueError), (1.0, TypeError), (True, TypeError)]
)
def test_a_size_along_a_missing_axis_is_refused(axis, kind):
    with pytest.raises(kind, match="`x`"):
        ops.dimension(matrix(), axis)


def test_stack_scalars_takes_scalars_of_several_dtypes():
    a, b = Variable(TensorType("int8", ()), "a"), Variable(TensorType("float32", ()), "b")
    made = ops.stack_scalars([a, b])
    found = evaluate(made, {a: np.int8(3), b: np.float32(0.5)})
    assert made.type.dtype == found.dtype.name == "float32"
    assert found.tolist() == [3.0, 0.5]
    with pytest.raises(ScanvizTypeError, match="`x` is not a scalar"):
        ops.stack_scalars([a, matrix()])


def test_specify_shape_promises_sizes_and_checks_them():
    x = matrix()
    promised = specify_shape(x, (2, None))
    assert promised.type.shape == (2, None)
    assert evaluate(promised, {x: np.zeros((2, 5))}).shape == (2, 5)
    with pytest.raises(ShapeError, match=r"(?s)`x`.*any.*\(3, 5\)"):
        evaluate(promised, {x: np.zeros((3, 5))})
    with pytest.raises(ShapeError, match="number of dimensions"):
        specify_shape(x, (2,))
    with pytest.raises(ShapeError, match="must agree"):
        specify_shape(matrix(3, 3), (2, None))


def test_specify_shape_accepts_symbolic_sizes():
    x, n = matrix(), Variable(TensorType("int64", ()), "n")
    promised = specify_shape(x, (n, None))
    assert evaluate(promised, {x: np.zeros((2, 5)), n: 2}).shape == (2, 5)
    with pytest.raises(ShapeError, match="`x`"):
        evaluate(promised, {x: np.zeros((2, 5)), n: 3})


def broadcast_size(*sizes):
    """Return the size that sizes broadcast to, of as many inputs."""
    inputs = [Variable(TensorType("int64", ()), f"n{k}") for k in range(len(sizes))]
    y = build_one(Op(BROADCAST_SIZE), *inputs)
    assert y.type == TensorType("int64", ())
    found = evaluate(y, dict(zip(inputs, map(np.int64, sizes), strict=True)))
    assert found.dtype == np.int64
    assert found.shape == ()
    return int(found)


@given(st.integers(0, 9), st.lists(st.booleans(), min_size=1, max_size=4))
def test_sizes_of_1_broadcast_to_the_other_size(size, marks):
    sizes = [size if mark else 1 for mark in marks]
    assert broadcast_size(*sizes) == np.broadcast_shapes(*((each,) for each in sizes))[0]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_sizes_that_numpy_does_not_broadcast_are_refused(sizes):
    try:
        expected = np.broadcast_shapes(*((size,) for size in sizes))[0]
    except ValueError:
        with pytest.raises(ShapeError, match="do not broadcast together"):
            broadcast_size(*sizes)
    else:
        assert broadcast_size(*sizes) == expected
