"""Slow steps: a branch that is rarely taken and holds much of the time is named with its line, in report, terminal and page."""

from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.observation.events import BranchTaken, SideTaken
from scanviz.profiler.recording.sides import period
from scanviz.profiler.report.overview import render_report
from scanviz.profiler.report.tails import rare_sides, tail_lines, worked_ns
from scanviz.record.loops import LoopRecord
from scanviz.record.model import ProfileRecord
from scanviz.record.operations import SideRecord
from scanviz.record.statistics import Histogram
from scanviz.record.storage.file import load, save
from scanviz.render.page.data import page_data
from scanviz.tui.views.profile import loop_summary

EVERY, STEPS = 100, 20_000
ROW = np.random.default_rng(0).normal(
    size=8_000
)  # sorted so quickly that a busy machine seldom interrupts it


@pytest.fixture(scope="module")
def record() -> ProfileRecord:
    """A loop in which a branch that is taken in every 100th step sorts a long row."""
    row, n = T.vector("row"), T.lscalar("n")

    def step(t: object, h: object) -> object:
        rare = h * 0.5 + T.sort(row)[0]  # the planted line
        return scanviz.ifelse(T.eq(t % EVERY, 0), rare, T.tanh(h + 0.1))

    h, _ = scanviz.scan(step, T.arange(n) + T.cast(row[0] * 0, "int64"), T.constant(0.0), name="rare")
    f = scanviz.function([row, n], h[-1], name="f", mode=scanviz.Mode("numpy", "all,-scan"))
    f(ROW, 10)
    for _ in range(5):  # where few takings were timed, one interruption may lengthen the branch
        with scanviz.profile() as p:
            f(ROW, STEPS)
        (loop,) = p.record.loops
        if any(side.total_ns < worked_ns(loop) for side in rare_sides(loop)):
            break
    return p.record


def test_a_rare_slow_branch_is_named_with_its_period_and_line(record: ProfileRecord) -> None:
    (loop,) = record.loops
    (side,) = rare_sides(loop)
    assert (side.side, side.taken, side.every) == ("then", STEPS // EVERY, EVERY)
    assert 0.05 * worked_ns(loop) < side.total_ns < 1.2 * worked_ns(loop)
    hottest = max(side.operations, key=lambda operation: operation.typical_ns)
    assert hottest.source is not None and "the planted line" in hottest.source.text
    assert sum(operation.typical_ns for operation in side.operations) == pytest.approx(
        side.typical_ns, rel=0.01
    )


def test_a_side_taken_in_a_few_consecutive_steps_has_no_period() -> None:
    """The last steps of each call take it, so that takings lie one step apart, but not once in one step."""
    tally = SideTaken(None, 0)  # type: ignore[arg-type]  # no branch is read
    for _ in range(12):
        taken = BranchTaken(None)  # type: ignore[arg-type]
        for step in range(20):
            taken.take(0 if step >= 17 else 1)
        tally.merge(taken.sides[0])
    assert (tally.taken, period(tally, 240), period(tally, 36)) == (36, 0, 1)


def test_every_view_names_the_rare_slow_side(record: ProfileRecord, tmp_path: Path) -> None:
    text = " ".join(render_report(record, width=200).split())
    assert "slow: the then side of ifelse(" in text and f"taken once in {EVERY} steps" in text
    assert "the planted line" in text
    assert "slow: the then side" in loop_summary(record.loops[0], 100).plain
    assert page_data(record)["loops"][0]["sides"][0]["every"] == EVERY
    save(record, tmp_path / "p.scanviz")
    assert load(tmp_path / "p.scanviz") == record


def test_the_usual_side_is_not_reported_as_rare(record: ProfileRecord) -> None:
    usual = next(side for side in record.loops[0].sides if side.side == "else")
    assert usual.taken == STEPS - STEPS // EVERY and usual.every in (0, 1)
    assert usual not in rare_sides(record.loops[0])


def test_a_loop_of_even_steps_has_no_line_about_slow_ones() -> None:
    loop = LoopRecord(
        1, 1, None, "h", None, steps=1000, total_ns=10**6, measures={"slowest_hundredth_ns": 11_000.0}
    )
    assert tail_lines(loop) == []


def test_a_branch_side_without_a_period_is_reported_by_its_number() -> None:
    side = SideRecord(0, "else", taken=7, timed=7, typical_ns=100_000.0)
    loop = LoopRecord(1, 1, None, "h", None, steps=1000, total_ns=10**6, sides=(side,))
    (line,) = tail_lines(loop)
    assert (
        line.text.strip()
        == "slow: the else side of ifelse, taken in 7 steps, takes 70 % of the work (100 µs each)"
    )


def test_the_histogram_estimates_the_time_of_the_slowest_steps() -> None:
    drawn = np.random.default_rng(1).lognormal(7, 1, 20_000).astype(np.int64)
    times = Histogram()
    times.add(drawn)
    assert times.slowest_ns(0.01) == pytest.approx(np.sort(drawn)[-200:].sum(), rel=0.01)
    assert Histogram().slowest_ns(0.01) == 0
