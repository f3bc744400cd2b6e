"""Values over time: kept values are the computed ones, relevant steps are kept, and memory is bounded."""

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.engine.errors import ScanvizError
from scanviz.engine.runtime.interpreter import Interpreter
from scanviz.profiler.report.overview import render_report
from scanviz.profiler.report.values import first_bad, render_values, ruler
from scanviz.profiler.values.kept import AFTER, BEFORE, FIRST, LAST, ROWS, KeptSteps, piece_of, statistics_of
from scanviz.profiler.values.tracing import DEFAULT_BUDGET, LARGEST_BUDGET, Tracer
from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.storage.check import check
from scanviz.record.summary.run_breakdown import overhead_ns, parts_of
from scanviz.record.summary.totals import totals
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord


def rnn(name: str = "rnn") -> Any:
    """A loop that reads its state three steps back, and the gradient of its end."""
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(
        lambda x_t, h3, h1, w: T.tanh(T.dot(h1, w) + x_t + 0.5 * h3),
        x,
        {"initial": T.zeros((3, 3)), "taps": [-3, -1]},
        w,
        name=name,
    )
    return scanviz.function([x, w], [h, scanviz.grad(T.sum(h[-1]), w)], name="train")


def logs() -> Any:
    """A loop that makes NaN of a negative number in its sequence."""
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: T.log(h * 0.0 + x_t) + 1.0, x, T.constant(1.0), name="logs")
    return scanviz.function([x], h)


def of(trace: TraceRecord, name: str, role: str = "output") -> TracedVariableRecord:
    [found] = [variable for variable in trace.variables if (variable.name, variable.role) == (name, role)]
    return found


def test_traced_states_and_operations_agree_with_numpy() -> None:
    x, w = np.random.default_rng(0).normal(size=(20, 3)), 0.3 * np.eye(3) + 0.1
    traced = scanviz.trace(rnn(), x, w, scan="rnn")
    forward, backward = traced.traces
    assert forward.steps == tuple(range(20)) and forward.total_steps == 20
    h = np.zeros((23, 3))
    for t in range(20):
        h[t + 3] = np.tanh(h[t + 2] @ w + x[t] + 0.5 * h[t])
    np.testing.assert_allclose(of(forward, "h3[t]").values, h[3:])
    np.testing.assert_allclose(of(forward, "h3[t-1]", "input").values, h[2:-1])
    np.testing.assert_allclose(of(forward, "h3[t-3]", "input").values, h[:-3])
    np.testing.assert_allclose(of(forward, "x[t]", "input").values, x)
    constant = of(forward, "w", "input")
    assert constant.shape == (3, 3) and (constant.values == w.reshape(-1)).all()
    last = of(forward, "h3[t]").operation
    made = [
        variable
        for variable in forward.variables
        if variable.role == "operation" and variable.operation == last
    ]
    np.testing.assert_array_equal(made[0].values, of(forward, "h3[t]").values)
    assert made[0].source is not None and "T.tanh" in made[0].source.text
    np.testing.assert_array_equal(traced.result[0], rnn()(x, w)[0])
    loops = {loop.key: loop for loop in traced.record.loops}
    assert loops[backward.loop].gradient_of == forward.loop
    assert backward.total_steps == 20


def test_a_mitmot_reads_the_cells_that_earlier_steps_of_the_gradient_wrote() -> None:
    x, w = np.random.default_rng(1).normal(size=(9, 3)), 0.3 * np.eye(3)
    _, backward = scanviz.trace(rnn(), x, w).traces
    reads = {
        variable.tap: variable
        for variable in backward.variables
        if variable.role == "input" and variable.tap is not None
    }
    states = [variable for variable in backward.variables if variable.role == "output" and variable.tap]
    writes = {state.tap: state for state in states}
    assert {0, 1, 3} <= set(reads) and set(writes) == {1, 3}
    # the cell read at tap 0 was written at tap 1 a step before: its last write wins
    np.testing.assert_array_equal(reads[0].values[1:], writes[1].values[:-1])
    np.testing.assert_array_equal(reads[1].values[2:], writes[3].values[:-2])
    names = {each.name for each in (*reads.values(), *writes.values())}
    assert {"∂h3[t]", "∂h3[t-1]", "∂h3[t-3]"} <= names


