"""Updates of shared variables that a function forgets are reported once, and unread values are not computed."""

import warnings

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.function import ForgottenUpdateWarning
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan


@pytest.fixture
def counting():
    """Return a loop that updates a shared variable: x, its results, updates, the shared variable."""
    x, count = T.vector("x"), scanviz.shared(0.0, "count")
    sums, updates = scanviz.scan(lambda v, s: (s + v, {count: count + 1}), x, 0.0, name="counting")
    return x, sums, updates, count


def draws_in(f):
    graph = [*f.outputs, *f.updated_values]
    inner = [
        output for node in toposort(graph) if isinstance(node.op, Scan) for output in node.op.inner_outputs
    ]
    return sum(node.op.name.startswith("draw") for node in toposort([*graph, *inner]))


def test_a_forgotten_update_is_reported_once_with_line_and_advice(counting):
    x, sums, _, count = counting
    with pytest.warns(ForgottenUpdateWarning) as caught:
        f = scanviz.function([x], sums)
        scanviz.function([x], [sums[-1], scanviz.grad(sums[-1], x)])
    (one,) = caught
    text = str(one.message)
    assert one.filename == __file__ and text.startswith(f"{text.partition(':')[0]}:{one.lineno}: ")
    assert "loop `counting` updates `count`, but a function runs it without its update" in text
    assert "function(…, updates=updates)" in text and "no_default_updates=[count]" in text
    assert f([1.0, 2.0]).tolist() == [1.0, 3.0] and count.get_value() == 0


@pytest.mark.parametrize("how", ["given", "other", "symbolic", "none", "listed", "replaced", "alone", "eval"])
def test_no_warning_for_updates_given_computed_with_or_unwanted(counting, how):
    x, sums, updates, count = counting
    arguments = {
        "given": dict(outputs=sums, updates=updates),
        "other": dict(outputs=sums, updates={count: count - 1}),
        "symbolic": dict(outputs=[sums, updates[count]]),
        "none": dict(outputs=sums, no_default_updates=True),
        "listed": dict(outputs=sums, no_default_updates=[count]),
        "replaced": dict(outputs=sums, givens={count: T.constant(2.0)}),
        "alone": dict(outputs=[], updates=updates),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if how == "eval":
            assert sums.eval({x: [1.0]}).tolist() == [1.0]
        else:
            scanviz.function([x], **arguments[how])([1.0, 2.0])


def test_a_step_that_forgets_inner_updates_gets_advice_to_return_them():
    x, count = T.matrix("x"), scanviz.shared(0.0, "count")

    def inner(row):
        return scanviz.scan(lambda v, s: (s + v, {count: count + 1}), row, 0.0, name="inner")

    forgotten, _ = scanviz.scan(lambda row: inner(row)[0][-1], x)
    with pytest.warns(
        ForgottenUpdateWarning, match=r"(?s)`inner` updates `count`, but the step of.*return outputs, updates"
    ):
        scanviz.function([x], forgotten)
    returned, updates = scanviz.scan(lambda row: (inner(row)[0][-1], inner(row)[1]), x)
    f = scanviz.function([x], returned, updates=updates)
    f(np.ones((2, 3)))
    assert count.get_value() == 6


def test_random_states_are_never_forgotten_and_gradients_do_not_warn_again(counting):
    x, sums, updates, _ = counting
    stream = T.random.RandomStreams(2)
    noisy, _ = scanviz.scan(lambda v: v + stream.normal(), x)
    scanviz.function([x], [noisy, scanviz.grad(sums[-1], x), scanviz.Rop(sums, x, x)], updates=updates)


def test_an_unread_draw_is_skipped_without_shifting_others():
    n = T.lscalar("n")

    def built(wanted):
        stream = T.random.RandomStreams(5)

        def step(s, d):
            first, second, third = stream.normal(), stream.uniform(), stream.normal()
            return s / 2 + first + third, d + second

        (s, d), updates = scanviz.scan(step, outputs_info=[0.0, 0.0], n_steps=n)
        return scanviz.function([n], [s, d][wanted:] if wanted else [s, d]), updates, s

    both, _, _ = built(0)
    only, updates, s = built(1)
    expected = [both(4)[1].tolist(), both(3)[1].tolist()]
    assert draws_in(both) == 3 and draws_in(only) == 1
    assert [only(4)[0].tolist(), only(3)[0].tolist()] == expected
    assert draws_in(scanviz.function([n], s)) == 2
    assert draws_in(scanviz.function([n], s, updates=updates)) == 3  # asked for: the state after it


def test_states_that_only_feed_themselves_leave_the_loop():
    x = T.vector("x")
    (a, _, c), _ = scanviz.scan(lambda v, a, b, c: (a + v, b * c, c + b), x, [0.0, 1.0, 2.0], name="three")
    (loop,) = [each.op for each in toposort(scanviz.function([x], a).outputs) if isinstance(each.op, Scan)]
    assert [variable.name for variable in loop.variables] == ["x", "a"]
    (loop,) = [each.op for each in toposort(scanviz.function([x], c).outputs) if isinstance(each.op, Scan)]
    assert sorted(variable.name for variable in loop.variables if variable.name != "x") == ["b", "c"]


def test_a_gradient_that_extends_a_loop_does_not_warn_of_forgotten_updates():
    x, total = T.vector("x"), scanviz.shared(0.5, "total")
    h, updates = scanviz.scan(lambda x_t: (T.tanh(x_t) * 0.9, {total: total + x_t}), x)
    wanted = [h, *updates.values(), scanviz.grad(T.sum(T.sin(h)), x)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scanviz.function([x], wanted)
