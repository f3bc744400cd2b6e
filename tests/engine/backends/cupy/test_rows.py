"""Every row of the CuPy table, run on the stand-in for CuPy and compared with the reference tier."""

import warnings

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.cupy.table import CUPY
from scanviz.engine.errors import NumericalError, ScanvizError
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.factorise import lu_factor, lu_solve
from scanviz.engine.ops.reduce import ReductionDeclaration
from tests.engine.backends.cupy import stand_in
from tests.engine.backends.cupy.fake_cupy import OFFERED
from tests.support.internals import missing_rows

stand_in.register()
LOOP = "scan"  # an instruction of its own, never performed
BACKENDS = ["reference", "stand-in"]
ELEMENTWISE = [each for each in declarations() if isinstance(each, ElementwiseDeclaration)]
REDUCTIONS = [each for each in declarations() if isinstance(each, ReductionDeclaration)]


def same_on_both(inputs, outputs, values, tolerance=0.0):
    """Check that the reference and the stand-in agree in values, shapes and dtypes."""
    wanted, found = (
        scanviz.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*values) for mode in BACKENDS
    )
    for a, b, promised in zip(wanted, found, outputs, strict=True):
        assert isinstance(b, np.ndarray) and a.dtype == b.dtype == promised.type.dtype
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)
        assert a.shape == b.shape


def values_of(dtype, shape, seed):
    """Return values of a dtype."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 7, shape) if np.dtype(dtype).kind != "f" else rng.normal(size=shape) * 3
    return values.astype(dtype)


def test_every_operation_but_the_loop_has_a_row():
    holes = [
        name for name in missing_rows(CUPY) if not name.startswith("test_")
    ]  # other tests declare ops too
    assert holes == [LOOP, "subgraph"]  # whose operations are in its place when a Program is made


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("declaration", ELEMENTWISE, ids=lambda each: each.name)
def test_elementwise_operations_of_every_dtype_agree_with_numpy(declaration, dtype):
    x, y, s = T.tensor(dtype, (3,)), T.tensor(dtype, (3,)), T.tensor(dtype, ())
    choices = {1: [(x,), (s,)], 2: [(x, y), (x, s), (s, x)], 3: [(x, y, x), (s, x, s), (x, s, s)]}
    outputs = []
    for operands in choices[declaration.arity]:
        try:
            outputs.append(declaration(*operands))
        except ScanvizError:
            pytest.skip(f"{declaration.name} has no meaning for {dtype}")
    values = [values_of(dtype, shape, seed) for seed, shape in enumerate([(3,), (3,), ()])]
    tolerance = {"float16": 4e-3, "float32": 2e-6}.get(outputs[0].type.dtype, 1e-13)
    same_on_both([x, y, s], outputs, values, tolerance)


def special_numbers(dtype):
    """Return zeros of both signs, NaN, infinities and numbers at the ends of a dtype, and widths of integers."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        limits, more = np.finfo(kind), [0.0, -0.0, 0.1, -0.1, 0.5, 1.5, 2.5, -2.5, 3, 5, 10, np.inf, np.nan]
        numbers = [*more, 1, -1, -np.inf, limits.max, -limits.max, limits.tiny, -limits.tiny]
        return np.array(numbers, np.float64).astype(kind)
    limits, width = np.iinfo(kind), 8 * kind.itemsize
    numbers = {0, 1, 2, 3, 7, -1, -3, -7, width - 1, width, width + 1, limits.min, limits.max}
    return np.array(sorted(each for each in numbers if limits.min <= each <= limits.max), kind)


def special_pairs(declaration, dtypes):
    """Return all combinations of special numbers that NumPy gives one meaning."""
    pairs = [each.ravel() for each in np.meshgrid(*map(special_numbers, dtypes))]
    kept = np.ones(pairs[0].shape, bool)
    if declaration.name == "power" and np.result_type(*dtypes).kind in "iu":
        kept &= pairs[1] >= 0
    return [each[kept] for each in pairs]


CLOSE = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-12}


