"""What is told of calls and of building beside what programs do."""

import pickle
import time

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observe import Observer, observed_by
from scanviz.engine.runtime.call_schedule import A_SAMPLE, CLOSE_CALLS, FIRST


class Listener(Observer):
    """Keeps what it is told of calls and of building."""

    def __init__(self, detail="steps"):
        self.detail = detail
        self.begun, self.ended, self.returned, self.operations_told, self.built = [], [], [], [], []

    def function_begin(self, function, call):
        self.begun.append(function)

    def function_end(self, function, call, elapsed_ns, error):
        self.ended.append(elapsed_ns)

    def function_returned(self, function, checks_ns, copies_ns, watching_ns):
        self.returned.append((checks_ns, copies_ns, watching_ns))

    def operations(self, function, elapsed_ns, around_ns):
        self.operations_told.append((tuple(elapsed_ns), around_ns))

    def build_begin(self, kind, where):
        self.built.append(kind)

    def build_end(self, kind, where, elapsed_ns):
        self.built.append((kind, where.line if where is not None else None, elapsed_ns))


def sums():
    x = T.vector("x")
    return scanviz.scan(lambda x_t, s: s + x_t, sequences=x, outputs_info=0.0)[0], x


def test_the_parts_of_a_call_add_up_to_it():
    out, x = sums()
    f = scanviz.function([x], T.tanh(out))
    listener = Listener()
    with observed_by(listener):
        begun = time.perf_counter_ns()
        f(np.ones(50))
        f(np.ones(50))
        whole = time.perf_counter_ns() - begun
    (elapsed, around), told = listener.operations_told[1], sum(map(sum, listener.returned))
    assert len(elapsed) == len(f.program.instructions)
    assert sum(elapsed) + around == listener.ended[1]
    assert told + sum(listener.ended) <= whole
    assert all(part >= 0 for part in listener.returned[1])


def test_a_call_that_fails_does_not_return():
    places, x = T.lvector("places"), T.vector("x")
    f = scanviz.function([places, x], x[places])
    listener = Listener()
    with observed_by(listener), pytest.raises(IndexError):
        f([9], [1.0])
    assert len(listener.begun) == len(listener.ended) == 1
    assert listener.returned == listener.operations_told == []


def test_operations_of_short_calls_are_timed_in_a_sample_of_them_and_with_detail_ops_in_all():
    x = T.vector("x")
    calls = FIRST + 4 * A_SAMPLE
    for detail, least in (("steps", 0), ("ops", calls)):
        f = scanviz.function([x], T.tanh(x) + 1)
        listener = Listener(detail)
        with observed_by(listener):
            for _ in range(calls):
                f([1.0, 2.0])
        timed = len(listener.operations_told)
        assert max(least, FIRST) <= timed and (detail == "ops" or timed < calls)


def test_long_calls_are_all_timed():
    x = T.matrix("x")
    f = scanviz.function([x], T.exp(x).sum())
    listener = Listener()
    with observed_by(listener):
        for _ in range(FIRST + 5):
            f(np.ones((400, 400)))
    assert len(listener.operations_told) == FIRST + 5


def test_what_is_built_is_told_by_its_line_and_once():
    x = T.vector("x")
    listener = Listener()
    with observed_by(listener):
        out, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), sequences=x, outputs_info=0.0)
        slope = scanviz.grad(out[-1], x)  # builds a loop too
        f = scanviz.function([x], slope)
        pickle.loads(pickle.dumps(f))
    kinds = [told for told in listener.built if isinstance(told, str)]
    ends = [told for told in listener.built if not isinstance(told, str)]
    assert kinds == ["scan", "gradient", "function", "function"] == [kind for kind, *_ in ends]
    lines = [line for _, line, _ in ends]
    assert lines == sorted(set(lines)) and min(elapsed for *_, elapsed in ends) > 0


def test_an_error_ends_what_is_built():
    x = T.vector("x")
    listener = Listener()
    with observed_by(listener):
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                scanviz.scan(lambda x_t: x_t / (1 // 0), sequences=x)
    assert [told if isinstance(told, str) else told[0] for told in listener.built] == ["scan"] * 4


def test_nothing_is_told_of_building_that_nobody_watches():
    listener = Listener()
    out, x = sums()
    with observed_by(listener):
        pass
    scanviz.function([x], out)
    assert listener.built == []


class Sampling(Listener):
    """Allows calls to be passed over, and counts those that were."""

    samples_runs = samples_calls = True

    def __init__(self):
        super().__init__()
        self.passed_over = []

    def call_run(self, function, elapsed_ns, checks_ns, copies_ns, watching_ns, runs):
        self.passed_over.append((elapsed_ns, checks_ns, copies_ns, watching_ns))


def test_of_very_many_short_calls_some_are_told_as_a_whole_to_who_allows_it():
    out, x = sums()
    f = scanviz.function([x], out)
    for listener, most in ((Sampling(), CLOSE_CALLS + 200), (Listener(), 1000)):
        with observed_by(listener):
            for _ in range(1000):
                f(np.ones(3))
        passed = getattr(listener, "passed_over", [])
        assert len(listener.ended) == len(listener.begun) <= most
        assert len(listener.ended) + len(passed) == len(listener.returned) + len(passed) == 1000
        assert all(min(times) >= 0 and times[0] for times in passed)


def test_a_call_that_was_passed_over_and_fails_after_its_run_is_told_as_one_that_ended(monkeypatch):
    x, total = T.vector("x"), scanviz.shared(0.0, name="total")
    f, listener = scanviz.function([x], x.sum(), updates=[(total, total + x.sum())]), Sampling()
    with observed_by(listener):
        for _ in range(CLOSE_CALLS + 2):
            f(np.ones(3))
        begun, passed = len(listener.begun), len(listener.passed_over)
        monkeypatch.setattr(f, "_commit", lambda fresh: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            f(np.ones(3))
        monkeypatch.undo()
        f(np.ones(3))
    assert passed and len(listener.begun) == len(listener.ended) == begun + 1
    assert len(listener.passed_over) == passed + 1
