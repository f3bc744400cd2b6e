"""Native code of elementwise operations: NumPy's numbers, for every dtype, one at a time and side by side."""

import numpy as np
import pytest

from scanviz.engine.backends import native_support
from scanviz.engine.backends.native.kernels import formulas
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.scalar.array_source import on_arrays
from scanviz.engine.scalar.blocks import typed
from scanviz.engine.scalar.expression import primitive, x, y
from scanviz.engine.scalar.primitives import PRIMITIVES
from tests.engine.backends.native.native_code import run

DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint64", "uint8", "bool")
COUNT = 1024
RNG = np.random.default_rng(11)
OPERATIONS = [each for each in declarations() if isinstance(each, ElementwiseDeclaration)]
FUNCTIONS = [each for each in PRIMITIVES.values() if not each.exact and each.name != "polygamma"]


def numbers(dtype):
    """Return numbers of a dtype, special ones among them."""
    if dtype == "bool":
        return RNG.integers(0, 2, COUNT).astype(bool)
    if dtype.startswith("float"):
        limits = np.finfo(dtype)
        special = [
            0.0,
            -0.0,
            1,
            -1,
            np.inf,
            -np.inf,
            np.nan,
            limits.tiny,
            -limits.tiny,
            limits.smallest_subnormal,
        ]
        special += [limits.max, limits.min, 0.5, 2, -2, 3, 1e-3, 88.5, -104.0, 709.7, -745.2, 22.0, np.pi]
        spread = np.exp(RNG.normal(size=300) * 12) * RNG.choice([-1, 1], 300)
        parts = [special, RNG.normal(size=400), RNG.uniform(-40, 40, 300), spread]
        with np.errstate(over="ignore"):
            return RNG.permutation(np.resize(np.concatenate(parts).astype(dtype), COUNT))
    limits = np.iinfo(dtype)
    small = RNG.integers(max(limits.min, -9), 9, COUNT)
    special = RNG.choice(np.array([limits.max, limits.min, limits.max - 1], dtype), COUNT)
    return np.where(RNG.random(COUNT) < 0.8, small.astype(dtype), special)


def distance(found, expected, *operands):
    """Return how many last places of the largest of operands and result two results lie apart."""
    with np.errstate(all="ignore"):
        largest = np.abs(expected)
        for operand in operands:
            sized = np.abs(operand.astype(expected.dtype))
            largest = np.where(np.isfinite(sized), np.maximum(largest, sized), largest)
        apart = np.abs(found.astype("float64") - expected.astype("float64")) / np.spacing(largest)
    apart[(found == expected) | (np.isnan(found) & np.isnan(expected))] = 0
    apart[np.isnan(found) != np.isnan(expected)] = np.inf
    return apart


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.name)
def test_an_elementary_function_is_within_four_places_of_numpys(function, dtype):
    block = typed([primitive(function.name, *(x, y)[: function.arity])], [dtype] * function.arity)
    operands = [numbers(dtype) for _ in range(function.arity)]
    if function.name in ("gammainc", "gammaincc", "betaln"):
        operands = [np.abs(np.clip(each, -50, 50)) for each in operands]
    with np.errstate(all="ignore"):
        expected = on_arrays(block)(*operands)[0]
    for lanes in (1, 8):
        (found,) = run(block, operands, lanes)
        assert distance(found, expected).max() <= 4
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(expected)[there])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_operation_agrees_with_numpy_in_every_vector_width(operation):
    count = operation.arity
    for dtype in DTYPES:
        try:
            computed, block = operation.block(*[dtype] * count)
        except Exception:  # it takes no such numbers
            continue
        if [str(each) for each in computed[:count]] != [dtype] * count or native_support._WHY_NOT.get(
            operation.name
        ) is native_support._why_none:
            continue
        operands = [numbers(dtype) for _ in range(count)]
        with np.errstate(all="ignore"):
            expected = np.broadcast_to(on_arrays(block)(*operands)[0], (COUNT,))
        one = run(block, operands, 1)[0]
        if expected.dtype.kind == "f":
            assert distance(one, expected, *operands).max() <= 4
        else:
            np.testing.assert_array_equal(one, expected)
        if formulas.takes_lanes(block):
            np.testing.assert_array_equal(run(block, operands, 8)[0], one)