def same_special_numbers(mode, declaration, dtypes, exact=True):
    """Check that a tier computes an operation of special numbers as NumPy does, where exact to the sign of zeros."""
    inputs = [T.tensor(dtype, (None,)) for dtype in dtypes]
    try:
        output = declaration(*inputs)
    except ScanvizError:
        return  # no meaning for these dtypes
    values = special_pairs(declaration, dtypes)
    with np.errstate(all="ignore"):
        wanted = np.asarray(declaration.function(*values))
    found = scanviz.function(inputs, output, mode=mode)(*values)
    assert found.dtype == wanted.dtype
    flushed = np.finfo(wanted.dtype).tiny if wanted.dtype.kind == "f" else 0  # smaller numbers may be 0
    np.testing.assert_allclose(
        found, wanted, rtol=0 if exact else CLOSE.get(str(wanted.dtype), 0), atol=flushed
    )
    either_zero = declaration.facts.selects  # which of two zeros is larger is an accident
    if found.dtype.kind == "f" and exact and not either_zero:
        signs = [np.signbit(each[~np.isnan(wanted)]) for each in (found, wanted)]
        np.testing.assert_array_equal(*signs)


UNLIKE_CUPYS = (
    "floor_divide",
    "mod",
    "left_shift",
    "right_shift",
    "logical_and",
    "logical_or",
    "logical_xor",
)


@pytest.mark.parametrize("name", UNLIKE_CUPYS)
def test_ufuncs_that_differ_in_cupy_agree_with_numpy(name):
    declaration = next(each for each in ELEMENTWISE if each.name == name)
    for dtype in DTYPES:
        same_special_numbers("stand-in", declaration, (dtype, dtype))
    for dtypes in (("int64", "uint64"), ("uint64", "int64")):
        same_special_numbers("stand-in", declaration, dtypes)


def test_quotients_and_remainders_of_floats_in_a_loop_are_numpys():
    x, y = T.vector("x"), T.vector("y")
    rows, _ = scanviz.scan(lambda a, b: [a // b, a % b], sequences=[x, y])
    given = [np.array([1.0, -1.0, 5.0, -0.0]), np.array([0.1, 0.1, np.inf, 2.0])]
    quotients, rests = scanviz.function([x, y], rows, mode="stand-in")(*given)
    assert quotients.tolist() == [9, -10, 0, 0] and rests.tolist() == (given[0] % given[1]).tolist()


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint32", "bool"])
@pytest.mark.parametrize("declaration", REDUCTIONS, ids=lambda each: each.name)
def test_reductions_agree_with_numpy(declaration, dtype):
    x = T.tensor(dtype, (2, 3))
    outputs = [declaration(x, axis, keepdims=keep) for axis in (None, 0, (0, 1)) for keep in (False, True)]
    same_on_both([x], outputs, [values_of(dtype, (2, 3), 1)], 1e-3)


@pytest.mark.parametrize("declaration", REDUCTIONS, ids=lambda each: each.name)
def test_reductions_of_no_elements(declaration):
    x = T.tensor("float32", (None, None))
    outputs = [declaration(x, 1, keepdims=keep) for keep in (False, True)]
    same_on_both([x], outputs, [np.zeros((0, 3), np.float32)])


@pytest.mark.parametrize("dtype", DTYPES)
def test_additions_at_repeated_places_of_every_dtype_agree_with_numpy(dtype):
    x, value, places = T.tensor(dtype, (4,)), T.tensor(dtype, (5,)), T.lvector("places")
    y = T.inc_subtensor(x[places], value)
    given = [values_of(dtype, (4,), 1), values_of(dtype, (5,), 2), [0, 2, 0, -1, 3]]
    same_on_both([x, value, places], [y], given, {"float16": 4e-3}.get(dtype, 1e-6))


def test_sums_of_small_integers_wrap_as_numpy_does():
    x, places = T.tensor("int8", (2,)), T.lvector("places")
    y = T.inc_subtensor(x[places], np.array([100, 100, 100], np.int8))
    same_on_both([x, places], [y], [np.array([100, -100], np.int8), [0, 0, 1]])


@pytest.mark.parametrize(
    "shapes", [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3, 1)), ((2, 3, 3), (2, 3, 2))]
)
@pytest.mark.parametrize("lower", [True, False])
def test_linear_systems_agree_with_numpy(shapes, lower):
    a, b = T.tensor("float64", shapes[0]), T.tensor("float64", shapes[1])
    base = values_of("float64", shapes[0], 1)
    positive = base @ np.swapaxes(base, -1, -2) + np.eye(3)
    outputs = [
        T.linalg.solve(a, b),
        T.linalg.solve(a, b, assume_a="pos"),
        T.linalg.solve_triangular(a, b, lower=lower),
        T.linalg.solve_triangular(a, b, lower=lower, trans=1),
        T.linalg.solve_triangular(a, b, lower=lower, unit_diagonal=True),
        T.linalg.cholesky(a, lower=lower),
        *T.linalg.slogdet(a),
        T.linalg.det(a),
        T.linalg.inv(a),
    ]
    same_on_both([a, b], outputs, [positive, values_of("float64", shapes[1], 2)], 1e-10)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float64", "float32"), ("int8", "float32")])
