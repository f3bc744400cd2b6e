"""Loops as one CUDA kernel, compiled by g++ and run on the stand-in for CuPy: the same source as on a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import scanviz
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.backends.cupy.fused_loop import WHY
from scanviz.engine.backends.source.runners import all_made
from scanviz.engine.errors import ScanvizIndexError, ScanvizValueError, ShapeError
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.values.replay import Replayer
from scanviz.record.storage.file import load
from scanviz.testing import random_loops
from tests.engine.backends.cupy import stand_in
from tests.engine.backends.cupy.test_gradients import agree
from tests.support.host_kernels import HAS_COMPILER, ORDERS, HostLauncher

stand_in.register()
pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="kernels need g++, which is not installed")
MODE = "stand-in-kernels"


def reasons(function):
    """Return why the loops of a function run as they do."""
    return [made.why for made in all_made(function.executable.flat.runners).values()]


def loop(step, **options):
    return scanviz.scan(step, **options)[0]


RNG = np.random.default_rng(0)
X, H, ROW, W = T.matrix("x"), T.matrix("h"), T.vector("row"), T.matrix("w")
N, S, P = T.lscalar("n"), T.dscalar("s"), T.lvector("p")
GIVEN = {
    X: RNG.normal(size=(20, 5)), H: RNG.normal(size=(4, 5)), ROW: RNG.normal(size=5), W: RNG.normal(size=(5, 5)) / 3,
    N: np.int64(9), S: np.float64(0.3), P: np.array([0, 2, -1, 4]),
}  # fmt: skip


def several_taps():
    return loop(
        lambda x, a, b: T.sigmoid(x + ROW * a - 0.5 * b),
        sequences=X,
        outputs_info={"initial": H[:2], "taps": [-2, -1]},
    )


def recurrent():
    return loop(lambda x, h: T.tanh(x + T.dot(h, W)), sequences=X, outputs_info=ROW)


def batch():
    return loop(lambda h: T.tanh(T.dot(h, W) + 1), outputs_info=H, n_steps=N)


def ended(step, initial):
    return loop(step, outputs_info=initial, n_steps=1000)


ELEMENTWISE = {
    "one state": lambda: loop(lambda x, h: T.tanh(x + ROW * h), sequences=X, outputs_info=ROW),
    "the last row": lambda: loop(lambda x, h: T.tanh(x + ROW * h), sequences=X, outputs_info=ROW)[-1],
    "the last three rows": lambda: loop(lambda x, h: T.tanh(x + h), sequences=X, outputs_info=ROW)[-3:],
    "several taps": several_taps,
    "a number": lambda: loop(lambda r: 3.7 * r * (1 - r), outputs_info=S, n_steps=N),
    "a number beside rows": lambda: loop(lambda h, c: (h * c, c + 0.5), outputs_info=[ROW, S], n_steps=N),
    "sequences backwards": lambda: loop(
        lambda x, h: x * h + 1, sequences=X[::-1], outputs_info=ROW, go_backwards=True
    ),
    "a transposed sequence": lambda: loop(lambda x, h: x * 0.5 + h, sequences=W.T, outputs_info=ROW),
    "rows beside columns": lambda: loop(lambda h: h * ROW + H[:, :1], outputs_info=H, n_steps=N),
    "integers": lambda: loop(lambda p, c: c * 3 // 2 + p, sequences=P, outputs_info=T.constant(5)),
    "a stop condition": lambda: ended(lambda c: (c + 0.5, scanviz.until(c > 7)), S),
    "a stop condition far away": lambda: loop(
        lambda c: (c + 1, scanviz.until(c > 3000)), outputs_info=S, n_steps=5000
    ),
    "a gradient": lambda: scanviz.grad(several_taps().sum(), [X, H, ROW]),
}
ROWS = {
    "a recurrent network": recurrent,
    "its last row": lambda: recurrent()[-1],
    "its gradient": lambda: scanviz.grad((recurrent() ** 2).sum(), [X, ROW, W]),
    "a batch": batch,
    "the gradient of a batch": lambda: scanviz.grad((batch() ** 2).sum(), [H, W]),
    "a matrix first": lambda: loop(lambda h: T.tanh(T.dot(W, h)), outputs_info=ROW, n_steps=N),
    "softmax": lambda: loop(lambda x, h: T.softmax(x + h), sequences=X, outputs_info=ROW),
    "softmax of a sequence alone": lambda: loop(
        lambda x, h: T.softmax(x) + h * 0.5, sequences=X, outputs_info=ROW
    ),
    "log_softmax": lambda: loop(lambda x, h: T.log_softmax(x + T.dot(h, W)), sequences=X, outputs_info=ROW),
    "normalised rows": lambda: loop(
        lambda h: (h - h.mean(axis=1, keepdims=True)) / T.sqrt(h.var(axis=1, keepdims=True) + 0.1) + h * 0.1,
        outputs_info=H,
        n_steps=N,
    ),
    "the largest and smallest": lambda: loop(
        lambda h: h / h.max() + h.min() * 0.1, outputs_info=ROW, n_steps=N
    ),
    "a matrix and its transpose": lambda: loop(
        lambda p: T.dot(W, T.dot(p, W.T)) * 0.5 + p.T * 0.1, outputs_info=W, n_steps=N
    ),
    "elements by constants": lambda: loop(
        lambda h: h * 0.5 + h[2] + h[::-1] * 0.1 + T.concatenate([h[1:], h[:1]]), outputs_info=ROW, n_steps=N
    ),
    "elements by numbers": lambda: loop(lambda p, h: h * 0.5 + h[p], sequences=P, outputs_info=ROW),
    "a sum over the first axis": lambda: loop(lambda h: h * 0.5 + h.sum(axis=0), outputs_info=H, n_steps=N),
    "a stop condition of a norm": lambda: ended(lambda h: (h * 0.5, scanviz.until((h**2).sum() < 1e-3)), ROW),
    "a stop condition of one of many": lambda: ended(
        lambda h: (h * 0.5, scanviz.until(T.concatenate([h < 1e-3, h > 9])[0])), ROW
    ),
    "an outer product of two states": lambda: loop(
        lambda a, b: (a * 0.5, b + 1, T.outer(a, b)), outputs_info=[ROW, W[0], None], n_steps=N
    ),
    "truths": lambda: loop(
        lambda h: T.switch((h > 0).any(), h - 0.1, h + (h < 5).all()), outputs_info=ROW, n_steps=N
    ),
}


@pytest.mark.parametrize("name", [*ELEMENTWISE, *ROWS])
def test_a_fused_loop_gives_what_the_reference_gives_in_any_order_of_threads(name, monkeypatch):
    results = (ELEMENTWISE | ROWS)[name]()
    options = {"on_unused_input": "ignore"}
    expected = scanviz.function(list(GIVEN), results, mode="reference", **options)(*GIVEN.values())
    f = scanviz.function(list(GIVEN), results, mode=MODE, **options)
    found = f(*GIVEN.values())
    assert set(reasons(f)) == {WHY}
    check(found, expected)
    for order in ORDERS.values():
        monkeypatch.setattr(HostLauncher, "order", order)
        check(f(*GIVEN.values()), expected)


def check(found, expected):
    if not isinstance(found, list):
        found, expected = [found], [expected]
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.slow
@settings(max_examples=25)
@given(case=random_loops())
def test_gradients_of_random_fused_loops_agree_with_the_reference(case):
    if case.dtype == "float64":
        agree(case, MODE)


def test_all_steps_are_one_launch():
    f = scanviz.function([X, ROW], loop(lambda x, h: T.tanh(x + h), sequences=X, outputs_info=ROW), mode=MODE)
    f(RNG.normal(size=(5, 3)), np.zeros(3))
    before = HostLauncher.launches
    f(RNG.normal(size=(700, 3)), np.zeros(3))
    assert HostLauncher.launches == before + 1


DRAWS = {
    "normal": lambda st, h: st.normal(size=h.shape),
    "float32 normal": lambda st, h: T.cast(st.normal(size=h.shape, dtype="float32"), "float64"),
    "normal of parameters": lambda st, h: st.normal(h, h * h + 1),
    "uniform": lambda st, h: st.uniform(size=h.shape, low=0.0, high=h * h + 1),
    "two draws": lambda st, h: st.normal(size=h.shape) * st.exponential(size=h.shape),
    "gamma": lambda st, h: st.gamma(h * h + 0.1, 2.0),
    "poisson": lambda st, h: st.poisson(T.sigmoid(h)),
    "binomial": lambda st, h: st.binomial(n=10, p=T.sigmoid(h)),
    "beta": lambda st, h: st.beta(h * h + 0.1, 2.0),
    "integers": lambda st, h: st.integers(0, 10, size=h.shape),
    "bernoulli": lambda st, h: T.switch(st.bernoulli(T.sigmoid(h)), h, 1 - h),
    "a number": lambda st, h: st.normal(),
    "rows of a matrix": lambda st, h: st.normal(size=(*h.shape, 3)).sum(axis=1),
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_fused_loop_draws_the_numbers_of_the_reference(name):
    calls = []
    for mode in ("reference", MODE):
        streams = T.random.RandomStreams(3)
        rows, updates = scanviz.scan(
            lambda h, streams=streams: 0.1 * h + DRAWS[name](streams, h), outputs_info=ROW, n_steps=N
        )
        f = scanviz.function([ROW, N], rows, updates=updates, mode=mode)
        calls.append([f(np.linspace(0.1, 0.9, 7), steps) for steps in (9, 4)])  # the second goes on
    assert reasons(f) == [WHY]
    tolerance = 1e-5 if "32" in name else 1e-12
    for a, b in zip(*calls, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_draws_stay_in_the_step_of_a_kernel():
    streams = T.random.RandomStreams(3)
    rows, updates = scanviz.scan(lambda h: h + streams.normal(size=4), outputs_info=T.zeros(4), n_steps=6)
    f = scanviz.function([], rows, updates=updates, mode=MODE)
    assert f().shape == (6, 4)
    assert reasons(f) == [WHY]
    assert not any(part.op.name.startswith("draw") for part in f.program.instructions)


def test_a_parameter_out_of_range_raises_the_error_of_single_calls():
    streams = T.random.RandomStreams(3)
    rows, updates = scanviz.scan(lambda h: h * 0.5 + streams.normal(h, h), outputs_info=ROW, n_steps=3)
    f = scanviz.function([ROW], rows, updates=updates, mode=MODE)
    with pytest.raises(ScanvizValueError, match="`scale`"):
        f(np.array([1.0, -1.0]))


def test_an_index_out_of_range_raises_the_error_of_single_calls():
    f = scanviz.function([ROW, P], ROWS["elements by numbers"](), mode=MODE)
    with pytest.raises(ScanvizIndexError, match="index 9 is out of bounds"):
        f(np.zeros(5), np.array([1, 9]))


def test_single_calls_begin_again_with_the_rows_of_the_first_step():
    rows = loop(lambda h: h + h[T.cast(h.sum(), "int64")], outputs_info=ROW, n_steps=8, name="grows")[-1]
    found = []
    for mode in ("reference", MODE):
        with pytest.raises(ScanvizIndexError) as raised:
            scanviz.function([ROW], rows, mode=mode)(np.full(7, 0.2))
        found.append(str(raised.value))
    assert found[0] == found[1] and "at step 3" in found[0]


def test_an_index_that_nothing_reads_is_checked():
    f = scanviz.function(
        [ROW, P], loop(lambda p, h: h * 0.5 + h[p][None][:0].sum(), sequences=P, outputs_info=ROW), mode=MODE
    )
    with pytest.raises(ScanvizIndexError, match="index 9 is out of bounds"):
        f(np.zeros(5), np.array([1, 9]))


def test_a_draw_that_nothing_reads_is_checked():
    state = T.random.random_state(3)

    def step(h):
        after, _ = T.random.normal(state, 0.0, h)
        after, drawn = T.random.uniform(after)
        return h + drawn, {state: after}

    rows, updates = scanviz.scan(step, outputs_info=S, n_steps=3)
    f = scanviz.function([S], rows, updates=updates, mode=MODE)
    assert f(1.0).shape == (3,)
    assert reasons(f) == [WHY]
    with pytest.raises(ScanvizValueError, match="`scale`"):
        f(-100.0)


def test_a_number_beside_a_state_without_elements_is_computed():
    results = loop(lambda h, c: (h * 2, c + 1), outputs_info=[ROW, S], n_steps=3)
    rows, numbers = scanviz.function([ROW, S], results, mode=MODE)(np.zeros(0), 1.0)
    assert rows.shape == (3, 0)
    np.testing.assert_array_equal(numbers, [2, 3, 4])


REFUSED = {
    "cumsum": (lambda h: T.cumsum(h), "`cumsum` has no code in a kernel"),
    "a nested loop": (
        lambda h: loop(lambda a: a + h, outputs_info=h, n_steps=N)[-1],
        "there is a loop or an ifelse",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_reason_says_why_a_loop_is_no_kernel(name):
    step, reason = REFUSED[name]
    f = scanviz.function(
        [ROW, N], loop(step, outputs_info=ROW, n_steps=N), mode=MODE, on_unused_input="ignore"
    )
    f(np.ones(3), 2)
    assert any(reason in why for why in reasons(f)), reasons(f)


def test_a_row_that_shared_memory_does_not_hold_is_computed_by_single_calls():
    f = scanviz.function([ROW, N], loop(lambda h: h * 0.5 + h.sum(), outputs_info=ROW, n_steps=N), mode=MODE)
    f(np.ones(9000), 2)
    assert "shared memory" in reasons(f)[0]


def test_a_large_product_is_a_call_of_cublas():
    f = scanviz.function(
        [ROW, W], loop(lambda h: T.tanh(T.dot(h, W)), outputs_info=ROW, n_steps=2), mode=MODE
    )
    f(np.zeros(300), np.zeros((300, 300)))
    assert "cuBLAS" in reasons(f)[0]


def test_a_profile_counts_the_steps_of_a_kernel_and_times_its_run():
    f = scanviz.function(
        [X, ROW], loop(lambda x, h: T.tanh(x + h), sequences=X, outputs_info=ROW, name="tanh"), mode=MODE
    )
    with scanviz.profile() as profile:
        for _ in range(3):
            f(RNG.normal(size=(50, 3)), np.zeros(3))
    (record,) = profile.record.loops
    assert (record.runs, record.steps) == (3, 150)
    assert [tier.why for tier in record.tiers] == [WHY]
    assert sum(operation.typical_ns for operation in record.operations) > 0


def test_a_failed_run_is_recorded_with_the_steps_before_its_error():
    function = scanviz.function([P], loop(lambda at: P[at], outputs_info=0, n_steps=2), mode=MODE)
    recorder = Recorder("steps", calibration=FREE)
    with observe.observed_by(recorder), pytest.raises(ScanvizIndexError):
        function([1])
    (recorded,) = recorder.record().loops
    assert (recorded.failed_runs, recorded.steps) == (1, 1)


def test_values_of_a_kernels_steps_are_recomputed(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, scanviz\n"
        "from scanviz import tensor as T\n"
        "from tests.engine.backends.cupy import stand_in\n"
        "stand_in.register()\n"
        "x, h = T.matrix('x'), T.vector('h')\n"
        "rows, _ = scanviz.scan(lambda x, h: T.tanh(x + h), x, h, name='tanh')\n"
        "f = scanviz.function([x, h], rows, mode='stand-in-kernels')\n"
        "f(np.ones((5, 3)), np.zeros(3))\n"
    )
    profile = tmp_path / "script.scanviz"
    root = Path(__file__).parents[4]
    command = [sys.executable, "-m", "scanviz", "profile", "-q", "--values", "-o", profile, script]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(root)}
    )
    assert not done.returncode, done.stderr
    record = load(profile)
    (trace,) = record.traces
    window = Replayer(record).window(trace.loop, 0, 3, 4)
    rows = np.zeros(3)
    for _ in range(5):
        rows = np.tanh(1 + rows)
    assert any(np.allclose(variable.values[-1], rows) for variable in window.variables)


def test_operands_that_do_not_broadcast_are_refused():
    x, w = T.vector("x"), T.vector("w")
    rows, _ = scanviz.scan(lambda a, h: h + w * a, x, np.zeros(2))
    with pytest.raises(ShapeError, match="do not broadcast"):
        scanviz.function([x, w], rows, mode=MODE)(np.ones(2), np.ones(3))
