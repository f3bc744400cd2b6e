"""What a running script tells, taken ten times a second: what it printed at once, its record when a thread has read it."""

from __future__ import annotations

from scanviz.tui.around import Around
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.text.pulse import Pulse
from scanviz.tui.views import VIEWS

EVERY = 0.1  # seconds between two looks at what a script has told


class News:
    """News of a script for an application.

    Parameters
    ----------
    app : TabbedApp
        The application that watches it.
    around : Around
        What stands around its tabs.
    """

    def __init__(self, app: TabbedApp, around: Around) -> None:
        self._app, self._around = app, around
        self._status = ""
        self.pulse = Pulse()
        self._fresh = False  # whether a record was read that is not shown yet

    def start(self) -> None:
        """Begin to listen."""
        self._timer = self._app.set_interval(EVERY, self.take)

    def stop(self) -> None:
        """Listen no more."""
        self._timer.stop()

    def take(self) -> None:
        """Show what was told since the last time."""
        app = self._app
        if not app.is_running or not app.has_tabs:
            return
        finished = app.source.finished
        if self._fresh:
            self._take_record()
        elif not finished and not any(
            worker.group == "record" and worker.is_running for worker in app.workers
        ):
            app.run_worker(self._read_record, thread=True, group="record")
        self.pulse = self.pulse.turned()
        self._around.tell_pulse(self.pulse)
        told = [view.news(app.source) for view in app.views]  # every view is asked
        if self._status != app.source.status():
            self._status = app.source.status()
            self._around.tell_title()
        if finished and not any(told) and not self._fresh:
            self.stop()
            app.verdict.look_for_advice(app.source.record)

    def _read_record(self) -> None:
        """Read a record in a thread; the next look takes it (a thread that waited could keep the application from ending)."""
        if self._app.source.update():
            self._fresh = True

    def _take_record(self) -> None:
        self._fresh = False
        app = self._app
        self.pulse = self.pulse.after(app.source.record)
        app.loop_tree.at_work = self.pulse.at_work if app.source.running else ()
        app.loop_tree.sign = self.pulse.sign
        app.state = app.state.with_record(app.source.record)
        if app.source.finished and app.source.exit_code() and not app.state.record.loops:
            app.action_view(len(VIEWS) - 1)  # it failed before there was anything to see but what it printed