def test_factors_and_right_sides_of_other_dtypes(dtypes):
    a, b = T.tensor(dtypes[0], (3, 3)), T.tensor(dtypes[1], (3, 2))
    factors, pivots = lu_factor(a)
    outputs = [factors, pivots, lu_solve(factors, pivots, b), lu_solve(factors, pivots, b, transposed=True)]
    values = [np.array([[2, 1, 0], [1, 3, 1], [5, 1, 4]], dtypes[0]), np.ones((3, 2), dtypes[1]) / 3]
    same_on_both([a, b], outputs, values, {"float32": 2e-7}.get(dtypes[0], 1e-15))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("strange", [np.nan, np.inf])
def test_factors_of_matrices_with_nan_and_infinity_are_not_refused(strange):
    a, b = T.matrix("a"), T.vector("b")
    factors, pivots = lu_factor(a)
    given = [np.array([[1.0, 2.0], [3.0, strange]]), np.ones(2)]
    same_on_both([a, b], [factors, lu_solve(factors, pivots, b)], given)
    same_on_both([a, b], [lu_solve(factors, pivots, b)], [np.eye(2), np.array([strange, 1.0])])


@pytest.mark.parametrize("action", ["error", "ignore"])
def test_a_singular_matrix_is_refused_also_where_its_warning_is_an_error(action):
    a = T.matrix("a")
    f = scanviz.function([a], lu_factor(a)[0], mode=BACKENDS[-1])
    with warnings.catch_warnings(action=action), pytest.raises(NumericalError, match="no unique solution"):
        f(np.ones((2, 2)))


def test_integer_and_empty_linear_systems_agree_with_numpy():
    a, b = T.lmatrix("a"), T.lvector("b")
    same_on_both([a, b], [T.linalg.solve(a, b)], [[[2, 1], [1, 3]], [1, 2]], 1e-12)
    same_on_both([a, b], [T.linalg.solve(a, b)], [np.zeros((0, 0), int), np.zeros(0, int)])