def test_the_steps_around_the_first_nan_are_kept() -> None:
    x = np.ones(3000)
    x[731] = -1.0
    [trace] = scanviz.trace(logs(), x).traces
    kept = dict(zip(trace.steps, trace.reasons, strict=True))
    around = range(731 - BEFORE, 731 + AFTER + 1)
    assert [kept.get(step) for step in around] == ["event"] * 5
    found = first_bad(trace, "nan")
    assert found is not None and found.step == 731 and not found.given
    assert found.variable.role == "operation" and found.variable.name.startswith("log(")
    assert found.variable.source is not None and "T.log" in found.variable.source.text
    assert first_bad(trace, "inf") is None
    assert set(range(FIRST)) | set(range(3000 - LAST, 3000)) <= set(trace.steps)
    assert len(trace.steps) <= ROWS


def test_a_gradient_that_turns_infinite_is_seen_at_its_step() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + T.sqrt(x_t * (1.0 + h * h)), x, T.constant(0.0), name="roots")
    slope = scanviz.function([x], scanviz.grad(h[-1], x))
    data = np.full(500, 1e-4)
    data[100] = 0.0
    traced = scanviz.trace(slope, data)
    backward = next(trace for trace in traced.traces if _gradient(traced, trace))
    found = first_bad(backward, "inf")
    assert found is not None and found.step == 399  # back over step 100 of 500
    assert dict(zip(backward.steps, backward.reasons, strict=True))[399] == "event"
    assert "back over step 100 of roots" in traced.report(step=399, scan="grad_of_roots")


def _gradient(traced: Any, trace: TraceRecord) -> bool:
    return any(loop.key == trace.loop and loop.gradient_of is not None for loop in traced.record.loops)


def test_the_first_run_the_last_and_the_first_with_an_event_are_kept() -> None:
    f, tracer = logs(), Tracer()
    with observe.observed_by(tracer):
        for run in range(30):
            f(np.full(5, -1.0 if run in (11, 12, 20) else 1.0))
    traces = tracer.records()
    assert [trace.run for trace in traces] == [0, 11, 29]
    assert [first_bad(trace, "nan") is not None for trace in traces] == [False, True, False]


def test_a_pattern_chooses_loops_and_those_of_their_gradients() -> None:
    a, b = T.vector("a"), T.vector("b")
    u, _ = scanviz.scan(lambda a_t, s: T.tanh(s + a_t), a, T.constant(0.0), name="rnn [1]")
    v, _ = scanviz.scan(lambda b_t, s: s * b_t, b, T.constant(1.0), name="other")
    f = scanviz.function([a, b], [v[-1], scanviz.grad(u[-1], a)])
    arrays = np.ones(3), np.ones(3)

    def loops(pattern: str) -> list[str]:
        traced = scanviz.trace(f, *arrays, scan=pattern)
        names = {loop.key: loop.name for loop in traced.record.loops}
        return sorted(names[trace.loop] for trace in traced.traces)

    assert loops("rnn*") == loops("rnn [1]") == ["grad_of_rnn [1]", "rnn [1]"]
    assert loops("other") == ["other"]
    assert loops("grad_*") == ["grad_of_rnn [1]"]
    assert loops("*") == ["grad_of_rnn [1]", "other", "rnn [1]"]
    with pytest.raises(ScanvizError, match="no loop named 'rmm'") as caught:
        loops("rmm")
    assert "other" in str(caught.value)


