"""Rewrites keep values, are idempotent, and fire where they should."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.rewrites.arithmetic.fold import merge_equal
from scanviz.engine.rewrites.level import Level
from scanviz.engine.scan.loop import Scan
from scanviz.testing import rewritten_by


def test_a_rewritten_node_keeps_its_id_and_records_its_rule():
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda v, h: h + v, x, 0.0)
    (after,) = [
        node for node in toposort(rewritten_by("ScanSaveMem", [rows[-1]])) if isinstance(node.op, Scan)
    ]
    assert after.node_id == rows.owner.node_id
    assert after.provenance.rule == "ScanSaveMem" and after.provenance.parents == (rows.owner.node_id,)
    assert after.provenance.source == rows.owner.provenance.source


def test_sizes_of_computed_values_come_from_sizes_of_inputs():
    a, b = T.matrix("a"), T.vector("b")
    wanted = [T.concatenate([T.tanh(a) + b, a]).shape[0], T.dot(a, b).shape[0], a.T.reshape((-1, 2)).shape[0]]
    resolved = rewritten_by("resolve_shapes", wanted)
    for node in toposort(resolved):
        assert node.op.declaration is not DIMENSION or node.inputs[0].owner is None
        assert node.op.name not in ("tanh", "dot", "concatenate")
    values = {a: np.ones((4, 3)), b: np.ones(3)}
    assert [int(each) for each in evaluate(resolved, values)] == [8, 4, 6]


def test_nodes_that_become_equal_by_merging_are_merged_too():
    x = T.vector("x")
    one, two, three = (T.tanh(x) for _ in range(3))
    wanted = [one, T.exp(two), T.exp(three), T.sin(two), T.sin(three)]
    merged = merge_equal(Level(wanted))  # once over the graph
    assert [node.op.name for node in toposort(merged.outputs)] == ["tanh", "exp", "sin"]


def test_equal_nodes_are_computed_once_in_steps_too():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: T.sin(x_t) * h + T.sin(x_t), x, T.constant(0.5))
    f = scanviz.function([x], [T.exp(x) + T.exp(x), h], mode=scanviz.Mode("numpy").excluding("push_out"))
    names = [instruction.op.name for instruction in f.program.instructions]
    assert names.count("exp") == 1
    (loop,) = [instruction for instruction in f.program.instructions if instruction.op.name == "scan"]
    assert [instruction.op.name for instruction in loop.body.instructions].count("sin") == 1
    total, rows = f([1.0, 2.0])
    np.testing.assert_allclose(total, 2 * np.exp([1.0, 2.0]))
    np.testing.assert_allclose(rows[0], np.sin(1.0) * 1.5)


def test_numbers_without_a_value_are_an_error_of_the_branch_that_computes_them():
    n = T.lscalar("n")
    chosen = scanviz.function([n], T.ifelse(n, T.constant(3), T.constant(2) ** T.constant(-1)))
    assert chosen(1) == 3
    with pytest.raises(scanviz.ScanvizError, match="test_general.py.*negative integer powers"):
        chosen(0)


def test_small_constants_are_folded_and_errors_left_to_run_time():
    x = T.vector("x")
    f = scanviz.function([x], x * (T.constant(2.0) * T.constant(3.0)))
    assert [instruction.op.name for instruction in f.program.instructions] == ["multiply"]
    assert f([1.0]).tolist() == [6.0]
    broken = scanviz.function([], T.constant([1.0, 2.0])[T.constant([5])])
    with pytest.raises(scanviz.ScanvizError, match="index 5"):
        broken()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_filled_arrays_of_equal_shapes_become_scalars(dtype):
    x = T.vector("x", dtype=dtype)
    ones = T.alloc(T.constant(np.ones((), dtype)), x.shape[0])
    f = scanviz.function([x], [x * ones, x * (ones * 2), x + ones])
    assert "alloc" not in [instruction.op.name for instruction in f.program.instructions]
    same, twice, more = f(np.array([1.0, np.nan], dtype))
    assert same.dtype == twice.dtype == more.dtype == dtype
    np.testing.assert_array_equal(same, [1.0, np.nan])
    np.testing.assert_array_equal(twice, [2.0, np.nan])
    np.testing.assert_array_equal(more, [2.0, np.nan])


def test_filled_arrays_that_stretch_the_other_stay():
    x, n = T.vector("x"), T.lscalar("n")
    f = scanviz.function([x, n], x * T.alloc(1.0, n))
    assert f([3.0], 4).tolist() == [3.0] * 4


def test_loops_contained_in_one_another_are_merged():
    x, h0 = T.vector("x"), T.scalar("h0")
    h, _ = scanviz.scan(lambda x_t, h: T.exp(x_t * h), x, h0, name="exps")
    tangent = scanviz.Rop(h, x, T.ones_like(x))
    f = scanviz.function([x, h0], [h, tangent, scanviz.grad(h[-1], x)])
    names = [instruction.name for instruction in f.program.instructions if instruction.op.name == "scan"]
    assert sorted(names) == ["exps", "grad_of_exps"]
    apart = [scanviz.function([x, h0], each) for each in (h, tangent, scanviz.grad(h[-1], x))]
    at = ([0.1, 0.2, 0.3], 0.5)
    for mine, theirs in zip(f(*at), apart, strict=True):
        np.testing.assert_array_equal(mine, theirs(*at))
