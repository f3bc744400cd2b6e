"""The tabs: one for each view, titled for the width that there is."""

from __future__ import annotations

from textual.content import Content
from textual.events import Resize
from textual.widgets import TabbedContent, TabPane

from scanviz.tui.tab_titles import fitted
from scanviz.tui.views import VIEWS

WHOLE = 1_000  # columns in which no title is cut


class ViewTabs(TabbedContent):
    """The tabs: chosen by the application alone, which gives the focus too."""

    _titled_for = 0  # columns

    def _on_tab_pane_focused(self, event: TabPane.Focused) -> None:
        """Stay: this may come late, when the next key has chosen another tab."""
        event.stop()
        event.prevent_default()

    @property
    def number(self) -> int:
        """The tab that is seen, counted from 0."""
        return int(self.active.removeprefix("tab-") or 1) - 1

    def choose(self, number: int) -> None:
        """Show a tab."""
        self.active = f"tab-{number + 1}"

    def on_resize(self, event: Resize) -> None:
        """Title the tabs for their width: with two blanks between them, with one, or cut."""
        if event.size.width == self._titled_for:
            return  # whatever its title, a tab that is titled anew is laid out anew
        self._titled_for = event.size.width
        titles = [kind.TITLE for kind in VIEWS]
        wide = fitted(titles, event.size.width, 2)
        narrow = wide != fitted(titles, WHOLE, 2)
        self.set_class(narrow, "narrow")
        for number, title in enumerate(fitted(titles, event.size.width, 1) if narrow else wide, 1):
            self.get_tab(f"tab-{number}").label = Content(title)


__all__ = ["ViewTabs"]