def test_nested_loops_keep_their_own_runs() -> None:
    x = T.matrix("x")

    def outer(row: Any, total: Any) -> Any:
        inner, _ = scanviz.scan(lambda v, s: s + v, row, T.constant(0.0), name="inner")
        return total + inner[-1]

    sums, _ = scanviz.scan(outer, x, T.constant(0.0), name="outer")
    data = np.arange(12.0).reshape(4, 3)
    traced = scanviz.trace(scanviz.function([x], sums), data)
    names = {loop.key: loop.name for loop in traced.record.loops}
    runs = {(names[trace.loop], trace.run): trace for trace in traced.traces}
    assert sorted(runs) == [("inner", 0), ("inner", 3), ("outer", 0)]
    np.testing.assert_array_equal(of(runs["inner", 3], "s[t]").values[:, 0], np.cumsum(data[3]))
    whole = of(runs["outer", 0], "total[t]")
    np.testing.assert_array_equal(whole.values[:, 0], np.cumsum(data.sum(axis=1)))


def test_stopped_and_empty_loops_are_traced() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, s: (s + x_t, scanviz.until(s > 2.5)), x, T.constant(0.0), name="h")
    f = scanviz.function([x], h)
    [trace] = scanviz.trace(f, np.ones(100)).traces
    assert trace.total_steps == 4 and trace.steps == (0, 1, 2, 3)
    assert of(trace, "until").values[:, 0].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert scanviz.trace(f, np.ones(0)).traces == ()


def test_large_values_have_exact_statistics_and_their_first_numbers() -> None:
    x = T.matrix("x")
    h, _ = scanviz.scan(lambda x_t, s: s + x_t, x, T.zeros(1000), name="h")
    data = np.random.default_rng(2).normal(size=(5, 1000))
    [trace] = scanviz.trace(scanviz.function([x], h), data).traces
    written, truth = of(trace, "s[t]"), np.cumsum(data, axis=0)
    assert written.shape == (1000,) and written.values.shape == (5, 64)
    np.testing.assert_allclose(written.values, truth[:, :64])
    expected = np.stack([truth.min(1), truth.max(1), truth.mean(1), np.zeros(5), np.zeros(5)], axis=1)
    np.testing.assert_allclose(written.statistics, expected)


def test_a_small_budget_keeps_fewer_numbers_and_then_fewer_variables() -> None:
    f, x, w = rnn("small"), np.ones((200, 3)), np.eye(3)
    whole = scanviz.trace(f, x, w).traces[0]
    fewer = scanviz.trace(f, x, w, budget=500_000).traces[0]
    few = scanviz.trace(f, x, w, budget=150_000).traces[0]
    assert whole.left_out == 0 and few.left_out > 0
    assert len(few.variables) + few.left_out == len(whole.variables)
    assert sum(variable.values.size for variable in fewer.variables) <= sum(
        variable.values.size for variable in whole.variables
    )
    assert few.variables[0].role == "input"  # inputs come first, operations give way
    # statistics do not depend on how many numbers were kept
    for variable in few.variables:
        np.testing.assert_array_equal(variable.statistics, of(whole, variable.name, variable.role).statistics)


@pytest.mark.parametrize("budget", [0, -1, LARGEST_BUDGET + 1, 2.5, True, None])
def test_an_invalid_budget_is_refused(budget: Any) -> None:
    with pytest.raises(ScanvizError, match="budget of traced values"):
        Tracer(budget=budget)


def long() -> Any:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, s: 0.5 * s + x_t, x, T.zeros(40), name="long")
    return scanviz.function([x], h[-1])


def test_many_steps_are_kept_in_the_rows_of_few() -> None:
    [trace] = scanviz.trace(long(), np.ones(20_000)).traces
    assert trace.total_steps == 20_000 and len(trace.steps) <= ROWS
    assert trace.steps[-LAST:] == tuple(range(20_000 - LAST, 20_000))
    every = [step for step, why in zip(trace.steps, trace.reasons, strict=True) if why == "every"]
    assert len(every) > 32 and len(set(np.diff(every))) == 1  # evenly over all steps


def test_memory_does_not_grow_with_the_steps_or_the_runs() -> None:
    f, tracer = long(), Tracer()
    data = np.ones(4000)
    f(data)
    tracemalloc.start()
    held = []
    try:
        with observe.observed_by(tracer):
            for count in (500, 500, 4000, *[20] * 30):
                f(data[:count])
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(held) < DEFAULT_BUDGET // 2  # of four runs at most, two are there
    assert held[-1] <= held[1] + 100_000
    assert [record.run for record in tracer.records()] == [0, 32]


