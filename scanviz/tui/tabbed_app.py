"""The base application for its parts: state, source, tabs, tree and verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.events import Resize
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Tab, Tabs

from scanviz.record.model import ProfileRecord
from scanviz.tui.left_panel import LeftPanel
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState
from scanviz.tui.terminal import TerminalApp
from scanviz.tui.tree import RunTree
from scanviz.tui.verdict_bar import VerdictBar
from scanviz.tui.views.base import TabView

WHOLE, LETTERS = 76, 7  # columns from which titles are whole, and letters of a title below that


class TabBar(Tabs):
    """The line of tabs; h and l move in it as left and right do."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "previous_tab", "tab before", show=False),
        Binding("right,l", "next_tab", "next tab", show=False),
    ]


class ViewTabs(Vertical):
    """The line of tabs and the chosen view; the application alone chooses, and focuses the view.

    Parameters
    ----------
    views : sequence of TabView
        The tabs.

    Attributes
    ----------
    number : int
        The chosen tab, counted from 0.
    """

    def __init__(self, views: Sequence[TabView], *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._views = views
        self.number = 0

    def compose(self) -> ComposeResult:
        """Lay the tabs out, and show the first."""
        titles = (Tab(f"{k} {view.TITLE}", id=f"tab-{k}") for k, view in enumerate(self._views, 1))
        yield TabBar(*titles, id="tab-bar")
        with ContentSwitcher(initial=self._views[0].id):
            yield from self._views

    def on_resize(self, event: Resize) -> None:
        """Cut long titles where the line is too short for all tabs."""
        letters = LETTERS if event.size.width < WHOLE else None
        for number, (view, tab) in enumerate(zip(self._views, self.query(Tab), strict=True), 1):
            tab.label = f"{number} {view.TITLE[:letters]}"

    def turn(self) -> None:
        """Show the tab of ``number``."""
        bar = self.query_one(TabBar)
        with bar.prevent(Tabs.TabActivated):
            bar.active = f"tab-{self.number + 1}"
        self.query_one(ContentSwitcher).current = self._views[self.number].id


class TabbedApp(TerminalApp):
    """An application of a tree and tabs.

    Parameters
    ----------
    source : Source
        Source of the record: a file, or a running script.
    """

    state: reactive[ViewState] = reactive(ViewState(ProfileRecord()), init=False)

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.views: list[TabView] = []

    @property
    def main(self) -> Screen[object]:
        """The screen below any modal one: it is updated while those are open too."""
        return self.screen_stack[0]

    @property
    def has_tabs(self) -> bool:
        """True if the tabs exist: the last messages arrive while the application ends."""
        return self._tabs() is not None

    def _tabs(self) -> ViewTabs | None:
        if not self.screen_stack:
            return None
        try:
            return self.main.query_one("#tabs", ViewTabs)  # which Textual remembers, unlike query()
        except NoMatches:
            return None

    @property
    def left(self) -> LeftPanel:
        """The tree with the facts below it."""
        return self.main.query_one("#left", LeftPanel)

    @property
    def run_tree(self) -> RunTree:
        """The functions and loops."""
        return self.main.query_one("#tree", RunTree)

    @property
    def verdict(self) -> VerdictBar:
        """The run in a few sentences."""
        return self.main.query_one("#verdict", VerdictBar)

    @property
    def view(self) -> TabView:
        """The visible tab."""
        tabs = self._tabs()
        return self.views[0 if tabs is None else tabs.number]

    def action_view(self, number: int) -> None:
        """Choose a tab."""
        raise NotImplementedError

    def action_tree(self) -> None:
        """Focus the tree."""
        raise NotImplementedError
