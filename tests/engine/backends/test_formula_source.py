"""The NumPy tier's source of formulas: expressions of scalars, ufuncs in turn into one array."""

import numpy as np
import pytest

from scanviz import function, scan
from scanviz import tensor as T
from scanviz.engine.backends.numpy import LIBRARY
from scanviz.engine.backends.numpy.formula_source import of_numbers, written_in_turn
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise_declaration import elementwise
from scanviz.engine.scalar.expression import primitive, x
from scanviz.engine.scalar.formula import floats
from tests.support.internals import temporary_declarations


@pytest.fixture
def emitter():
    v = T.vector("v")
    return LIBRARY.emitter(function([v], v * 2).program)


def test_single_numbers_are_one_expression(emitter):
    assert of_numbers(emitter, e.sigmoid, ("float64",), ["a"]) == "c_1p0 / ((exp((-a))) + c_1p0_2)".replace(
        "_2", ""
    )
    assert of_numbers(emitter, e.where, ("bool", "int8", "int8"), ["c", "a", "b"]) == "a if c else b"
    assert (
        of_numbers(emitter, e.multiply_no_nan, ("float32", "float32"), ["a", "b"])
        == "c_0p0 if (b == c_0p0) else (a * b)"
    )
    assert emitter.namespace["c_0p0"].dtype == "float32"


def test_long_cast_or_inexact_formulas_are_called_not_inlined(emitter):
    for declaration, dtypes in [
        (e.clip, ("float64",) * 3),  # either zero
        (e.softplus, ("float64",)),  # not the very bits
        (e.where, ("bool", "int8", "int16")),
        (e.power, ("int64", "int64")),
        (e.mod, ("float64", "float64")),
    ]:
        assert of_numbers(emitter, declaration, dtypes, ["a", "b", "c"]) is None


def test_a_chain_writes_into_one_array(emitter):
    written = written_in_turn(emitter, e.sigmoid, ("float32",), ["a"], "out")
    assert written is not None and written.split("\n") == [
        "negative(a, out)", "exp(out, out)", "add(out, c_1p0, out)", "divide(c_1p0, out, out)"
    ]  # fmt: skip
    assert written_in_turn(emitter, e.multiply_no_nan, ("float64", "float64"), ["a", "b"], "out") is None


@pytest.mark.parametrize("mode", ["numpy", "reference"])
def test_a_formula_alone_runs_in_loops_of_numbers_and_of_arrays(mode):
    with temporary_declarations():
        bump = elementwise("bump", floats(primitive("exp", -(x * x))), "A bump.", like=np.exp)
        swish = elementwise("swish_here", floats(x / (primitive("exp", -x) + 1)), "Swish.", like=np.exp)
        s, m = T.vector("s"), T.matrix("m")
        numbers, _ = scan(lambda a, h: bump(h) + swish(a), s, outputs_info=T.constant(0.5))
        rows, _ = scan(lambda a, h: bump(h) - swish(a), m, outputs_info=T.zeros(3))
        given = np.linspace(-2, 2, 6), np.linspace(-1, 3, 12).reshape(4, 3)
        found = function([s, m], [numbers, rows], mode=mode)(*given)
    held, row = 0.5, np.zeros(3)
    for k, a in enumerate(given[0]):
        held = np.exp(-(held * held)) + a / (np.exp(-a) + 1)
        assert found[0][k] == pytest.approx(held, rel=1e-14)
    for k, a in enumerate(given[1]):
        row = np.exp(-(row * row)) - a / (np.exp(-a) + 1)
        np.testing.assert_allclose(found[1][k], row, rtol=1e-14)
