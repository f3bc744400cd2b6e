"""Rewrites keep values, are idempotent, and fire where they should."""

import numpy as np
from hypothesis import given

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.equality import structurally_equal
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.ops.evaluate import evaluate
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.rewrites.keep import save_memory
from scanviz.engine.rewrites.shape import resolve_shapes
from scanviz.engine.scan.loop import Scan
from scanviz.testing import random_loops


def keeps(outputs):
    return [
        getattr(variable, "keep", None) and variable.keep.last
        for node in toposort(outputs)
        if isinstance(node.op, Scan)
        for variable in node.op.variables
        if hasattr(variable, "keep")
    ]


@given(case=random_loops(updates=False, stops=False))
def test_keeping_only_rows_that_are_read_changes_no_value(case):
    results, _, inputs, _ = case.build()
    if not results or case.n_steps == 0:
        return
    givens = dict(inputs)
    rows = evaluate(results, givens)
    if len(rows[0]) == 0:
        return
    wanted = [each[-1] for each in results]
    for found, expected in zip(evaluate(save_memory(wanted), givens), rows, strict=True):
        np.testing.assert_array_equal(found, expected[-1])


@given(case=random_loops(updates=False))
def test_rewriting_twice_is_rewriting_once(case):
    results, _, _, _ = case.build()
    last = [
        each[-1] for each in results if each.type.shape[0] != 0
    ]  # a loop known to take no step has no last row
    wanted = [*last, *(each.shape[0] for each in results)]
    for rewrite in (save_memory, resolve_shapes):
        once = rewrite(wanted)
        assert structurally_equal(once, rewrite(once))


def test_all_rows_are_kept_where_all_may_be_read():
    x, n = T.vector("x"), T.lscalar("n")
    rows, _ = scanviz.scan(lambda v, h: h + v, x, 0.0)
    assert keeps(save_memory([rows[-1]])) == [1]
    assert keeps(save_memory([rows[-2] + rows[-5]])) == [5]
    for wanted in (rows, rows[0], rows[n], rows.sum(), rows[-1] + rows.sum(), rows[-3:]):
        assert keeps(save_memory([wanted])) == [None]


def test_loops_inside_a_step_keep_only_what_the_step_reads():
    x = T.matrix("x")
    totals, _ = scanviz.scan(lambda r: scanviz.scan(lambda v, s: s + v, r, 0.0)[0][-1], x)
    (outer,) = [node.op for node in toposort(save_memory([totals])) if isinstance(node.op, Scan)]
    assert keeps(outer.inner_outputs) == [1]


def test_a_rewritten_node_keeps_its_birth_and_says_which_rule_made_it():
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda v, h: h + v, x, 0.0)
    (after,) = [node for node in toposort(save_memory([rows[-1]])) if isinstance(node.op, Scan)]
    assert after.birth == rows.owner.birth
    assert after.provenance.rule == "ScanSaveMem" and after.provenance.parents == (rows.owner.birth,)
    assert after.provenance.source == rows.owner.provenance.source


def test_sizes_of_computed_values_come_from_sizes_of_inputs():
    a, b = T.matrix("a"), T.vector("b")
    wanted = [T.concatenate([T.tanh(a) + b, a]).shape[0], T.dot(a, b).shape[0], a.T.reshape((-1, 2)).shape[0]]
    resolved = resolve_shapes(wanted)
    for node in toposort(resolved):
        assert node.op.declaration is not DIMENSION or node.inputs[0].owner is None
        assert node.op.name not in ("tanh", "dot", "concatenate")
    values = {a: np.ones((4, 3)), b: np.ones(3)}
    assert [int(each) for each in evaluate(resolved, values)] == [8, 4, 6]
