"""The parts around the tabs: title, verdict, tree, panel edges, and the news of a running script."""

from __future__ import annotations

from textual.content import Content

from scanviz.profiler.report.units import counted, duration
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import parts_of, run_time_ns
from scanviz.tui.model.place import with_end
from scanviz.tui.model.state import ViewState
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.text.pulse import Pulse, pulse_line
from scanviz.tui.views import VIEWS
from scanviz.tui.views.base import TextBlock

EVERY = 0.1  # seconds between two looks at a running script


class Around:
    """The parts around the tabs of an application.

    Parameters
    ----------
    app : TabbedApp
        The application.
    """

    def __init__(self, app: TabbedApp) -> None:
        self._app = app

    def show(self) -> None:
        """Show the application's state."""
        self.show_title()
        self._app.left.show(self._app.state)
        self._app.verdict.show_state(self._app.state)

    def show_title(self) -> None:
        """Write the title, and the position in the tab."""
        app = self._app
        if not app.has_tabs:  # it ends, and this call was scheduled before
            return
        begin = title_words(app.state, app.source.status(), app.view.filtered)
        narrow = app.has_class("one-line")
        end = app.view.place() if narrow else run_in_numbers(app.state.record)
        app.main.query_one("#title", TextBlock).show(with_end(begin, end, app.main.size.width - 2))
        if not narrow:
            self._show_edges()

    def show_pulse(self, pulse: Pulse) -> None:
        """Write a running script's progress."""
        app, line = self._app, self._app.main.query_one("#pulse", TextBlock)
        line.display = app.source.running
        if app.source.running:
            line.show(pulse_line(pulse, app.state.record, app.source.elapsed, app.main.size.width - 2))

    def show_place(self) -> None:
        """Write the position at the panels' edges, coloured at the focused one; on a narrow terminal in the title."""
        if not self._app.has_tabs:
            return
        if self._app.has_class("one-line"):
            self.show_title()
        else:
            self._show_edges()

    def _show_edges(self) -> None:
        main, focused, view = self._app.main, self._app.focused, self._app.view
        edges = {"left": ("loops (t)", self._app.run_tree.place()), "right": (view.QUESTION, view.place())}
        for name, words in edges.items():
            panel = main.query_one(f"#{name}")
            style = "bold $text-accent" if focused is not None and panel in focused.ancestors else ""
            panel.border_title, panel.border_subtitle = (Content.styled(text, style) for text in words)


class News:
    """Updates from a running script: ten times a second its output, and its record when a thread has read it.

    Parameters
    ----------
    app : TabbedApp
        The application that shows them.
    around : Around
        Everything around its tabs.
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
        """Stop listening."""
        self._timer.stop()

    def take(self) -> None:
        """Show everything new since the last call."""
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
        self._around.show_pulse(self.pulse)
        news = [view.news(app.source) for view in app.views]  # a list: every view is asked
        if self._status != app.source.status():
            self._status = app.source.status()
            self._around.show_title()
        if finished and not any(news) and not self._fresh:
            self.stop()
            app.verdict.look_for_advice(app.source.record)

    def _read_record(self) -> None:
        """Read a record in a thread, which must not wait for anything; the next call of ``take`` shows the record."""
        if self._app.source.update():
            self._fresh = True

    def _take_record(self) -> None:
        self._fresh = False
        app = self._app
        self.pulse = self.pulse.after(app.source.record)
        app.run_tree.at_work = self.pulse.at_work if app.source.running else ()
        app.run_tree.sign = self.pulse.sign
        app.state = app.state.with_record(app.source.record)
        if app.source.finished and app.source.exit_code() and not app.state.record.loops:
            app.action_view(len(VIEWS) - 1)  # it failed early: its output is all there is


def title_words(state: ViewState, status: str, filtered: str) -> str:
    """Return the title: script, status, loop and step, filter."""
    loop = state.loop_record
    parts = [sanitize(state.record.script) or "profile", status]
    if loop is not None:
        parts.append(f"{sanitize(loop.name)}: step {state.step} of {state.steps}")
    if filtered:
        parts.append(f"only rows with {sanitize(filtered)!r}: escape shows all")
    return " · ".join(part for part in parts if part)


def run_in_numbers(record: ProfileRecord) -> str:
    """Return a run's time and its numbers of functions, loops and calls.

    Examples
    --------
    >>> run_in_numbers(ProfileRecord(wall_ns=2_000_000_000))
    '2.00 s · 0 functions · 0 loops · 0 calls'
    """
    time = run_time_ns(parts_of(record))
    counts = (
        counted(len(record.functions), "function"),
        counted(len(record.loops), "loop"),
        counted(sum(function.calls for function in record.functions), "call"),
    )
    return " · ".join([*([duration(time)] if record.wall_ns else []), *counts])
