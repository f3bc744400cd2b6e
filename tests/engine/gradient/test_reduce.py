"""Derivatives of reductions and cumulative operations: finite differences, zeros, equal elements, ranges of dtypes."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.table import CONNECTIONS, PULLBACKS, PUSHFORWARDS
from scanviz.engine.graph.declaration import Op, declarations
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.testing import verify_grad
from tests.engine.gradient.checking import gradient_of

seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)
filled_shapes = st.lists(st.integers(1, 3), min_size=1, max_size=3).map(tuple)
few = st.lists(st.sampled_from([0.0, 0.0, 1.0, -1.5, 0.7, 2.0]), min_size=1, max_size=4).map(np.array)


@st.composite
def factors(draw):
    """An array with many zeros, and some of its axes."""
    shape = draw(shapes)
    rng = np.random.default_rng(draw(seeds))
    array = rng.choice([0.0, 1.0, -1.5, 0.7, 2.0], shape, p=[0.4, 0.15, 0.15, 0.15, 0.15])
    return array, tuple(draw(st.lists(st.integers(0, len(shape) - 1), unique=True)))


@given(factors(), st.booleans(), st.booleans())
def test_gradients_of_sums_and_products_with_zeros_agree_with_finite_differences(case, keep, known):
    x, axes = case
    verify_grad(lambda v: T.sum(v, axes, keepdims=keep), [x], known_shapes=known)
    verify_grad(lambda v: T.prod(v, axes, keepdims=keep), [x], known_shapes=known, tolerance=1e-4)


@given(factors(), st.booleans())
def test_second_derivatives_of_products_with_zeros_are_correct(case, keep):
    x, axes = case
    verify_grad(gradient_of(lambda v: T.prod(v, axes, keepdims=keep)), [x], tolerance=1e-3)


@given(factors(), st.booleans(), st.booleans())
def test_gradients_of_cumulative_operations_with_zeros_are_correct(case, flat, known):
    x, _ = case
    axis = None if flat else x.ndim - 1
    verify_grad(lambda v: T.cumsum(v, axis), [x], known_shapes=known)
    verify_grad(lambda v: T.cumprod(v, axis), [x], known_shapes=known, tolerance=1e-4)


@given(factors(), st.booleans())
def test_second_derivatives_of_cumulative_products_with_zeros_are_correct(case, flat):
    x, _ = case
    verify_grad(gradient_of(lambda v: T.cumprod(v, None if flat else 0)), [x], tolerance=1e-3)


def written_out(x, count):
    """Return the products of the first elements, as multiplications."""
    found = [x[0]]
    for k in range(1, count):
        found.append(found[-1] * x[k])
    return found


@functools.cache
def three_derivatives(name, count):
    """Return the function of so many numbers that gives three derivatives of a product of them, twice."""
    x = T.vector("x")
    weights = np.arange(1.0, count + 1)
    products = written_out(x, count)
    if name == "prod":
        pair = [T.prod(x), products[-1]]
    else:
        pair = [T.sum(T.cumprod(x) * weights), T.sum(T.stack(products) * weights)]
    wanted, found = [], []
    for _ in range(3):
        pair = [scanviz.grad(each, x, disconnected_inputs="ignore") for each in pair]
        found.append(pair[0])
        wanted.append(pair[1])
        pair = [T.sum(each * weights) for each in pair]
    return scanviz.function([x], [*found, *wanted])


@pytest.mark.parametrize("name", ["prod", "cumprod"])
@given(few)
def test_derivatives_of_products_are_those_of_multiplications_up_to_the_third(name, values):
    computed = three_derivatives(name, len(values))(values)
    for mine, theirs in zip(computed[:3], computed[3:], strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.parametrize("mode", ["numpy", "reference"])
@pytest.mark.parametrize("row", [[2.0, 0.0, 3.0, 0.0], [2.0, 0.5, 3.0, -1.0], []])
def test_both_ways_to_the_derivative_of_a_cumulative_product_are_right_on_every_tier(mode, row):
    x = T.vector("x")
    g = scanviz.grad(T.sum(T.cumprod(x)), x)
    wanted = [sum(np.prod(row[:j] + row[j + 1 : k + 1]) for k in range(j, len(row))) for j in range(len(row))]
    np.testing.assert_allclose(scanviz.function([x], g, mode=mode)(row), wanted)


@pytest.mark.parametrize("function", [T.sum, T.prod, T.cumsum, T.cumprod])
def test_a_float64_reduction_of_float32_has_a_float32_gradient(function):
    for row in ([0.3, -1.2, 2.0], [0.0, 2.0, 0.0]):
        verify_grad(lambda x: function(x, dtype="float64"), [np.array(row, "float32")])


def test_gradients_of_products_use_the_range_of_the_dtype_they_are_computed_in():
    x = T.fvector("x")
    row = np.array([1e30, 1e30, 1e-30], "float32")
    for y in (T.prod(x, dtype="float64"), T.cumprod(x, dtype="float64")[2]):
        g = scanviz.grad(y, x).eval({x: row})
        np.testing.assert_allclose(g[:2], [1.0, 1.0], rtol=1e-6)


@pytest.mark.parametrize("build", [T.prod, lambda x: T.cumprod(x)[1]])
def test_a_product_too_small_for_its_dtype_keeps_its_gradient(build):
    x = T.fvector("x")
    g = scanviz.grad(build(x), x).eval({x: np.array([1e-25, 2e-25], "float32")})
    np.testing.assert_allclose(g, np.array([2e-25, 1e-25], "float32"))


@pytest.mark.parametrize("name", ["max", "min"])
@given(shape=filled_shapes, seed=seeds, keep=st.booleans(), data=st.data())
def test_gradients_of_max_and_min_agree_with_finite_differences(name, shape, seed, keep, data):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True).map(tuple))
    x = np.random.default_rng(seed).permutation(np.prod(shape)).reshape(shape) * 0.37
    verify_grad(lambda v: getattr(T, name)(v, axes, keepdims=keep), [x])
    verify_grad(gradient_of(lambda v: getattr(T, name)(v, axes, keepdims=keep)), [x], tolerance=1e-4)


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=6))
def test_equal_largest_elements_share_the_derivative(row):
    x = T.vector("x")
    g = scanviz.grad(T.max(x), x).eval({x: row})
    chosen = np.array(row) == max(row)
    np.testing.assert_allclose(g, chosen / chosen.sum())


def test_many_equal_elements_are_counted_in_whole_numbers():
    x = T.tensor("float16", (None, None), "x")
    g = scanviz.grad(T.sum(T.max(x, axis=0)), x).eval({x: np.zeros((4099, 2), "float16")})
    assert g.dtype == np.float16
    np.testing.assert_array_equal(g, np.full((4099, 2), np.float16(1) / np.float16(4099)))


def test_an_extreme_along_one_axis_of_an_array_without_rows_has_an_empty_gradient():
    x = T.matrix("x")
    assert scanviz.grad(T.sum(T.max(x, 1)), x).eval({x: np.zeros((0, 3))}).shape == (0, 3)


@pytest.mark.parametrize("name", ["argmax", "argmin", "all", "any"])
def test_argmax_and_comparisons_are_not_connected(name):
    x = T.vector("x")
    y = T.cast(getattr(T, name)(x), "float64") * 2
    with pytest.raises(scanviz.ScanvizError, match="has no derivative|is true or false"):
        scanviz.grad(y, x)
    assert scanviz.grad(y * x[0], x).eval({x: [3.0, 1.0]}).tolist() == [float(y.eval({x: [3.0, 1.0]})), 0.0]


@pytest.mark.parametrize("stretched", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("size", [0, 1, 3])
def test_gradients_of_a_sum_to_a_run_time_shape_are_correct(stretched, size):
    x = np.random.default_rng(1).normal(size=(size, 2))
    wanted = [1 if axis in stretched else each for axis, each in enumerate(x.shape)]

    def build(v, n, m):
        return build_one(Op(SUM_TO_SHAPE), v, n, m)

    verify_grad(build, [x, *wanted])
    verify_grad(gradient_of(build), [x, *wanted], tolerance=1e-4)


NEURAL = {
    "softmax": T.softmax,
    "softmax of columns": lambda x: T.softmax(x, axis=0),
    "log_softmax": T.log_softmax,
    "mean": lambda x: T.mean(x, axis=1),
    "variance": lambda x: T.var(x, axis=0),
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("name", NEURAL)
def test_gradients_of_softmax_and_statistics_agree_with_finite_differences(name, known):
    points = [np.array([[0.3, -1.2, 2.0], [1.5, 0.7, -0.4]])]
    verify_grad(NEURAL[name], points, known_shapes=known)
    verify_grad(gradient_of(NEURAL[name]), points, tolerance=1e-4)


def test_every_operation_has_both_rows_or_no_derivative():
    others = {"elementwise", "random", "scan", "subgraph", "test"}  # in tests of their own
    whole = {"all", "any", "argmax", "argmin", "argsort", "searchsorted"}  # of whole numbers and truth values
    unconnected = {"dimension", "broadcast_size", "arange", "eye", "disconnected_grad"}
    found = {each.name: each for each in declarations() if each.family not in others}
    assert whole | unconnected < found.keys()
    for name, each in found.items():
        has = (each in PULLBACKS, each in PUSHFORWARDS)
        assert (each in CONNECTIONS) or name not in unconnected, name
        assert has == ((False, False) if name in whole else (True, True)) or name in unconnected, (name, has)
