"""What recording a loop inside another costs is stated, for the loop itself, for the loop around it, and for the run."""

from collections.abc import Callable

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability
from scanviz.engine.observation.events import StepSeries
from scanviz.engine.observation.probe import note_overhead_ns
from scanviz.profiler.recording.loop_aggregate import RunTotals
from scanviz.profiler.recording.recorder import Recorder
from tests.profiler.events import loop_keys, recorder

ROWS, CELLS = loop_keys()


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


def test_counting_inner_runs_is_observer_overhead_of_the_inner_loop() -> None:
    made = recorder()
    made.loop_begin(1, ROWS, 40, 0)
    made.loop_counted(1, [(CELLS, 40, 40, 1, 0, 20_000, "")], True)
    block = np.array([40 * 3000], np.int64)
    made.loop_steps(StepSeries(ROWS, 0, block, covers=np.array([40], np.int64), control=True))
    made.loop_end(1, ROWS, 40, 40 * 3000, 0, None)
    record = made.record()
    rows, cells = (next(loop for loop in record.loops if loop.key == key) for key in (ROWS, CELLS))
    assert rows.cost_ns == cells.cost_ns == 0
    assert cells.recorder_ns == rows.inner_recorder_ns == 40 * note_overhead_ns() > 0


def test_runs_counted_by_machine_code_cost_nothing() -> None:
    made = recorder()
    made.loop_counted(1, [(CELLS, 40, 40, 1, 0, -1, "native")], True)
    record = made.record()
    assert record.cost.total_ns == 0 and all(loop.slowdown == 1 for loop in record.loops)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_every_inner_run_of_a_plain_block_is_counted(mode: str, planted: Callable[..., None]) -> None:
    planted(step_ns=6_000)
    f = nested(mode)
    made = Recorder()
    with scanviz.engine.observe.observed_by(made):
        f(np.ones((4000, 1)))
    outer, inner = sorted(made.record().loops, key=lambda loop: loop.parent is not None)
    assert inner.runs == outer.steps == 4000
    if mode == "numpy":
        assert outer.control_steps > 2000 and inner.step_times.count < 2000
        assert outer.inner_recorder_ns == inner.recorder_ns >= 2000 * note_overhead_ns()


def test_an_inner_loops_time_comes_from_unobserved_blocks() -> None:
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
    """Notify 50 runs of 20 steps each that were part of the outer loop's machine code: a step took 15 ns."""
    made.loop_counted(1, [(CELLS, 50, 1000, 20, 0, 15_000, "native")], False)


def test_the_typical_step_is_inside_the_outer_code_if_most_steps_are() -> None:
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


def test_counted_runs_belong_to_the_current_code_of_the_outer_loop() -> None:
    """A few steps in which a loop is looked at run on NumPy: most calls are passed over, and run it inside machine code."""
    made = recorder()
    made.loop_begin(1, ROWS, 50, 0)
    count_inside(made)
    made.loop_begin(1, CELLS, 20, 0)
    few = np.full(20, 900, np.int64)
    made.loop_steps(StepSeries(CELLS, 0, few, np.full((2, 20), 400, np.int64), tier="numpy"))
    made.loop_end(1, CELLS, 20, 20_000, 2_000, None)
    made.loop_steps(StepSeries(ROWS, 0, np.array([17_000]), covers=np.array([50]), tier="native"))
    made.loop_end(1, ROWS, 50, 40_000, 0, None)
    made.loop_counted(1, [(CELLS, 5000, 100_000, 20, 0, 1_500_000, "")], False)
    [cells] = (loop for loop in made.record().loops if loop.key == CELLS)
    assert cells.step_times.p50_ns == 15 and cells.measures["other_code_steps"] == 20
    assert cells.setup_ns == 2_000, "what is around steps inside is in the time of these"


def test_the_typical_step_is_of_the_loops_own_machine_code_if_that_ran() -> None:
    made = recorder()
    made.loop_begin(1, CELLS, 40, 0)
    many = np.full(40, 100, np.int64)
    made.loop_steps(StepSeries(CELLS, 0, many, np.full((2, 40), 40, np.int64), tier="native"))
    made.loop_end(1, CELLS, 40, 4_000, 0, None)
    count_inside(made)
    [cells] = (loop for loop in made.record().loops if loop.key == CELLS)
    assert 15 < cells.step_times.p50_ns == cells.typical_ns <= 100 and cells.step_times.count == 40
    assert all(operation.samples for operation in cells.operations)


def test_runs_inside_machine_code_have_no_time_around_their_steps() -> None:
    """What such runs took more than their steps is time of these: it stood on the line of the inner `scan`."""
    totals = RunTotals()
    totals.add_ended(100, 11_000, 1_000, False)
    totals.add_unobserved((1, 2, 200, 100, 0, 40_000, "native"))
    assert totals.around_ns(90.0) == 1_000


def test_loop_overhead_of_counted_runs_is_bounded_by_the_remaining_time() -> None:
    totals = RunTotals()
    totals.add_ended(100, 11_000, 1_000, False)
    totals.add_unobserved((1, 2, 200, 100, 0, 20_000, ""))
    assert totals.around_ns(0.0) == totals.around_ns(90.0) == 1_000 + 2_000
    assert totals.around_ns(95.0) == 1_000 + 1_000 and totals.around_ns(110.0) == 1_000


@pytest.mark.skipif(not availability("native").works, reason=availability("native").why)
def test_typical_steps_of_an_inner_native_loop_do_not_exceed_its_total_time() -> None:
    f = nested("auto")
    given = np.random.default_rng(0).normal(size=(3000, 10))
    with scanviz.profile() as p:
        for _ in range(30):
            f(given)
    inner, outer = sorted(p.record.loops, key=lambda loop: loop.name)
    assert outer.tiers[-1].tier == inner.tiers[-1].tier == "native"
    assert inner.step_times.p50_ns * inner.steps < 2 * inner.total_ns


@pytest.mark.skipif(not availability("native").works, reason=availability("native").why)
def test_one_call_times_the_operations_around_a_short_inner_loop() -> None:
    """Loops inside are looked at in another sample than the first, which may be the only one: the typical step was 0."""
    f = nested("native")
    f(np.ones((2000, 1)))
    with scanviz.profile() as session:
        f(np.ones((2000, 1)))
    outer = next(loop for loop in session.record.loops if loop.parent is None)
    assert outer.sampled_steps > 0 and outer.typical_ns > 0
