import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from tests.engine.ops.checking import check, dtypes, float_dtypes, integer_dtypes, shapes, symbol

OPS = {each.name: each for each in declarations() if isinstance(each, ElementwiseDeclaration)}
SPECIAL = {
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, np.zeros_like(x)),
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "gammaln": special.gammaln,
    "digamma": special.digamma,
    "logit": special.logit,
}
BY_LAW = {
    "xlogy",
    "xlog1py",
    "betaln",
    "gammainc",
    "gammaincc",
}  # compared with SciPy by the laws of NumPy's names
ORACLES = {
    name: getattr(np, name)
    for name in OPS
    if name not in (*SPECIAL, *BY_LAW, "polygamma", "where", "clip", "multiply_no_nan")
}
ORACLES["multiply_no_nan"] = lambda x, y: np.where(np.equal(y, 0), np.zeros((), (x * y).dtype), x * y)
UNARY = sorted(name for name in ORACLES if OPS[name].arity == 1)
BINARY = sorted(name for name in ORACLES if OPS[name].arity == 2)
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
SHIFTS = ["left_shift", "right_shift"]


def numbers(dtype: str, shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(dtype, shape)  # anything: NaN, infinities, -0.0, subnormal numbers, extreme integers


def supported(name: str, *kinds: str) -> bool:
    try:
        with np.errstate(all="ignore"):
            return ORACLES[name](*(np.ones(1, kind) for kind in kinds)).dtype.name != "object"
    except TypeError:
        return False


@pytest.mark.parametrize("name", UNARY)
@given(st.data())
def test_unary_functions_agree_with_numpy(name, data):
    dtype = data.draw(dtypes)
    assume(supported(name, dtype))
    array = data.draw(numbers(dtype, data.draw(shapes())))
    check(OPS[name], ORACLES[name], [array], data)


@pytest.mark.parametrize("name", BINARY)
@given(st.data())
def test_binary_functions_agree_with_numpy_and_broadcast(name, data):
    kinds = data.draw(st.tuples(dtypes, dtypes))
    assume(supported(name, *kinds))
    both = data.draw(
        hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3)
    ).input_shapes
    first, second = (data.draw(numbers(kind, shape)) for kind, shape in zip(kinds, both, strict=True))
    if name == "power" and np.result_type(*kinds).kind in "iu":
        assume(not (second < 0).any())  # NumPy refuses integers to negative powers
    if name in SHIFTS:
        second = second & np.asarray(1 if kinds[1] == "bool" else 7).astype(
            kinds[1]
        )  # a shift by more bits than there are is undefined
    check(OPS[name], ORACLES[name], [first, second], data)


@pytest.mark.parametrize("name", sorted(SPECIAL))
@given(st.data())
def test_special_functions_agree_with_scipy(name, data):
    dtype = data.draw(float_dtypes)
    array = data.draw(
        hnp.arrays(dtype, data.draw(shapes()), elements=st.integers(-40, 40).map(lambda k: k / 8))
    )

    def exact(x):
        return SPECIAL[name](x.astype("float64")).astype(dtype)

    check(OPS[name], exact, [array], data, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).tiny)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_polygamma_agrees_with_scipy_and_requires_integer_orders(dtype):
    x = np.array([0.5, 1.0, 2.5, 8.0], dtype)

    def exact(order, points):
        return special.polygamma(order, points.astype("float64")).astype(dtype)

    check(e.polygamma, exact, [np.array([0, 1, 2, 3]), x], rtol=8 * np.finfo(dtype).eps)
    with pytest.raises(ScanvizTypeError, match="polygamma"):
        e.polygamma(0.5, x)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"])
def test_the_largest_order_of_an_integer_type_does_not_wrap_around(dtype):
    largest, at = np.array([np.iinfo(dtype).max], dtype), np.array([1.0])
    (found,) = e.polygamma.function(largest, at)
    assert found == special.polygamma(float(largest[0]), 1.0)
    orders = symbol(largest, "orders")
    assert evaluate(e.polygamma(orders, 1.0), {orders: largest}) == found


@pytest.mark.parametrize("name", sorted(SPECIAL))
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64"])
def test_sigmoid_and_softplus_of_ints_have_the_dtype_of_exp_and_the_others_are_float64(name, dtype):
    result = np.exp(np.ones(1, dtype)).dtype if name in ("sigmoid", "softplus") else "float64"

    def oracle(x):
        return SPECIAL[name](x.astype("float64")).astype(result)

    check(OPS[name], oracle, [np.ones(3, dtype)], rtol=1e-3)


weak_numbers = st.one_of(st.integers(0, 100), st.integers(-100, 100), st.floats(-100, 100, width=16))


@pytest.mark.parametrize("name", BINARY)
@given(dtypes, weak_numbers, st.booleans(), st.data())
def test_python_numbers_are_weak_as_in_numpy(name, dtype, number, first, data):
    array = data.draw(
        hnp.arrays(dtype, (2,), elements=st.integers(1, 1) if dtype != "bool" else st.booleans())
    )
    arrange = (lambda f, x: f(number, x)) if first else (lambda f, x: f(x, number))
    try:
        with np.errstate(all="ignore"):
            expected = arrange(ORACLES[name], array)
    except OverflowError:
        with pytest.raises(ScanvizValueError):
            arrange(OPS[name], symbol(array, "x"))
        return
    except (TypeError, ValueError):
        return
    assume(name not in SHIFTS or 0 <= number < 8)
    assert arrange(OPS[name], symbol(array, "x")).type.dtype == expected.dtype.name
    check(lambda x: arrange(OPS[name], x), lambda x: arrange(ORACLES[name], x), [array], data)


