"""The application in a simulated terminal: opening it, pressing keys, reading its screen."""

import asyncio
import time
from contextlib import asynccontextmanager
from functools import wraps

from textual.widgets import Static

from scanviz.tui.app import ScanvizApp
from scanviz.tui.model.source import Source
from scanviz.tui.views import VIEWS
from tests.support.idle import unseen
from tests.tui.records_for_tui import traced_record

PATIENCE = 120.0  # seconds; far more than is needed
NUMBERS = {kind.TITLE: str(k) for k, kind in enumerate(VIEWS, 1)}


@asynccontextmanager
async def opened(record=None, size=(120, 40)):
    """Open a record, at its first loop that is no back-propagation; what comes of a test is drawn once, at its end."""
    app = unseen(ScanvizApp(Source(record if record is not None else traced_record(), "p.scanviz")))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()  # the tree has posted its cursor's position
        forward = next((loop.key for loop in app.state.record.loops if loop.gradient_of is None), None)
        if forward is not None:
            app.state = app.state.at_loop(forward)
        await pilot.pause()
        yield app, pilot
        if not app._exit:
            app.screen._compositor.render_strips()


async def until_shown(pilot, condition, what):
    """Wait until a condition on the screen holds, however long this machine takes."""
    ends = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < ends, f"no {what} in {PATIENCE:.0f} s"
        await pilot.pause(0.02)


def waits(function):
    """Run a test that waits."""

    @wraps(function)
    def run(*given, **named):
        asyncio.run(function(*given, **named))

    return run


def text_of(app, selector):
    """Return the text of a widget."""
    return str(app.main.query_one(selector, Static).render())


async def at(app, pilot, title):
    """Choose a tab."""
    await pilot.press(NUMBERS[title])
    await pilot.pause()
    await pilot.pause()