def test_every_k_th_step_is_kept_as_asked() -> None:
    [trace] = scanviz.trace(logs(), np.ones(300), every=10).traces
    assert {step for step in trace.steps if step % 10 == 0} == set(range(0, 300, 10))
    assert 15 not in trace.steps


def test_a_shrinking_value_leaves_the_rest_of_its_row_empty() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda t, s, x: s + T.sum(x[t:]), T.arange(4), T.constant(0.0), x, name="h")
    [trace] = scanviz.trace(scanviz.function([x], h), np.ones(4)).traces
    tails = [
        variable for variable in trace.variables if variable.shape == (4,) and variable.role == "operation"
    ]
    assert len(tails) == 1
    assert np.isnan(tails[0].values).sum(axis=1).tolist() == [0, 1, 2, 3]
    assert (tails[0].statistics[:, 3] == 0).all()  # those are no NaN of the value
    assert first_bad(trace, "nan") is None


def test_a_run_that_fails_keeps_the_steps_it_did() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(
        lambda s, x: s + x[T.cast(s, "int64")], None, T.constant(0.0), x, n_steps=10, name="h"
    )
    f, tracer = scanviz.function([x], h), Tracer()
    with observe.observed_by(tracer), pytest.raises(ScanvizError):
        f(np.ones(3))
    [trace] = tracer.records()
    assert trace.steps == (0, 1, 2)


def test_a_profile_with_values_notes_the_second_computation() -> None:
    traced = scanviz.trace(rnn(), np.ones((20, 3)), np.eye(3))
    record = traced.record
    check(record)
    assert record.detail == "values" and record.cost.values_ns > 0
    assert "second computation" in render_report(record) and "second computation" in traced.report()
    for loop in record.loops:  # operations are counted once, though each call is computed twice
        assert loop.steps == 20 and all(operation.samples <= loop.steps for operation in loop.operations)
    assert [function.calls for function in record.functions] == [1]
    with scanviz.profile() as p:
        rnn()(np.ones((5, 3)), np.eye(3))
    assert p.record.traces == () and "second computation" not in render_report(p.record)


class Events(observe.Observer):
    """Counts the events of loops, and whether they had values."""

    def __init__(self, detail: Any) -> None:
        self.detail = detail
        self.calls, self.values, self.tiers = 0, 0, set[str]()

    def function_begin(self, function: int, call: int) -> None:
        self.calls += 1

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        self.values += 1

    def specialised(self, function: int, loop: int, elapsed_ns: int, tier: str, why: str) -> None:
        self.tiers.add(tier)


