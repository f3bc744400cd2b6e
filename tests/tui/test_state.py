"""Moves: the effect of keys on the selection, without a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from scanviz.record.loops import LoopRecord
from scanviz.record.model import FunctionRecord, ProfileRecord, ThreadTimesRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.values import DurationRecord
from scanviz.tui.model.state import ViewState, start
from tests.tui.records_for_tui import gradient_record, traced_record


def keys(record):
    forward = next(loop.key for loop in record.loops if loop.gradient_of is None)
    backward = next(loop.key for loop in record.loops if loop.gradient_of is not None)
    return forward, backward


def test_the_application_begins_at_the_loop_that_took_the_most_time():
    record = gradient_record()
    state = start(record)
    assert state.loop_record.total_ns == max(loop.total_ns for loop in record.loops)
    assert state.function_record.name == "train"


@pytest.mark.parametrize(("loop_ns", "where"), [(100_000, None), (900_000, "small")])
def test_the_application_begins_outside_loops_when_they_took_less_time(loop_ns, where):
    product = OperationRecord(0, "dot(x, x)", "operation", "float64[9]", None, samples=1, typical_ns=500e3)
    times = DurationRecord(1, 500_000 + loop_ns)
    f = FunctionRecord(1, "products", None, "numpy", calls=1, call_times=times, operations=(product,))
    loop = LoopRecord(1, 1, None, "small", None, runs=1, steps=1, total_ns=loop_ns)
    threads = ThreadTimesRecord(inside_ns=times.total_ns)
    record = ProfileRecord(wall_ns=2_000_000, functions=(f,), loops=(loop,), threads=threads)
    state = start(record)
    assert state.function_record is f
    assert (state.loop_record.name if state.loop_record else None) == where


def test_a_record_of_nothing_has_a_state():
    state = start(ProfileRecord())
    assert (state.loop_record, state.function_record, state.steps) == (None, None, 0)
    assert state.at_step(5).step == 0 and state.at_rewrite(3).rewrite == 0 and state.slowest_step() is None


def test_the_other_loop_leads_to_the_gradient_and_back():
    forward, backward = keys(gradient_record())
    state = start(gradient_record()).at_loop(forward)
    assert state.other_loop() == backward
    assert state.at_loop(backward).other_loop() == forward


@given(
    moves=st.lists(
        st.tuples(st.sampled_from(["loop", "step", "rewrite", "variable", "run"]), st.integers(-50, 5000)),
        max_size=12,
    )
)
def test_no_move_leaves_the_record(moves):
    record = gradient_record()
    state = start(record)
    for kind, number in moves:
        match kind:
            case "loop":
                state = state.at_loop(record.loops[number % len(record.loops)].key)
            case "step":
                state = state.at_step(number)
            case "rewrite":
                state = state.at_rewrite(number)
            case "variable":
                state = state.at_variable(number)
            case "run":
                state = state.at_run(number % 3)
        assert 0 <= state.step < state.steps
        assert 0 <= state.rewrite < len(state.function_record.rewrites.applications)
        assert state.variable is None or 0 <= state.variable < len(state.loop_record.variables)


def test_the_slowest_step_is_that_of_the_run_that_is_shown():
    forward, _ = keys(gradient_record())
    state = start(gradient_record()).at_loop(forward)
    series = state.loop_record.series
    for run in range(3):
        rows = series[series[:, 0] == run]
        assert state.at_run(run).slowest_step() == rows[rows[:, 2].argmax(), 1]


def test_the_first_step_with_a_nan_is_found():
    forward, backward = keys(traced_record())
    state = start(traced_record())
    assert state.at_loop(forward).first_bad()[1].step == 7
    assert state.at_loop(backward).first_bad() is None


def test_a_newer_record_keeps_the_place():
    record = gradient_record()
    state = start(record).at_step(9).at_rewrite(1)
    newer = replace(record, wall_ns=record.wall_ns + 1)
    assert replace(state, record=newer) == state.with_record(newer)
    shorter = replace(record, loops=tuple(replace(loop, longest_run=4) for loop in record.loops))
    assert state.with_record(shorter).step == 3
    assert ViewState(ProfileRecord()).with_record(record) == start(record)


def test_until_a_loop_has_run_the_slowest_is_followed():
    record = gradient_record()
    waiting = replace(record, loops=tuple(replace(loop, total_ns=0) for loop in record.loops))
    fastest = min(record.loops, key=lambda loop: loop.total_ns)
    assert start(waiting).at_loop(fastest.key).with_record(record) == start(record)
    assert start(record).at_loop(fastest.key).with_record(replace(record, wall_ns=1)).loop == fastest.key


def test_an_unknown_loop_is_no_place_to_go():
    state = start(gradient_record())
    assert state.at_loop(99_999) is state


@pytest.mark.parametrize("step, expected", [(-3, 0), (0, 0), (39, 39), (40, 39), (10**9, 39)])
def test_step_moves_stop_at_the_first_and_last_step(step, expected):
    assert start(gradient_record()).at_step(step).step == expected
