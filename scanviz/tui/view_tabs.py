"""The tabs: a line of their titles, and below it the view that is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from scanviz.tui.steady import Below
from scanviz.tui.tab_bar import TabBar
from scanviz.tui.views.base import TabView


class ViewTabs(Below):
    """The tabs: chosen by the application alone, which gives the focus too.

    Parameters
    ----------
    views : sequence of TabView
        What is seen, one at a time.

    Attributes
    ----------
    number : int
        The tab that is chosen, counted from 0.
    """

    def __init__(self, views: Sequence[TabView], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._views = views
        self.number = self._seen = 0

    def compose(self) -> ComposeResult:
        """Lay the tabs out, the first of them seen."""
        yield TabBar([view.TITLE for view in self._views], id="tab-bar")
        for number, view in enumerate(self._views):
            view.display = number == self.number
            yield view

    def turn(self) -> None:
        """Show the tab of the number that was set."""
        if self._seen != self.number:
            self._views[self._seen].display = False
            self._views[self.number].display = True
            self._seen = self.number
            self.query_one("#tab-bar", TabBar).tell(self.number)


__all__ = ["ViewTabs"]
