"""Calls that were passed over and wait: all are counted once, with the runs that they had, whoever else calls."""

from __future__ import annotations

import threading

import pytest

from scanviz.engine.observation.events import Run
from scanviz.profiler.recording.overhead import FREE
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.recording.waiting_calls import MOST
from tests.profiler.events import compiled, loop_keys, recorder

ROWS, CELLS = loop_keys()


def runs(steps: int) -> list[Run]:
    return [(ROWS, 1, steps, steps, 0, 50, ""), (CELLS, steps, steps, 1, 0, 30, "")]


def call(made: Recorder, elapsed: int, steps: int, times: int = 1) -> None:
    for _ in range(times):
        made.call_run(1, elapsed, 20, 5, 10, runs(steps))


def totals(made: Recorder) -> tuple[int, int, int, int]:
    record = made.record()
    found = record.functions[0]
    return found.calls, found.total_ns, found.call_parts.recording_ns, record.loops[0].steps


def test_calls_wait_and_are_counted_with_their_runs() -> None:
    made = recorder()
    call(made, 1000, 2, 16)
    call(made, 300, 3, 4)  # with other runs
    assert len(list(made._waiting._calls)) == 20
    assert totals(made) == (20, 17_200, 200, 44)
    parts, (rows, cells) = made.record().functions[0].call_parts, made.record().loops
    assert (parts.checks_ns, parts.copies_ns) == (400, 100)
    assert (rows.runs, rows.total_ns, cells.runs, cells.total_ns) == (20, 1000, 44, 600)
    assert made.record().threads.inside_ns == 17_200 + 20 * 35


def test_many_that_wait_are_counted_while_the_program_runs() -> None:
    made = recorder()
    call(made, 1000, 2, 2 * MOST + 5)
    assert len(list(made._waiting._calls)) == 5
    assert totals(made)[0] == 2 * MOST + 5


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
    assert record.threads is not None and record.threads.inside_ns == 535


@pytest.mark.parametrize("function", [7, 8])
def test_calls_of_functions_that_there_was_no_room_for_are_time_inside_alone(function: int) -> None:
    made = recorder()
    for _ in range(30):
        made.call_run(function, 100, 0, 0, 5, [])
        made.progress()
    assert made.record().threads.inside_ns == 30 * 105
