"""Events on every tier; observers change no result."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import resolve
from scanviz.engine.errors import ScanvizIndexError
from scanviz.engine.observation.probe import Probe
from scanviz.engine.observation.sampling import NOTIFY_NS, StepSampler, scheduled
from scanviz.engine.observe import Observer, observed_by
from scanviz.engine.program.instructions import all_loops, loops
from scanviz.engine.program.lower import lower
from scanviz.engine.runtime.specialised import MOST_SHAPES
from tests.engine.backends.running import TIERS, compiled, run

X, H0 = T.matrix("X"), T.vector("h0")
ROWS = np.sin(np.arange(3000.0).reshape(1500, 2))
START = np.array([0.5, -0.5])


class Listener(Observer):
    """Keeps all events."""

    def __init__(self, detail="steps"):
        self.detail = detail
        self.operation_times = []
        self.begun, self.ended, self.series, self.instructions, self.code = [], [], [], [], []

    def operations(self, function, elapsed_ns, around_ns):
        self.operation_times.append((elapsed_ns, around_ns))

    def instruction(self, function, loop, step, index, elapsed_ns, values):
        self.instructions.append((loop, step, index, elapsed_ns, values))

    def specialised(self, function, loop, elapsed_ns, tier, why):
        self.code.append((loop, tier, why))

    def loop_begin(self, function, loop, n_steps, buffer_bytes):
        self.begun.append((loop, n_steps, buffer_bytes))

    def loop_steps(self, series):
        self.series.append(series)

    def loop_end(self, function, loop, steps, elapsed_ns, setup_ns, error):
        self.ended.append((loop, steps, elapsed_ns, setup_ns))


def rnn():
    out, _ = scanviz.scan(lambda x, h: T.tanh(T.exp(-x * x) + h), X, H0, name="rnn")
    return [X, H0], [out]


def check_series(listener, loop, operations):
    """Check that the chunks of one run of a loop cover its steps without a gap, and return how many there are."""
    steps = 0
    for series in (each for each in listener.series if each.loop == loop.key):
        assert series.first == steps
        assert (series.step_ns >= 0).all()
        steps += len(series.step_ns)
        if series.op_ns is not None:
            assert series.op_ns.shape == (operations, len(series.step_ns))
            assert series.copy_ns.shape == series.step_ns.shape
            assert (series.op_ns.sum(axis=0) + series.copy_ns <= series.step_ns).all()
    return steps


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("detail", ["steps", "ops", "values"])
@pytest.mark.parametrize("steps", [0, 1, 2, 8, 1024, 1500])
def test_every_step_is_reported_once_and_nothing_changes(tier, detail, steps):
    inputs, outputs = rnn()
    values = [ROWS[:steps], START]
    (quiet,) = run(tier, inputs, outputs, values)
    listener = Listener(detail)
    program = lower(inputs, outputs, "test")
    (loop,) = loops(program)
    from scanviz.engine.backends.registry import resolve

    (watched,) = resolve(tier).compile(program).run([ROWS[:steps].copy(), START], Probe(1, (listener,)))
    np.testing.assert_array_equal(watched, quiet)
    assert check_series(listener, loop, len(loop.body.instructions)) == steps
    ((_, most, held),) = listener.begun
    assert most == steps
    assert held >= quiet.nbytes
    ((_, done, elapsed, setup),) = listener.ended
    assert done == steps
    assert 0 <= setup <= elapsed


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("steps", [8, 9, 50])
def test_short_loops_have_times_of_operations_too(tier, steps):
    listener = Listener()
    run(tier, *rnn(), [ROWS[:steps], START], listener)
    assert any(series.op_ns is not None for series in listener.series)


def test_detail_ops_times_the_operations_of_every_step():
    listener = Listener("ops")
    run("numpy", *rnn(), [ROWS, START], listener)
    assert all(series.op_ns is not None for series in listener.series)


def test_detail_steps_times_operations_in_at_most_a_sixtieth_of_the_steps():
    listener = Listener()
    run("numpy", *rnn(), [np.tile(ROWS, (20, 1)), START], listener)
    timed = sum(len(series.step_ns) for series in listener.series if series.op_ns is not None)
    assert 50 < timed < 30000 / 60


@given(steps=st.integers(0, 10**5), detail=st.sampled_from(["steps", "ops"]))
def test_chunks_cover_all_steps_in_order(steps, detail):
    at = 0
    for variant, first, end in scheduled(steps, detail == "steps"):
        assert first == at < end
        assert detail == "steps" or variant == "ops"
        at = end
    assert at == steps


@pytest.mark.parametrize("tier", TIERS)
def test_values_are_reported_for_every_instruction_of_every_step(tier):
    inputs, outputs = rnn()
    listener = Listener("values")
    (found,) = run(tier, inputs, outputs, [ROWS[:3], START], listener)
    inside = [instruction for instruction in listener.instructions if instruction[0] is not None]
    per_step = len(inside) // 3
    for step in range(3):
        mine = [each for each in inside if each[1] == step]
        assert [each[2] for each in mine] == list(range(per_step))
        np.testing.assert_array_equal(mine[-1][4][0], found[step])
    assert [instruction[2] for instruction in listener.instructions if instruction[0] is None] == list(
        range(len(listener.instructions) - len(inside))
    )


@pytest.mark.parametrize("tier", TIERS)
def test_inner_loops_are_reported_before_the_chunk_around_them(tier):
    out, _ = scanviz.scan(
        lambda row, total: total + scanviz.scan(lambda v, s: v + s, row, 0.0, name="inner")[0][-1],
        X,
        0.0,
        name="outer",
    )
    inputs, outputs = [X], [out]
    program = lower(inputs, outputs, "test")
    (outer, _), (inner, around) = all_loops(program)
    assert around is outer
    from scanviz.engine.backends.registry import resolve

    listener = Listener()
    resolve(tier).compile(program).run([ROWS[:5].copy()], Probe(1, (listener,)))
    keys = [series.loop for series in listener.series]
    assert keys.count(inner.key) >= 5
    assert keys[-1] == outer.key
    assert [steps for loop, steps, *_ in listener.ended if loop == inner.key] == [2] * 5
    first_outer = keys.index(outer.key)
    assert inner.key in keys[:first_outer]


@pytest.mark.parametrize("tier", TIERS)
def test_branches_are_one_instruction_each(tier):
    from scanviz.engine.ops.control import ifelse

    x = T.vector("x")
    chosen = ifelse(x.sum() > 0, T.exp(x) * 2, x - 1) + 1
    inputs, outputs = [x], [chosen]
    listener, program = Listener("steps"), lower(inputs, outputs, "test")
    probe = Probe(1, (listener,))
    probe.times_operations = True
    resolve(tier).compile(program).run([np.array([1.0, 2.0])], probe)
    probe.operations_of_call(10**9)
    ((elapsed, around),) = listener.operation_times
    assert len(elapsed) == len(program.instructions)
    assert min(elapsed) >= 0 and sum(elapsed) + around == 10**9
    assert not listener.instructions


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("detail", ["steps", "ops"])
def test_steps_before_an_error_are_reported(tier, detail):
    places, x = T.lvector("places"), T.vector("x")
    out, _ = scanviz.scan(lambda place, x: x[place] * 2, places, None, [x])
    listener = Listener(detail)
    with pytest.raises(ScanvizIndexError):
        run(tier, [places, x], [out], [[0] * 37 + [9], [1.0]], listener)
    assert sum(len(series.step_ns) for series in listener.series) == 37
    assert [steps for _, steps, *_ in listener.ended] == [37]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("detail", ["steps", "ops"])
def test_a_stopped_loop_reports_the_steps_it_did(tier, detail):
    out, _ = scanviz.scan(
        lambda count: (count + 1, scanviz.until(count >= 1500)), outputs_info=np.float64(0), n_steps=10**9
    )
    listener = Listener(detail)
    (rows,) = run(tier, [], [out], [], listener)
    assert len(rows) == 1501
    assert sum(len(series.step_ns) for series in listener.series) == 1501
    assert [steps for _, steps, *_ in listener.ended] == [1501]


def test_new_code_is_reported_once_for_each_set_of_shapes():
    inputs, outputs = rnn()
    executable, listener = compiled("numpy", inputs, outputs), Listener()
    for width in (2, 3, 2, 3, 2):
        executable.run([np.ones((4, width)), np.ones(width)], Probe(1, (listener,)))
    assert [tier for _, tier, _ in listener.code] == ["numpy", "numpy"]
    for width in range(4, 60):
        executable.run([np.ones((4, width)), np.ones(width)], Probe(1, (listener,)))
    assert "change from run to run" in listener.code[-1][2]
    assert len(listener.code) == MOST_SHAPES + 1


@pytest.mark.parametrize("step_ns", [1_000, 100_000, 10**9])
def test_chunks_are_long_for_short_steps_and_end_in_time_for_notifications(step_ns):
    schedule = StepSampler()
    schedule.step_ns = step_ns
    parts = list(scheduled(20_000, True, schedule))
    timed = sum(end - first for variant, first, end in parts if variant == "ops")
    assert 1 / 80 < timed / 20_000 < 1 / 50 or step_ns > NOTIFY_NS
    longest = max(end - first for variant, first, end in parts[2:])
    assert longest == 1 if step_ns > NOTIFY_NS else 0.2 * NOTIFY_NS < longest * step_ns * 20 <= 20 * NOTIFY_NS


def follow_the_table():
    """Return a function that fails where its table leads out of it, with a loop inside of the loop."""
    table = T.ivector("table")

    def outer(at):
        rows, _ = scanviz.scan(lambda k: table[k], outputs_info=at, n_steps=2, name="inner")
        return rows[-1]

    rows, _ = scanviz.scan(outer, outputs_info=T.constant(0, dtype="int32"), n_steps=5, name="outer")
    return [table], [rows]


class Ends(Observer):
    """Keeps the steps and the error that each run ended with."""

    def __init__(self, detail="steps"):
        self.detail, self.ends, self.calls = detail, [], []

    def function_end(self, function, call, elapsed_ns, error):
        self.calls.append(error)

    def loop_end(self, function, loop, steps, elapsed_ns, setup_ns, error):
        self.ends.append((steps, error))


@pytest.mark.parametrize("tier", ["numpy", "reference"])
@pytest.mark.parametrize("detail", ["steps", "ops", "values"])
def test_a_run_and_each_around_it_are_reported_with_the_error_that_ended_them(tier, detail):
    inputs, (rows,) = follow_the_table()
    f = scanviz.function(inputs, rows, mode=tier)
    with observed_by(Ends(detail)) as text:
        f(np.array([1, 2, 0], "int32"))
        assert [error for _, error in text.ends] == [None] * 6 and text.calls == [None]
        text.ends.clear()
        with pytest.raises(ScanvizIndexError):
            f(np.array([1, 2, 3, 4], "int32"))
    (first, second, third, around) = text.ends
    assert first == second == (2, None)  # rows 0 → 1 → 2 → 3 → 4, which is outside
    assert third[0] == 0 and around[0] == 2
    assert all(isinstance(error, IndexError) for error in (third[1], around[1], text.calls[-1]))


@pytest.mark.parametrize("tier", ["numpy", "reference"])
def test_a_state_that_would_change_its_shape_fails_in_the_run_on_every_tier(tier):
    x = T.vector("x")
    rows, _ = scanviz.scan(lambda h: T.concatenate([h, h]), outputs_info=x, n_steps=3)
    f = scanviz.function([x], rows, mode=tier)
    with observed_by(Ends()) as text, pytest.raises(scanviz.ScanvizError):
        f(np.ones(2))
    ((steps, error),) = text.ends
    assert steps == 0 and error is not None


@pytest.mark.parametrize("tier", ["numpy", "reference"])
def test_an_interrupt_is_reported_as_the_end_of_run_and_call(tier):
    class Interrupter(Ends):
        def loop_steps(self, series):
            raise KeyboardInterrupt

    inputs, outputs = rnn()
    f = scanviz.function(inputs, outputs, mode=tier)
    with observed_by(Interrupter()) as text, pytest.raises(KeyboardInterrupt):
        f(ROWS, START)
    assert [type(error) for _, error in text.ends] == [KeyboardInterrupt]
    assert [type(error) for error in text.calls] == [KeyboardInterrupt]


def test_an_observer_that_raises_does_not_hide_the_end_from_others():
    class Raiser(Ends):
        def loop_begin(self, function, loop, n_steps, buffer_bytes):
            raise RuntimeError("not now")

        def function_end(self, function, call, elapsed_ns, error):
            raise RuntimeError("not now either")

    inputs, outputs = rnn()
    f = scanviz.function(inputs, outputs)
    with (
        observed_by(Ends()) as before,
        observed_by(Raiser()),
        observed_by(Ends()) as after,
        pytest.raises(RuntimeError, match="not now either"),
    ):
        f(ROWS, START)
    assert [type(error) for _, error in before.ends] == [RuntimeError] and not after.ends
    assert [type(error) for error in (*before.calls, *after.calls)] == [RuntimeError] * 2
