"""Panels that are put away one by one, and what keys go to on the whole screen."""

import pytest

from scanviz.tui.views import VIEWS
from tests.tui.driver import at, opened, waits
from tests.tui.records_for_tui import gradient_record
from tests.tui.test_output import screen


async def pressed(pilot, *keys):
    for key in keys:
        await pilot.press(key)
        await pilot.pause()


@waits
async def test_focusing_a_panel_shows_it():
    async with opened(gradient_record()) as (app, pilot):
        await pressed(pilot, "t", "T")
        assert app.focused is app.view.table()  # keys go to visible widgets
        await pressed(pilot, "t")
        assert app.focused is app.run_tree and app.main.query_one("#left").display
        await pressed(pilot, "I", "i")
        assert app.focused is app.main.query_one("#verdict") and app.focused.display


@waits
async def test_z_maximises_the_focused_panel_and_restores_it():
    async with opened(gradient_record()) as (app, pilot):
        for number, kind in enumerate(VIEWS, 1):
            await at(app, pilot, kind.TITLE)
            focused = app.focused
            before = focused.size
            await pressed(pilot, "Z")
            assert app.focused is focused and focused.size.width >= before.width, kind.TITLE
            assert focused.size.height >= app.size.height - 3, kind.TITLE
            await pressed(pilot, "escape" if number % 2 else "Z")
            assert focused.size == before and app.view.TITLE == kind.TITLE, kind.TITLE


@waits
async def test_a_chart_on_the_whole_screen_is_drawn_for_it_and_keys_still_move_in_it():
    async with opened(gradient_record()) as (app, pilot):
        await pressed(pilot, "2")
        wide = max(len(row.strip("│ ")) for row in screen(app).split("\n") if "▲" in row)
        await pressed(pilot, "Z")
        seen = screen(app)
        assert "loops (t)" not in seen and "step 0" in seen.split("\n")[0]
        drawn = [row for row in seen.split("\n") if "█" in row]
        assert max(map(len, drawn)) > 110 > wide, "it is drawn for the whole width"
        step = app.state.step
        await pressed(pilot, "right")
        assert app.state.step == step + 1 and app.panels.enlarged
        await pressed(pilot, "3")  # another tab is seen with all that is around it
        assert not app.panels.enlarged and app.view.TITLE == "Graph" and "loops (t)" in screen(app)
        await pressed(pilot, "Z", "t")
        assert not app.panels.enlarged and app.focused is app.run_tree


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
@waits
async def test_panels_are_hidden_and_shown_on_any_terminal(size):
    async with opened(gradient_record(), size) as (app, pilot):
        await pressed(pilot, "1")
        first = screen(app)
        await pressed(pilot, "I", "T", "B", "Z", "Z", "B", "T", "I")
        assert screen(app) == first
