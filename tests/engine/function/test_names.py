"""Loops of one name in a function have numbers, in errors, records and listings alike."""

import pickle

import numpy as np
import pytest

import scanviz
from scanviz import Mode, function, grad, scan
from scanviz import tensor as T
from scanviz.engine.program.instructions import all_loops
from tests.support.internals import loop_sources


def helper(x, factor, name="rnn"):
    """Return the last row of a loop built at one line for every caller."""
    rows, _ = scan(lambda h: T.tanh(h * factor), outputs_info=x, n_steps=5, name=name)
    return rows[-1]


def names(f):
    return [each.name for each, _ in all_loops(f.program)]


def test_a_loop_built_in_a_helper_that_is_called_twice_is_two_loops():
    x = T.vector("x")
    f = function([x], [helper(x, 0.5), helper(x, 0.25)], mode=Mode("numpy", "all,-ScanMerge"))
    assert names(f) == ["rnn#1", "rnn#2"]
    f(np.ones(3))
    plans = [rewrite for rewrite in f.rewrites if rewrite.rule == "reuse_buffers"]
    assert len({plan.paths for plan in plans}) == len(plans)
    assert len(f.memory_plans()) == len(loop_sources(f.executable)) == 2


def test_a_loop_with_a_unique_name_keeps_it():
    x = T.vector("x")
    f = function([x], [helper(x, 0.5, "a"), helper(x, 0.25, "b")], mode=Mode("numpy", "none"))
    assert names(f) == ["a", "b"]


def test_equal_loops_of_one_name_are_still_computed_once():
    x = T.vector("x")
    f = function([x], [helper(x, 0.5), helper(x, 0.5)])
    assert names(f) == ["rnn#1"]


def test_gradients_share_the_numbers_of_their_loops_and_built_graphs_keep_names():
    x = T.vector("x")
    a, b = helper(x, 0.5), helper(x, 0.25)
    f = function([x], [b, grad(T.sum(b), x), a, grad(T.sum(a), x)], mode=Mode("numpy", "all,-ScanMerge"))
    with scanviz.profile() as p:
        f(np.ones(3))
    names_of = {loop.key: loop.name for loop in p.record.loops}
    pairs = {loop.name: names_of[loop.gradient_of] for loop in p.record.loops if loop.gradient_of is not None}
    assert pairs == {"grad_of_rnn#1": "rnn#1", "grad_of_rnn#2": "rnn#2"}
    assert a.owner.inputs[0].owner.op.scan_name == "rnn"


def test_names_given_by_users_are_never_generated():
    x = T.vector("x")
    wanted = [helper(x, k / 16, name) for k, name in enumerate(("rnn", "rnn#1", "rnn", "grad_of_rnn"), 3)]
    f = function([x], [*wanted, grad(T.sum(wanted[0]), x)], mode=Mode("numpy", "all,-ScanMerge"))
    found = names(f)
    assert len(set(found)) == len(found) == 5
    assert {"rnn#1", "rnn#2", "rnn#3", "grad_of_rnn#1", "grad_of_rnn#2"} == set(found)


def test_nested_loops_are_distinguished_in_errors_too():
    table = T.ivector("table")

    def outer(at):
        rows, _ = scan(lambda k: table[k], outputs_info=at, n_steps=2, name="walk")
        return rows[-1]

    rows, _ = scan(outer, outputs_info=T.constant(0, dtype="int32"), n_steps=3, name="walk")
    f = function([table], rows)
    with pytest.raises(scanviz.ScanvizError, match="loop `walk#2`, at step 0, in loop `walk#1`, at step 2"):
        f(np.array([1, 2, 3, 4], "int32"))


def test_names_are_the_same_after_pickling_and_when_a_rewritten_graph_is_compiled_again():
    x = T.vector("x")
    f = function([x], [helper(x, 0.5), helper(x, 0.25)], mode=Mode("numpy", "all,-ScanMerge"))
    assert names(pickle.loads(pickle.dumps(f))) == names(f)
    assert names(function([x], f.outputs[1])) == ["rnn"]
