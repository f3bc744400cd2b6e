"""Calls that were passed over and wait: all are counted once, with the runs that they had, whoever else calls."""

from __future__ import annotations

import threading

import pytest

from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.recording.waiting_calls import KINDS, MANY, MOST_ALIKE
from tests.profiler.events import compiled, loop_keys, recorder

ROWS, CELLS = loop_keys()


def runs(steps: int) -> list[tuple[int, int, int, int, int, int]]:
    return [(ROWS, 1, steps, steps, 0, -1), (CELLS, steps, steps, 1, 0, -1)]


def call(made: Recorder, elapsed: int, steps: int, times: int = 1) -> None:
    for _ in range(times):
        made.call_run(1, elapsed, -1, -1, 10, runs(steps))


def totals(made: Recorder) -> tuple[int, int, int, int]:
    record = made.record()
    found = record.functions[0]
    return found.calls, found.total_ns, found.call_parts.recording_ns, record.loops[0].steps


def test_calls_like_those_before_wait_as_one_number_each_and_are_counted_with_the_others() -> None:
    made = recorder()
    call(made, 1000, 2, MANY)
    assert totals(made) == (MANY, MANY * 1000, MANY * 10, MANY * 2)
    call(made, 500, 2, 10)
    (alike,) = made._waiting._kinds
    assert alike.elapsed == [500] * 10 and not made._waiting._calls
    call(made, 300, 3, 4)  # with other runs
    assert len(made._waiting._calls) == 4
    count = MANY + 14
    expected = MANY * 1000 + 5000 + 1200
    assert totals(made) == (count, expected, count * 10, (MANY + 10) * 2 + 12)
    assert alike.elapsed == []
    assert made.record().threads.inside_ns == expected + count * 10


def test_many_that_wait_are_counted_while_the_program_runs() -> None:
    made = recorder()
    call(made, 1000, 2, MANY)
    made.progress()
    call(made, 1000, 2, 2 * MOST_ALIKE + 5)
    (alike,) = made._waiting._kinds
    assert len(alike.elapsed) == 5
    assert totals(made)[0] == MANY + 2 * MOST_ALIKE + 5


def test_functions_that_change_their_runs_now_and_then_are_counted_right() -> None:
    made = recorder()
    for steps in range(1, KINDS + 10):
        call(made, 100, steps, MANY)
        made.progress()
        call(made, 100, steps, 3)
    assert len(made._waiting._kinds) == KINDS
    kinds = KINDS + 9
    assert totals(made) == (kinds * (MANY + 3), kinds * (MANY + 3) * 100, kinds * (MANY + 3) * 10,
                            (MANY + 3) * kinds * (kinds + 1) // 2)  # fmt: skip


def test_threads_that_call_one_function_lose_no_call() -> None:
    made, threads, calls = recorder(), 4, 3000

    def work() -> None:
        for k in range(calls):
            call(made, 100, 2)
            if not k % 500:
                made.progress()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert totals(made) == (threads * calls, threads * calls * 100, threads * calls * 10, threads * calls * 2)


def test_calls_before_a_profile_goes_on_are_no_time_of_what_is_recorded_then() -> None:
    made = Recorder(calibration=FREE)
    made.compiled(compiled())
    call(made, 1000, 2, 3)
    made.restart()
    call(made, 500, 2)
    record = made.record()
    assert record.functions[0].calls == 4
    assert record.threads is not None and record.threads.inside_ns == 510


@pytest.mark.parametrize("function", [7, 8])
def test_calls_of_functions_that_there_was_no_room_for_are_time_inside_alone(function: int) -> None:
    made = recorder()
    for _ in range(2 * MANY):
        made.call_run(function, 100, -1, -1, 5, [])
        made.progress()
    assert made.record().threads.inside_ns == 2 * MANY * 105
