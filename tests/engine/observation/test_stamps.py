"""Times of single steps, of every k-th and of blocks of steps: through the driver, the recorder, the record and what shows it."""

import json

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observe import Observer, observed_by
from scanviz.profiler.export.csv_format import export as csv
from scanviz.profiler.export.frames import tracks_of
from scanviz.profiler.export.speedscope_format import export as speedscope
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.report.overview import render_report
from scanviz.record.storage.file import load, save
from tests.engine.runtime.fake_tier import STEP_NS, faked

N = T.lscalar("n")


def counted():
    return scanviz.scan(lambda k: k + 1, outputs_info=T.constant(0.0), n_steps=N, name="count")[0]


def recorded(steps, runs=1, **how):
    """Return the record of runs of a loop on the fake tier."""
    f, _ = faked([N], counted(), **how)
    recorder = Recorder()
    with observed_by(recorder):
        for _ in range(runs):
            np.testing.assert_array_equal(f(steps), np.arange(1, steps + 1))
    return recorder.record()


def test_a_block_counts_as_its_steps_at_their_mean():
    record = recorded(64, every=16, samples=False)
    (loop,) = record.loops
    assert (loop.steps, loop.step_times.count, loop.blocks, loop.block_steps) == (64, 64, 4, 64)
    averages = [np.mean([(k + 1) * STEP_NS for k in range(start, start + 16)]) for start in (0, 16, 32, 48)]
    assert [each.time_ns for each in loop.timed()] == [round(average) for average in averages]
    assert [(each.step, each.covers) for each in loop.timed()] == [(0, 16), (16, 16), (32, 16), (48, 16)]
    times = loop.step_times
    assert times.max_ns == round(averages[3]) and abs(times.p50_ns - averages[1]) < 0.01 * averages[1]
    assert abs(times.total_ns - sum(averages) * 16) <= 64


def test_source_resolution_and_cost_of_a_clock_are_recorded():
    (loop,) = recorded(64, every=16, samples=False).loops
    assert (loop.clock, loop.resolution_ns, loop.stamp_ns) == ("fake clock", 10.0, 40.0)
    assert loop.cost_ns >= 4 * 40
    (usual,) = recorded(64).loops
    assert usual.clock == "perf_counter" and 0 < usual.resolution_ns <= 1000


def test_a_record_with_blocks_survives_its_file(tmp_path):
    record = recorded(64, every=16, samples=False)
    save(record, tmp_path / "blocks.scanviz")
    assert load(tmp_path / "blocks.scanviz") == record


def test_views_show_blocks_as_blocks():
    record = recorded(64, every=16, samples=False)
    (loop,) = record.loops
    text = render_report(record, width=120, scan_name="count")
    assert "64 steps were timed in 4 blocks" in text and "steps 48–63 on average" in text
    [_, steps] = tracks_of(record)
    assert [each.name for each in steps.frames[0].inside] == [
        "steps 0–15",
        "steps 16–31",
        "steps 32–47",
        "steps 48–63",
    ]
    (document,) = speedscope(record).values()
    weights = json.loads(document)["profiles"][1]["weights"]
    assert weights == [each.time_ns * 16 for each in loop.timed()]
    rows = csv(record)["steps"].decode().splitlines()
    assert rows[0].endswith("kept_as,steps") and all(row.endswith(",16") for row in rows[1:])
    assert [each.step for each in loop.at(40)] == [32] and len(loop.drawn()) == 64


class Series(Observer):
    """Keeps the events of steps."""

    steps_a_stamp = 16

    def __init__(self):
        self.series, self.ends = [], []

    def loop_steps(self, series):
        self.series.append(series)

    def loop_end(self, function, loop, steps, elapsed_ns, setup_ns, error):
        self.ends.append((steps, elapsed_ns, setup_ns))


@pytest.mark.parametrize("until", [None, 1234])
def test_the_numpy_tier_times_very_short_steps_in_blocks_if_allowed(until, planted):
    planted(step_ns=100)

    def step(k):
        return k + 1 if until is None else (k + 1, scanviz.until(T.ge(k + 1, until)))

    rows, _ = scanviz.scan(step, outputs_info=T.constant(0.0), n_steps=N)
    f = scanviz.function([N], rows, mode="numpy")
    with observed_by(Series()) as text:
        found = f(3000)
    done = 3000 if until is None else until
    np.testing.assert_array_equal(found, np.arange(1, done + 1))
    assert sum(each.steps for each in text.series) == done == text.ends[0][0]
    blocks = [each for each in text.series if each.covers is not None]
    assert blocks and all(block.op_ns is None and block.covers.max() <= 16 for block in blocks)
    at = 0
    for each in text.series:
        assert each.first == at and each.timed_steps == each.steps
        at += each.steps
    assert sum(block.steps for block in blocks) > done / 2
    (_, elapsed, setup) = text.ends[0]
    assert setup == elapsed - sum(each.span_ns for each in text.series)


def test_by_default_each_step_has_its_own_time():
    (loop,) = recorded(3000).loops
    assert loop.step_times.count + loop.control_steps == 3000 and not loop.blocks


def test_long_steps_have_a_time_each():
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda h: T.tanh(T.dot(h, h)), outputs_info=x, n_steps=N)
    f = scanviz.function([x, N], rows[-1], mode="numpy")
    with observed_by(Series()) as text:
        f(np.eye(60), 100)
        f(np.eye(60), 100)
    assert all(each.covers is None for each in text.series)


def test_steps_of_a_block_before_an_error_were_done():
    v = T.vector("v")
    rows, _ = scanviz.scan(lambda k: (k + 1.0, v[T.cast(k, "int64")]), outputs_info=[0.0, None], n_steps=N)
    f = scanviz.function([v, N], rows[1], mode=scanviz.Mode("numpy", "none"))
    with observed_by(Series()) as text:
        f(np.ones(400), 400)
        text.series.clear()
        text.ends.clear()
        with pytest.raises(scanviz.ScanvizError) as caught:
            f(np.ones(333), 400)
    assert caught.value.step == 333 == sum(each.steps for each in text.series) == text.ends[0][0]


def test_a_setting_of_the_profile_allows_blocks(planted):
    planted(step_ns=100)
    f = scanviz.function([N], counted(), mode="numpy")
    with scanviz.profile(steps_a_stamp=8) as session:
        f(5000)
    (loop,) = session.record.loops
    assert loop.blocks and loop.step_times.count + loop.control_steps == loop.steps == 5000
    with pytest.raises(scanviz.ScanvizError, match="steps_a_stamp of 1 or more"):
        scanviz.profile(steps_a_stamp=0)
