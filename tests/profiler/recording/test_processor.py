"""CPU time beside time on the clock: against the clocks themselves, a thread that waits, and a busy process beside it."""

import time

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine.runtime.arena import LoopArena
from scanviz.profiler.recording.processor import MOST_SKIPPED, ProcessorTally, Usage
from scanviz.profiler.report.overview import render_report
from scanviz.record.model import FunctionRecord, LoopRecord, ProfileRecord
from scanviz.record.processor import off_cpu, off_cpu_share
from scanviz.render.page.data import page_data
from scanviz.tui.views.profile import function_summary, loop_summary

BUSY = {"cpu_ns": 57_000_000.0, "involuntary_switches": 12.0}


def sums() -> scanviz.Function:
    x = T.vector("x")
    found, _ = scanviz.scan(lambda x_t, s: T.tanh(s + x_t), x, T.constant(0.0), name="sums")
    return scanviz.function([x], found, name="f", mode="numpy")  # nothing is compiled between calls


def test_cpu_time_of_a_call_and_its_loop_agrees_with_the_thread_clock() -> None:
    f, values = sums(), np.ones(100_000)
    f(values)
    with scanviz.profile() as p:
        f(values)  # code that takes times is made
    with scanviz.profile() as p:
        before = time.thread_time_ns()
        f(values)
        spent = time.thread_time_ns() - before
    function, loop = p.record.functions[0], p.record.loops[0]
    assert 0.2 * spent < function.measures["cpu_ns"] <= spent, "less what watching took"
    assert 0.2 * spent < loop.measures["cpu_ns"] <= 1.1 * function.measures["cpu_ns"]
    assert function.measures["cpu_ns"] <= p.record.measures["cpu_ns"]


def test_a_thread_that_waits_in_its_steps_is_off_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = LoopArena.chunk_end

    def chunk_end(arena: LoopArena, first: int, wanted: int) -> int:
        time.sleep(0.05)
        return usual(arena, first, wanted)

    monkeypatch.setattr(LoopArena, "chunk_end", chunk_end)
    f = sums()
    with scanviz.profile() as p:
        f(np.ones(100))
    assert off_cpu_share(p.record.loops[0]) > 0.5 < off_cpu_share(p.record.functions[0])
    assert "off the CPU" in render_report(p.record)


def test_a_sample_of_short_runs_gives_the_cpu_share_of_all() -> None:
    clock = iter(range(10**9))
    taken: list[int] = []

    def read() -> Usage:
        taken.append(next(clock))
        return Usage(10_000 * len(taken), 5_000 * len(taken), 0)

    tally = ProcessorTally(read)
    for run in range(1000):
        tally.begin(run)
        tally.end(run)
    assert len(taken) == pytest.approx(2 * 1000 / 11, abs=2)
    assert tally.measures(1_000_000) == {"cpu_ns": 500_000.0, "involuntary_switches": 0.0}
    assert MOST_SKIPPED < 10**6


def test_a_run_inside_a_run_of_the_same_loop_is_distinguished() -> None:
    times = iter(
        [
            Usage(0, 0, 0),
            Usage(10**6, 10**6, 0),
            Usage(2 * 10**6, 2 * 10**6, 0),
            Usage(4 * 10**6, 2 * 10**6, 5),
        ]
    )
    tally = ProcessorTally(lambda: next(times))
    tally.begin(0)
    tally.begin(1)
    tally.end(1)
    tally.end(0)
    assert tally.measures(10) == {"cpu_ns": 6.0, "involuntary_switches": 5.0}


def test_waiting_time_is_reported_only_when_large() -> None:
    loop = LoopRecord(1, 1, None, "h", None, runs=1, steps=3, total_ns=100_000_000, measures=BUSY)
    function = FunctionRecord(1, "f", None, "numpy", calls=1, measures=BUSY)
    function = replace(function, call_times=replace(function.call_times, count=1, total_ns=100_000_000))
    record = ProfileRecord(
        script="a.py", wall_ns=100_000_000, functions=(function,), loops=(loop,), measures=BUSY
    )
    lines = render_report(record, width=200).splitlines()
    text = "off the CPU 43 % (12 involuntary context switches)"
    assert lines[-1] == f"the run was {text}: wall time overstates the work"
    assert [text in line for line in lines].count(True) == 3
    assert text in loop_summary(loop, 80).plain.splitlines()[0]
    assert text in function_summary(function).plain.splitlines()[0]
    page = page_data(record)
    assert text == page["run"]["off_cpu"] == page["loops"][0]["off_cpu"] == page["functions"][0]["off_cpu"]
    quiet = replace(record, measures={"cpu_ns": 95_000_000.0}, loops=(), functions=())
    assert off_cpu(quiet) == "" and off_cpu(replace(record, measures={})) == ""
    assert off_cpu(replace(record, measures={"cpu_ns": 1.0, "involuntary_switches": 0.0})).endswith(
        "never took the processor away)"
    )
