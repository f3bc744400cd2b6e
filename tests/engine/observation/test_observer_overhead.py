"""What watching takes is no time of the program, in nested loops too."""

import time
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observation.events import StepSeries
from scanviz.engine.observation.sampling import CLOSE_CALLS
from scanviz.engine.observe import Observer, observed_by
from scanviz.engine.runtime.specialised import Specialised
from scanviz.profiler.recording.recorder import Recorder


class Slow(Observer):
    """Takes a millisecond for each event of a loop, and adds up the reported times."""

    samples = True

    def __init__(self, seconds: float = 0.001) -> None:
        self.seconds = seconds
        self.calls, self.own = [], []
        self.runs: dict[int, list[tuple[int, int]]] = {}
        self.counted: dict[int, int] = {}
        self.steps: dict[int, list[int]] = {}
        self.outside: list[int] = []

    def loop_steps(self, series: StepSeries) -> None:
        time.sleep(self.seconds)
        times = series.interval_ns if series.covers is None else np.repeat(series.step_ns, series.covers)
        self.steps.setdefault(series.loop, []).extend(times.tolist())

    def loop_end(
        self, function: int, loop: int, steps: int, elapsed_ns: int, setup_ns: int, error: Any
    ) -> None:
        time.sleep(self.seconds)
        self.runs.setdefault(loop, []).append((steps, elapsed_ns))

    def loop_counted(self, function: int, runs: Any, control: bool) -> None:
        for loop, count, steps, longest, failed, elapsed_ns, _ in runs:
            self.counted[loop] = self.counted.get(loop, 0) + count
            each = [(steps - longest) // max(1, count - 1)] * (count - 1) + [longest]
            if failed:
                each = [longest] * (count - failed) + [steps - longest * (count - failed)]
            self.runs.setdefault(loop, []).extend((one, elapsed_ns // count) for one in each)

    def calls_counted(
        self, function: int, thread: int, elapsed: Any, checks: int, copies: int, observing: int, runs: Any
    ) -> None:
        self.loop_counted(function, runs, False)

    def operations(self, function: int, elapsed_ns: Any, around_ns: int) -> None:
        self.outside.extend(elapsed_ns)

    def function_end(self, function: int, call: int, elapsed_ns: int, error: BaseException | None) -> None:
        self.calls.append(elapsed_ns)

    def loop_observed(self, function: int, loop: int, own_ns: int) -> None:
        self.own.append((loop, own_ns))


def _nested() -> scanviz.Function:
    def step(row: Any) -> Any:
        return scanviz.scan(lambda value, total: T.tanh(total + value), row, 0.0, name="inner")[0][-1]

    matrix = T.matrix("X")
    rows, _ = scanviz.scan(step, matrix, name="outer")
    return scanviz.function([matrix], rows, mode="numpy")


def test_compiling_timed_code_is_not_charged_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    f, values, making = _nested(), np.ones((3, 3)), 200_000_000
    f(values)

    def slowly(_: Specialised) -> bool:
        time.sleep(making / 1e9)
        return False

    monkeypatch.setattr(Specialised, "plain_times", property(slowly))
    for _ in range(10):  # where the machine stood still meanwhile, another run is looked at
        slow = Slow(0.0)
        with observed_by(slow):
            f(values)
        elapsed = [one for runs in slow.runs.values() for _, one in runs]
        if max(elapsed) < making:
            break
    assert len(elapsed) == 4 and max(elapsed) < making, (
        "each of them was asked, the outer one and three inner ones"
    )
    assert sum(own for _, own in slow.own) >= 4 * making, "it is watching"


def test_an_observer_without_sampling_gets_the_times_of_all_steps() -> None:
    f, slow = _nested(), Slow(0.0)
    slow.samples = False
    with observed_by(slow):
        f(np.ones((400, 2)))
    assert not slow.counted and sorted(map(len, slow.steps.values())) == [400, 800]


def test_a_failed_counted_run_is_reported_with_its_steps() -> None:
    starts, table = T.vector("starts"), T.vector("table")

    def step(start: Any, before: Any, table: Any) -> Any:
        followed, _ = scanviz.scan(
            lambda place, table: table[T.cast(place, "int64")],
            None,
            start + 0 * before,
            table,
            2,
            name="inner",
        )
        return followed[-1]

    rows, _ = scanviz.scan(step, starts, 0.0, table, name="outer")
    f, slow = scanviz.function([starts, table], rows, mode="numpy"), Slow(0.0)
    values = np.ones(500)
    values[300] = 2
    with (
        observed_by(slow),
        pytest.raises(IndexError, match="loop `inner`, at step 1, in loop `outer`, at step 300"),
    ):
        f(values, np.array([0.0, 1.0, 7.0]))
    (inner,) = [key for key in slow.runs if len(slow.runs[key]) > 1]
    assert [steps for steps, _ in slow.runs[inner]] == [2] * 300 + [1]


def test_a_run_with_many_more_steps_than_before_is_observed(planted) -> None:
    planted(step_ns=500)
    f, slow = _one(), Slow(0.0)
    with observed_by(slow):
        for _ in range(2 * CLOSE_CALLS):
            f(np.ones(2))
        f._observed.sampler.left = 0  # the next call is looked at
        f(np.ones(5000))
    (loop,) = slow.runs
    assert slow.counted[loop] and slow.runs[loop][-1][0] == 5000
    assert len(slow.steps[loop]) >= 5000


def test_most_short_steps_with_inner_loops_run_unobserved_and_are_counted(
    planted,
) -> None:
    planted(step_ns=6_000)
    f, recorder = _nested(), Recorder()
    with observed_by(recorder):
        f(np.ones((6000, 2)))
    inner, outer = sorted(recorder.record().loops, key=lambda loop: -loop.runs)
    assert (inner.runs, inner.steps, outer.steps) == (6000, 12_000, 6000)
    assert outer.step_times.count < 3000 and outer.control_steps > 3000


def _one() -> scanviz.Function:
    row = T.vector("row")
    rows, _ = scanviz.scan(lambda value, total: T.tanh(total + value), row, 0.0, name="one")
    return scanviz.function([row], rows, mode="numpy")
