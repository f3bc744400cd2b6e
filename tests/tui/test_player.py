"""The player of the tab Values: any step, kept or computed again, forwards, backwards, by itself, by number and by the mouse."""

import functools

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.profiler.values.replay import Replayer
from scanviz.record.errors import RecomputeError
from scanviz.record.model import ProfileRecord
from tests.tui.driver import opened, text_of, until_shown, waits

STEPS = 300


@functools.cache
def record() -> ProfileRecord:
    """A loop with more steps than are kept."""
    x = T.vector("x")
    h, _ = scanviz.scan(
        lambda x_t, h2, h1: 0.5 * h1 + 0.25 * h2 + x_t,
        x,
        {"initial": T.zeros(2), "taps": [-2, -1]},
        name="filter",
    )
    f = scanviz.function([x], [h, scanviz.grad(T.sum(h**2), x)], mode="numpy")
    return scanviz.trace(f, np.arange(STEPS) / STEPS).record


def not_kept() -> int:
    return next(step for step in range(30, STEPS) if all(step not in each.steps for each in record().traces))


async def shown(app, pilot, wanted=""):
    """Wait until nothing is being computed and the step is shown, and return the line of steps."""

    def is_shown():
        text = text_of(app, "#values-scrubber")
        return "computing" not in text and wanted in text

    await pilot.pause(0.02)
    await until_shown(pilot, is_shown, wanted or "values")
    return text_of(app, "#values-scrubber")


def computing(app, unasked=True):
    replayer = Replayer(record())
    app.source.recompute = lambda _, *window: replayer.window(*window)
    app.source.computes = unasked


@waits
async def test_an_unkept_step_and_the_one_before_are_recomputed():
    async with opened(record()) as (app, pilot):
        computing(app)
        step = not_kept()
        app.state = app.state.at_step(step)
        await pilot.press("7")
        assert f"step {step} of {STEPS} · computed again" in await shown(app, pilot)
        rows = app.view.rows()
        await pilot.press("left")
        assert f"step {step - 1} of {STEPS}" in await shown(app, pilot)
        assert app.view.rows() and app.view.rows() != rows
        ruler = text_of(app, "#values-rulers")
        assert f"row {step + 1} is read by step {step} as" in ruler and "holds │" in ruler
        assert f"{(step - 1) / STEPS:.4g}" in ruler  # the row of the sequence, as a number


@waits
async def test_a_number_moves_to_a_step_and_a_missing_run_is_reported():
    async with opened(record()) as (app, pilot):
        computing(app)
        await pilot.press("7", "colon", *"37", "enter")
        assert "step 37 of 300" in await shown(app, pilot)
        await pilot.press("colon", *"4", "colon", *"37", "enter")
        assert "run 4, not kept" in await shown(app, pilot, "run 4")
        await pilot.press("c")  # which is reported as impossible
        assert any("is not in the profile" in each.message for each in app._notifications)


@waits
async def test_a_file_computes_only_when_asked():
    async with opened(record()) as (app, pilot):
        computing(app, unasked=False)
        app.state = app.state.at_step(not_kept())
        await pilot.press("7")
        assert "not kept: c computes it" in await shown(app, pilot)
        assert not app.view.rows()
        await pilot.press("c")
        assert "computed again" in await shown(app, pilot)
        assert app.view.rows()


@waits
async def test_a_failed_computation_is_reported_once():
    async with opened(record()) as (app, pilot):
        asked = []

        def fails(_, *window):
            asked.append(window)
            raise RecomputeError("there is too little memory")

        app.source.recompute, app.source.computes = fails, True
        app.state = app.state.at_step(not_kept())
        await pilot.press("7")
        assert "there is too little memory" in await shown(app, pilot)
        await pilot.press("v", "v")
        assert len(asked) == 1


@waits
async def test_the_player_stops_at_the_end():
    async with opened(record()) as (app, pilot):
        app.state = app.state.at_step(STEPS - 30)
        await pilot.press("7", "space")
        assert "▶ 4/s" in text_of(app, "#values-scrubber")
        await pilot.press("plus", "plus", "plus")
        await until_shown(pilot, lambda: "▶" not in text_of(app, "#values-scrubber"), "end")
        assert app.state.step == STEPS - 1
        await pilot.press("space")
        assert app.state.step < STEPS - 1


@pytest.mark.parametrize("part", [0.0, 1.0])
def test_a_click_on_the_line_of_steps_moves_to_the_step(part):
    @waits
    async def clicks():
        async with opened(record()) as (app, pilot):
            await pilot.press("7")
            line = text_of(app, "#values-scrubber")
            first, last = line.index("├") + 1, line.index("┤") - 1
            await pilot.click("#values-scrubber", offset=(last if part else first, 0))
            await pilot.pause()
            assert app.state.step == round(part * (STEPS - 1))

    clicks()


@waits
async def test_the_line_of_the_run_fills_the_tab_when_it_is_first_seen():
    async with opened(size=(100, 30)) as (app, pilot):
        await pilot.press("7")
        assert len(text_of(app, "#values-scrubber")) == app.view.room.width


@waits
async def test_a_terminal_of_24_rows_shows_the_question_and_the_selected_variable():
    async with opened(record(), size=(80, 24)) as (app, pilot):
        await pilot.press("7")

        def seen(selector, lines):
            widget = app.view.query_one(selector)
            assert widget.region.bottom <= app.view.region.bottom and widget.size.height >= lines

        seen("#values-one", 2)  # its name, and its values
        await pilot.press("v")
        seen("#values-one", 4)  # greatest, mean and least over time
        for key in ("e", "colon"):
            await pilot.press(key)
            seen("#values-ask", 1)
            ask = app.view.query_one("#values-ask")
            assert len(ask.placeholder) < ask.content_size.width
            assert not any(
                found.binding.action.startswith("speed") for found in app.screen.active_bindings.values()
            )
            await pilot.press("escape")