@pytest.mark.parametrize("pair", [(1, 0), (1.0, 0), (1.0, 0.0), (False, True)])
def test_where_of_two_python_numbers_is_of_numpys_dtype(pair):
    check(lambda c: e.where(c, *pair), lambda c: np.where(c, *pair), [np.array([True, False])])


@given(dtypes, weak_numbers)
def test_where_with_one_python_number_keeps_the_other_dtype(dtype, number):
    array = np.ones(2, dtype)
    condition = np.array([True, False])
    assume(
        array.dtype.kind != "u" or not isinstance(number, int) or number >= 0
    )  # NumPy wraps around, we refuse
    check(lambda c, x: e.where(c, x, number), lambda c, x: np.where(c, x, number), [condition, array])


@pytest.mark.parametrize("name", COMPARISONS)
@given(integer_dtypes, st.integers(-(2**40), 2**40))
def test_an_integer_that_does_not_fit_the_dtype_can_still_be_compared_with(name, dtype, number):
    array = np.arange(3).astype(dtype)
    check(lambda x: OPS[name](x, number), lambda x: ORACLES[name](x, number), [array])


@pytest.mark.parametrize("name", sorted(OPS))
@given(st.data())
def test_writing_to_a_buffer_gives_the_same_bits_even_in_place(name, data):
    declaration = OPS[name]
    dtype = data.draw(
        float_dtypes if name not in ("invert", *SHIFTS) and "bitwise" not in name else integer_dtypes
    )
    arrays = [
        data.draw(hnp.arrays(dtype, (3,), elements=st.integers(1, 4))) for _ in range(declaration.arity)
    ]
    with np.errstate(all="ignore"):
        expected = np.asarray(declaration.function(*arrays))
        buffer = np.empty(3, expected.dtype)
        assert declaration.function(*arrays, out=buffer) is buffer
        assert buffer.tobytes() == expected.tobytes()
        for k in range(declaration.arity):
            own = [array.copy() for array in arrays]
            if own[k].dtype == expected.dtype:
                declaration.function(*own, out=own[k])
                assert own[k].tobytes() == expected.tobytes(), f"in place of input {k}"


@given(dtypes, dtypes, st.data())
def test_cast_is_astype(source, target, data):
    array = data.draw(
        hnp.arrays(
            source, data.draw(shapes()), elements=st.booleans() if source == "bool" else st.integers(0, 100)
        )
    )
    check(lambda x: e.cast(x, target), lambda x: x.astype(target), [array], data)


def test_cast_to_its_own_dtype_is_the_variable_itself():
    x = Variable(TensorType("float32", (None,)), "x")
    assert e.cast(x, "float32") is x


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sigmoid_and_softplus_do_not_overflow(dtype):
    x = np.array([-np.inf, -1e4, 0, 1e4, np.inf, np.nan], dtype)
    np.testing.assert_array_equal(e.sigmoid.function(x), np.array([0, 0, 0.5, 1, 1, np.nan], dtype))
    np.testing.assert_array_equal(
        e.softplus.function(x)[[0, 1, 3, 4, 5]], np.array([0, 0, 1e4, np.inf, np.nan], dtype)
    )


def vector(name: str, dtype: str = "float64", size: int | None = None) -> Variable:
    return Variable(TensorType(dtype, (size,)), name)


def test_shapes_that_cannot_broadcast_are_an_error_that_names_both_variables_and_the_line():
    with pytest.raises(
        ShapeError, match=r"test_elementwise\.py:\d+: add: .*`first` float64\[3\], `second` float64\[4\]"
    ):
        e.add(vector("first", size=3), vector("second", size=4))


def test_a_dtype_without_meaning_is_an_error_that_names_the_variable_and_the_line():
    with pytest.raises(
        ScanvizTypeError, match=r"test_elementwise\.py:\d+: invert: no meaning for float64 .*`x`"
    ):
        e.invert(vector("x"))


def test_a_weak_number_without_meaning_is_an_error_that_names_the_variable():
    with pytest.raises(ScanvizTypeError, match=r"bitwise_and: .*`x` int64"):
        e.bitwise_and(vector("x", "int64"), 1.5)


def test_a_number_out_of_range_of_the_dtype_is_an_error():
    with pytest.raises(ScanvizValueError, match="300 does not fit into uint8"):
        e.add(vector("x", "uint8"), 300)


def test_a_wrong_number_of_arguments_is_an_error_with_the_right_number():
    with pytest.raises(ScanvizTypeError, match="add takes 2 arguments"):
        e.add(vector("x"))


def test_an_argument_without_numbers_is_an_error():
    with pytest.raises(ScanvizTypeError, match="'abc' is not an array of numbers"):
        e.add(vector("x"), "abc")
