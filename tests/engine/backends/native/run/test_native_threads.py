"""Loops whose rows are taken by threads: which are, that threads sleep in between, ctrl+c, and processes that are forked."""

import os
import re
import signal
import threading
import time
from _ctypes import FUNCFLAG_PYTHONAPI
from types import SimpleNamespace

import numpy as np
import pytest

import scanviz
from scanviz import Mode, config
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability

if not availability("native").works:
    pytest.skip(availability("native").why, allow_module_level=True)

from scanviz.engine.backends.native.run import threads, workers
from scanviz.engine.backends.native.run.cycles import counter
from scanviz.engine.backends.native.run.stamps import NativeRecord
from scanviz.engine.backends.native.run.threads import InParts
from scanviz.engine.backends.native.run.workers import Workers
from tests.laws.rows_apart import parts_always, parts_first


@pytest.fixture(autouse=True)
def two_threads():
    """Let two threads take the rows of any loop that can be divided."""
    with parts_always():
        config.native.threads = 2
        yield


def batch_of_rows(step=lambda x_t, h: T.tanh(0.9 * h + 0.1 * x_t)):
    x = T.tensor3("x")
    rows, _ = scanviz.scan(step, x, T.zeros((64, 3)))
    return scanviz.function([x], rows, mode="native"), np.random.default_rng(0).normal(size=(300, 64, 3))


def divided(f):
    """Return whether there is code for parts of a function's loop."""
    (runner,) = f.executable.flat.runners.values()
    (made,) = runner.all_made()
    return any(made.written("plain")._in_parts._made.values())


def test_threads_compute_independent_rows_with_the_bits_of_one_thread():
    f, given = batch_of_rows()
    config.native.threads = 1
    alone = f(given)
    assert not divided(f)
    config.native.threads = 2
    for _ in range(2):
        np.testing.assert_array_equal(f(given), alone)
    assert divided(f)


def code_of(f):
    (runner,) = f.executable.flat.runners.values()
    (made,) = runner.all_made()
    return made.written("plain")


@pytest.mark.parametrize("size", [50, 100, 33, 31, 47])
def test_batches_are_split_at_multiples_of_a_register(size):
    x, w = T.tensor3("x"), T.matrix("w")
    rows, _ = scanviz.scan(lambda x_t, h, w: T.tanh(T.dot(h, w) + x_t), x, T.zeros((size, 5)), w)
    f = scanviz.function([x, w], rows, mode="native")
    rng = np.random.default_rng(0)
    given = rng.normal(size=(60, size, 5)), rng.normal(size=(5, 5))
    found = []
    for count in (1, 2, 3):
        config.native.threads = count
        found += [f(*given), f(*given)]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    assert divided(f) == (size >= 32)
    h = np.zeros((size, 5))
    for x_t, mine in zip(given[0], found[0], strict=True):
        h = np.tanh(h @ given[1] + x_t)
        np.testing.assert_allclose(mine, h, rtol=1e-6, atol=1e-9)


def test_a_long_first_run_uses_threads():
    f, given = batch_of_rows()
    config.native.threads = 1
    alone = f(given)
    config.native.threads = 2
    f, _ = batch_of_rows()
    with parts_first():
        np.testing.assert_array_equal(f(given), alone)
    assert divided(f)


def test_timed_steps_run_on_threads_too(monkeypatch):
    f, given = batch_of_rows()
    expected, timed = f(given), []
    f(given)
    usual = InParts.run

    def run(self, arena, first, last, times):
        done = usual(self, arena, first, last, times)
        if done and times:
            timed.append(last - first)
        return done

    monkeypatch.setattr(InParts, "run", run)
    with scanviz.profile() as session:
        for _ in range(3):
            np.testing.assert_array_equal(f(given), expected)
    (loop,) = session.record.loops
    assert sum(timed) > 300 and loop.steps == 900


