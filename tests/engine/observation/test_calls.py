"""Events of calls and of building beside those of programs."""

import gc
import pickle
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observation.observer_overhead import THREADS
from scanviz.engine.observation.sampling import A_SAMPLE, CLOSE_CALLS, FIRST
from scanviz.engine.observe import Observer, notify_counted, observed_by


class Listener(Observer):
    """Keeps the events of calls and of building."""

    def __init__(self, detail="steps"):
        self.detail = detail
        self.begun, self.ended, self.returned, self.operation_times, self.built = [], [], [], [], []
        self.building_watched = []

    def function_begin(self, function, call):
        self.begun.append(function)

    def function_end(self, function, call, elapsed_ns, error):
        self.ended.append(elapsed_ns)

    def function_returned(self, function, checks_ns, copies_ns, observing_ns):
        self.returned.append((checks_ns, copies_ns, observing_ns))

    def operations(self, function, elapsed_ns, around_ns):
        self.operation_times.append((tuple(elapsed_ns), around_ns))

    def build_begin(self, kind, where):
        self.built.append(kind)

    def build_end(self, kind, where, elapsed_ns):
        self.built.append((kind, where.line if where is not None else None, elapsed_ns))

    def build_observed(self, own_ns):
        self.building_watched.append(own_ns)


def sums():
    x = T.vector("x")
    return scanviz.scan(lambda x_t, s: s + x_t, sequences=x, outputs_info=0.0)[0], x


def test_a_call_that_fails_does_not_return():
    places, x = T.lvector("places"), T.vector("x")
    f = scanviz.function([places, x], x[places])
    listener = Listener()
    with observed_by(listener), pytest.raises(IndexError):
        f([9], [1.0])
    assert len(listener.begun) == len(listener.ended) == 1
    assert listener.returned == listener.operation_times == []


def test_detail_ops_times_the_operations_of_all_calls_and_detail_steps_those_of_a_sample(monkeypatch):
    monkeypatch.setattr("scanviz.engine.observation.sampling.LONG_NS", 10**12)  # short ones on any machine
    x = T.vector("x")
    calls = FIRST + 4 * A_SAMPLE
    for detail, least in (("steps", 0), ("ops", calls)):
        f = scanviz.function([x], T.tanh(x) + 1)
        listener = Listener(detail)
        with observed_by(listener):
            for _ in range(calls):
                f([1.0, 2.0])
        timed = len(listener.operation_times)
        assert max(least, FIRST) <= timed and (detail == "ops" or timed < calls)


def test_long_calls_are_all_timed():
    x = T.matrix("x")
    f = scanviz.function([x], T.exp(x).sum())
    listener = Listener()
    with observed_by(listener):
        for _ in range(FIRST + 5):
            f(np.ones((400, 400)))
    assert len(listener.operation_times) == FIRST + 5


def test_a_build_is_reported_once_with_its_line():
    x = T.vector("x")
    listener = Listener()
    with observed_by(listener):
        out, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), sequences=x, outputs_info=0.0)
        slope = scanviz.grad(out[-1], x)  # builds a loop too
        f = scanviz.function([x], slope)
        pickle.loads(pickle.dumps(f))
    kinds = [text for text in listener.built if isinstance(text, str)]
    ends = [text for text in listener.built if not isinstance(text, str)]
    assert kinds == ["scan", "gradient", "function", "function"] == [kind for kind, *_ in ends]
    lines = [line for _, line, _ in ends]
    assert lines == sorted(set(lines)) and min(elapsed for *_, elapsed in ends) > 0


def test_an_error_ends_a_build():
    x = T.vector("x")
    listener = Listener()
    with observed_by(listener):
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                scanviz.scan(lambda x_t: x_t / (1 // 0), sequences=x)
    assert [text if isinstance(text, str) else text[0] for text in listener.built] == ["scan"] * 4


def _loss(x):
    return (x**3).sum()


@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("gradient", lambda x: scanviz.grad(_loss(x), x)),
        ("gradient", lambda x: scanviz.Lop(x**2, x, [1.0, 10.0])),
        ("gradient", lambda x: scanviz.Rop(x**2, x, [1.0, 10.0])),
        ("gradient", lambda x: scanviz.Rop(x**2, x, [1.0, 10.0], use_double_reverse=True)),
        ("gradient", lambda x: scanviz.jacobian(x**2, x)),
        ("gradient", lambda x: scanviz.hessian(_loss(x), x)),
        ("gradient", lambda x: scanviz.hessian_vector_product(_loss(x), x, [1.0, 10.0])),
        ("gradient", lambda x: scanviz.jvp(_loss, x, [1.0, 10.0])),
        ("scan", lambda x: scanviz.map(lambda x_t: x_t + 1, x)),
        ("scan", lambda x: scanviz.foldr(lambda x_t, s: s + x_t, x, 0.0)),
        ("scan", lambda x: scanviz.scan_checkpoints(lambda x_t, s: s + x_t, x, 0.0, save_every_N=2)),
        ("function", lambda x: scanviz.function([x], x)),
    ],
)  # fmt: skip
def test_nested_builds_are_reported_as_one(kind, build):
    listener, x = Listener(), T.vector("x")
    with observed_by(listener):
        begun = time.perf_counter_ns()
        build(x)
        whole = time.perf_counter_ns() - begun
    (begin, (ended, line, elapsed)), (watched,) = listener.built, listener.building_watched
    assert begin == ended == kind and line is not None
    assert 0 < watched + elapsed <= whole


class Slow(Listener):
    """An observer that is slow to hear of builds."""

    NS = 3_000_000

    def _wait(self):
        until = time.perf_counter_ns() + self.NS
        while time.perf_counter_ns() < until:
            pass

    def build_begin(self, kind, where):
        self._wait()
        super().build_begin(kind, where)

    def build_end(self, kind, where, elapsed_ns):
        self._wait()
        super().build_end(kind, where, elapsed_ns)


