"""The tabs: a line of their titles, and below it the view that is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.widgets import ContentSwitcher, Tab, Tabs

from scanviz.tui.views.base import TabView

WHOLE, LETTERS = 76, 7  # columns from which on all titles are whole, and letters of one below


class TabBar(Tabs):
    """The line of tabs, with the keys that go aside everywhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "previous_tab", "tab before", show=False),
        Binding("right,l", "next_tab", "next tab", show=False),
    ]


class ViewTabs(Vertical):
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
        self.number = 0

    def compose(self) -> ComposeResult:
        """Lay the tabs out, the first of them seen."""
        titles = (Tab(f"{k} {view.TITLE}", id=f"tab-{k}") for k, view in enumerate(self._views, 1))
        yield TabBar(*titles, id="tab-bar")
        with ContentSwitcher(initial=self._views[0].id):
            yield from self._views

    def on_resize(self, event: Resize) -> None:
        """Cut long titles where not all tabs have room."""
        letters = LETTERS if event.size.width < WHOLE else None
        for number, (view, tab) in enumerate(zip(self._views, self.query(Tab), strict=True), 1):
            tab.label = f"{number} {view.TITLE[:letters]}"

    def turn(self) -> None:
        """Show the tab of the number that was set."""
        bar = self.query_one(TabBar)
        with bar.prevent(Tabs.TabActivated):
            bar.active = f"tab-{self.number + 1}"
        self.query_one(ContentSwitcher).current = self._views[self.number].id
