"""The recorder stays small, however many steps, runs, loops and functions it records."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scanviz.engine.observation.events import StepSeries
from scanviz.profiler.recording.recorder import Recorder
from scanviz.record.model import LoopRecord
from scanviz.record.storage.file import load, save
from tests.profiler.events import Clock, compiled, loop_keys, recorder, run, steps, timed

ROWS, CELLS = loop_keys()


def loop(made: Recorder, key: int = ROWS) -> LoopRecord:
    return next(each for each in made.record().loops if each.key == key)


def grown_by(work: Callable[[], object]) -> int:
    """Return how many bytes more are held after `work` than before it."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        work()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def test_a_million_steps_take_bounded_memory(tmp_path: Path) -> None:
    made = recorder()
    made.loop_begin(1, ROWS, 10**6, 0)
    times = np.random.default_rng(0).lognormal(8, 1, 10**6).astype(np.int64)

    def work() -> None:
        for first in range(0, 10**6, 1000):
            made.loop_steps(StepSeries(ROWS, first, times[first : first + 1000]))

    assert grown_by(work) < 200_000
    made.loop_end(1, ROWS, 10**6, int(times.sum()), 0, None)
    found = loop(made)
    assert found.steps == found.step_times.count == 10**6
    assert found.step_times.total_ns == times.sum()
    assert found.step_times.p95_ns == pytest.approx(np.percentile(times, 95), rel=0.01)
    assert found.step_times.max_ns == times.max() == found.series[:, 2].max()
    record = made.record()
    save(record, tmp_path / "million.scanviz")
    assert (tmp_path / "million.scanviz").stat().st_size < 40_000
    assert load(tmp_path / "million.scanviz") == record


def test_very_many_runs_of_a_nested_loop_take_bounded_memory() -> None:
    made = recorder()

    def work(runs: int) -> None:
        for _ in range(runs):
            made.loop_begin(1, CELLS, 3, 0)
            made.loop_steps(steps(CELLS, [100, 90, 80]))
            made.loop_end(1, CELLS, 3, 300, 30, None)

    work(1000)
    assert grown_by(lambda: work(10_000)) < 100_000  # arrays made anew included
    work(89_000)
    found = loop(made, CELLS)
    assert (found.runs, found.steps) == (100_000, 300_000)
    assert found.series[-1, :2].tolist() == [99_999, 2]


def test_chunks_of_one_step_wait_in_bounded_memory() -> None:
    made = recorder()
    made.loop_begin(1, CELLS, 10**6, 0)

    def work() -> None:
        for step in range(5000):
            made.loop_steps(timed(CELLS, [[50], [30]], [20], around=40, first=step))

    work()
    assert grown_by(work) < 50_000


def test_the_size_limit_is_honoured() -> None:
    def fill(made: Recorder) -> None:
        for k in range(200):
            made.compiled(compiled(k + 2, 1000 * (k + 1)))
            for key in loop_keys(1000 * (k + 1)):
                run(made, key, list(range(3000)))

    fill(recorder(max_bytes=400_000))  # first imports are no memory of a recorder
    made = recorder(max_bytes=400_000)
    assert grown_by(lambda: fill(made)) < 650_000  # with the test's own notifications
    record = made.record()
    detailed = [each for each in record.loops if len(each.series)]
    bare = [each for each in record.loops if each.runs and not len(each.series)]
    assert detailed
    assert bare
    assert all(each.steps == 3000 and each.total_ns for each in bare)
    assert record.left_out > 100
    assert len(record.functions) < 201


def test_a_dropped_loop_drops_its_inner_loops() -> None:
    for limit in range(0, 60_000, 1500):
        made = Recorder(max_bytes=limit, clock=Clock())
        made.compiled(compiled())
        keys = {each.key for each in made.record().loops}
        assert all(each.parent is None or each.parent in keys for each in made.record().loops)
