"""Forecasts of a call's memory from shapes alone: arrays, shapes and numbers are accepted, and errors explained."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.measurement.captured_calls import Forecasts
from scanviz.engine.program.instructions import LoopInstruction, all_loops
from tests.laws.memory import counted


def rnn(steps: object = None) -> scanviz.Function:
    x = T.matrix("x")
    inputs = [x] if steps is None else [x, steps]
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(x_t + h), x, T.zeros((64,)), n_steps=steps, name="rnn")
    return scanviz.function(inputs, rows, name="f")


def test_a_shape_an_array_and_a_name_give_the_same_forecast() -> None:
    f = rnn()
    text = f.memory_forecast((1000, 64))
    assert text == f.memory_forecast(np.zeros((1000, 64))) == f.memory_forecast(x=(1000, 64))
    assert text.at == "rnn" and text.loops["rnn"] == pytest.approx(1001 * 64 * 8, rel=0.01)
    assert text.where is not None and text.where.file.endswith("test_forecast.py")


def test_a_number_of_steps_is_taken_into_account() -> None:
    f = rnn(T.lscalar("n"))
    few, many = (f.memory_forecast((1000, 64), n).peak_bytes for n in (10, 1000))
    assert many > 50 * few
    assert f.memory_forecast((1000, 64), ()).unknown


def test_arrays_of_value_dependent_size_are_counted_as_unknown() -> None:
    x = T.vector("x")
    f = scanviz.function([x], x[x > 0.0] * 2.0)
    assert f.memory_forecast((1000,)).unknown == 2


@pytest.mark.parametrize("by_sequence", [True, False])
def test_forecasts_of_automatic_checkpoints_agree_with_measurements(by_sequence: bool) -> None:
    x, h0, n = T.matrix("x"), T.vector("h0"), T.lscalar("n")
    rows, _ = scanviz.scan_checkpoints(
        lambda *given: T.tanh(given[-1] * 0.9),
        x if by_sequence else None,
        h0,
        n_steps=None if by_sequence else n,
        save_every_N="auto",
    )
    f = scanviz.function(
        [x, h0, n], scanviz.grad(T.sum(rows[-1]), h0), mode="numpy", on_unused_input="ignore"
    )
    for steps in (100, 1000):
        given = np.ones((steps, 64)), np.ones(64), steps
        text = f.memory_forecast(*given)
        assert not text.unknown
        assert text.peak_bytes == pytest.approx(counted(f, given), rel=0.02)


@pytest.mark.parametrize("mode", ["numpy", "native"])
@pytest.mark.parametrize("last", [True, False])
def test_the_gradient_of_a_loop_that_may_end_early_is_forecast_for_all_its_steps(
    mode: str, last: bool
) -> None:
    h0, w, limit = T.vector("h0"), T.matrix("w"), T.scalar("limit")
    rows, _ = scanviz.scan(
        lambda h, w: (T.tanh(T.dot(w, h)), scanviz.until(T.sum(h) > limit)),
        outputs_info=h0, non_sequences=w, n_steps=1000, name="loop",
    )  # fmt: skip
    cost = T.sum(rows[-1] if last else rows)
    f = scanviz.function([h0, w, limit], scanviz.grad(cost, [h0, w]), mode=mode)
    given = np.ones(64), np.eye(64) * 0.5
    text = f.memory_forecast(*given, 1e9)
    assert not text.unknown
    assert text.peak_bytes == pytest.approx(counted(f, (*given, 1e9)), rel=0.02)
    # it ends with the first step, whose row alone is too short to be written over another
    assert text.peak_bytes > counted(f, (*given, -1.0)) - 3 * 64 * 8


def test_wrong_calls_are_errors_with_a_message() -> None:
    f = rnn()
    with pytest.raises(TypeError, match=r"the wrong shape\n  expected: 2 sizes"):
        f.memory_forecast((3,))
    with pytest.raises(TypeError, match="needs the shape of input"):
        f.memory_forecast()
    with pytest.raises(TypeError, match="no input named `y`"):
        f.memory_forecast((3, 64), y=(3,))
    with pytest.raises(TypeError, match="takes 1 input, 2 were given"):
        f.memory_forecast((3, 64), (3,))


def test_a_call_beyond_the_memory_limit_is_refused() -> None:
    f = rnn()
    with Forecasts(300_000).observing() as forecasts:
        f(np.ones((10, 64)))
        with pytest.raises(MemoryError, match=r"the call of `f` would hold 0.5 MB, most of it at rnn"):
            f(np.ones((1000, 64)))
    (call,) = forecasts.calls
    assert call.calls == 2 and call.shapes == ((1000, 64),)
    assert call.measured_bytes == pytest.approx(11 * 64 * 8, rel=0.5)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_an_array_that_a_gradient_accumulates_in_place_is_forecast_once(mode: str) -> None:
    x, h0, w = T.matrix("x"), T.vector("h0"), T.vector("w")
    start = dict(initial=T.stack([h0, h0]), taps=[-2, -1])
    rows, _ = scanviz.scan(lambda x_t, g, h, w: T.tanh(w * h - 0.5 * g + x_t), x, start, w, name="leaky")
    f = scanviz.function([x, h0, w], scanviz.grad(T.mean(rows**2), [x, w]), mode=mode)
    given = np.ones((500, 64)), np.ones(64), np.ones(64)
    assert any(state.in_place for loop in all_loops_of(f) for state in loop.states)
    assert f.memory_forecast(*given).peak_bytes == pytest.approx(counted(f, given), rel=0.01)


def all_loops_of(f: scanviz.Function) -> list[LoopInstruction]:
    return [loop for loop, _ in all_loops(f.program)]


def test_forecasts_of_machine_code_use_its_plan() -> None:
    x = T.matrix("x")
    rows, _ = scanviz.scan(lambda x_t, h: T.tanh(0.9 * h + 0.5 * x_t + 0.1), x, T.zeros((64,)), name="smooth")
    f, given = scanviz.function([x], rows[-1], mode="auto"), (np.ones((20_000, 64)),)
    f(*given)
    assert f.memory_forecast(*given).peak_bytes == pytest.approx(counted(f, given), rel=0.02, abs=5_000)


@pytest.mark.parametrize("mode", ["numpy", "native"])
def test_rows_are_forecast_as_long_as_a_nested_view_lives(mode: str) -> None:
    x, h0, W = T.matrix("x"), T.vector("h0"), T.matrix("W")
    rows, _ = scanviz.scan(lambda x_t, h, W: T.tanh(x_t + T.dot(h, W)), x, h0, W)
    f = scanviz.function([x, h0, W], scanviz.grad(T.sum(rows**2), W), mode=mode)
    given = np.ones((800, 64)), np.ones(64), 0.1 * np.eye(64)
    assert f.memory_forecast(*given).peak_bytes == pytest.approx(counted(f, given), rel=0.01)


def test_values_in_registers_of_machine_code_are_not_forecast() -> None:
    h0 = T.vector("h0")
    rows, _ = scanviz.scan(lambda h: T.tanh(h * 0.5 + 1.0) * T.sigmoid(h) - T.exp(-h), None, h0, n_steps=9)
    given = (np.ones(50_000),)
    text = {}
    for mode in ("numpy", "native"):
        f = scanviz.function([h0], rows[-1], mode=mode)
        text[mode] = f.memory_forecast(*given).peak_bytes
        assert text[mode] == pytest.approx(counted(f, given), rel=0.01)
        assert f.memory_forecast(*given).peak_bytes == text[mode]  # as before the first call
    assert text["native"] < 0.8 * text["numpy"]


def test_an_operation_at_the_peak_is_named_as_reports_name_it():
    x = T.matrix("x")
    text = scanviz.function([x], T.exp(T.dot(x, x.T)) + 1.0).memory_forecast((500, 2))
    assert "%" not in text.at and ("dot(x, x.T)" in text.at or text.at == "copies of results")
