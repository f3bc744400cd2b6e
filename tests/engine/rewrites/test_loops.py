"""Rules about whole loops: unneeded carries, shared work of two loops, unneeded rows and steps."""

import numpy as np
import pytest

import scanviz
from scanviz import Mode
from scanviz import tensor as T
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.scan.loop import Scan
from scanviz.testing import rewritten_by
from tests.engine.rewrites.checking import agree, kinds, refusals

UNUSED = "remove_constants_and_unused_inputs_scan"


def loops_in(outputs):
    return [node.op for node in toposort(outputs) if isinstance(node.op, Scan)]


# ---- remove_constants_and_unused_inputs_scan


def test_constants_are_written_into_the_step():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda a, h, c: h * c + a, x, T.constant(0.0), T.constant(0.5))
    (op,) = loops_in(rewritten_by(UNUSED, [h]))
    assert [kind for kind, _ in kinds(op)] == ["sequence", "sitsot"]
    agree([x], [h], np.arange(4.0))


def test_one_variable_given_twice_is_read_once():
    x, w = T.vector("x"), T.vector("w")
    h, _ = scanviz.scan(lambda a, b, h, u, v: h * T.sum(u * v) + a * b, [x, x], T.constant(0.0), [w, w])
    (op,) = loops_in(rewritten_by(UNUSED, [h]))
    assert [kind for kind, _ in kinds(op)] == ["sequence", "sitsot", "non_sequence"]
    agree([x, w], [h], np.arange(4.0), np.ones(3))


def test_unread_states_and_results_are_not_computed():
    x = T.vector("x")
    (h, _, _), _ = scanviz.scan(
        lambda a, h, s: (h + a, s * T.exp(a) + h, a**2),
        x,
        [T.constant(0.0), T.constant(1.0), None],
        name="three",
    )
    (op,) = loops_in(rewritten_by(UNUSED, [h]))
    assert kinds(op) == [("sequence", "x"), ("sitsot", "h")]
    assert [node.op.name for node in toposort(op.inner_outputs)] == ["add"]


def test_a_loop_needed_for_its_update_alone_keeps_only_the_draw():
    streams = T.random.RandomStreams(7)
    x = T.vector("x")
    h, updates = scanviz.scan(lambda a, h: h + a * streams.normal(), x, T.constant(0.0))
    (state, fresh) = next(iter(dict(updates).items()))
    (op,) = loops_in(rewritten_by(UNUSED, [fresh]))
    assert [kind for kind, _ in kinds(op)] == ["carry"]
    both = scanviz.function([x], h, updates=updates, mode=Mode("numpy", "none"))
    alone = scanviz.function([x], [], updates=updates)
    start = state.get_value()
    both(np.ones(5))
    after = state.get_value()
    state.set_value(start)
    alone(np.ones(5))
    np.testing.assert_array_equal(state.get_value(), after)


def test_unread_sequences_are_kept_for_their_length_check():
    x, n = T.vector("x"), T.lscalar("n")
    h, _ = scanviz.scan(lambda a, h: h * 2.0, x, T.constant(1.0), n_steps=n, name="doubled")
    assert "`x` is not read, but the loop checks that it has enough rows" in refusals([h], UNUSED, [x, n])
    f = scanviz.function([x, n], h)
    with pytest.raises(scanviz.ScanvizError, match="too short"):
        f(np.ones(2), 3)


# ---- ScanMerge, scan_merge_inouts


def test_loops_with_shared_inputs_are_merged():
    x, w = T.matrix("x"), T.matrix("w")
    a, _ = scanviz.scan(lambda v, h, w: T.tanh(T.dot(h, w) + v), x, T.zeros(3), w, name="first")
    b, _ = scanviz.scan(lambda v, h, w: T.sin(T.dot(h, w) + v), x, T.zeros(3), w, name="second")
    (op,) = loops_in(rewritten_by("ScanMerge", [a, b]))
    assert op.scan_name == "first&second"
    assert {variable.name for variable in op.variables} >= {"first.h", "second.h"}
    agree([x, w], [a, b], np.random.default_rng(1).normal(size=(4, 3)), np.eye(3))


