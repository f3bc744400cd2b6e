"""The CuPy backend on a real GPU, held to the reference tier; skipped where there is none."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import DTYPES
from tests.engine.backends.cupy.test_cupy import OPERATIONS
from tests.engine.backends.cupy.test_rows import (
    BACKENDS,
    ELEMENTWISE,
    REDUCTIONS,
    REFUSED,
    UNLIKE_CUPYS,
    same_special_numbers,
)

pytestmark = pytest.mark.gpu
TOLERANCE = {"float16": 1e-2, "float32": 1e-4}


def agree(inputs, outputs, values, tolerance=1e-10):
    """Check that the GPU gives the values, shapes and dtypes of the reference."""
    make = scanviz.function
    wanted, found = (
        make(inputs, outputs, mode=mode, on_unused_input="ignore")(*values) for mode in ("reference", "cupy")
    )
    for a, b in zip(wanted, found, strict=True):
        assert isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape
        limit = max(tolerance, TOLERANCE.get(str(a.dtype), 0.0))
        np.testing.assert_allclose(b, a, rtol=limit, atol=limit)


def given(dtype, shape, seed):
    """Return values between 0 and 1 or small integers above 0, where every function is defined."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.05, 0.95, shape) if np.dtype(dtype).kind == "f" else rng.integers(1, 4, shape)
    return values.astype(dtype)


@pytest.mark.parametrize("declaration", ELEMENTWISE, ids=lambda each: each.name)
def test_elementwise_operations_agree_with_numpy(declaration):
    for dtype in DTYPES:
        x, s = T.tensor(dtype, (3,)), T.tensor(dtype, ())
        operands = {1: [(x,), (s,)], 2: [(x, x), (x, s), (s, x)], 3: [(x, x, x), (s, x, s), (x, s, s)]}
        try:
            outputs = [declaration(*operand) for operand in operands[declaration.arity]]
        except ScanvizError:
            continue  # no meaning for this dtype
        agree([x, s], outputs, [given(dtype, (3,), 1), given(dtype, (), 2)])


POLES = ("betaln", "polygamma")  # infinities of functions of cupyx are NaN here and there


@pytest.mark.parametrize(
    "declaration", [each for each in ELEMENTWISE if each.name not in POLES], ids=lambda each: each.name
)
def test_elementwise_operations_of_special_numbers(declaration):
    exact = (declaration.facts.cheap and declaration.formula.ulp == 0) or declaration.name in UNLIKE_CUPYS
    for dtype in DTYPES:
        same_special_numbers("cupy", declaration, [dtype] * declaration.arity, exact)


@pytest.mark.parametrize("declaration", REDUCTIONS, ids=lambda each: each.name)
def test_reductions_agree_with_numpy(declaration):
    for dtype in ("float64", "float32", "int8", "uint32", "bool"):
        x = T.tensor(dtype, (2, 3))
        outputs = [
            declaration(x, axis, keepdims=keep) for axis in (None, 0, (0, 1)) for keep in (False, True)
        ]
        agree([x], outputs, [given(dtype, (2, 3), 1)])


@pytest.mark.parametrize("name", OPERATIONS)
def test_other_operations_agree_with_numpy(name):
    x = T.matrix("x")
    agree([x], [OPERATIONS[name](x)], [np.random.default_rng(3).normal(size=(3, 4))])


@pytest.mark.parametrize("dtype", DTYPES)
def test_additions_at_repeated_places_agree_with_numpy(dtype):
    x, value, places = T.tensor(dtype, (4,)), T.tensor(dtype, (5,)), T.lvector("places")
    values = [given(dtype, (4,), 1), given(dtype, (5,), 2), [0, 2, 0, -1, 3]]
    agree([x, value, places], [T.inc_subtensor(x[places], value)], values)


@pytest.mark.filterwarnings("ignore:Diagonal number")  # CuPy's, before the error
@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_numpy_refuses_are_refused(name):
    inputs, build, values = REFUSED[name]
    for mode in (BACKENDS[0], "cupy"):
        with pytest.raises(ScanvizError):
            scanviz.function(inputs, build(), mode=mode)(*values)


def test_linear_systems_agree_with_numpy():
    a, b = T.tensor("float64", (2, 3, 3)), T.tensor("float64", (3, 1))
    base = np.random.default_rng(1).normal(size=(2, 3, 3))
    outputs = [
        T.linalg.solve(a, b),
        T.linalg.solve(a, b, assume_a="pos"),
        T.linalg.solve_triangular(a, b, lower=True, trans=1),
        T.linalg.cholesky(a, lower=False),
        *T.linalg.slogdet(a),
        T.linalg.inv(a),
    ]
    values = [base @ np.swapaxes(base, -1, -2) + np.eye(3), np.ones((3, 1))]
    agree([a, b], outputs, values, 1e-8)


def test_a_recurrent_network_agrees_with_numpy():
    x, w, h0 = T.matrix("x"), T.matrix("w"), T.vector("h0")
    rows = scanviz.scan(lambda row, h: T.tanh(row + T.dot(h, w)), sequences=x, outputs_info=h0)[0]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(50, 8)), rng.normal(size=(8, 8)) * 0.3, np.zeros(8)]
    agree([x, w, h0], [rows, rows[-1]], values)


def test_device_arrays_stay_on_the_device_and_are_not_shared():
    import cupy

    x = T.vector("x")
    f = scanviz.function([x], [x, x * 2, x[::-1], x.sum(), x.shape[0]], mode="cupy")
    array = cupy.arange(3.0)
    results = f(array)
    assert all(isinstance(result, cupy.ndarray) for result in results)
    for result in results:
        result[...] = -1
    assert array.tolist() == [0, 1, 2]
    with pytest.raises(ScanvizError, match="on a device"):
        scanviz.function([x], x + 1, mode="numpy")(array)


def test_streams_take_turns_with_a_shared_variable():
    import cupy

    x, w = T.vector("x"), scanviz.shared(np.zeros(1000), "w")
    f = scanviz.function([x], updates={w: w + x}, mode="cupy")
    g = scanviz.function([x], w * x, mode="cupy")
    streams = [cupy.cuda.Stream(non_blocking=True) for _ in range(3)]
    for k in range(30):
        with streams[k % 3]:
            f(np.ones(1000))
        if k % 4 == 0:
            assert (w.get_value() == k + 1).all()
    with streams[1]:
        assert (g(np.ones(1000)) == 30).all()


def test_the_default_mode_takes_cupy_arrays():
    import cupy

    x, h = T.matrix("x"), T.vector("h")
    rows = scanviz.scan(lambda x_t, h: T.tanh(x_t + 0.5 * h), x, h)[0]
    f = scanviz.function([x, h], rows)
    given = [np.arange(6.0).reshape(3, 2) / 6, np.ones(2)]
    found = f(*map(cupy.asarray, given))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_allclose(found.get(), f(*given), rtol=1e-12)
