"""Axes, shapes and dtypes that come back: permutations, reshapes, promises and casts."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.ops.elementwise import CAST, CastParameters
from scanviz.engine.ops.shape import DIMSHUFFLE, OrderParameters
from scanviz.engine.rewrites.arithmetic.casts import exact, one_cast
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import after, check_kept, reasons, written

AXES, SHAPES, CASTS = "simplify_axes", "simplify_reshapes", "simplify_casts"
x = T.vector("x")
m = T.matrix("m")
c = T.tensor3("c")
fixed = T.tensor("float64", (4, 6), "fixed")
f = T.fvector("f")
i = T.ivector("i")
b = T.vector("b", dtype="bool")
n = T.lscalar("n")
RNG = np.random.default_rng(4)
GIVENS = {
    x: RNG.standard_normal(12),
    m: RNG.standard_normal((3, 4)),
    c: RNG.standard_normal((2, 3, 4)),
    fixed: RNG.standard_normal((4, 6)),
    f: np.array([0.1, -0.0, np.nan, np.inf], "float32"),
    i: np.array([-5, 0, 2**31 - 1], "int32"),
    b: np.array([True, False]),
    n: 2,
}


def turned(variable, *order):
    return build_one(Op(DIMSHUFFLE, OrderParameters(order)), variable)


def converted(variable, dtype):
    return build_one(Op(CAST, CastParameters(dtype)), variable)


GOLDEN = [
    (AXES, m.T.T, "m"),
    (AXES, turned(m, 0, 1), "m"),
    (AXES, c.transpose(1, 2, 0).transpose(1, 2, 0), "dimshuffle<(2, 0, 1)>(c)"),
    (AXES, c.transpose(1, 2, 0).transpose(2, 0, 1), "c"),
    (AXES, x.dimshuffle("x", 0).dimshuffle(1, 0, "x"), "dimshuffle<(0, None, None)>(x)"),
    (AXES, x.dimshuffle("x", 0).dimshuffle(1), "x"),
    (SHAPES, x.reshape((3, 4)).reshape((2, 6)), None),
    (SHAPES, m.reshape((-1,)).reshape((2, 6)), "reshape<-1>(m, 2, 6)"),
    (SHAPES, fixed.reshape((3, 8)).reshape((-1,)), "reshape<0>(fixed, -1)"),
    (SHAPES, fixed.reshape((2, -1)).reshape((8, 3)), "reshape<-1>(fixed, 8, 3)"),
    (SHAPES, c.reshape((c.shape[0] * c.shape[1], c.shape[2])).reshape(c.shape, ndim=3), "c"),
    (SHAPES, x.reshape((-1,)), "x"),
    (SHAPES, m.reshape(m.shape, ndim=2), "m"),
    (SHAPES, fixed.reshape((4, -1)), "fixed"),
    (SHAPES, T.specify_shape(fixed, [4, None]), "fixed"),
    (SHAPES, T.specify_shape(m, [m.shape[0], None]), "m"),
    (CASTS, converted(x, "float64"), "x"),
    (CASTS, T.cast(T.cast(f, "float64"), "float32"), "f"),
    (CASTS, T.cast(T.cast(i, "int64"), "float64"), "cast<float64>(i)"),
    (CASTS, T.cast(T.cast(i, "int16"), "int8"), "cast<int8>(i)"),
    (CASTS, T.cast(T.cast(b, "float32"), "int64"), "cast<int64>(b)"),
    (CASTS, T.cast(T.constant([1.7, -1.0]), "int32"), "[1, -1]"),
    (CASTS, T.cast(T.alloc(T.constant(2.0), n), "float32"), "alloc(2.0, n)"),
]


@pytest.mark.parametrize(
    ("rule", "before", "expected"), GOLDEN, ids=lambda each: each if isinstance(each, str) else ""
)
def test_shape_operations_that_cancel_are_removed(rule, before, expected):
    (found,) = check_kept(rule, [before], GIVENS)
    assert written(found) == (written(before) if expected is None else expected)
    assert found.type == before.type or None in before.type.shape


STAY = [
    (
        SHAPES,
        x.reshape((3, 4)).reshape((2, 6)),
        "the intermediate reshape may be invalid, which would be an error",
    ),
    (
        SHAPES,
        x.reshape((n, -1)).reshape((-1,)),
        "the intermediate reshape may be invalid, which would be an error",
    ),
    (SHAPES, T.specify_shape(m, [3, None]), "the size along axis 0 is not known before the run"),
    (
        CASTS,
        T.cast(T.cast(x, "float32"), "float64"),
        "float64 cast to float32 and then to float64 may differ from float64 cast to float64",
    ),
    (
        CASTS,
        T.cast(T.cast(f, "float64"), "int8"),
        "float32 cast to float64 and then to int8 may differ from float32 cast to int8",
    ),
]


@pytest.mark.parametrize(
    ("rule", "before", "why"), STAY, ids=lambda each: each if isinstance(each, str) else ""
)
def test_shape_operations_that_may_differ_or_fail_are_kept(rule, before, why):
    assert after(rule, before) == written(before)
    assert reasons(rule, before) == [why]


def test_a_constant_that_would_become_large_is_cast_when_run():
    before = T.cast(T.constant(np.zeros(200_000, "int8")), "float64")
    assert reasons(CASTS, before) == ["the constant is large, and would be larger after the cast"]
    smaller = T.cast(T.constant(np.arange(200_000.0)), "int8")
    assert rewritten_by(CASTS, [smaller])[0].owner is None


def test_permuted_axes_that_move_stay():
    for before in (m.T, x.dimshuffle("x", 0), T.tensor("float64", (1, None), "row").dimshuffle(1)):
        assert after(AXES, before) == written(before)
        assert reasons(AXES, before) == []


def test_a_reshape_beside_a_size_of_zero_keeps_its_error():
    empty = np.zeros((0, 4))
    before = m.reshape((m.shape[0], -1))
    with pytest.raises(scanviz.ScanvizError):
        evaluate(before, {m: empty})
    with pytest.raises(scanviz.ScanvizError):
        evaluate(rewritten_by(SHAPES, [before]), {m: empty})


def test_an_axis_that_cannot_be_dropped_is_the_same_error():
    before = m.dimshuffle(1, 0, "x").dimshuffle(2, 0)
    assert after(AXES, before) == "dimshuffle<(None, 1)>(m)"
    for graph in ([before], rewritten_by(AXES, [before])):
        with pytest.raises(scanviz.ScanvizError, match="axis"):
            evaluate(graph, GIVENS)


def test_most_casts_there_and_back_are_known_to_be_exact_or_not():
    assert exact("int32", "float64") and not exact("int32", "float32") and not exact("int64", "float64")
    assert not exact("float32", "int64") and not exact("int8", "uint64") and exact("uint8", "float16")
    assert one_cast("int64", "int32", "int16") and not one_cast("int64", "int8", "bool")
