"""Counted calls are reported some hundreds at once, each exactly once with its runs, whatever other threads call."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observation.observer_overhead import THREADS
from scanviz.engine.observation.sampling import CLOSE_CALLS
from scanviz.engine.observe import observed_by
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder

STEPS = 3


def sums(mode: str = "numpy") -> scanviz.Function:
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t), x, T.zeros(()), name="sums")
    return scanviz.function([x], rows.sum(), mode=mode)


def counted(recorder: Recorder) -> tuple[int, int, int]:
    record = recorder.record()
    return record.functions[0].calls, record.loops[0].runs, record.loops[0].steps


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder(calibration=FREE)
    with observed_by(made):
        yield made


def test_threads_that_call_one_function_lose_no_call(recorder: Recorder) -> None:
    f, threads, calls = sums(), 4, 1000

    def work() -> None:
        for k in range(calls):
            f(np.ones(STEPS))
            if not k % 200:
                recorder.progress()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert counted(recorder) == (threads * calls, threads * calls, STEPS * threads * calls)


def test_an_ended_thread_leaves_no_state(recorder: Recorder) -> None:
    f, probes = sums(), []

    def work() -> None:
        for _ in range(CLOSE_CALLS + 5):
            f(np.ones(STEPS))
        f._observed.sampler.left = 5
        f(np.ones(STEPS))
        probes.append(THREADS.own.probes)
        assert probes[0]

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert not probes[0] and counted(recorder)[0] == CLOSE_CALLS + 6


def test_calls_before_a_restart_are_not_in_the_record(recorder: Recorder) -> None:
    f = sums()
    for _ in range(CLOSE_CALLS + 20):
        f(np.ones(STEPS))
    recorder.restart()
    before = recorder.record()
    assert before.functions[0].calls == CLOSE_CALLS + 20
    assert before.threads is not None and before.threads.inside_ns == 0


@pytest.mark.parametrize("function", [7, 8])
def test_calls_of_dropped_functions_only_count_as_time_inside_scanviz(function: int) -> None:
    made = Recorder(calibration=FREE)
    for _ in range(30):
        made.calls_counted(function, threading.get_ident(), [100], 0, 0, 5, [])
    threads = made.record().threads
    assert threads is not None and threads.inside_ns == 30 * 105
