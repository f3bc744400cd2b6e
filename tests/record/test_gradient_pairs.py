"""Pairs of loops and their back-propagation, after rewrites have merged loops and where loops are in loops."""

import pickle

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.profiler.report.gradients import gradient_lines, pairs


def recorded(of):
    """Return the profile of two loops that become one, and of the gradient ``of`` some."""
    x, w = T.matrix("x"), T.vector("w")
    a, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t * w + h), x, T.zeros_like(w), name="a")
    b, _ = scanviz.scan(lambda x_t, h: T.sin(x_t * w + h * h), x, T.zeros_like(w), name="b")
    costs = {"a": T.sum(a), "b": T.sum(b)}
    gradient = scanviz.grad(sum(costs[name] for name in of), w)
    f = scanviz.function([x, w], [*costs.values(), gradient], name="f")
    return profiled(f, np.full((9, 3), 0.1), np.ones(3)), f


def profiled(f, *values):
    with scanviz.profile() as p:
        f(*values)
    return p.record


def ratio(record):
    return gradient_lines(record, 100, 5)[2].text.split("×")[0].split()[-1]


def worked(loop):
    return loop.total_ns - sum(tier.total_ns for tier in loop.tiers)


def test_gradients_that_are_merged_belong_to_the_merged_loop():
    record, _ = recorded("ab")
    forward, backward = record.loops
    assert forward.name == "a&b" and backward.name == "grad_of_b&grad_of_a"
    assert backward.forward_keys == (forward.key,) and not backward.does_more
    assert float(ratio(record)) == pytest.approx(worked(backward) / worked(forward), abs=0.06)


def test_the_gradient_of_one_of_two_merged_loops_has_no_ratio_with_both():
    record, _ = recorded("a")
    forward, backward = record.loops
    assert backward.name == "grad_of_a" and backward.forward_keys == (forward.key,) and backward.does_more
    assert "×" not in gradient_lines(record, 100, 5)[2].text


def test_a_merged_gradient_of_loops_that_stay_apart_belongs_to_both_and_its_time_counts_once():
    x, w = T.matrix("x"), T.vector("w")
    a, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t * w + h), x, T.zeros_like(w), name="a")
    b, _ = scanviz.scan(lambda a_t, h: T.sin(a_t * w + h * h), a, T.zeros_like(w), name="b")
    gradients = [scanviz.grad(T.sum(each), w, consider_constant=[a]) for each in (b,)]
    f = scanviz.function([x, w], [T.sum(a), T.sum(b), *gradients, scanviz.grad(T.sum(a), w)], name="f")
    record = profiled(f, np.full((9, 3), 0.1), np.ones(3))
    listed = [loop.key for there, back in pairs(record) for loop in back]
    assert sorted(listed) == sorted({loop.key for loop in record.loops if loop.forward_keys})
    for loop in record.loops:
        if loop.name.startswith("grad_of_"):
            linked = "&".join(other.name for other in record.loops if other.key in loop.forward_keys)
            assert {part.removeprefix("grad_of_") for part in loop.name.split("&")} <= {*linked.split("&")}


def test_the_gradient_of_a_loop_in_a_step_is_found_in_the_other_step():
    x = T.matrix("x")

    def outer(x_t, s):
        h, _ = scanviz.scan(lambda e, k: T.tanh(e * k + s.sum()), x_t, T.constant(1.0), name="inner")
        return h

    c, _ = scanviz.scan(outer, x, T.zeros_like(x[0]), name="outer")
    f = scanviz.function([x], scanviz.grad(T.sum(c), x), name="f")
    loops = {loop.name: loop for loop in profiled(f, np.full((4, 3), 0.1)).loops}
    assert loops["grad_of_inner"].gradient_of == loops["inner"].key
    assert loops["grad_of_outer"].gradient_of == loops["outer"].key


def test_links_of_merged_loops_survive_pickling():
    _, f = recorded("ab")
    again = pickle.loads(pickle.dumps(f))
    forward, backward = profiled(again, np.full((9, 3), 0.1), np.ones(3)).loops
    assert backward.forward_keys == (forward.key,) and not backward.does_more
