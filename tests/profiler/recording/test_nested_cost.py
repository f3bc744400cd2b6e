"""What recording a loop inside another costs is stated, for the loop itself, for the loop around it, and for the run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability
from scanviz.engine.told import CountedRuns, RunsAlone, StepSeries
from scanviz.profiler.recording.overhead import OverheadCalibration
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.recording.run_totals import RunTotals
from tests.profiler.events import loop_keys, recorder

ROWS, CELLS = loop_keys()
PRICE = OverheadCalibration(counted_ns=700.0, alike_ns=100.0)


def counted(runs: int) -> CountedRuns:
    found = CountedRuns()
    for _ in range(runs):
        found.add(1, 500, False)
    return found


def nested(mode: str) -> Callable[..., object]:
    """Return a function of a matrix whose loop goes over the rows, and the one in it over the numbers of a row."""
    x = T.matrix("x")
    totals, _ = scanviz.scan(
        lambda row, total: T.tanh(
            total + scanviz.scan(lambda v, s: T.sin(s + v), row, 0.0, name="inner")[0][-1]
        ),
        x,
        0.0,
        name="outer",
    )
    return scanviz.function([x], totals, mode=mode)


def of_runs(runs: int, noted: CountedRuns) -> Recorder:
    """Return a recorder that was told of one control block of the outer loop, a run of the inner one in each of its steps."""
    made = recorder(calibration=PRICE)
    made.loop_begin(1, ROWS, runs, 0)
    made.loop_counted(1, CELLS, noted)
    block = StepSeries(
        ROWS, 0, np.array([runs * 3000], np.int64), covers=np.array([runs], np.int64), control=True
    )
    block.counted_runs, block.alike_runs = noted.timed, noted.let_pass
    made.loop_steps(block)
    made.loop_end(1, ROWS, runs, runs * 3000, 0, None)
    return made


def test_timing_runs_inside_is_a_cost_of_the_loop_around_and_of_the_run() -> None:
    record = of_runs(40, counted(40)).record()
    rows, cells = (next(loop for loop in record.loops if loop.key == key) for key in (ROWS, CELLS))
    assert (rows.cost_ns, cells.cost_ns, cells.watching_ns) == (28_000, 0, 28_000)
    assert rows.slowdown == 3000 / 2300
    assert (record.cost.counted, record.cost.counted_ns, record.cost.total_ns) == (40, 700, 28_000)
    assert (rows.measures["plain_steps"], rows.measures["plain_ns"]) == (40, 40 * 2300)


def noted(given: object, runs: int, elapsed_ns: int = 500) -> tuple[CountedRuns, int]:
    """Return runs that were all given one number of steps, as a loop's runner counts them, and how many of them it timed."""
    found, timed = CountedRuns(), 0
    for _ in range(runs):
        if found.alike and found.given is given:
            found.alike -= 1
        else:
            timed += 1
            found.note(given, elapsed_ns)
    found.count_noted()
    return found, timed


def test_of_many_runs_that_are_alike_most_have_no_time_and_all_are_counted() -> None:
    found, timed = noted(np.int64(3), 4000)
    assert (found.runs, found.steps, found.longest, found.elapsed_ns) == (4000, 12_000, 3, 4000 * 500)
    assert (found.timed, found.let_pass) == (timed, 4000 - timed)
    assert timed < 400
    assert len(found.lengths) == len(found.times) == 4000


def test_runs_that_are_few_long_or_given_what_may_change_are_all_timed() -> None:
    steps = np.array(3)
    for given, runs, elapsed in ((3, 30, 500), (3, 400, 10**6), (steps, 400, 500)):
        found, timed = noted(given, runs, elapsed)
        assert timed == found.timed == found.runs == runs and not found.let_pass
    steps.flags.writeable = False  # as a constant of a loop is
    assert noted(steps, 400)[0].let_pass > 200


