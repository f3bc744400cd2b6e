"""``/``, ``n`` and ``N``: text is looked for in the tree if that has the focus, else in the tab that is seen."""

from __future__ import annotations

from scanviz.tui.around import Around
from scanviz.tui.search_input import SearchInput
from scanviz.tui.tabbed_app import TabbedApp
from scanviz.tui.tree import LoopTree
from scanviz.tui.views.base import TabView

# Keys that jump: to the slowest step, to the first NaN and what made it, to a loop's gradient and back.


def to_other_loop(app: TabbedApp) -> None:
    """Go from a loop to its gradient, and back."""
    others = (app.state.forward_loop(), *app.state.gradient_loops())
    found = next((other for other in others if other is not None), None)
    if found is None:
        app.notify("This loop has no back-propagation here, and is none.")
    else:
        app.state = app.state.at_loop(found)


def to_slowest_step(app: TabbedApp) -> None:
    """Go to the slowest step."""
    step = app.state.slowest_step()
    if step is None:
        app.notify("No steps of this loop were kept.")
    else:
        app.state = app.state.at_step(step)


def to_first_bad(app: TabbedApp) -> None:
    """Go to the first step with a NaN or an infinity; from there to what gave or made it."""
    found = app.state.at_first_bad()
    if found is not None and (found.loop, found.step) == (app.state.loop, app.state.step):
        found = app.state.at_cause() or found
    if found is not None:
        app.state = found
        app.view.point()
    elif app.state.record.traces:
        app.notify("No value that was kept is NaN or infinite.")
    else:
        app.notify("No values were kept: scanviz profile --values SCRIPT keeps them.")


class Searching:
    """Searching in an application.

    Parameters
    ----------
    app : TabbedApp
        The application.
    around : Around
        What stands around its tabs.
    """

    def __init__(self, app: TabbedApp, around: Around) -> None:
        self._app, self._around = app, around
        self.in_tree = False  # whether the tree was searched last

    def ask(self) -> None:
        """Ask what to search for."""
        self.in_tree = self._app.focused is self._app.loop_tree
        words = "name of a loop" if self.in_tree else "text to find; nothing shows all again"
        self._line.ask(words, self._back)

    def answer(self, text: str) -> None:
        """Search for what was asked."""
        self._line.action_close()
        count = self._place.search(text)
        self._around.tell_title()
        if text:
            self._app.notify(f"{count} found: n and N go through them" if count else "nothing found")

    def go(self, by: int) -> None:
        """Go to the next place that was found, or the one before."""
        self._place.next_found(by)

    @property
    def _line(self) -> SearchInput:
        return self._app.main.query_one("#search", SearchInput)

    @property
    def _place(self) -> LoopTree | TabView:
        return self._app.loop_tree if self.in_tree else self._app.view

    def _back(self) -> None:
        if self.in_tree:
            self._app.action_tree()
        else:
            self._app.view.focus_inside()
