import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import special

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.evaluate import evaluate
from tests.engine.ops.checking import check, dtypes, float_dtypes, shapes, tame

REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "argmax", "argmin"]


def close(dtype: np.dtype) -> dict[str, float]:
    eps = float(np.finfo(dtype).eps) if dtype.kind == "f" else 1e-15
    return {"rtol": 16 * eps, "atol": 64 * eps}


@st.composite
def arrays_and_axes(draw, kinds=dtypes, min_side=0):
    array = draw(tame(draw(kinds), draw(shapes(min_side=min_side))))
    if array.ndim == 0:
        return array, draw(st.sampled_from([None, ()]))
    one = st.integers(-array.ndim, array.ndim - 1)
    several = st.lists(one, max_size=array.ndim, unique_by=lambda axis: axis % array.ndim).map(tuple)
    return array, draw(st.one_of(st.none(), one, several))


@pytest.mark.parametrize("name", REDUCTIONS)
@given(st.data())
def test_every_reduction_agrees_with_numpy(name, data):
    array, axis = data.draw(arrays_and_axes(min_side=0 if name in ("sum", "prod", "all", "any") else 1))
    assume(not (name.startswith("arg") and isinstance(axis, tuple)))
    keepdims = data.draw(st.booleans())

    def build(x):
        return getattr(T, name)(x, axis, keepdims=keepdims)

    def method(x):
        return getattr(x, name)(axis, keepdims=keepdims)

    def oracle(x):
        return getattr(np, name)(x, axis=axis, keepdims=keepdims)

    tolerance = close(array.dtype) if name in ("mean", "var", "std") else {}
    check(build, oracle, [array], data, **tolerance)
    check(method, oracle, [array], data, **tolerance)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@given(arrays_and_axes(), st.sampled_from([None, "float64", "int64"]), st.data())
def test_cumulative_operations_agree_with_numpy(name, case, dtype, data):
    array, axis = case
    assume(not isinstance(axis, tuple))
    build = lambda x: getattr(T, name)(x, axis, dtype=dtype)  # noqa: E731
    check(build, lambda x: getattr(np, name)(x, axis=axis, dtype=dtype), [array], data)
    check(lambda x: getattr(x, name)(axis), lambda x: getattr(np, name)(x, axis=axis), [array], data)


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(arrays_and_axes(), st.data())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_averages_of_nothing_are_nan_as_in_numpy(name, case, data):
    array, axis = case
    check(
        lambda x: getattr(T, name)(x, axis),
        lambda x: getattr(np, name)(x, axis=axis),
        [array],
        data,
        **close(array.dtype),
    )


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("ddof", [1, 2, 0.5, 7])
@given(st.data())
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_ddof_is_taken_off_the_number_of_elements(name, ddof, data):
    array, axis = data.draw(arrays_and_axes(min_side=1))
    build = lambda x: getattr(T, name)(x, axis, ddof=ddof)  # noqa: E731
    check(build, lambda x: getattr(np, name)(x, axis=axis, ddof=ddof), [array], data, **close(array.dtype))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(arrays_and_axes(min_side=1), float_dtypes, st.data())
def test_averages_have_the_requested_dtype(name, case, dtype, data):
    array, axis = case
    build = lambda x: getattr(T, name)(x, axis, dtype=dtype)  # noqa: E731
    wide = "float64" if array.dtype.kind != "f" else np.result_type(dtype, "float32")
    oracle = lambda x: np.asarray(getattr(np, name)(x, axis=axis, dtype=wide)).astype(dtype)  # noqa: E731
    check(build, oracle, [array], data, **close(np.dtype(dtype)))


def test_float16_is_averaged_without_overflow_of_the_sum():
    check(T.mean, np.mean, [np.full(4000, 60000, "float16")])


def test_a_mean_of_a_known_shape_divides_by_a_constant():
    x = T.tensor("float32", (2, 3))
    assert T.mean(x).owner.inputs[1].value == 6


def test_an_average_as_an_integer_is_refused_with_the_cast_to_write():
    with pytest.raises(
        ScanvizTypeError, match=r"mean of `x` cannot be int64(.|\n)*T.cast\(T.mean\(x\), \"int64\"\)"
    ):
        T.mean(T.vector("x"), dtype="int64")


@given(st.data())
def test_logsumexp_agrees_with_scipy(data):
    array, axis = data.draw(arrays_and_axes(min_side=1))
    keepdims = data.draw(st.booleans())
    result = array.dtype if array.dtype.kind == "f" else np.dtype("float64")

    def oracle(x):
        return special.logsumexp(x.astype("float64"), axis=axis, keepdims=keepdims).astype(result)

    assume(axis != () and array.ndim)  # SciPy takes no axes for all, and scalars for vectors
    check(lambda x: T.logsumexp(x, axis, keepdims=keepdims), oracle, [array], data, **close(result))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-np.inf, -np.inf], -np.inf),
        ([np.inf, 0.0], np.inf),
        ([np.inf, -np.inf], np.inf),
        ([np.nan, 0.0], np.nan),
        ([1e4, 1e4], 1e4 + np.log(2)),
        ([-1e4, -np.inf], -1e4),
    ],
)
def test_logsumexp_holds_at_the_ends_of_the_range(values, expected):
    x = T.vector("x")
    np.testing.assert_allclose(evaluate(T.logsumexp(x), {x: values}), expected, rtol=1e-15)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_an_axis_that_does_not_exist_is_an_error_that_names_the_operation_the_variable_and_the_line(name):
    with pytest.raises(
        ScanvizValueError, match=rf"test_reductions\.py:\d+: {name} of `x`: there is no axis 1"
    ):
        getattr(T, name)(T.vector("x"), 1)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "logsumexp"])
def test_an_extreme_of_nothing_is_an_error(name):
    with pytest.raises(ShapeError):
        getattr(T, name)(T.tensor("float64", (0,), name="x"))
