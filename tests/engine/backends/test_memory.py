"""Memory and threads: nothing allocated a step, nothing kept beyond the rows asked for, nothing shared between calls."""

import gc
import threading
import tracemalloc

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.runtime.specialised import SMALL_BYTES
from scanviz.engine.scan.variables import Keep, Sequence, State
from tests.engine.backends.running import TIERS, compiled, loop
from tests.support.internals import loop_sources

N = T.lscalar("n")
X, H0 = T.matrix("X"), T.vector("h0")


def elementwise_loop(keep=None):
    x, h = T.vector("x"), T.vector("h")
    new = T.tanh(x * 0.5 + h) * T.sigmoid(x) - T.maximum(x, h)
    return [N, X, H0], loop([Sequence("x", x), State("h", {-1: h}, {0: new}, Keep(keep))], N, [X, H0])


def peak_of(executable, values):
    """Return the peak of memory during one run beyond the memory held before."""
    gc.collect()
    tracemalloc.start()
    executable.run(values, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def test_an_elementwise_step_allocates_no_array():
    width = 10_000
    inputs, outputs = elementwise_loop(keep=1)
    executable = compiled("numpy", inputs, outputs)
    rows, start = np.zeros((400, width)), np.zeros(width)
    executable.run([np.array(2), rows, start], None)
    peak = peak_of(executable, [np.array(400), rows, start])
    assert peak < 8 * width * 7  # two rows of the ring and at most four buffers


def test_memory_does_not_grow_with_steps_when_the_last_row_is_kept():
    inputs, outputs = elementwise_loop(keep=1)
    executable = compiled("numpy", inputs, outputs)
    rows, start = np.zeros((4_000, 50)), np.zeros(50)
    peaks = []
    for steps in (10, 100, 4_000):
        executable.run([np.array(steps), rows, start], None)
        peaks.append(peak_of(executable, [np.array(steps), rows, start]))
    assert max(peaks) - min(peaks) < 400


def test_generated_code_writes_results_into_existing_arrays():
    inputs, outputs = elementwise_loop()
    executable = compiled("numpy", inputs, outputs)
    executable.run([np.array(2), np.ones((2, 3)), np.ones(3)], None)
    (text,) = loop_sources(executable)
    calls = [line.strip() for line in text.splitlines() if line.startswith("        ") and "(" in line]
    assert calls
    assert not [line for line in calls if " = " in line.split("(")[0]]


def test_generated_code_is_found_by_tracebacks_and_debuggers():
    import linecache

    inputs, outputs = elementwise_loop()
    executable = compiled("numpy", inputs, outputs)
    executable.run([np.array(2), np.ones((2, 3)), np.ones(3)], None)
    (runner,) = executable.flat.runners.values()
    (made,) = runner.cache.values()
    code = made.written("plain")
    assert "".join(linecache.getlines(code.file)) == code.text
    assert code.file.startswith("<scanviz ")
    assert executable.source().startswith("def call_test(")
    file = code.file
    del executable, runner, made, code
    gc.collect()
    assert file not in linecache.cache


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("allow_gc", [True, False])
def test_calls_in_threads_share_no_buffers(tier, allow_gc):
    x, h = T.vector("x"), T.vector("h")
    new = T.tanh(x * 0.5 + h) * T.exp(-x) + T.dot(T.outer(x, h), x)
    results = loop([Sequence("x", x), State("h", {-1: h}, {0: new})], N, [X, H0], allow_gc=allow_gc)
    executable = compiled(tier, [N, X, H0], results)
    wanted, failures = {}, []
    for seed in range(4):
        rows = np.random.default_rng(seed).normal(size=(60, 5 + seed % 2))
        wanted[seed] = (rows, executable.run([np.array(60), rows, rows[0]], None)[0].copy())

    def work(seed):
        rows, result = wanted[seed]
        for _ in range(12):
            found = executable.run([np.array(60), rows, rows[0]], None)[0]
            if not np.array_equal(found, result):
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed % 4,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("width", [3, SMALL_BYTES])
def test_large_buffers_are_kept_between_calls_only_on_request(width):
    for allow_gc in (True, False):
        x, h = T.vector("x"), T.vector("h")
        state = State("h", {-1: h}, {0: T.tanh(x * 0.5 + h)})
        results = loop([Sequence("x", x), state], N, [X, H0], allow_gc=allow_gc)
        executable = compiled("numpy", [N, X, H0], results)
        for _ in range(3):
            executable.run([np.array(2), np.ones((2, width)), np.ones(width)], None)
        (runner,) = executable.flat.runners.values()
        (made,) = runner.cache.values()
        assert len(made.buffers) == (0 if allow_gc and width == SMALL_BYTES else 1)


@pytest.mark.parametrize("tier", TIERS)
def test_results_of_one_call_are_not_touched_by_the_next(tier):
    out, _ = scanviz.scan(lambda x, h: T.tanh(x + h), X, H0, allow_gc=False)
    executable = compiled(tier, [X, H0], [out, out[-1], out[0]])
    first = executable.run([np.ones((4, 3)), np.zeros(3)], None)
    kept = [each.copy() for each in first]
    executable.run([np.full((4, 3), 7.0), np.zeros(3)], None)
    for found, wanted in zip(first, kept, strict=True):
        np.testing.assert_array_equal(found, wanted)


def _last_row_alone(kind):
    h, n = T.matrix("h"), T.lscalar("n")
    if kind == "two taps":
        rows, _ = scanviz.scan(
            lambda a, b: 0.5 * a + 0.3 * b, outputs_info=dict(initial=h, taps=[-2, -1]), n_steps=n
        )
    elif kind == "one number":
        rows, _ = scanviz.scan(lambda s: s * 0.5 + 1.0, outputs_info=h[0, 0], n_steps=n)
    elif kind == "views":
        rows, _ = scanviz.scan(
            lambda v: T.sigmoid((v + 1.0)[::-1]) * (v * 2.0)[::-1], outputs_info=h[0], n_steps=n
        )
    elif kind == "until":
        rows, _ = scanviz.scan(lambda v: (T.tanh(v), scanviz.until(v[0] > 2)), outputs_info=h[0], n_steps=n)
    else:
        rows, _ = scanviz.scan(lambda v: T.tanh(T.dot(v, h.T)[0] + v), outputs_info=h[0], n_steps=n)
    return scanviz.function([h, n], rows[-1], mode="numpy")


@pytest.mark.parametrize("kind", ["two taps", "one number", "views", "until", "product"])
def test_memory_of_last_rows_is_independent_of_the_steps(kind):
    f, start, peaks = _last_row_alone(kind), np.zeros((2, 50)), []
    for steps in (1_000, 20_000):
        f(start, steps)
        gc.collect()
        tracemalloc.start()
        f(start, steps)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) - min(peaks) < 400, peaks  # a row of 50 numbers a step would be 8 MB
