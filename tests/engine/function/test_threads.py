"""Functions, loops and streams in several threads at once; the laws of threads search much further."""

import subprocess
import sys

import numpy as np
import pytest

import scanviz
from scanviz import function, scan, shared
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.observe import Observer, observed_by
from tests.support.at_once import at_once

needs_llvm = pytest.mark.skipif(
    not registry.availability("native").works, reason=registry.availability("native").why
)
FIRST = """
import threading
from scanviz import function, grad, scan, tensor as T
gate, found = threading.Barrier(8), []
def build():
    x = T.vector("x")
    gate.wait()
    h, _ = scan(lambda x_t, h: T.tanh(x_t + h), x, 0.0, name="h")
    f = function([x], [h[-1], grad(h[-1], x)])
    found.append([each.tolist() for each in f([0.5, 0.25])])
threads = [threading.Thread(target=build) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
assert len(found) == 8 and found.count(found[0]) == 8, found
"""


def test_the_very_first_functions_of_a_process_can_be_built_at_once():
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_draws_of_one_stream_built_in_threads_all_begin_with_states_of_their_own():
    stream = T.random.RandomStreams(seed=3)
    at_once([lambda: [stream.uniform(size=2) for _ in range(20)]] * 6)
    states = {tuple(state.get_value().tolist()) for state, _ in stream.state_updates}
    assert len(states) == len(stream.state_updates) == 120


def test_shared_variables_change_together_and_each_call_sees_them_so():
    a, b = shared(0, "a"), shared(0, "b")
    both = function([], [], updates={a: a + 1, b: b - 1})
    read = function([], [a, b])

    def look():
        seen = [read() for _ in range(200)]
        assert all(x + y == 0 for x, y in seen)

    at_once([lambda: [both() for _ in range(200)]] * 3 + [look] * 2)
    assert (a.get_value(), b.get_value()) == (600, -600)


def test_a_call_uses_one_value_of_a_shared_variable_set_by_other_threads():
    w, x = shared(np.zeros(3), "w"), T.matrix("x")
    rows, _ = scan(lambda x_t, s: s + x_t * 0.0 + w, x, T.zeros(3), name="sums")
    f = function([x], rows)

    def set_it():
        for k in range(200):
            w.set_value(np.full(3, float(k)))

    def call():
        for _ in range(50):
            found = f(np.zeros((6, 3)))
            np.testing.assert_array_equal(found, found[:1] * np.arange(1, 7)[:, None])

    at_once([set_it, set_it, call, call, call])


def test_an_observer_gets_a_function_once_and_before_any_call():
    class Listener(Observer):
        def __init__(self):
            self.events = []

        def compiled(self, event):
            self.events.append("compiled")

        def function_begin(self, function, call):
            self.events.append("begin")

    x = T.scalar("x")
    for _ in range(5):
        f = function([x], x + 1.0)
        with observed_by(Listener()) as text:
            at_once([lambda f=f: f(1.0)] * 6)
        assert text.events[0] == "compiled" and text.events.count("compiled") == 1
        assert text.events.count("begin") == 6


@pytest.mark.parametrize(
    "mode, pays_after, calls",
    [
        ("numpy", 1.0, 8),
        pytest.param("native", 1.0, 40, marks=needs_llvm),
        pytest.param("native", 0.0, 40, marks=needs_llvm),
    ],
)
def test_buffers_kept_between_calls_are_used_by_one_call_at_a_time(mode, pays_after, calls, monkeypatch):
    """On one tier throughout: another one may differ in last bits.  Machine code of the whole function has buffers of its own."""
    monkeypatch.setattr(scanviz.config.native, "pays_after", pays_after)
    x = T.matrix("x")
    rows, _ = scan(lambda x_t, h: T.tanh(T.nnet.softmax(x_t * h)[::-1] + x_t), x, T.ones(64), allow_gc=False)
    f = function([x], rows, mode=mode)
    given = [np.random.default_rng(k).normal(size=(300, 64)) for k in range(6)]
    expected = [f(each) for each in given]
    found = at_once([lambda each=each: [f(each) for _ in range(calls)] for each in given])
    for mine, right in zip(found, expected, strict=True):
        assert all(np.array_equal(each, right) for each in mine)


def test_an_error_in_one_thread_is_reported_for_that_run_alone():
    table = T.ivector("table")
    rows, _ = scan(lambda k: table[k], outputs_info=T.constant(0, dtype="int32"), n_steps=30, name="walk")
    f = function([table], rows)
    good, bad = np.array([1, 2, 0], "int32"), np.array([1, 2, 3], "int32")

    def fail():
        for _ in range(20):
            with pytest.raises(scanviz.ScanvizError):
                f(bad)

    with scanviz.profile() as p:
        at_once([lambda: [f(good) for _ in range(20)]] * 3 + [fail] * 3)
    (loop,), (text,) = p.record.loops, p.record.functions
    assert (text.calls, text.errors) == (120, 60)
    assert (loop.runs, loop.failed_runs, loop.running) == (120, 60, 0)
    assert loop.steps == 60 * 30 + 60 * 3
