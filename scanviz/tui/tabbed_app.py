"""What parts of the application know of it: the state, where it comes from, and what is seen."""

from __future__ import annotations

from textual.css.query import NoMatches
from textual.reactive import reactive
from textual.screen import Screen

from scanviz.record.model import ProfileRecord
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState
from scanviz.tui.terminal_gone import OutlivesItsTerminal
from scanviz.tui.tree import LoopTree
from scanviz.tui.verdict_bar import VerdictBar
from scanviz.tui.view_tabs import ViewTabs
from scanviz.tui.views.base import TabView


class TabbedApp(OutlivesItsTerminal):
    """An application of a tree and tabs.

    Parameters
    ----------
    source : Source
        Where the record comes from: a file, or a script that runs.
    """

    state: reactive[ViewState] = reactive(ViewState(ProfileRecord()), init=False)

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.views: list[TabView] = []

    @property
    def main(self) -> Screen[object]:
        """The screen below any that asks or helps: news arrive while those are open too."""
        return self.screen_stack[0]

    @property
    def has_tabs(self) -> bool:
        """Whether there is anything yet, and still: last messages come while the application ends."""
        return self._tabs() is not None

    def _tabs(self) -> ViewTabs | None:
        if not self.screen_stack:
            return None
        try:
            return self.main.query_one("#tabs", ViewTabs)  # which Textual remembers, unlike query()
        except NoMatches:
            return None

    @property
    def loop_tree(self) -> LoopTree:
        """The functions and loops."""
        return self.main.query_one("#tree", LoopTree)

    @property
    def verdict(self) -> VerdictBar:
        """The run in short."""
        return self.main.query_one("#verdict", VerdictBar)

    @property
    def view(self) -> TabView:
        """The tab that is seen."""
        tabs = self._tabs()
        return self.views[0 if tabs is None else tabs.number]

    def action_view(self, number: int) -> None:
        """Choose a tab."""
        raise NotImplementedError

    def action_tree(self) -> None:
        """Give the focus to the tree."""
        raise NotImplementedError
