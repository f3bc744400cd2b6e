"""The recorder: its counts, by planted events, and its bounded size."""

import gc
import json
import os
import platform
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends import registry
from scanviz.engine.observe import observed_by
from scanviz.profiler.recording import functions_met
from scanviz.profiler.recording import recorder as recording
from scanviz.profiler.recording.loop_aggregate import TIERS
from scanviz.profiler.recording.processor import ProcessorTally
from scanviz.profiler.recording.recorder import Recorder
from scanviz.record.graphs.rewrites_snapshot import RewritesSource
from scanviz.record.model import LoopRecord, OutcomeRecord
from tests.profiler.events import Clock, compiled, loop_keys, recorder, run, steps, timed
from tests.support.arena_tier import ArenaTier

ROWS, CELLS = loop_keys()


def loop(made: Recorder, key: int = ROWS) -> LoopRecord:
    return next(each for each in made.record().loops if each.key == key)


def test_a_function_comes_with_the_tree_of_its_loops() -> None:
    record = recorder().record()
    [function] = record.functions
    assert (function.name, function.backend, function.calls) == ("table", "numpy", 0)
    assert function.build_ns == {"rewrite": 5, "compile": 7}
    rows, cells = record.loops
    assert (rows.name, rows.function, rows.parent) == ("rows", 1, None)
    assert (cells.name, cells.function, cells.parent) == ("cells", 1, ROWS)
    assert [operation.loop for operation in function.operations if operation.kind == "loop"] == [ROWS]
    assert [operation.loop for operation in rows.operations if operation.kind == "loop"] == [CELLS]


def test_a_function_reported_twice_keeps_its_counts() -> None:
    made = recorder()
    run(made, ROWS, [5, 6])
    made.function_begin(1, 0)
    made.function_end(1, 0, 30, None)
    made.compiled(compiled())
    assert loop(made).steps == 2
    assert made.record().functions[0].calls == 1


def test_calls_are_counted_and_the_first_has_its_own_time() -> None:
    made = recorder()
    for call, elapsed in enumerate([900, 100, 110]):
        made.function_begin(1, call)
        made.function_end(1, call, elapsed, None if call < 2 else ValueError())
    [function] = made.record().functions
    assert (function.calls, function.errors, function.first_ns, function.total_ns) == (3, 1, 900, 1110)
    assert function.call_times.max_ns == 900
    assert function.call_times.p50_ns == pytest.approx(110, rel=0.01)


