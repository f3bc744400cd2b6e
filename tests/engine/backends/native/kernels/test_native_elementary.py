"""Elementary functions of native code against numbers with more digits, over the whole range of their operands."""

import numpy as np
import pytest

from scanviz.engine.backends.native.kernels.elementary import OWN
from scanviz.engine.backends.native.kernels.powers import HALVES
from scanviz.engine.scalar.blocks import typed
from scanviz.engine.scalar.expression import constant, primitive, x, y
from scanviz.engine.scalar.primitives import PRIMITIVES
from tests.engine.backends.native import native_code

COUNT = 20_000
MOST_ULP = 2.5  # of the result; 4 are promised
NAMES_OF_NUMPY = {"remainder": np.fmod}
MORE_DIGITS = {"float64": np.longdouble, "float32": np.float64}


def operands(dtype):
    """Return numbers of a dtype of every size: any bits, subnormal ones, multiples of π/2, and special ones."""
    rng, limits = np.random.default_rng(17), np.finfo(dtype)
    whole = {"float64": "uint64", "float32": "uint32"}[dtype]
    any_bits = rng.integers(0, np.iinfo(whole).max, COUNT, whole, endpoint=True).view(dtype)
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        limits.max,
        limits.min,
        limits.tiny,
        -limits.tiny,
        1,
        -1,
        0.5,
    ]
    parts = [
        special, rng.normal(size=COUNT), rng.uniform(-720, 720, COUNT), rng.uniform(-110, 110, COUNT),
        rng.normal(size=COUNT) * 1e4, np.exp(rng.normal(size=COUNT) * 20) * rng.choice([-1, 1], COUNT),
        1 + rng.normal(size=COUNT) * 1e-3, rng.integers(-600_000, 600_000, COUNT) * (np.pi / 2),
        rng.normal(size=COUNT) * 1e6, np.arange(-500, 500) * float(limits.smallest_subnormal),
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        found = np.concatenate([any_bits, *(np.asarray(part).astype(dtype) for part in parts)])
    return np.resize(found, -(-len(found) // 16) * 16)


def block_and_operands(name, dtype):
    """Return the formula of a function and its operands; exponents of powers are such as give numbers, and others."""
    arity, rng = PRIMITIVES[name].arity, np.random.default_rng(29)
    first = operands(dtype)
    block = typed([primitive(name, *(x, y)[:arity])], [dtype] * arity)
    if arity == 1:
        return block, [first]
    with np.errstate(all="ignore"):
        usual = rng.normal(size=len(first)) * 30 / np.abs(np.log(np.abs(first.astype("float64"))))
    second = np.where(rng.random(len(first)) < 0.8, usual, rng.permutation(first))
    second = np.where(rng.random(len(first)) < 0.1, rng.integers(-5, 6, len(first)) / 2, second)
    return block, [np.where(rng.random(len(first)) < 0.7, np.abs(first), first), second.astype(dtype)]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double has no more digits here")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OWN)
def test_own_elementary_functions_are_accurate_over_their_whole_range(name, dtype):
    block, given = block_and_operands(name, dtype)
    (found,) = native_code.run(block, given, 8)
    check_places(found, NAMES_OF_NUMPY.get(name) or getattr(np, name), given, MOST_ULP)


def check_places(found, function, given, most):
    """Compare numbers with those of a function of NumPy's with more digits."""
    dtype = found.dtype.name
    with np.errstate(all="ignore"):
        true = function(*(operand.astype(MORE_DIGITS[dtype]) for operand in given))
        expected = true.astype(dtype)
        apart = np.abs(found.astype(true.dtype) - true) / np.spacing(np.abs(expected)).astype(true.dtype)
    finite = np.isfinite(expected) & np.isfinite(found)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    assert apart[finite].max() <= most, [operand[finite][np.argmax(apart[finite])] for operand in given]
    there = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(expected)[there])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double has no more digits here")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "exponent",
    [*HALVES, 0.5, -64.0, -7.0, -3.0, -2.0, -1.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0, 15.0, 63.0, 1 / 3, 65.0],
)
def test_powers_with_a_known_exponent_are_accurate_over_their_whole_range(exponent, dtype):
    given = operands(dtype)
    block = typed([primitive("power", x, constant(exponent, dtype))], [dtype])
    (found,) = native_code.run(block, [given], 8)
    if exponent == 0.5:  # a root, as NumPy has it of one exponent for all: of -0.0 and -inf it is no power
        check_places(found, np.sqrt, [given], 0.5)
    else:
        check_places(found, np.power, [given, np.full(len(given), exponent, dtype)], 4)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arctan2_and_hypot_agree_with_numpy_at_axes_and_infinity(dtype):
    limits = np.finfo(dtype)
    numbers = [0.0, 1.0, np.inf, limits.tiny, limits.smallest_subnormal, limits.max, 3.0, np.nan]
    grid = np.meshgrid(*[[*numbers, *(-number for number in numbers)]] * 2)
    given = [part.ravel().astype(dtype) for part in grid]
    for name in ("arctan2", "hypot"):
        (found,) = native_code.run(typed([primitive(name, x, y)], [dtype] * 2), given, 8)
        check_places(found, getattr(np, name), given, MOST_ULP)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_remainder_is_exact_when_the_quotient_is_nearly_whole(dtype):
    rng = np.random.default_rng(5)
    divisor = np.exp(rng.normal(size=4096) * 3).astype(dtype)
    times = np.exp2(rng.uniform(0, 60, 4096)).astype("int64")
    value = (divisor.astype("float64") * times).astype(dtype)
    value = np.nextafter(value, value * rng.choice([0, 2], 4096).astype(dtype)) * rng.choice([-1, 1], 4096)
    given = [value.astype(dtype), divisor]
    block = typed([primitive("remainder", x, y)], [dtype] * 2)
    (found,) = native_code.run(block, given, 8)
    np.testing.assert_array_equal(found, np.fmod(*given))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", OWN)
def test_the_last_elements_have_the_same_bits_in_every_vector_width(name, dtype):
    block, given = block_and_operands(name, dtype)
    (alone,) = native_code.run(block, given, 1)
    for lanes in (2, 4, 8, 16):
        (found,) = native_code.run(block, given, lanes)
        there = ~np.isnan(alone)
        assert (np.isnan(found) == np.isnan(alone)).all()
        bits = {"float64": "uint64", "float32": "uint32"}[dtype]
        np.testing.assert_array_equal(found.view(bits)[there], alone.view(bits)[there])