def test_runs_of_several_lengths_take_what_those_of_their_length_take() -> None:
    found = CountedRuns()
    found.noted += [(2, 100, 0), (9, 400, 50), (2, 140, 20), (9, 10**6, 0)]
    found.count_noted()
    assert (found.runs, found.timed, found.let_pass) == (74, 4, 70)
    assert found.steps == 2 * 52 + 9 * 22
    usual = (400 + 10 * 10**6 // 10) // 2  # one of two is no outlier
    assert found.elapsed_ns == 100 + 400 + 140 + 10**6 + 50 * 120 + 20 * usual


def test_what_runs_without_a_time_cost_is_stated_with_its_own_price() -> None:
    found, timed = noted(3, 1000)
    record = of_runs(1000, found).record()
    cost = timed * 700 + (1000 - timed) * 100
    rows = next(loop for loop in record.loops if loop.key == ROWS)
    assert rows.cost_ns == cost and record.cost.total_ns == pytest.approx(cost)
    assert record.cost.counted == 1000
    assert rows.measures["plain_ns"] == pytest.approx(1000 * 3000 - cost, abs=1000)


def test_runs_that_machine_code_counts_cost_nothing() -> None:
    found = CountedRuns()
    found.add_all(RunsAlone(CELLS, 40, 40, 1, 0, -1))
    record = of_runs(40, found).record()
    assert record.cost.total_ns == 0 and all(loop.slowdown == 1 for loop in record.loops)
    assert record.loops[0].measures["plain_ns"] == 40 * 3000


def test_what_is_told_of_steps_that_share_a_recorder_is_not_changed() -> None:
    series = StepSeries(
        ROWS, 3, np.array([900, 10], np.int64), covers=np.array([3, 1], np.int64), control=True
    )
    less = series.shorter(100.0)
    assert (less.interval_ns.tolist(), less.span_ns) == ([600, 0], 510)
    assert (series.interval_ns.tolist(), series.span_ns, less.first) == ([900, 10], 910, 3)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_every_run_inside_of_a_loop_that_is_timed_in_a_plain_block_is_stated_with_its_price(
    mode: str, planted: Callable[..., None]
) -> None:
    planted(step_ns=6_000)
    f = nested(mode)
    made = Recorder(calibration=PRICE)
    with scanviz.engine.observe.observed_by(made):
        f(np.ones((4000, 1)))
    record = made.record()
    outer, inner = sorted(record.loops, key=lambda loop: loop.parent is not None)
    assert inner.runs == outer.steps == 4000
    if mode == "native":
        assert record.cost.counted == 0  # they stay in the code
    else:
        assert 2000 < record.cost.counted <= outer.control_steps
        assert outer.cost_ns >= inner.watching_ns - made._met.loops[inner.key].recorder_ns > 2000 * 100
        assert outer.inner_watching_ns == made._met.loops[inner.key].recorder_ns
    assert record.cost.total_ns >= record.cost.counted * 100


def test_a_loop_inside_takes_of_a_step_what_its_runs_took_there_however_long_watching_them_closely_takes() -> (
    None
):
    f = nested("numpy")
    f(np.ones((4000, 1)))
    with scanviz.profile() as session:
        for _ in range(3):
            f(np.ones((4000, 1)))
    outer = next(loop for loop in session.record.loops if loop.parent is None)
    (inner,) = (operation for operation in outer.operations if operation.kind == "loop")
    assert inner.typical_ns == max(operation.typical_ns for operation in outer.operations) > 0
    parts = sum(operation.typical_ns for operation in outer.operations) + outer.copy_ns + outer.overhead_ns
    assert parts == outer.step_times.p50_ns == outer.typical_ns


def count_inside(made: Recorder) -> None:
    """Tell of 50 runs, of 20 steps each, that were part of the machine code of the loop around: a step took 15 ns."""
    inside = CountedRuns()
    inside.add_inside("native", RunsAlone(CELLS, 50, 1000, 20, 0, 15_000))
    made.loop_counted(1, CELLS, inside)


def test_where_most_steps_were_part_of_the_code_around_the_typical_step_is_theirs() -> None:
    made = recorder()
    made.loop_begin(1, CELLS, 20, 0)
    few = np.full(20, 900, np.int64)
    made.loop_steps(StepSeries(CELLS, 0, few, np.full((2, 20), 400, np.int64), tier="numpy"))
    made.loop_end(1, CELLS, 20, 18_000, 0, None)
    count_inside(made)
    [cells] = (loop for loop in made.record().loops if loop.key == CELLS)
    assert (cells.steps, cells.runs, cells.total_ns) == (1020, 51, 33_000)
    assert cells.step_times.p50_ns == 15 and cells.typical_ns == 0
    assert not any(operation.samples for operation in cells.operations), "they are of other code"
    assert (cells.blocks, cells.block_steps) == (1, 1000)
    assert [code.tier for code in cells.tiers] == ["native"]
    assert cells.measures["other_code_steps"] == 20
    assert round(cells.measures["other_code_ns"], -1) == 900


def test_runs_in_calls_that_are_passed_over_are_of_the_code_that_the_loop_around_runs_then() -> None:
    """A few steps in which a loop is looked at run on NumPy: most calls are passed over, and run it inside machine code."""
    made = recorder()
    made.loop_begin(1, ROWS, 50, 0)
    inside = CountedRuns.of(RunsAlone(CELLS, 0, 0, 0, 0, -1))
    inside.add_inside("native", RunsAlone(CELLS, 50, 1000, 20, 0, 15_000))
    made.loop_counted(1, CELLS, inside)
    made.loop_begin(1, CELLS, 20, 0)
    few = np.full(20, 900, np.int64)
    made.loop_steps(StepSeries(CELLS, 0, few, np.full((2, 20), 400, np.int64), tier="numpy"))
    made.loop_end(1, CELLS, 20, 20_000, 2_000, None)
    made.loop_steps(StepSeries(ROWS, 0, np.array([17_000]), covers=np.array([50]), tier="native"))
    made.loop_end(1, ROWS, 50, 40_000, 0, None)
    made.loop_counted(1, CELLS, CountedRuns.of(RunsAlone(CELLS, 5000, 100_000, 20, 0, 1_500_000)))
    [cells] = (loop for loop in made.record().loops if loop.key == CELLS)
    assert cells.step_times.p50_ns == 15 and cells.measures["other_code_steps"] == 20
    assert cells.setup_ns == 2_000, "what is around steps inside is in the time of these"


def test_where_its_own_machine_code_was_seen_to_run_a_step_is_one_of_that() -> None:
    made = recorder()
    made.loop_begin(1, CELLS, 40, 0)
    many = np.full(40, 100, np.int64)
    made.loop_steps(StepSeries(CELLS, 0, many, np.full((2, 40), 40, np.int64), tier="native"))
    made.loop_end(1, CELLS, 40, 4_000, 0, None)
    count_inside(made)
    [cells] = (loop for loop in made.record().loops if loop.key == CELLS)
    assert 15 < cells.step_times.p50_ns == cells.typical_ns <= 100 and cells.step_times.count == 40
    assert all(operation.samples for operation in cells.operations)


def test_what_runs_without_times_take_around_their_steps_is_no_more_than_their_steps_leave() -> None:
    totals = RunTotals()
    totals.add_ended(100, 11_000, 1_000, False)
    totals.add_unseen(2, 0, 20_000, 100, 200)
    assert totals.around_ns() == totals.around_ns(90.0) == 1_000 + 2_000
    assert totals.around_ns(95.0) == 1_000 + 1_000 and totals.around_ns(110.0) == 1_000


@pytest.mark.skipif(not availability("native").works, reason=availability("native").why)
def test_a_loop_in_the_step_of_a_native_one_takes_no_more_than_all_of_its_steps() -> None:
    f = nested("auto")
    given = np.random.default_rng(0).normal(size=(3000, 10))
    with scanviz.profile() as p:
        for _ in range(30):
            f(given)
    inner, outer = sorted(p.record.loops, key=lambda loop: loop.name)
    assert outer.tiers[-1].tier == inner.tiers[-1].tier == "native"
    assert inner.step_times.p50_ns * inner.steps < 2 * inner.total_ns