def test_a_call_interrupted_at_its_begin_does_not_stay_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = recorder()

    def interrupted(self: ProcessorTally, call: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(ProcessorTally, "begin", interrupted)
        made.function_begin(1, 0)
    made.function_begin(1, 1)
    made.function_end(1, 1, 300, None)
    record = made.record()
    assert record.functions[0].running == 0
    assert record.threads is not None and record.threads.inside_ns == 300


def test_a_loop_adds_up_its_runs_and_steps() -> None:
    made = recorder()
    run(made, ROWS, [10, 20, 30], setup=7)
    run(made, ROWS, [40], setup=1)
    found = loop(made)
    assert (found.runs, found.steps, found.longest_run, found.failed_runs) == (2, 4, 3, 0)
    assert (found.total_ns, found.setup_ns, found.first_run_ns) == (108, 8, 67)
    times = found.step_times
    assert (times.count, times.total_ns, times.min_ns, times.max_ns) == (4, 100, 10, 40)
    assert found.series[:, :3].tolist() == [[0, 0, 10], [0, 1, 20], [0, 2, 30], [1, 0, 40]]
    assert found.buffer_bytes == 64
    assert found.clock == "perf_counter"


def test_steps_are_numbered_through_the_chunks_of_a_run() -> None:
    made = recorder()
    made.loop_begin(1, ROWS, 3000, 0)
    for first in range(0, 3000, 1000):
        made.loop_steps(steps(ROWS, list(range(first, first + 1000)), first))
    made.loop_end(1, ROWS, 3000, 10**7, 0, None)
    series = loop(made).series
    assert (series[:, 1] == series[:, 2]).all()
    assert series[-1, 1] == 2999


def test_too_few_timed_steps_give_no_parts() -> None:
    made = recorder()
    made.loop_begin(1, CELLS, 12, 0)
    made.loop_steps(timed(CELLS, [[10, 30], [5, 5]], [4, 6], around=3))
    made.loop_steps(steps(CELLS, [40] * 10, first=2))
    found = loop(made, CELLS)
    assert (found.sampled_steps, found.typical_ns, found.body_ns) == (2, 0.0, 0.0)
    assert [operation.samples for operation in found.operations] == [0, 0]


def test_the_first_timed_steps_are_left_out_as_cold() -> None:
    made = recorder()
    made.loop_begin(1, CELLS, 20, 0)
    made.loop_steps(timed(CELLS, [[900] * 8 + [10] * 7, [5] * 15], [4] * 15, around=3))
    made.loop_steps(timed(CELLS, [[900] + [10] * 8, [5] * 9], [4] * 9, around=3, first=15))
    found = loop(made, CELLS)
    assert found.sampled_steps == 8 + 8  # of later chunks only the first step, which enters the code
    assert (found.body_ns, found.copy_ns, found.overhead_ns) == pytest.approx((15, 4, 3), abs=0.5)
    assert found.step_times.max_ns == 912  # they are steps all the same


def test_running_timed_steps_on_one_thread_is_cost_of_recording() -> None:
    """Where threads take the others together; all of the run is in a part."""
    made = recorder(calibration=lambda: 100.0)
    made.loop_begin(1, CELLS, 400, 0)
    made.loop_steps(timed(CELLS, [[400_000] * 40, [80_000] * 40], [0] * 40, around=0))
    made.loop_steps(steps(CELLS, [240_000] * 360, first=40))
    made.loop_end(1, CELLS, 400, 40 * 480_000 + 360 * 240_000, 0, None)
    found = loop(made, CELLS)
    assert found.typical_ns == pytest.approx(240_000, rel=0.005)
    assert found.cost_ns == pytest.approx(40 * 240_000, rel=0.02)
    assert found.total_ns == pytest.approx(found.typical_ns * 400 + found.cost_ns, rel=0.005)


def test_parts_below_the_clocks_unit_are_below_resolution() -> None:
    made = recorder(calibration=lambda: 100.0)
    made.loop_begin(1, CELLS, 50, 0)
    made.loop_steps(timed(CELLS, [[400] * 15, [100] * 15], [100] * 15, around=200))
    found = loop(made, CELLS)
    assert [operation.samples for operation in found.operations] == [8, 8]
    assert found.operations[1].typical_ns == found.copy_ns == 0.0
    assert found.operations[0].typical_ns + found.overhead_ns == found.typical_ns
    assert found.typical_ns == pytest.approx(400, abs=4)


def test_operations_reported_one_by_one_are_counted() -> None:
    made = recorder()
    made.instruction(1, None, 0, 0, 40, ())
    made.instruction(1, None, 0, 0, 60, ())
    made.instruction(1, CELLS, 0, 1, 7, ())
    made.instruction(1, None, 0, 99, 60, ())
    record = made.record()
    assert (record.functions[0].operations[0].samples, record.functions[0].operations[0].mean_ns) == (2, 50.0)
    assert loop(made, CELLS).operations[1].mean_ns == 7.0


def test_compilations_are_counted_by_tier_and_reason() -> None:
    made = recorder()
    made.specialised(1, ROWS, 500, "numpy", "new shapes")
    made.specialised(1, ROWS, 300, "numpy", "new shapes")
    for k in range(100):
        made.specialised(1, ROWS, 1, "numpy", f"reason {k}")
    tiers = loop(made).tiers
    assert (tiers[0].why, tiers[0].count, tiers[0].total_ns) == ("new shapes", 2, 800)
    assert len(tiers) == TIERS + 1
    assert sum(tier.count for tier in tiers) == 102


def test_a_run_that_has_not_ended_counts_up_to_now() -> None:
    clock = Clock()
    made = recorder(clock)
    made.function_begin(1, 0)
    made.loop_begin(1, ROWS, 100, 0)
    made.loop_steps(steps(ROWS, [10, 10]))
    clock.now += 25
    found = loop(made)
    assert (found.running, found.runs, found.steps, found.total_ns) == (1, 1, 2, 25)
    assert found.longest_run == 2, "who watches asks for its steps before it has ended"
    assert made.record().functions[0].running == 1


def test_an_error_closes_open_runs() -> None:
    clock = Clock()
    made = recorder(clock)
    made.function_begin(1, 0)
    made.loop_begin(1, ROWS, 100, 0)
    made.loop_begin(1, CELLS, 100, 0)
    clock.now += 40
    made.function_end(1, 0, 40, KeyboardInterrupt())
    for key in (ROWS, CELLS):
        found = loop(made, key)
        assert (found.failed_runs, found.running, found.total_ns) == (1, 0, 40)


def test_a_nested_call_does_not_change_the_outer_one() -> None:
    clock = Clock()
    made = recorder(clock)
    made.function_begin(1, 0)
    made.loop_begin(1, ROWS, 4, 0)
    made.loop_steps(steps(ROWS, [10, 10]))
    made.function_begin(1, 1)  # as by a signal's handler
    made.loop_begin(1, ROWS, 4, 0)
    made.loop_steps(steps(ROWS, [7]))
    clock.now += 5
    made.function_end(1, 1, 5, KeyboardInterrupt())  # its loop's end was never reported
    found = loop(made)
    assert (found.runs, found.failed_runs, found.running) == (2, 1, 1)
    made.loop_steps(steps(ROWS, [10, 10], first=2))
    made.loop_end(1, ROWS, 4, 50, 0, None)
    made.function_end(1, 0, 50, None)
    found = loop(made)
    assert (found.runs, found.failed_runs, found.running, found.steps) == (2, 1, 0, 5)
    assert found.series[:, :2].tolist() == [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]]


