"""Sums over fewer axes or none, and sums to a shape that is there already."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.engine.ops.shape import BROADCAST_SIZE
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.scan.loop import Scan
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import after, check_kept, reasons, written

RULE = "simplify_reductions"
x = T.vector("x")
m = T.matrix("m")
c = T.tensor3("c")
i = T.imatrix("i")
b = T.matrix("b", dtype="bool")
n, k = T.lscalar("n"), T.lscalar("k")
s = T.scalar("s")
row = T.tensor("float64", (1, None), "row")
column = T.tensor("float64", (None, 1), "column")
wide = T.tensor("float64", (None, 4), "wide")
RNG = np.random.default_rng(6)
GIVENS = {
    x: np.array([-0.0, 1.5, 0.1, np.inf]),
    m: RNG.standard_normal((3, 4)),
    c: RNG.standard_normal((2, 3, 4)),
    i: RNG.integers(-(2**31), 2**31, (3, 4)).astype("int32"),
    b: RNG.random((3, 4)) < 0.8,
    n: 3,
    k: 4,
    s: -0.0,
    wide: RNG.standard_normal((3, 4)),
    row: np.array([[-0.0, 1.0, np.nan]]),
    column: np.array([[-0.0], [2.0]]),
}


def to_shape(variable, *sizes):
    return build_one(Op(SUM_TO_SHAPE), variable, *[as_size(size) for size in sizes])


def stretched(*sizes):
    return build_one(Op(BROADCAST_SIZE), *[as_size(size) for size in sizes])


rows, columns = m.shape[0], m.shape[1]
GOLDEN = [
    (to_shape(T.tanh(m) * 2.0, rows, columns), "multiply(tanh(m), 2.0)"),
    (to_shape(wide, wide.shape[0], 1), "sum<(1,),None>(wide)"),
    (to_shape(wide, 1, 1), "sum<(0, 1),None>(wide)"),
    (to_shape(to_shape(m, rows, stretched(columns, k)), rows, columns), "m"),
    (
        to_shape(to_shape(x, stretched(n, k)), n),
        "sum_to_shape(x, n)",
    ),
    (
        to_shape(m + T.alloc(T.constant(1.0), rows, columns), rows, columns),
        "add(m, alloc(1.0, dimension<0>(m), dimension<1>(m)))",
    ),
]


@pytest.mark.parametrize(
    ("before", "expected"), GOLDEN, ids=lambda each: each if isinstance(each, str) else ""
)
def test_redundant_and_repeated_sums_to_a_shape_are_simplified(before, expected):
    (found,) = check_kept(RULE, [before], {**GIVENS, n: 4})
    assert written(found) == expected


ROUNDS = "two sums of floats round differently from one sum"
STAY = [
    (to_shape(to_shape(m, stretched(rows, n), stretched(columns, k)), n, k), ROUNDS),
    (to_shape(to_shape(x, n), k), "the intermediate shape may be invalid, which would be an error"),
]


@pytest.mark.parametrize(("before", "why"), STAY, ids=lambda each: each if isinstance(each, str) else "")
def test_reductions_that_would_round_or_fail_are_kept(before, why):
    assert after(RULE, before) == written(before)
    assert reasons(RULE, before) == [why]


def test_needed_sums_are_kept_without_a_refusal():
    for before in (to_shape(m, n, k), to_shape(m, 1, 1)):
        assert after(RULE, before) == written(before)
        assert reasons(RULE, before) == []


def test_a_backward_step_sums_to_a_shape_once():
    w, h0, bias = T.matrix("w"), T.vector("h0"), T.vector("bias")
    h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(h, w) + x_t + bias), m, h0, w, name="rnn")
    wanted = scanviz.grad(T.sum(h[-1]), [w, bias])
    before, changed = (
        [
            each.op.name
            for node in toposort(graph)
            if isinstance(node.op, Scan)
            for each in toposort(node.op.inner_outputs)
        ]
        for graph in (wanted, rewritten_by([RULE, "merge_equal"], wanted))
    )
    assert changed.count("sum_to_shape") < before.count("sum_to_shape")
    chains = [
        each
        for node in toposort(rewritten_by([RULE, "merge_equal"], wanted))
        if isinstance(node.op, Scan)
        for each in toposort(node.op.inner_outputs)
        if each.op.declaration is SUM_TO_SHAPE and each.inputs[0].owner is not None
    ]
    assert all(chain.inputs[0].owner.op.declaration is not SUM_TO_SHAPE for chain in chains)
    values = (RNG.standard_normal((3, 4)), np.eye(4) / 2, np.zeros(4), np.ones(4) / 3)
    inputs = [m, w, h0, bias]
    plain = scanviz.function(inputs, wanted, mode=Mode("numpy", "none"))(*values)
    for found, expected in zip(
        scanviz.function(inputs, wanted, mode=Mode("numpy", [RULE]))(*values), plain, strict=True
    ):
        np.testing.assert_array_equal(found, expected)
