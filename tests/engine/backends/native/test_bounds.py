"""Larger and smaller of a number and a constant: one instruction of the processor, and the bits that the formula means."""

import platform
import re

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability

if not availability("native").works:
    pytest.skip(availability("native").why, allow_module_level=True)

from scanviz.engine.backends.native.listing import listings

NUMBERS = [0.0, -0.0, 1.0, -1.0, np.nan, -np.nan, np.inf, -np.inf, 1e-310, 3.0, -3.0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("bound", [0.0, -0.0, 1.0, np.inf, np.nan])
def test_bounds_have_the_bits_of_the_formula(dtype, bound):
    x, same = T.tensor(dtype, (None, None), "x"), T.vector("same", dtype=dtype)
    constant = np.asarray(bound, dtype)

    def both(row, same, limit):
        return [
            T.maximum(row, limit),
            T.minimum(row, limit),
            T.maximum(limit, row),
            T.clip(row, limit, limit),
        ]

    given = np.resize(np.array(NUMBERS, dtype), (11, 5))
    known, _ = scanviz.scan(lambda row: both(row, None, constant), x, [None] * 4)
    found, _ = scanviz.scan(lambda row, same: both(row, same, same), x, [None] * 4, same)
    f = scanviz.function([x, same], [*known, *found], mode=Mode("native", "none"))
    results = f(given, np.full(5, bound, dtype))
    for mine, general in zip(results[:4], results[4:], strict=True):
        bits = f"u{mine.itemsize}"
        np.testing.assert_array_equal(mine.view(bits), general.view(bits))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="it looks for instructions of x86")
def test_a_bound_that_is_a_constant_takes_one_instruction():
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, s: T.clip(s + x_t, -1.0, 1.0), x, 0.0)
    f = scanviz.function([x], rows, mode="native")
    f(np.ones(3))
    (listing,) = listings(f.executable)
    instructions = re.findall(r"\bv?(max|min|cmp\w*|ucomi)sd\b", listing.assembly())
    assert sorted(instructions) == ["max", "min"]
