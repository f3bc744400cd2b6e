"""Each formula against the NumPy meaning: special numbers in all combinations and random ones, every dtype, within its stated places."""

import functools
import itertools

import numpy as np
import pytest

from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.types import DTYPES
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.scalar.array_source import on_arrays
from tests.support.special_values import special_numbers

ELEMENTWISE = [each for each in declarations() if isinstance(each, ElementwiseDeclaration)]
RANDOM = 200


def values_of(dtype, rng):
    """Return special and random numbers of a dtype, small and large."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind == "f":
        size = np.finfo(dtype).maxexp - 1
        with np.errstate(over="ignore", under="ignore"):
            random = rng.normal(size=RANDOM) * 2.0 ** rng.integers(-size, size, RANDOM)
            found = np.concatenate([random, rng.normal(size=RANDOM) * 3]).astype(dtype)
    else:
        ends = np.iinfo(dtype)
        whole = rng.integers(ends.min, ends.max, RANDOM, dtype, endpoint=True)
        found = np.concatenate([whole, rng.integers(0, 70, RANDOM).astype(dtype)])
    return np.concatenate([np.array(special_numbers(dtype), dtype), found])


def operands_of(dtypes, rng):
    """Return one array for each dtype: special numbers meet one another, random ones others."""
    columns = [values_of(dtype, rng) for dtype in dtypes]
    met = list(itertools.product(*(special_numbers(dtype) for dtype in dtypes)))
    size = max(map(len, columns))
    return [
        np.concatenate([np.array([row[k] for row in met], dtype), rng.choice(column, size)])
        for k, (dtype, column) in enumerate(zip(dtypes, columns, strict=True))
    ]


def defined(declaration, operands):
    """Return where NumPy's meaning is one: no integer to a negative power, no reciprocal of the integer 0."""
    whole = operands[0].dtype.kind in "iub"
    if declaration is e.power and whole and operands[1].dtype.kind == "i":
        return operands[1] >= 0
    if declaration is e.reciprocal and whole:
        return operands[0] != 0
    if declaration is e.polygamma:
        return (operands[0] >= 0) & (operands[0] < 20)
    return np.ones(operands[0].shape, bool)


@functools.cache
def combinations(declaration):
    """Return the dtypes of inputs that an operation takes: all of one dtype, and integers beside others."""
    found = [(dtype,) * declaration.arity for dtype in DTYPES]
    if declaration.arity == 2:
        found += [
            ("int64", "uint64"),
            ("uint64", "int64"),
            ("int8", "float32"),
            ("bool", "int16"),
            ("uint8", "int8"),
        ]
    if declaration is e.where:
        found = [("bool", *each[1:]) for each in found]
    if declaration is e.polygamma:
        found = [("int64", dtype) for dtype in ("float32", "float64")]
    return [each for each in found if taken(declaration, each)]


def taken(declaration, dtypes):
    try:
        declaration.result(*map(np.dtype, dtypes))
    except TypeError:
        return False
    return True


def places_apart(found, wanted, operands):
    """Return by how many places of the largest among operands and result two arrays of numbers differ, at most."""
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(all="ignore"):
        largest = np.abs(wanted)
        for operand in operands:
            largest = np.fmax(largest, np.abs(operand).astype(wanted.dtype))
        apart = np.abs(found.astype(np.float64) - wanted) / np.spacing(largest).astype(np.float64)
    return float(np.max(np.where(same, 0, apart), initial=0))


@pytest.mark.parametrize("declaration", ELEMENTWISE, ids=lambda each: each.name)
def test_a_formula_is_the_numpy_meaning(declaration):
    rng = np.random.default_rng(7)
    for dtypes in combinations(declaration):
        operands = operands_of(dtypes, rng)
        kept = defined(declaration, operands)
        operands = [operand[kept] for operand in operands]
        computed, block = declaration.block(*dtypes)
        given = [operand.astype(dtype) for operand, dtype in zip(operands, computed, strict=True)]
        with np.errstate(all="ignore"):
            wanted = declaration.function(*operands)
            (found,) = on_arrays(block)(*given)
        assert found.dtype == wanted.dtype, dtypes
        check(declaration, np.broadcast_to(found, wanted.shape), wanted, dtypes, operands)


def check(declaration, found, wanted, dtypes, operands, further=0):
    """Check that results are the wanted ones, but for the places of the formula and ``further`` ones."""
    if wanted.dtype.kind != "f":
        wrong = np.flatnonzero(found != wanted)
        assert not len(wrong), (
            dtypes,
            [operand[wrong[:3]] for operand in operands],
            found[wrong[:3]],
            wanted[wrong[:3]],
        )
        return
    apart = places_apart(found, wanted, operands)
    assert apart <= declaration.formula.ulp + further, (dtypes, apart)
    if not declaration.facts.either_zero:
        zero = (found == 0) & (wanted == 0)
        wrong = np.flatnonzero(zero & (np.signbit(found) != np.signbit(wanted)))
        assert not len(wrong), (dtypes, [operand[wrong[:3]] for operand in operands])


def test_every_operation_has_a_formula_for_each_of_its_dtypes():
    assert all(combinations(each) for each in ELEMENTWISE)
    for each in ELEMENTWISE:
        for dtypes in combinations(each):
            assert len(each.block(*dtypes)[1].results) == 1