def test_states_and_gradients_of_joined_loops_are_distinguished_by_loop():
    x, w = T.vector("x"), T.scalar("w")
    a, _ = scanviz.scan(lambda v, s: T.tanh(s * w + v), x, T.constant(0.0), name="first")
    b, _ = scanviz.scan(lambda v, s: T.sin(s * w + v), x, T.constant(0.0), name="second")
    gradients = [scanviz.grad(a[-1], x), scanviz.grad(b[-1], x)]
    forward, backward = sorted(loops_in(rewritten_by("ScanMerge", gradients)), key=lambda op: op.scan_name)
    carried = {
        op.scan_name: {name for kind, name in kinds(op) if kind in ("mitmot", "sitsot", "nitsot")}
        for op in (forward, backward)
    }
    assert carried == {
        "first&second": {"first.s", "second.s"},
        "grad_of_first&grad_of_second": {"∂first.s", "∂second.s", "∂first.x", "∂second.x"},
    }
    rows = {row.name for op in (forward, backward) for row in op.inner_inputs}
    assert {"first.s[t-1]", "second.s[t-1]", "∂first.s[t]", "∂second.s[t]"} <= rows
    values = {x: [0.1, -0.2, 0.3], w: 0.5}
    for before, after in zip(gradients, rewritten_by("ScanMerge", gradients), strict=True):
        np.testing.assert_allclose(after.eval(values), before.eval(values))


def test_equal_loops_of_two_names_are_computed_once():
    x = T.vector("x")
    a, _ = scanviz.scan(lambda v, h: T.tanh(h + v), x, T.constant(0.0), name="first")
    b, _ = scanviz.scan(lambda v, h: T.tanh(h + v), x, T.constant(0.0), name="second")
    after = rewritten_by(["ScanMerge", "scan_merge_inouts", UNUSED], [a, b])
    (op,) = loops_in(after)
    assert kinds(op) == [("sequence", "x"), ("sitsot", "first.h")]
    assert after[0] is after[1]


def test_states_that_feed_one_another_are_equal_together():
    x = T.vector("x")

    def step(v, h, c, k, d):
        return T.tanh(c + v), h * 0.5, T.tanh(d + v), k * 0.5

    zero = T.constant(0.0)
    (h, c, k, d), _ = scanviz.scan(step, x, [zero, zero, zero, zero])
    after = rewritten_by("scan_merge_inouts", [h, c, k, d])
    (op,) = loops_in(after)
    assert [kind for kind, _ in kinds(op)].count("sitsot") == 2
    assert after[0] is after[2] and after[1] is after[3]
    agree([x], [h, c, k, d], np.arange(3.0))


def test_different_taps_are_distinguished():
    x = T.vector("x")
    first = dict(initial=x[:2], taps=[-2, -1])
    (a, b), _ = scanviz.scan(
        lambda a2, a1, b2, b1: (a2 * 0.5 + a1, b2 + b1 * 0.5), outputs_info=[first, dict(first)], n_steps=4
    )
    assert "no two results" in refusals([a, b], "scan_merge_inouts", [x])
    agree([x], [a, b], np.array([1.0, 2.0]))


def test_dependent_and_unrelated_loops_are_not_merged():
    x, y = T.vector("x"), T.vector("y")
    a, _ = scanviz.scan(lambda v, h: h * v, x, T.constant(1.0), n_steps=3, name="a")
    b, _ = scanviz.scan(lambda v, u, h: h * v + u, [x, a], T.constant(1.0), n_steps=3, name="b")
    assert "`b` needs a result of `a`" in refusals([a, b], "ScanMerge", [x])
    c, _ = scanviz.scan(lambda v, h: h * v, x, T.constant(1.0), n_steps=3, name="c")
    d, _ = scanviz.scan(lambda v, h: h + v * h, y, T.constant(1.0), n_steps=3, name="d")
    assert "read nothing in common" in refusals([c, d], "ScanMerge", [x, y])
    e, _ = scanviz.scan(lambda v, h: h + v * h, y, T.constant(1.0), name="e")
    assert "not known to take the same number of steps" in refusals([c, e], "ScanMerge", [x, y])


def test_loops_that_end_by_equal_conditions_become_one():
    x = T.vector("x")
    a, _ = scanviz.scan(lambda v, h: (h + v, {}, scanviz.until(v > 2.0)), x, T.constant(0.0), name="a")
    b, _ = scanviz.scan(lambda v, h: (h * v + 1.0, {}, scanviz.until(v > 2.0)), x, T.constant(0.0), name="b")
    c, _ = scanviz.scan(lambda v, h: (h * v + 1.0, {}, scanviz.until(v > 3.0)), x, T.constant(0.0), name="c")
    assert len(loops_in(rewritten_by("ScanMerge", [a, b]))) == 1
    assert "end by different conditions" in refusals([a, c], "ScanMerge", [x])
    agree([x], [a, b, c], np.array([1.0, 2.0, 3.0, 4.0, 5.0]))


# ---- ScanSaveMem


def keeps(outputs):
    return [
        variable.keep.last
        for op in loops_in(outputs)
        for variable in op.variables
        if hasattr(variable, "keep")
    ]


