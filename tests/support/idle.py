"""Waiting until an application has done all that it was asked: by what its event loop still has to do, not by the clock.

Textual's pilot waits until the process has used next to no processor time for a fiftieth of a second, twice for each key: half of the
time of these tests, and wrong where the machine is busy with something else.  What an event loop has to do is known: functions that are
ready, and timers that are nearly over.  The screen is drawn after all messages, instead of sixty times a second, and not at
all in an application that is :func:`unseen`: drawing is two fifths of the time of a test that asks widgets what they show.
"""

import asyncio
import time
from typing import TypeVar
from weakref import WeakSet

import textual.app
import textual.pilot
import textual.screen
from textual._context import active_app
from textual._wait import wait_for_idle

App = TypeVar("App", bound="textual.app.App[object]")
PATIENCE = 20.0  # seconds, for a machine however busy
THREADS = 1.0  # seconds that threads are waited for: what they work on may take as long as it likes
SOON = 0.02  # seconds: a timer that is over by then is waited for, as by Textual
IN_TURN = (
    2  # passes of the event loop in which nothing else may be ready: what came from a pipe is there by then
)


async def idle(min_sleep: float = 0.0, max_sleep: float = PATIENCE) -> None:
    """Wait until nothing is left to do and all of it is drawn, at most ``max_sleep`` seconds; threads are waited for as Textual does."""
    end = time.monotonic() + max_sleep
    app = active_app.get()
    while time.monotonic() < end:
        await _nothing_ready(end)
        if any(worker.is_running for worker in app.workers):
            await wait_for_idle(min_sleep, min(THREADS, end - time.monotonic()))
        if not app.screen_stack:
            return
        app.screen._on_timer_update()
        if not _more_than_timers():
            return


async def _nothing_ready(end: float) -> None:
    """Give way to others until none of them is ready and no timer is nearly over."""
    loop = asyncio.get_running_loop()
    quiet = 0
    while quiet < IN_TURN and time.monotonic() < end:
        await asyncio.sleep(0)
        if _more_than_timers():
            quiet = 0
        elif _next_timer(loop) < loop.time() + SOON:
            await asyncio.sleep(max(0.0, _next_timer(loop) - loop.time()))
            quiet = 0
        else:
            quiet += 1


def _more_than_timers() -> bool:
    """Return whether anything but this task is ready to run."""
    return bool(asyncio.get_running_loop()._ready)


def _next_timer(loop: asyncio.AbstractEventLoop) -> float:
    """Return the end of the next timer that is not cancelled."""
    return min((each.when() for each in loop._scheduled if not each.cancelled()), default=float("inf"))


_UNSEEN = WeakSet[textual.app.App[object]]()
_draw = textual.screen.Screen._compositor_refresh


def unseen(app: App) -> App:
    """Return an application that draws nothing until the test reads its screen."""
    _UNSEEN.add(app)
    return app


def _drawn_where_seen(screen: textual.screen.Screen) -> None:
    """Draw changes now, or when the screen is read."""
    if screen.app in _UNSEEN and screen is screen.app.screen:
        screen._dirty_widgets.clear()
        screen.app._update_mouse_over(screen)
    else:
        _draw(screen)


_mouse = textual.pilot.Pilot._post_mouse_events


async def _mouse_after_drawing(
    pilot: textual.pilot.Pilot[object], *events: object, **options: object
) -> bool:
    """Draw the screen before the mouse moves: the widget below it is looked up in the last drawing."""
    _draw(pilot.app.screen)
    return await _mouse(pilot, *events, **options)


textual.screen.Screen._compositor_refresh = _drawn_where_seen
textual.pilot.Pilot._post_mouse_events = _mouse_after_drawing
textual.app.wait_for_idle = textual.pilot.wait_for_idle = idle
textual.screen.UPDATE_PERIOD = 0.2