@pytest.mark.parametrize(
    "first, second", [((4, 2, 3), (4, 3, 5)), ((4, 3), (4, 3)), ((4, 2, 3), (4, 3)), ((4, 3), (4, 2, 3, 5))]
)
def test_products_of_pairs_agree_with_numpy(first, second):
    a, b = T.tensor("float64", first), T.tensor("float64", second)
    given = [values_of("float64", first, 1), values_of("float64", second, 2)]
    same_on_both([a, b], [T.batched_dot(a, b)], given, 1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool"])
def test_softmax_of_every_kind_and_of_no_elements_agrees_with_numpy(dtype):
    x = T.tensor(dtype, (None, 3))
    outputs = [T.softmax(x), T.log_softmax(x, axis=0), T.softmax(x, axis=None)]
    same_on_both([x], outputs, [values_of(dtype, (2, 3), 1)], 1e-6 if dtype == "float32" else 1e-12)
    same_on_both([x], outputs, [np.zeros((0, 3), dtype)])


def test_ranges_and_identities_are_numpys():
    start, stop, step, n = T.fscalar("start"), T.fscalar("stop"), T.fscalar("step"), T.lscalar("n")
    outputs = [T.arange(start, stop, step), T.eye(n, n + 1, 1), T.arange(n) + 1]
    same_on_both([start, stop, step, n], outputs, [np.float32(0), np.float32(1), np.float32(0.1), 3])


def test_uint32_vectors_are_device_arrays():
    x, y = T.tensor("uint32", (None,)), T.vector("y")
    same_on_both([x, y], [x + x[0], x * y], [np.arange(3, dtype="uint32"), np.arange(3.0)])


def refused(function, *values):
    """Return the message that the reference refuses with, after checking that the stand-in does too."""
    messages = []
    for mode in BACKENDS:
        with pytest.raises(ScanvizError) as caught:
            function(mode)(*values)
        messages.append((type(caught.value), caught.value.what, caught.value.expected))
    assert messages[0] == messages[1]
    return messages[0][1]


X, PLACES, N = T.matrix("x"), T.lvector("i"), T.lscalar("n")
BATCH, SECOND_SINGULAR = T.tensor3("x"), [np.stack([np.eye(2), np.zeros((2, 2))])]
REFUSED = {
    "a number outside": ([X, N], lambda: X[N], [np.eye(3), 7]),
    "a row to assign outside": ([X, N], lambda: T.set_subtensor(X[N], 1.0), [np.eye(3), 7]),
    "an index outside": ([X, PLACES], lambda: X[PLACES], [np.eye(3), [0, 3]]),
    "a negative index outside": ([X, PLACES], lambda: X[:, PLACES], [np.eye(3), [0, -4]]),
    "assignment outside": ([X, PLACES], lambda: T.set_subtensor(X[PLACES], 1.0), [np.eye(3), [7]]),
    "a singular inverse": ([X], lambda: T.linalg.inv(X), [np.zeros((2, 2))]),
    "a singular system": ([X], lambda: T.linalg.solve(X, T.ones(2)), [np.zeros((2, 2))]),
    "singular factors": ([X], lambda: lu_factor(X)[0], [np.ones((2, 2))]),
    "the largest of no rows": ([X], lambda: T.max(X, axis=0), [np.zeros((0, 3))]),
    "the largest of no row of none": ([X], lambda: T.max(X, axis=0), [np.zeros((0, 0))]),
    "the place of the least of nothing": ([X], lambda: T.argmin(X), [np.zeros((0, 3))]),
    "no eigenvalues": ([X], lambda: T.linalg.svdvals(X), [np.full((2, 2), np.nan)]),
    "a negative number to count": ([PLACES], lambda: T.bincount(PLACES), [[1, -1]]),
    "too few weights": ([PLACES, X], lambda: T.bincount(PLACES, X[0]), [[1, 1], np.eye(3)]),
    "no factor": ([X], lambda: T.linalg.cholesky(X), [-np.eye(2)]),
    "a zero on the diagonal": (
        [X],
        lambda: T.linalg.solve_triangular(X, T.ones(2)),
        [np.array([[1.0, 0], [0, 0]])],
    ),
    "an inverse of a batch": ([BATCH], lambda: T.linalg.inv(BATCH), SECOND_SINGULAR),
    "a system of a batch": ([BATCH], lambda: T.linalg.solve(BATCH, T.ones((2, 1))), SECOND_SINGULAR),
    "a factor of a batch": ([BATCH], lambda: T.linalg.cholesky(BATCH), SECOND_SINGULAR),
    "a triangle of a batch": (
        [BATCH],
        lambda: T.linalg.solve_triangular(BATCH, T.ones((2, 1))),
        SECOND_SINGULAR,
    ),
    "a reshape": ([X, N], lambda: X.reshape((N, 2)), [np.eye(3), 4]),
    "a negative size": ([X, N], lambda: T.alloc(X[0, 0], N), [np.eye(3), -1]),
    "a promised shape": ([X], lambda: T.specify_shape(X, (2, None)), [np.eye(3)]),
    "a dropped axis": ([X], lambda: X.dimshuffle(0), [np.eye(3)]),
    "joining": ([X, N], lambda: T.concatenate([X, X[:N]], axis=1), [np.eye(3), 2]),
    "negative counts": ([X, PLACES], lambda: T.repeat(X, PLACES, axis=0), [np.eye(3), [1, -1, 2]]),
    "too few counts": ([X, PLACES], lambda: T.repeat(X, PLACES, axis=0), [np.eye(3), [1, 1]]),
}


@pytest.mark.filterwarnings("ignore:Diagonal number")  # CuPy's, before the error
@pytest.mark.parametrize("name", REFUSED)
def test_arguments_that_numpy_refuses_are_refused_with_the_same_message(name):
    inputs, build, values = REFUSED[name]
    assert refused(lambda mode: scanviz.function(inputs, build(), mode=mode), *values)


def test_the_names_of_the_stand_in_are_cupys():
    cupy = pytest.importorskip("cupy")
    special = pytest.importorskip("cupyx.scipy.special")
    from tests.engine.backends.cupy.fake_cupy import LINALG, METHODS, SPECIAL

    assert [name for name in OFFERED if not hasattr(cupy, name)] == []
    assert [name for name in LINALG if not hasattr(cupy.linalg, name)] == []
    assert [name for name in SPECIAL if not hasattr(special, name)] == []
    array = cupy.ndarray  # the class alone: an array needs a GPU
    methods = [*METHODS, "get", "item", "tolist"]
    assert [name for name in methods if not hasattr(array, name)] == []