class SlowToHearOfWatching(Slow):
    """Takes its time at reports of observer overhead: that time is reported with the next building."""

    def build_observed(self, own_ns):
        super().build_observed(own_ns)
        self._wait()


def test_overhead_of_other_observers_is_not_reported_to_a_later_one():
    x = T.vector("x")
    with observed_by(SlowToHearOfWatching()):
        scanviz.scan(lambda x_t: x_t + 1, x)
    listener = Listener()
    with observed_by(listener):
        scanviz.scan(lambda x_t: x_t + 1, x)
    assert 0 < listener.building_watched[0] < Slow.NS


def test_a_build_includes_the_collection_of_its_garbage():
    listener, collected = Listener(), []

    def traced(phase, info):
        collected.append((phase, len(listener.built)))

    before = gc.get_threshold()
    gc.callbacks.append(traced)
    gc.set_threshold(701, *before[1:])
    try:
        with observed_by(listener):
            scanviz.scan(lambda x_t: sum((x_t * k for k in range(200)), x_t), T.vector("x"))
            assert gc.get_count()[0] < 701
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(traced)
    assert ("stop", 1) in collected  # before its end was reported


def test_every_begin_of_a_build_has_its_end_although_an_observer_raises():
    class Raising(Listener):
        def build_begin(self, kind, where):
            raise KeyError("mine")

    first, raising, x = Listener(), Raising(), T.vector("x")
    with observed_by(first), observed_by(raising):
        for _ in range(2):
            with pytest.raises(KeyError, match="mine"):
                scanviz.scan(lambda x_t: x_t + 1, x)
    assert [text if isinstance(text, str) else text[0] for text in first.built] == ["scan"] * 4
    assert raising.built == []


def test_an_unobserved_build_reports_nothing():
    listener = Listener()
    out, x = sums()
    with observed_by(listener):
        pass
    scanviz.function([x], out)
    assert listener.built == []


class Sampling(Listener):
    """Allows calls to be counted only, and adds them up."""

    samples = True

    def __init__(self):
        super().__init__()
        self.counted = []

    def calls_counted(self, function, thread, elapsed_ns, checks_ns, copies_ns, observing_ns, runs):
        assert min(checks_ns, copies_ns, observing_ns) >= 0
        self.counted += elapsed_ns


def test_a_counted_call_that_fails_after_its_run_is_reported_as_ended(monkeypatch):
    x, total = T.vector("x"), scanviz.shared(0.0, name="total")
    f, listener = scanviz.function([x], x.sum(), updates=[(total, total + x.sum())]), Sampling()
    with observed_by(listener):
        for _ in range(CLOSE_CALLS + 2):
            f(np.ones(3))
        count_next(f, 2)
        notify_counted()
        begun, passed = len(listener.begun), len(listener.counted)
        monkeypatch.setattr(f, "_store", lambda updated, fresh: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            f(np.ones(3))
        monkeypatch.undo()
        f(np.ones(3))
        notify_counted()
    assert passed and len(listener.begun) == len(listener.ended) == begun + 1
    assert len(listener.counted) == passed + 1


def count_next(f, calls):
    """Let the next calls of a function be counted only, also where the last one was slow."""
    f._observed.sampler.left, f._observed.sampler.longest_ns = calls, sys.maxsize


def function_with_next_call_counted(listener):
    """Return a function whose next call is counted only."""
    out, x = sums()
    f = scanviz.function([x], out)
    while not listener.counted:
        f(np.ones(3))
        notify_counted()
    count_next(f, 1)
    return f


def test_ctrl_c_at_any_place_of_a_counted_call_leaves_no_open_events():
    """It comes where a function begins, or where one of C has ended: then Python asks for signals."""
    listener, places, interrupted = Sampling(), 0, True
    with observed_by(listener):
        f = function_with_next_call_counted(listener)
        while interrupted:
            places, left, interrupted = places + 1, [places + 1], False

            def traced(frame, event, argument, left=left):
                if event not in ("call", "c_return"):
                    return
                left[0] -= 1
                if not left[0]:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

            f(np.ones(3))
            count_next(f, 2)
            try:
                sys.setprofile(traced)
                f(np.ones(3))
            except KeyboardInterrupt:
                interrupted = True
            finally:
                sys.setprofile(None)
            assert THREADS.own.waiting is None, places
            assert len(listener.begun) == len(listener.ended), places
    assert places > 20


def test_modules_for_observation_are_imported_before_the_first_call_is_timed():
    program = """if True:
        import sys, scanviz
        from scanviz import tensor as T
        from scanviz.engine.observe import Observer, attach
        x = T.vector("x")
        f = scanviz.function([x], scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, 0.0)[0], mode="numpy")
        class First(Observer):
            def function_begin(self, function, call):
                self.there = set(sys.modules)
        first = First()
        attach(first)
        f([1.0] * 100)
        missing = {name for name in set(sys.modules) - first.there if ".runtime." in name}
        assert not missing, missing
    """
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_detached_observer_is_not_kept_alive():
    """Threads go on that called then, and call no more."""
    out, x = sums()
    f = scanviz.function([x], out)

    def calls():
        listener = Sampling()
        with observed_by(listener):
            while len(listener.counted) < 200:
                f(np.ones(3))
            scanviz.scan(lambda x_t: x_t + 1, x)
        return weakref.ref(listener)

    for count in range(2):
        with ThreadPoolExecutor(1) as pool:
            gone = pool.submit(calls).result() if count else calls()
            gc.collect()
            assert gone() is None, gc.get_referrers(gone())
