import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable, build_one
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.support import constant
from tests.engine.ops.checking import check, dtypes, float_dtypes, shape_before, shapes, tame


@st.composite
def arrays_and_axes(draw, min_side=0):
    array = draw(tame(draw(dtypes), draw(shapes(min_side=min_side))))
    if array.ndim == 0:
        return array, draw(st.sampled_from([None, 0, -1, ()]))
    one = st.integers(-array.ndim, array.ndim - 1)
    several = st.lists(one, max_size=array.ndim, unique_by=lambda axis: axis % array.ndim).map(tuple)
    return array, draw(st.one_of(st.none(), one, several))


@pytest.mark.parametrize("name", ["sum", "prod"])
@given(arrays_and_axes(), dtypes, st.data())
def test_sums_and_products_are_computed_in_the_requested_dtype(name, case, dtype, data):
    array, axis = case
    assume(
        not (dtype.startswith("u") and array.dtype.kind == "f")
    )  # a negative float as unsigned has no one value

    def build(x):
        return getattr(r, name)(x, axis, dtype=dtype)

    check(build, lambda x: getattr(np, name)(x, axis=axis, dtype=dtype), [array], data)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "argmax", "argmin", "all", "any"])
def test_nan_and_infinity_pass_through_as_in_numpy(name):
    for row in ([1.0, np.nan, np.inf], [np.inf, -np.inf, 0.0], [-0.0, 0.0, -1.0]):
        check(lambda x: getattr(r, name)(x), getattr(np, name), [np.array(row)])


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_an_extreme_of_nothing_is_an_error_that_names_the_variable(name):
    with pytest.raises(ShapeError, match=rf"test_reduce\.py:\d+.*{name} of `rows`"):
        getattr(r, name)(Variable(TensorType("float64", (0, 3)), "rows"), axis=0)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_an_extreme_of_nothing_found_at_run_time_is_an_error_too(name):
    rows = Variable(TensorType("float64", (None, 3)), "rows")
    with pytest.raises(ShapeError, match="without elements"):
        evaluate(getattr(r, name)(rows, axis=0), {rows: np.zeros((0, 3))})


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
@pytest.mark.parametrize("tier", ["reference", "numpy", "native"])
def test_an_extreme_of_nothing_in_each_step_is_an_error_and_in_no_step_none(name, tier):
    x = T.tensor3("x")
    rows, _ = scanviz.scan(lambda row: getattr(T, name)(row, axis=0), x)
    f = scanviz.function([x], rows, mode=tier)
    for shape in ((0, 0, 2), (0, 3, 2), (2, 3, 0), (0, 0, 0)):
        found = f(np.zeros(shape))
        assert found.shape == shape[::2] and found.dtype == rows.dtype
    for shape in ((2, 0, 2), (2, 0, 0)):
        with pytest.raises(
            ShapeError, match=f"{name} of an array without elements along the axes(.|\n)*found:    shape"
        ):
            f(np.zeros(shape))


@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extreme_along_the_other_axis_of_an_empty_array_is_empty(name):
    check(lambda x: getattr(r, name)(x, axis=1), lambda x: getattr(np, name)(x, axis=1), [np.zeros((0, 3))])


@pytest.mark.parametrize(
    ("axis", "kind", "message"),
    [
        (2, ScanvizValueError, "there is no axis 2"),
        ((0, -2), ScanvizValueError, "named twice"),
        (1.5, ScanvizTypeError, "must be an integer"),
    ],
)
def test_a_wrong_axis_is_an_error_that_names_the_variable_and_line(axis, kind, message):
    with pytest.raises(kind, match=rf"test_reduce\.py:\d+: sum of `table`.*{message}"):
        r.sum(Variable(TensorType("float64", (None, 3)), "table"), axis)


def test_equal_reductions_are_equal_ops_however_the_axes_are_written():
    table = Variable(TensorType("float64", (None, 3)), "table")
    ops = [r.sum(table, axis).owner.op for axis in (None, (0, 1), (1, 0), [-1, -2])]
    assert len(set(ops)) == 1


@given(arrays_and_axes(), st.data())
def test_count_is_the_number_of_elements_along_axes(case, data):
    array, axis = case
    axes = r.normal_axes(axis, array.ndim, "count")
    expected = np.int64(np.prod([array.shape[k] for k in axes], dtype=np.int64))
    check(lambda x: r.count(x, axes), lambda x: expected, [array], data)


@st.composite
def float_arrays(draw):
    return draw(tame(draw(float_dtypes), draw(shapes())))


def sum_to_shape(value, *sizes):
    """Return a sum along the axes whose size is to be 1; sizes are ints or scalars."""
    given_sizes = [size if isinstance(size, Variable) else constant(size, "int64") for size in sizes]
    return build_one(Op(r.SUM_TO_SHAPE), value, *given_sizes)


@given(float_arrays(), st.data())
def test_a_sum_to_a_shape_undoes_a_broadcast(array, data):
    kept = data.draw(st.lists(st.booleans(), min_size=array.ndim, max_size=array.ndim))
    wanted = [size if keep else 1 for size, keep in zip(array.shape, kept, strict=True)]
    axes = tuple(axis for axis, keep in enumerate(kept) if not keep)

    def oracle(x):
        return np.sum(x, axis=axes, keepdims=True, dtype=x.dtype)

    check(lambda x: sum_to_shape(x, *wanted), oracle, [array], data)


@given(float_arrays(), st.data())
def test_a_sum_to_a_shape_accepts_symbolic_sizes(array, data):
    wanted = [data.draw(st.sampled_from([1, size])) for size in array.shape]
    x = Variable(TensorType(array.dtype.name, (None,) * array.ndim), "x")
    sizes = [Variable(TensorType("int64", ()), f"n{k}") for k in range(array.ndim)]
    y = sum_to_shape(x, *sizes)
    assert y.type == TensorType(array.dtype.name, (None,) * array.ndim)
    givens = {x: array, **dict(zip(sizes, map(np.int64, wanted), strict=True))}
    found = evaluate(y, givens)
    assert found.shape == tuple(wanted)
    assert found.dtype == array.dtype
    assert shape_before(y, givens) == tuple(wanted)
    changed = tuple(k for k, (a, b) in enumerate(zip(array.shape, wanted, strict=True)) if a != b)
    np.testing.assert_array_equal(found, np.sum(array, axis=changed, keepdims=True, dtype=array.dtype))


def test_a_sum_to_a_shape_that_it_cannot_have_is_an_error():
    x = Variable(TensorType("float64", (None, None)), "x")
    with pytest.raises(ShapeError, match=r"(?s)summed to a shape.*\(2, 1\).*\(3, 4\)"):
        evaluate(sum_to_shape(x, 2, 1), {x: np.zeros((3, 4))})
    with pytest.raises(ScanvizValueError, match="one size per axis"):
        sum_to_shape(x, 1)
