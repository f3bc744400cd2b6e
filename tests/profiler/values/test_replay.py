"""Values of any step are recomputed from a record; missing parts are reported, and every computation ends."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import scanviz
from scanviz import tensor as T
from scanviz.engine import observe
from scanviz.profiler.recording.recorder import Recorder
from scanviz.profiler.recording.traced import Traced
from scanviz.profiler.values.recompute import RecomputeService
from scanviz.profiler.values.recompute_worker import answer
from scanviz.profiler.values.replay import Replayer, filled
from scanviz.profiler.values.tracing import Tracer, with_traces
from scanviz.record.errors import RecomputeError
from scanviz.record.model import ProfileRecord
from scanviz.record.storage.check import check
from scanviz.record.storage.file import load, save
from tests.laws.any_step import agree, recorded

STEPS = 400


@pytest.fixture(scope="module")
def traced() -> Traced:
    """A loop that reads three steps back, and its gradient, over more steps than are kept."""
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(
        lambda x_t, h3, h1, w: T.tanh(T.dot(h1, w) + x_t + 0.5 * h3),
        x,
        {"initial": T.zeros((3, 3)), "taps": [-3, -1]},
        w,
        name="rnn",
    )
    f = scanviz.function([x, w], [h, scanviz.grad(T.sum(h[-1]), w)], name="train", mode="numpy")
    return scanviz.trace(f, np.random.default_rng(0).normal(size=(STEPS, 3)), 0.3 * np.eye(3))


@pytest.fixture(scope="module")
def saved(traced: Traced, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("any") / "rnn.scanviz"
    traced.save(path)
    return path


def output(trace: Any, name: str) -> Any:
    [found] = [each for each in trace.variables if (each.name, each.role) == (name, "output")]
    return found.values


def test_an_unkept_step_is_recomputed_from_the_checkpoint_before_it(traced: Traced) -> None:
    kept = traced.traces[0].steps
    step = next(k for k in range(STEPS) if k not in kept)
    points = [each.step for each in traced.record.calls[0].checkpoints]
    assert points and max(points) < STEPS and step not in points
    window = traced.at(step, scan="rnn")
    assert window.steps == (step,) and window.total_steps == STEPS and window.reasons == ("asked",)
    np.testing.assert_array_equal(output(window, "h3[t]")[0], traced.result[0][step])
    assert f"at step {step}" in traced.report(step=step, scan="rnn")


def test_a_window_has_each_of_its_steps_and_ends_with_the_run(traced: Traced) -> None:
    key = traced.traces[0].loop
    window = Replayer(traced.record).window(key, 0, STEPS - 3, STEPS + 3)
    assert window.steps == (STEPS - 3, STEPS - 2, STEPS - 1)
    np.testing.assert_array_equal(output(window, "h3[t]"), traced.result[0][-3:])


def test_nested_loops_branches_draws_and_stop_conditions_are_computed_as_they_were() -> None:
    x = T.vector("x")
    random = T.random.RandomStreams(7)

    def step(x_t: Any, h: Any) -> Any:
        inner, _ = scanviz.scan(
            lambda g: T.sin(g) + random.normal(size=()), outputs_info=h, n_steps=3, name="inner"
        )
        chosen = T.ifelse(T.gt(x_t, 0.0), inner[-1], h * 0.5)
        return chosen, scanviz.until(T.gt(chosen, 1e9))

    h, updates = scanviz.scan(step, x, 0.1, name="outer")
    f = scanviz.function([x], h[-1], updates=updates, mode="numpy")
    data = np.random.default_rng(1).normal(size=40)
    record, everything = recorded(lambda: [f(data), f(-data)], stride=3)
    assert {loop.name for loop in record.loops} == {"outer", "inner"}
    agree(record, everything, seed=3, tries=12)


def test_the_first_call_the_last_and_the_first_with_a_nan_are_held() -> None:
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: T.log(h * 0.0 + x_t) + 1.0, x, T.constant(1.0), name="logs")
    f, tracer, recorder = scanviz.function([x], h, mode="numpy"), Tracer(), Recorder()
    with observe.observed_by(tracer), observe.observed_by(recorder):
        for call in range(9):
            f(np.full(5, -1.0 if call in (4, 5) else 1.0))
    record = with_traces(recorder.record(), tracer)
    assert [call.call for call in record.calls] == [0, 4, 8]
    with pytest.raises(
        RecomputeError, match=r"(?s)run 3 of logs .* not in the record.*0 to 0, 4 to 4, 8 to 8"
    ):
        Replayer(record).window(record.loops[0].key, 3, 0, 0)


def test_inputs_that_are_too_large_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanviz.profiler.values.held.BUDGET", 4000)
    x = T.vector("x")
    h, _ = scanviz.scan(lambda x_t, h: h + x_t, x, 0.0, name="sums")
    f = scanviz.function([x], h, mode="numpy")
    assert not scanviz.trace(f, np.ones(1000)).record.calls
    assert scanviz.trace(f, np.ones(10)).record.calls


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: replace(record, calls=()), "are not in the record"),
        (
            lambda record: replace(
                record, functions=tuple(replace(f, program=b"") for f in record.functions)
            ),
            "does not hold the Program of train",
        ),
        (lambda record: replace(record, loops=record.loops[:1]), "has 2 loops"),
        (
            lambda record: replace(
                record, calls=tuple(replace(c, inputs=c.inputs[:1]) for c in record.calls)
            ),
            "its Program takes 2",
        ),
    ],
)
def test_a_record_without_calls_or_arrays_is_an_error_with_the_missing_part(
    traced: Traced, change: Any, message: str
) -> None:
    with pytest.raises(RecomputeError, match=message):
        Replayer(change(traced.record)).window(traced.traces[0].loop, 0, 3, 3)


def test_an_exceeded_time_limit_is_an_error(traced: Traced) -> None:
    bare = replace(traced.record, calls=tuple(replace(call, checkpoints=()) for call in traced.record.calls))
    with pytest.raises(RecomputeError, match=r"(?s)was not reached within 0.001 s.*--recompute=SECONDS"):
        Replayer(bare, seconds=0.001).window(traced.traces[0].loop, 0, STEPS - 1, STEPS - 1)


def test_a_damaged_record_is_answered_with_an_error(traced: Traced) -> None:
    [call] = traced.record.calls
    other = replace(call, checkpoints=tuple(replace(each, states=()) for each in call.checkpoints))
    key = traced.traces[1].loop
    text = answer(Replayer(replace(traced.record, calls=(other,))), [key, 0, STEPS - 1, STEPS - 1])
    assert "is of another loop" in text["error"]
    shapes = tuple(replace(each, shape=(len(each.content) // 8,)) for each in call.arrays)
    text = answer(Replayer(replace(traced.record, calls=(replace(call, arrays=shapes),))), [key, 0, 3, 3])
    assert "error" in text


@pytest.fixture
def service() -> Iterator[RecomputeService]:
    with closing(RecomputeService(seconds=5.0)) as found:
        yield found


def test_a_helper_process_agrees_and_is_restarted_after_its_end(
    service: RecomputeService, traced: Traced, saved: Path
) -> None:
    record, key = load(saved), traced.traces[1].loop
    expected = Replayer(traced.record).window(key, 0, 201, 203)
    assert service.window(record, key, 0, 201, 203) == expected
    with pytest.raises(RecomputeError, match="has no step 400"):
        service.window(record, key, 0, STEPS, STEPS)
    assert service._process is not None
    service._process.kill()
    with pytest.raises(RecomputeError, match="has ended"):
        service.window(record, key, 0, 201, 203)
    assert service.window(record, key, 0, 201, 203) == expected


def test_a_program_that_wants_all_memory_gets_an_error(tmp_path: Path) -> None:
    n = T.iscalar("n")
    h, _ = scanviz.scan(
        lambda h, n: h + T.sum(T.ones((n, n))), outputs_info=0.0, non_sequences=n, n_steps=2, name="big"
    )
    record = scanviz.trace(scanviz.function([n], h, mode="numpy"), 3).record
    path = tmp_path / "big.scanviz"
    [call] = record.calls
    arrays = [
        each if each.dtype != "int32" else replace(each, content=(200_000).to_bytes(4, "little"))
        for each in call.arrays
    ]
    save(replace(record, calls=(replace(call, arrays=tuple(arrays), results={}),)), path)
    with (
        closing(RecomputeService(seconds=10.0, memory=2**28)) as service,
        pytest.raises(RecomputeError, match="memory"),
    ):
        service.window(load(path), record.loops[0].key, 0, 1, 1)


def test_recomputing_from_an_old_record_is_an_error() -> None:
    with pytest.raises(RecomputeError, match="there is no loop 3"):
        Replayer(ProfileRecord()).window(3, 0, 0, 0)


def test_a_page_is_filled_with_all_steps_or_windows_of_them(traced: Traced) -> None:
    whole = filled(traced.record, Replayer(traced.record).window)
    check(whole)
    for before, after in zip(traced.traces, whole.traces, strict=True):
        assert after.steps == tuple(range(STEPS)) and len(before.steps) < STEPS
        kept = [after.steps.index(step) for step in before.steps]
        for one, other in zip(before.variables, after.variables, strict=True):
            np.testing.assert_array_equal(one.values, other.values[kept])
            np.testing.assert_array_equal(one.statistics, other.statistics[kept])