@pytest.mark.parametrize("slower", [1.0, 1.1, 2.0, 5.0])
def test_slow_batch_partitions_are_retried_at_little_cost(monkeypatch, slower):
    f, given = batch_of_rows()
    f(given), f(given)
    (runner,) = f.executable.flat.runners.values()
    (made,) = runner.all_made()
    in_parts = made.written("plain")._in_parts
    taken, arena = [slower], SimpleNamespace(shapes=(), states=())
    code = SimpleNamespace(run=lambda *run: taken[0] * in_parts.step_ns)
    monkeypatch.setattr(threads, "LOST", 0.02)
    monkeypatch.setattr(InParts, "_code", lambda *met: code)

    def tried(calls):
        return [in_parts.run(arena, 0, 300) for _ in range(calls)]

    disturbed = tried(2000)
    assert sum(disturbed) * (slower - 1) <= 0.02 * len(disturbed) + 5 * slower  # and the first few
    taken[0] = 0.5
    waited = tried(300).index(True)
    assert waited <= (slower - 1) / 0.02
    assert all(tried(50))


def test_steps_end_when_all_threads_have_finished():
    record = NativeRecord(
        np.array([10, 1, 1, 6, 0, *(k * 1000 for k in range(4))]), None
    )  # every second of six steps
    record.waited(12, 16, round(2000 * counter().tick_ns) + 400)
    assert abs(record.waited_ns - 400) <= 1
    record.waited(10, 12, 0)
    assert abs(record.waited_ns - 400) <= 1


def test_mixed_rows_are_not_partitioned():
    f, given = batch_of_rows(lambda x_t, h: T.tanh(h - T.mean(h, axis=0) + x_t / x_t.shape[0]))
    f(given), f(given)
    assert not divided(f)


def test_rows_assigned_to_in_part_are_computed_by_threads():
    f, given = batch_of_rows(lambda x_t, h: T.set_subtensor(T.tanh(h + x_t)[:, 1], 0.5))
    f(given), f(given)
    assert divided(f)


def threads_take_both_loops(f, given):
    """Assert that a gradient's loops are divided, and that threads give the bits of one."""
    config.native.threads = 1
    alone = f(*given)
    config.native.threads = 2
    for _ in range(2):
        for mine, theirs in zip(f(*given), alone, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    codes = [
        made.written("plain") for runner in f.executable.flat.runners.values() for made in runner.all_made()
    ]
    assert len(codes) == 2 and all(any(code._in_parts._made.values()) for code in codes)


def test_a_backward_loop_over_sizes_of_a_sequence_uses_threads():
    x, h, w, u = T.tensor3("x"), T.matrix("h"), T.matrix("w"), T.matrix("u")
    rows, _ = scanviz.scan(lambda x_t, h, w, u: T.tanh(T.dot(x_t, w) + T.dot(h, u)), x, h, [w, u], name="rnn")
    f = scanviz.function([x, h, w, u], scanviz.grad(T.mean(rows * rows), [w, u]), mode="native")
    given = np.random.default_rng(0).normal(size=(300, 64, 8)), np.zeros((64, 8)), np.eye(8), 0.5 * np.eye(8)
    threads_take_both_loops(f, given)


def test_a_product_with_invariant_weights_is_written_into_its_rows():
    weights, x = T.matrix("weights"), T.tensor3("x")
    rows, _ = scanviz.scan(lambda x_t, weights: T.dot(weights, x_t), x, None, weights)
    f = scanviz.function([weights, x], rows, mode=Mode("native", "none"))
    given = [np.random.default_rng(0).normal(size=shape) for shape in ((64, 20), (300, 20, 8))]
    for _ in range(3):
        np.testing.assert_allclose(f(*given), given[0] @ given[1])


def test_waiting_threads_use_no_cpu():
    f, given = batch_of_rows()
    f(given), f(given)
    assert divided(f)
    waiting = [thread for thread in threading.enumerate() if re.fullmatch(r"scanviz \d+", thread.name)]
    assert waiting
    for thread in waiting:
        clock = time.pthread_getcpuclockid(thread.ident)  # of this thread alone
        for _ in range(50):  # it may be a while, elsewhere, until it has begun to wait
            begun = time.clock_gettime(clock)
            time.sleep(0.2)
            spent = time.clock_gettime(clock) - begun
            if spent < 0.01:
                break
        assert spent < 0.01, thread.name


@pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
    reason="needs two processors, and a system that says who may use them",
)
def test_threads_wake_on_another_cpu_and_may_then_use_all(monkeypatch):
    allowed, usual, asked, found = os.sched_getaffinity(0), os.sched_setaffinity, [], []
    workers = Workers()

    def asks(thread, processors):
        asked.append((thread, processors))
        usual(thread, processors)

    def task():
        found.append((threading.get_native_id(), os.sched_getaffinity(0)))

    workers.run([task, task])
    found.clear()
    monkeypatch.setattr(os, "sched_setaffinity", asks)
    workers.run([task, task])
    assert all(processors == allowed for _, processors in found)
    (other,) = {thread for thread, _ in found} - {threading.get_native_id()}
    (woken, elsewhere), awake = asked
    assert woken == other and elsewhere < allowed and len(elsewhere) == len(allowed) - 1
    assert awake == (0, allowed)