def test_timing_and_value_observers_get_runs_of_their_own() -> None:
    f, timing, looking = rnn(), Events("steps"), Events("values")
    given = np.ones((20, 3)), np.eye(3)
    plain = f(*given)
    with observe.observed_by(timing), observe.observed_by(looking):
        watched = f(*given)
    for a, b in zip(plain, watched, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (timing.calls, timing.values, looking.calls) == (1, 0, 1) and looking.values > 40


def test_shared_variables_are_updated_once_though_values_are_looked_at() -> None:
    count = scanviz.shared(0.0, name="count")
    x = T.vector("x")
    s, _ = scanviz.scan(lambda x_t, s: s + x_t, x, T.constant(0.0), name="sums")
    f = scanviz.function([x], s[-1], updates={count: count + 1.0})
    traced = scanviz.trace(f, np.ones(5))
    assert traced.result == 5.0 and count.get_value() == 1.0


def test_time_of_interrupted_tracing_counts_as_profiler_overhead(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: object) -> None:
        time.sleep(0.2)
        raise KeyboardInterrupt

    x = T.vector("x")
    f = scanviz.function([x], x * 2.0, mode="numpy")
    f([1.0])
    with observe.observed_by(Tracer()), scanviz.profile() as p:
        f([1.0])
        monkeypatch.setattr(Interpreter, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            f([1.0])
    parts = parts_of(p.record)
    took = {total.title: total.total_ns for total in totals(parts)}
    assert overhead_ns(parts) > 0.2e9
    assert took["your own code"] <= p.record.wall_ns - 0.2e9  # however busy the machine


def test_the_report_shows_the_step_and_the_rows_of_states() -> None:
    text = scanviz.trace(rnn(), np.ones((20, 3)), np.eye(3)).report(step=4, scan="rnn")
    assert "at step 4" in text and "in  h3[t-3]" in text and "out h3[t]" in text
    assert "read t-3" in text and "read t-1" in text and "write" in text
    assert "grad_of_rnn" not in text
    assert all(len(line) <= 100 for line in text.splitlines())
    narrow = render_values(scanviz.trace(rnn(), np.ones((20, 3)), np.eye(3)).record, width=50)
    assert all(len(line) <= 50 for line in narrow.splitlines())


def test_the_report_of_an_unkept_step_recomputes_it_or_shows_the_nearest() -> None:
    x = np.ones(3000)
    x[731] = -1.0
    traced = scanviz.trace(logs(), x)
    assert "at step 731" in traced.report() and "first NaN: step 731" in traced.report()
    assert "the nearest kept to step 735" in render_values(traced.record, step=735)
    assert "at step 735\n" in traced.report(step=735)
    assert "no values are shown: there is no loop named 'log'" in traced.report(scan="log")


def test_a_ruler_shows_deep_taps_with_a_gap() -> None:
    state = LoopVariableRecord("mitsot", "h", reads=(-1000, -1), writes=(0,))
    above, below = ruler(state, 0)
    assert above.split() == ["h", "row", "0", "1", "…", "998", "999", "1000", "1001"]
    assert "read t-1000" in below and "write" in below
    assert ruler(LoopVariableRecord("nitsot", "y"), 0) == []


def test_a_record_without_values_names_the_option_to_record_them() -> None:
    with scanviz.profile() as p:
        logs()(np.ones(3))
    assert "scanviz profile --values" in render_values(p.record)


@given(
    total=st.integers(1, 700),
    events=st.sets(st.integers(0, 699), max_size=2),
    every=st.integers(1, 9),
)
def test_few_steps_are_kept_and_include_the_promised_ones(total: int, events: set[int], every: int) -> None:
    kept = KeptSteps(every)
    for step in range(total):
        kept.take(step, {})
        assert len(kept.rows) <= ROWS
        if step in events:
            kept.mark(step)
    reasons = kept.reasons()
    assert list(reasons) == sorted(reasons) and set(reasons) == set(kept.rows)
    promised = {*range(min(FIRST, total)), *range(max(0, total - LAST), total)}
    for event in events:
        if event < total:
            promised |= set(range(max(0, event - BEFORE), min(total, event + AFTER + 1)))
            assert reasons[event] == "event"
    assert promised <= set(reasons)
    if total > 100 * every:
        assert len(reasons) > 40


@given(st.lists(st.floats(width=64), max_size=20))
def test_statistics_are_of_the_finite_numbers(numbers: list[float]) -> None:
    value = np.array(numbers, np.float64)
    low, high, mean, nan, infinite = statistics_of(value)
    finite = value[np.isfinite(value)]
    assert (nan, infinite) == (np.isnan(value).sum(), np.isinf(value).sum())
    if len(finite):
        assert low == finite.min() and high == finite.max() and low <= mean <= high
    else:
        assert np.isnan([low, high, mean]).all()


def test_values_of_every_dtype_become_numbers() -> None:
    for value in (np.array([True, False]), np.arange(2, dtype="uint8"), np.float16([60000, 60000])):
        piece = piece_of(value, 64)
        assert piece.numbers.dtype == np.float64 and piece.numbers.tolist() == value.astype(float).tolist()
    assert statistics_of(np.float16([60000, 60000]))[2] == 60000.0
    assert statistics_of(np.array(3))[:3] == (3.0, 3.0, 3.0)