def test_a_power_keeps_one_row_and_a_loop_its_last_slice():
    a = T.vector("a")
    power, _ = scanviz.scan(lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=6)
    assert keeps(rewritten_by("ScanSaveMem", [power[-1]])) == [1]
    assert keeps(rewritten_by("ScanSaveMem", [power[-3:]])) == [3]
    assert keeps(rewritten_by("ScanSaveMem", [power[-3:-1]])) == [3]
    assert keeps(rewritten_by("ScanSaveMem", [power[-2] + power[-5]])) == [5]
    agree([a], [power[-1], power[-2:]], np.arange(3.0))


def test_loops_that_end_early_keep_last_rows_too():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda v, h: (h + v, {}, scanviz.until(h > 4.0)), x, T.constant(0.0))
    assert keeps(rewritten_by("ScanSaveMem", [h[-1]])) == [1]
    agree([x], [h[-1], h[0]], np.arange(9.0))


def a_truncated_gradient(taps):
    """Return the inputs of a loop whose gradient is that of its last five steps, its last row's square, and the gradients."""
    x, w, first = T.matrix("x"), T.matrix("w"), T.matrix("h0")
    rows, _ = scanviz.scan(
        lambda x_t, before, h, w: T.tanh(x_t + T.dot(h, w) + T.sin(before) * h),
        x, {"initial": first, "taps": [-taps, -1]}, w, truncate_gradient=5, name="rnn",
    )  # fmt: skip
    cost = T.sum(rows[-1] ** 2)
    return [x, w, first], [cost, *scanviz.grad(cost, [w, first])]


@pytest.mark.parametrize("taps", [2, 3])
def test_a_loop_keeps_the_rows_that_a_truncated_gradient_reads(taps):
    inputs, results = a_truncated_gradient(taps)
    rewrites = scanviz.function(inputs, results, mode="numpy").rewrites
    text = " ".join(rewrite.message for rewrite in rewrites if rewrite.rule == "ScanSaveMem")
    assert f"`before` keeps only its last {5 + taps} rows" in text
    for steps in (1, 4, 5, 6, 7, 8, 9, 30):
        values = np.random.default_rng(steps)
        agree(inputs, results, *(values.normal(size=(n, 3)) * 0.5 for n in (steps, 3, taps)))


def test_only_the_last_rows_that_are_read_are_kept():
    x, n = T.vector("x"), T.lscalar("n")

    def kept(index, count):
        h, _ = scanviz.scan(lambda v, h: h * v, x, T.constant(1.0), name="h")
        again, _ = scanviz.scan(lambda h, a: a + h, h[index], T.constant(0.0), n_steps=count, name="again")
        agree([x, n], [again, n], np.arange(1.0, 9.0), 3)
        return keeps(rewritten_by("ScanSaveMem", [again]))[0]

    few = T.minimum(n, 4)
    assert kept(slice(None, None, -1), few) == 4
    assert kept(slice(-2, None, -1), few) == 5
    assert kept(slice(None, 0, -1), few) == 5  # one more, so that there are four before it
    assert kept(slice(-2, -5, -1), few) == 4
    assert kept(slice(None, None, -1), n) is None
    assert kept(slice(5, None, -1), few) is None
    assert kept(slice(None, None, -2), few) is None


@pytest.mark.parametrize(
    "turned",
    [
        lambda h: h[None, ::-1],
        lambda h: h[::-1, T.constant([0, 1]), :, T.constant([1, 0])],
    ],
)
def test_first_rows_of_another_axis_are_no_rows_of_the_loop(turned):
    x, n = T.vector("x"), T.lscalar("n")
    h, _ = scanviz.scan(lambda v, h: h * v, x, T.constant(np.arange(1.0, 13.0).reshape(2, 3, 2)), name="h")
    again, _ = scanviz.scan(
        lambda rows: T.sum(rows, axis=0), turned(h), n_steps=T.minimum(n, 1), name="again"
    )
    agree([x, n], [again, n], np.arange(1.0, 7.0), 3)
    assert keeps(rewritten_by("ScanSaveMem", [again]))[0] is None


def test_the_reason_for_keeping_all_rows_is_given():
    x = T.vector("x")
    h, _ = scanviz.scan(lambda v, h: h * v, x, T.constant(1.0))
    assert "all rows of `h` are read" in refusals([h], "ScanSaveMem", [x])
    assert "may read any row of `h`" in refusals([T.max(h)], "ScanSaveMem", [x])
    n = T.lscalar("n")
    for wanted in (h[n], h.sum(), h[-1] + h.sum(), h[-3::2] + h[::2]):
        assert keeps(rewritten_by("ScanSaveMem", [wanted])) == [None]


def test_inner_loops_keep_only_the_rows_read_by_the_step():
    x = T.matrix("x")
    totals, _ = scanviz.scan(lambda r: scanviz.scan(lambda v, s: s + v, r, 0.0)[0][-1], x)
    (outer,) = loops_in(rewritten_by("ScanSaveMem", [totals]))
    assert keeps(outer.inner_outputs) == [1]
