"""Axes that come back: permutations of permutations."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.ops.shape import DIMSHUFFLE, OrderParameters
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import after, check_kept, reasons, written

AXES = "simplify_axes"
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


GOLDEN = [
    (AXES, m.T.T, "m"),
    (AXES, turned(m, 0, 1), "m"),
    (AXES, c.transpose(1, 2, 0).transpose(1, 2, 0), "dimshuffle<(2, 0, 1)>(c)"),
    (AXES, c.transpose(1, 2, 0).transpose(2, 0, 1), "c"),
    (AXES, x.dimshuffle("x", 0).dimshuffle(1, 0, "x"), "dimshuffle<(0, None, None)>(x)"),
    (AXES, x.dimshuffle("x", 0).dimshuffle(1), "x"),
]


@pytest.mark.parametrize(
    ("rule", "before", "expected"), GOLDEN, ids=lambda each: each if isinstance(each, str) else ""
)
def test_shape_operations_that_cancel_are_removed(rule, before, expected):
    (found,) = check_kept(rule, [before], GIVENS)
    assert written(found) == (written(before) if expected is None else expected)
    assert found.type == before.type or None in before.type.shape


def test_permuted_axes_that_move_stay():
    for before in (m.T, x.dimshuffle("x", 0), T.tensor("float64", (1, None), "row").dimshuffle(1)):
        assert after(AXES, before) == written(before)
        assert reasons(AXES, before) == []


def test_an_axis_that_cannot_be_dropped_is_the_same_error():
    before = m.dimshuffle(1, 0, "x").dimshuffle(2, 0)
    assert after(AXES, before) == "dimshuffle<(None, 1)>(m)"
    for graph in ([before], rewritten_by(AXES, [before])):
        with pytest.raises(scanviz.ScanvizError, match="axis"):
            evaluate(graph, GIVENS)