def test_events_of_unknown_functions_and_loops_are_ignored() -> None:
    made = Recorder()
    made.function_begin(5, 0)
    made.function_end(5, 0, 10, None)
    made.instruction(5, None, 0, 0, 10, ())
    made.specialised(5, 6, 10, "numpy", "")
    run(made, 6, [1, 2])
    assert made.record().functions == made.record().loops == ()


def test_the_wall_time_goes_from_the_start_to_the_end() -> None:
    clock = Clock()
    made = recorder(clock)
    clock.now += 100
    made.restart()
    clock.now += 50
    assert made.record().wall_ns == 50
    made.finish(OutcomeRecord("exit", 3))
    clock.now += 50
    record = made.record()
    assert (record.wall_ns, record.outcome.status, record.outcome.code) == (50, "exit", 3)


def test_later_runs_do_not_change_a_record() -> None:
    made = recorder()
    run(made, ROWS, [5])
    before = made.record()
    shown = before.to_json()
    run(made, ROWS, [5] * 3000)
    assert before.to_json() == shown
    assert made.record().loops[0].steps == 3001


def test_the_machine_is_recorded_without_its_name_or_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "secret-host")
    text = json.dumps(recorder().record().to_json())
    assert os.getcwd() not in text
    assert "secret-host" not in text


def test_progress_is_calls_and_steps() -> None:
    made = recorder()
    run(made, ROWS, [1, 2])
    run(made, CELLS, [1, 2, 3])
    made.function_begin(1, 0)
    made.function_end(1, 0, 5, None)
    assert made.progress() == (1, 5)


def test_the_record_so_far_is_given_while_the_graphs_of_a_function_are_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, given = recording.Recorder(), []
    written = functions_met.written

    def slowly(source: RewritesSource) -> Any:
        asking = threading.Thread(target=lambda: given.append(made.record()))
        asking.start()
        asking.join(timeout=120)
        return written(source)

    monkeypatch.setattr(functions_met, "written", slowly)
    x = T.vector("x")
    with observed_by(made):
        scanviz.function([x], x * 2)([1.0])
    [whole] = made.record().functions
    assert whole.rewrites is not None and [function.rewrites for function in given[0].functions] == [None]
    assert whole.calls == given[0].functions[0].calls == 1


def test_rewrites_are_written_after_the_clock_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    usual = functions_met.written
    monkeypatch.setattr(
        functions_met, "written", lambda source: (written.append(source.title), usual(source))[1]
    )
    x = T.vector("x")
    with scanviz.profile() as p:
        f = scanviz.function([x], T.exp(x) + T.exp(x), name="f")
        f([1.0])
        assert not written
    assert [function.rewrites.applications[0].rule for function in p.record.functions] and written == ["f"]
    assert p.record.functions[0].rewrites == p.record.functions[0].rewrites and written == ["f"]


def test_deleted_functions_that_hold_much_memory_are_written_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(functions_met, "MOST_HELD", 20)
    x = T.vector("x")
    with scanviz.profile() as p:
        for k in range(4):
            table = scanviz.shared(np.zeros(3), name=f"table{k}")
            f = scanviz.function([x], x + table, name=f"f{k}")
            f(np.ones(3))
            if k == 0:
                first = weakref.ref(table)
            del f, table
            gc.collect()
    assert first() is None
    assert [function.name for function in p.record.functions if function.rewrites is not None] == [
        "f0",
        "f1",
        "f2",
        "f3",
    ]


