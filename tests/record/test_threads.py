"""Times of functions that come to more than the clock: explained where they are shown, and only then."""

import threading

import numpy as np
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.cli.html import page_of
from scanviz.profiler.report.overview import render_report
from scanviz.record.model import CallPartsRecord, DurationRecord, ProfileRecord, ThreadTimesRecord
from scanviz.record.processor import beyond_the_clock, called_ns
from tests.profiler.records import FORWARD, SMALL

ONE = replace(FORWARD, call_times=DurationRecord(10, 80_000_000))
BESIDE = ThreadTimesRecord(inside_ns=5_000_000, beside_ns=75_000_000, others=2)


def test_calls_in_threads_that_take_more_than_the_clock_are_explained_in_the_report_and_on_the_page() -> None:
    record = replace(SMALL, functions=(ONE,), threads=BESIDE, loops=())
    message = "functions were called in 2 threads beside the first one"
    assert message in beyond_the_clock(record) and "160 % in all" in beyond_the_clock(record)
    for text in (" ".join(render_report(record).split()), page_of(record)):
        assert message in text


def test_one_threads_time_within_wall_time_is_not_reported() -> None:
    for record in (SMALL, replace(SMALL, functions=(ONE,), threads=ThreadTimesRecord(inside_ns=80_000_000))):
        assert beyond_the_clock(record) == "" and "beside the first one" not in render_report(record)


def test_a_call_that_another_call_made_counts_once() -> None:
    outer = replace(ONE, key=2, name="outer", call_parts=CallPartsRecord(inside_ns=60_000_000))
    assert called_ns(replace(SMALL, functions=(ONE, outer))) == 100_000_000


def test_threads_of_a_real_run_are_counted() -> None:
    x = T.vector("x")
    sums, _ = scanviz.scan(lambda x_t, total: total + x_t, x, 0.0, name="sums")
    f = scanviz.function([x], sums[-1], name="f")
    meet = threading.Barrier(3)

    def call() -> None:
        meet.wait()
        f(np.ones(2000))

    with scanviz.profile() as p:
        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    record: ProfileRecord = replace(p.record, wall_ns=1)  # as if all had run at once
    assert "in 3 threads beside the first one" in beyond_the_clock(record)