def test_querying_the_processor_keeps_the_interpreter_lock():
    asks = workers._processor()
    if asks is None:
        pytest.skip("this system does not report the processor of a thread")
    assert asks() in os.sched_getaffinity(0)
    assert asks._flags_ & FUNCFLAG_PYTHONAPI, "a busy thread of Python would have the lock for milliseconds"


@pytest.mark.parametrize("error", [PermissionError, ProcessLookupError])
def test_threads_work_without_a_way_to_choose_a_cpu(monkeypatch, error):
    def refused(thread, processors):
        raise error

    monkeypatch.setattr(os, "sched_setaffinity", refused, raising=False)
    done = []
    for _ in range(2):
        Workers().run([lambda: done.append(1)] * 3)
    assert len(done) == 6


def test_ctrl_c_ends_a_loop_on_threads():
    a = T.vector("a")
    n = T.lscalar("n")
    powers, _ = scanviz.scan(lambda p, a: T.tanh(p * a), None, T.ones_like(a), a, n_steps=n)
    f = scanviz.function([a, n], powers[-1], mode="native")
    given = np.full(1024, 0.5)
    f(given, 300), f(given, 300)
    with pytest.raises(KeyboardInterrupt):  # without one the loop would go on for an hour
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        f(given, 10**9)
    assert divided(f) and np.isfinite(f(given, 300)).all()


def test_an_error_of_any_task_is_raised_when_all_have_ended():
    ended = []

    def task(k):
        time.sleep(0.01 * k)
        ended.append(k)
        if k == 1:
            raise ValueError(k)

    workers = Workers()
    with pytest.raises(ValueError, match="1"):
        workers.run([lambda k=k: task(k) for k in range(4)])
    assert sorted(ended) == [0, 1, 2, 3]


def test_a_forked_process_makes_threads_of_its_own():
    f, given = batch_of_rows()
    expected = f(given)
    f(given)
    child = os.fork()
    if not child:
        same = np.array_equal(f(given), expected)
        os._exit(0 if same else 1)
    deadline = time.monotonic() + 120
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)


def test_loops_run_when_the_system_refuses_a_thread(monkeypatch):
    workers, done = Workers(), []

    def refused(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refused)
        for _ in range(2):
            workers.run([lambda: done.append("a"), lambda: done.append("b")])
    assert done == ["a", "b"] * 2
    workers.run([lambda: done.append(threading.current_thread().name)] * 2)
    assert sorted(done[4:]) == sorted([threading.current_thread().name, "scanviz 1"])