def test_deleted_functions_that_hold_little_memory_wait_until_the_clock_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: list[str] = []
    usual = functions_met.written
    monkeypatch.setattr(
        functions_met, "written", lambda source: (written.append(source.title), usual(source))[1]
    )
    x = T.vector("x")
    with scanviz.profile() as p:
        for k in range(4):
            scanviz.function([x], x + k, name=f"f{k}")([1.0])
            gc.collect()
        assert not written
    assert all(function.rewrites is not None for function in p.record.functions) and len(written) == 4


def test_loops_are_described_after_the_clock_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    described: list[int] = []
    usual = functions_met.loop_records
    monkeypatch.setattr(
        functions_met, "loop_records", lambda key, program: (described.append(key), usual(key, program))[1]
    )
    with scanviz.profile() as p:
        x = T.vector("x")
        rows, _ = scanviz.scan(lambda x_t, s: T.tanh(x_t + s), x, 0.0, name="rows")
        scanviz.function([x], rows, mode="numpy")([1.0, 2.0])
        assert not described and p.recorder.progress() == (1, 2)
    (loop,) = p.record.loops
    assert (loop.name, len(loop.operations), bool(loop.variables)) == ("rows", 2, True)
    assert p.record.loops and len(described) == 1


def test_a_rewrite_history_interrupted_by_a_signal_is_in_the_handlers_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: list[Any] = []
    usual = functions_met.written

    def interrupted(source: RewritesSource) -> Any:
        if not given:
            given.append(None)
            given[0] = made.record()  # as a signal's handler does, in this thread
        return usual(source)

    monkeypatch.setattr(functions_met, "written", interrupted)
    made, x = recording.Recorder(), T.vector("x")
    with observed_by(made):
        scanviz.function([x], x * 2)([1.0])
    (last,) = made.record().functions
    assert [function.rewrites for function in given[0].functions] == [last.rewrites]


def test_a_function_compiled_during_a_record_is_in_it_without_operations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, x = recording.Recorder(), T.vector("x")
    with observed_by(made):
        scanviz.function([x], x * 2, name="f")([1.0])
        with monkeypatch.context() as patched:
            patched.setattr(functions_met.FunctionsMet, "write", lambda self, wait: None)
            (function,) = made.record().functions
    assert (function.calls, function.operations) == (1, ())
    assert len(made.record().functions[0].operations) == 1


def test_recording_keeps_no_function_alive() -> None:
    x = T.vector("x")
    with scanviz.profile():
        f = scanviz.function([x], x * 3)
        f([1.0])
        known = weakref.ref(f)
        del f
        gc.collect()
        assert known() is None


def test_fusions_for_met_shapes_are_recorded_without_keeping_the_function(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "_factories", {"arena": ArenaTier})
    monkeypatch.setattr(registry, "_made", {})
    x, h0 = T.matrix("x"), T.vector("h0")
    rows, _ = scanviz.scan(lambda x_t, h: T.exp(x_t * 2.0) + h + T.sum(T.tanh(x_t)), x, h0, name="loop")
    f = scanviz.function([x, h0], rows, mode=scanviz.Mode("arena", "none,+fuse_elementwise"))
    recorder = Recorder()
    with observed_by(recorder):
        f(np.ones((2, 3)), np.ones(3))
    known = weakref.ref(f)
    del f
    gc.collect()
    assert known() is None
    for _ in range(2):  # it may be asked more than once
        (function,) = recorder.record().functions
        (found,) = (
            application
            for application in function.rewrites.applications
            if application.rule == "fuse_elementwise"
        )
        assert "operations done in 1 group" in found.message
        assert any("a reduction, `sum`" in refusal.why for refusal in function.rewrites.refusals)


def test_a_recorder_can_list_functions_before_their_first_call() -> None:
    listing, usual = recording.Recorder(), recording.Recorder()
    listing.lists_built = True
    x = T.vector("x")
    with observed_by(listing), observed_by(usual):
        h, _ = scanviz.scan(lambda x_t, h: x_t + h, x, 0.0, name="rnn")
        f = scanviz.function([x], h, name="f")
        record = listing.record()
        assert [(loop.name, loop.runs) for loop in record.loops] == [("rnn", 0)]
        assert [function.calls for function in record.functions] == [0] and not usual.record().functions
        f(np.ones(5))
    for each in (listing, usual):
        (loop,) = each.record().loops
        assert (loop.name, loop.runs, loop.steps) == ("rnn", 1, 5)
