"""Building a function and calling it first take work in proportion to its loops, operations and updates.

Work is counted in lines of scanviz that run, so nothing here depends on how fast or busy a machine is.
"""

import numpy as np
import pytest

import scanviz
from benchmarks.many_loops import SHAPES, ManyLoops, chain, deep, stacked
from scanviz import tensor as T
from tests.support.work import grown, lines_run

MORE = 2.4  # at most 1.2 times linear when the count doubles


def work_at(shape, counts):
    shape(2).build_and_call()  # imports and compilation happen once
    return [lines_run(shape(count).build_and_call) for count in counts]


SIZES = {
    "chain": 25,
    "apart": 25,
    "together": 25,
    "stacked": 4,
    "updated": 100,
    "deep": 100,
    "states": 20,
    "long_step": 30,
}


@pytest.mark.parametrize("name", SIZES)
def test_compilation_work_grows_linearly(name):
    small, large = work_at(SHAPES[name], (SIZES[name], 2 * SIZES[name]))
    assert large.total() < MORE * small.total()
    assert not grown(small, large, 2 * MORE), "these functions grow with the square"


@pytest.mark.parametrize("name", ["chain", "apart", "together", "stacked"])
def test_rules_visit_a_loop_equally_often_for_any_number_of_loops(name):
    def asked(count):
        found = lines_run(SHAPES[name](count).build, "engine/rewrites/rule_pass.py")
        return found["engine/rewrites/rule_pass.py Asked.at"] / count

    SHAPES[name](2).build()
    assert asked(16) < 1.2 * asked(8)


def test_thousands_of_operations_one_after_the_other_are_built_and_run():
    made = deep(1_500)
    f = made.build()
    expected = np.ones(3)
    for k in range(1_500):
        expected = np.tanh(expected * 0.9 + 0.1 * k)
    (found,) = f(*made.values)
    np.testing.assert_allclose(found, expected)
    assert len(f.program.instructions) >= 3_000


@pytest.mark.slow
def test_a_gradient_through_thousands_of_operations_does_not_recurse():
    made = deep(700)
    (y,) = made.outputs
    g = scanviz.function(made.inputs, scanviz.grad(y.sum(), made.inputs[0]))
    assert np.isfinite(g(*made.values)).all()


@pytest.mark.slow
def test_hundreds_of_loops_one_after_the_other_are_built_and_run():
    made = chain(500)
    (found,) = made.build()(*made.values)
    rows = made.values[0]
    for _ in range(500):
        h, out = 0.0, []
        for x_t in rows:
            h = np.tanh(h * 0.5 + x_t)
            out.append(h)
        rows = np.array(out)
    np.testing.assert_allclose(found, rows[-1])


def test_results_of_thirty_two_layers_agree_with_plain_numpy():
    made = stacked(32)
    loss, *gradients = made.build()(*made.values)
    rows = made.values[0]
    for _ in range(32):
        h, out = np.zeros(4), []
        for x_t in rows:
            h = np.tanh(x_t @ (np.eye(4) * 0.3) + h @ (np.eye(4) * 0.3))
            out.append(h)
        rows = np.array(out)
    np.testing.assert_allclose(loss, (rows**2).sum())
    assert len(gradients) == 64 and all(np.isfinite(gradient).all() for gradient in gradients)


def test_arrays_that_share_memory_are_still_found_among_many():
    held = np.zeros((300, 2))
    inputs = [T.vector(f"x{k}") for k in range(300)]
    f = scanviz.function(inputs, inputs[:20], on_unused_input="ignore")
    found = f(*held)
    held += 1.0
    assert all((each == 0).all() for each in found)


def test_two_updates_of_one_array_do_not_share_memory():
    a, b = scanviz.shared(np.zeros(2), "a"), scanviz.shared(np.zeros(2), "b")
    x = T.vector("x")
    f = scanviz.function([x], [], updates={a: x, b: x})
    given = np.ones(2)
    f(given)
    first, second = a.get_value(borrow=True), b.get_value(borrow=True)
    assert not np.shares_memory(first, second) and not np.shares_memory(first, given)


def test_a_merge_of_many_loops_is_one_history_entry():
    made: ManyLoops = SHAPES["together"](6)
    f = made.build()
    (text,) = [rewrite.message for rewrite in f.rewrites if rewrite.rule == "ScanMerge"]
    assert text == "`loop0`, `loop1`, `loop2`, `loop3` and 2 more run as one loop"
