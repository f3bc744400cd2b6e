"""What stands around the tabs: the title, the verdict, the tree with its facts, and the edges of the panels."""

from __future__ import annotations

from textual.content import Content

from scanviz.profiler.report.units import counted, duration
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.tui.left_panel import LeftPanel
from scanviz.tui.model.place import with_end
from scanviz.tui.model.state import ViewState
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.text.pulse import Pulse, pulse_line
from scanviz.tui.verdict_bar import VerdictBar
from scanviz.tui.views.base import TabView, TextBlock


class Around:
    """What stands around the tabs of an application.

    Parameters
    ----------
    app : TabbedApp
        The application.
    """

    def __init__(self, app: TabbedApp) -> None:
        self._app = app
        self._told: dict[str, tuple[str, ...]] = {}

    def show(self) -> None:
        """Show the application's state."""
        self.tell_title()
        main, state = self._app.main, self._app.state
        main.query_one("#left", LeftPanel).show(state)
        main.query_one("#verdict", VerdictBar).tell(state)

    def tell_title(self) -> None:
        """Write the title, and where one is."""
        app = self._app
        if not app.has_tabs:  # it ends, and this was called for later
            return
        begin = title_words(app.state, app.source.status(), app.view.filtered)
        narrow = app.has_class("one-line")
        end = app.view.place() if narrow else run_in_numbers(app.state.record)
        app.main.query_one("#title", TextBlock).show(with_end(begin, end, app.main.size.width - 2))
        if not narrow:
            self._tell_edges(app.view)

    def tell_pulse(self, pulse: Pulse) -> None:
        """Write how the script gets on, while it runs."""
        app, line = self._app, self._app.main.query_one("#pulse", TextBlock)
        line.display = app.source.running
        if app.source.running:
            line.show(pulse_line(pulse, app.state.record, app.source.elapsed, app.main.size.width - 2))

    def tell_place(self) -> None:
        """Write where one is: at the panels' edges, coloured where keys go; on a narrow terminal, which has none, in the title."""
        if not self._app.has_tabs:
            return
        if self._app.has_class("one-line"):
            self.tell_title()
        else:
            self._tell_edges(self._app.view)

    def _tell_edges(self, view: TabView) -> None:
        main, focused = self._app.main, self._app.focused
        told = {
            "left": ("loops (t)", self._app.loop_tree.place()),
            "right": (view.QUESTION, view.place()),
        }
        for name, words in told.items():
            panel = main.query_one(f"#{name}")
            style = "bold $text-accent" if focused is not None and panel in focused.ancestors else ""
            if self._told.get(name) != (style, *words):  # setting a title draws its panel anew
                self._told[name] = (style, *words)
                panel.border_title, panel.border_subtitle = (Content.styled(text, style) for text in words)


def title_words(state: ViewState, status: str, filtered: str) -> str:
    """Return what is looked at, in a line."""
    loop = state.loop_record
    parts = [sanitize(state.record.script) or "profile", status]
    if loop is not None:
        parts.append(f"{sanitize(loop.name)}: step {state.step} of {state.steps}")
    if filtered:
        parts.append(f"only rows with {sanitize(filtered)!r}: escape shows all")
    return " · ".join(part for part in parts if part)


def run_in_numbers(record: ProfileRecord) -> str:
    """Return how long the run was, and what there was of it.

    Examples
    --------
    >>> run_in_numbers(ProfileRecord(wall_ns=2_000_000_000))
    '2.00 s · 0 functions · 0 loops · 0 calls'
    """
    counts = (
        counted(len(record.functions), "function"),
        counted(len(record.loops), "loop"),
        counted(sum(function.calls for function in record.functions), "call"),
    )
    return " · ".join([*([duration(record.wall_ns)] if record.wall_ns else []), *counts])
