"""Numbers at which NumPy's rules are special: casts out of range, the integer 0 inverted, roots and zeros of both signs."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.types import FLOATS, INTEGERS
from tests.laws.frame import NAMES
from tests.support.comparing import assert_same_bits

OUT_OF_RANGE = [
    np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**63, 2.0**64, 1.8e19, 3e9, -3e9, 2.0**31, 300.0, -1.0, -129.0, 70000.0, -0.5, 255.9,
]  # fmt: skip


def in_a_loop(step, rows, tier):
    """Return the result of a loop on a tier whose steps apply a function to a row."""
    inputs = [T.tensor(array.dtype.name, (None,) * array.ndim) for array in rows]
    results, _ = scanviz.scan(step, inputs, mode=tier)
    return scanviz.function(inputs, results, mode=tier)(*rows)


@pytest.mark.parametrize("tier", NAMES)
@pytest.mark.parametrize("old", FLOATS)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (17,)])
def test_a_float_out_of_range_becomes_the_integer_that_numpy_makes_of_that_number(old, shape, tier):
    with np.errstate(all="ignore"):
        numbers = np.array(OUT_OF_RANGE).astype(old)
        rows = np.broadcast_to(numbers.reshape(-1, *(1 for _ in shape)), (len(numbers), *shape))
        found = in_a_loop(lambda row: [T.cast(row, new) for new in INTEGERS], [np.array(rows)], tier)
        for new, made in zip(INTEGERS, found, strict=True):
            one = np.array([number.astype(new) for number in numbers])
            expected = np.broadcast_to(one.reshape(-1, *(1 for _ in shape)), rows.shape)
            assert_same_bits(made, expected, f"{old} as {new}")


@pytest.mark.parametrize("tier", NAMES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_reciprocal_of_the_integer_0_is_numpys(dtype, tier):
    rows = np.array([[0, 1, 2], [3, 0, 1]], dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(in_a_loop(T.reciprocal, [rows], tier), np.reciprocal(rows))


@pytest.mark.parametrize("tier", NAMES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_power_of_one_half_is_the_root_also_of_minus_0_and_minus_infinity(dtype, tier):
    rows = np.array([[-np.inf, -0.0, 0.0], [np.inf, -1.0, 4.0]], dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(in_a_loop(lambda row: row**0.5, [rows], tier), rows**0.5)
        numbers = in_a_loop(lambda number: number**0.5, [rows.reshape(-1)], tier)
        assert_same_bits(numbers, rows.reshape(-1) ** 0.5)


@pytest.mark.parametrize("tier", NAMES)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_of_zeros_of_both_signs_the_larger_and_the_smaller_are_numpys(name, dtype, tier):
    first = np.array([[0.0, -0.0, -0.0, 0.0, np.nan, 1.0, -1.0, np.nan, 2.0]], dtype)
    second = np.array([[-0.0, 0.0, -0.0, 0.0, 1.0, np.nan, -0.0, np.nan, 2.0]], dtype)
    found = in_a_loop(getattr(T, name), [first, second], tier)
    assert_same_bits(found, getattr(np, name)(first, second))
    for limit in (0, -0.0, 1.0, np.inf):
        found = in_a_loop(lambda row, limit=limit: getattr(T, name)(row, float(limit)), [first], tier)
        assert_same_bits(found, getattr(np, name)(first, limit), f"{name} with {limit}")


@pytest.mark.parametrize("tier", NAMES)
def test_a_square_of_truth_values_is_int8_by_the_operator_and_int64_by_the_function(tier):
    rows = np.array([[True, False]])
    assert_same_bits(in_a_loop(lambda row: row**2, [rows], tier), rows**2)
    assert_same_bits(in_a_loop(lambda row: T.power(row, 2), [rows], tier), np.power(rows, 2))
    assert (T.tensor("bool", (2,)) ** 3).type.dtype == (rows**3).dtype
