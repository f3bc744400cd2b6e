"""Base of all tabs: a widget that shows the state and names the command line that prints the same."""

from __future__ import annotations

import shlex
from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from scanviz.record.plain_text import sanitize
from scanviz.tui.asking import focus_now
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState
from scanviz.tui.views.lines import LinesPane
from scanviz.tui.views.tables import SortedTable


def quoted(name: str) -> str:
    """Return a name quoted for a shell."""
    return shlex.quote(sanitize(name))


class TextBlock(Static):
    """A text of a view, redrawn only if it differs."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._drawn: object = None

    def show(self, content: RenderableType) -> None:
        """Show a text."""
        drawn = (content.plain, content.spans, content.style) if isinstance(content, Text) else content
        if drawn != self._drawn:
            self._drawn = drawn
            self.update(content)


class TabView(Widget):
    """A tab.

    Attributes
    ----------
    TITLE : str
        Label of the tab.
    ABOUT : str
        Help, shown by ``?``.
    QUESTION : str
        The question it answers, shown above it if there is room.
    """

    TITLE: ClassVar[str] = ""
    ABOUT: ClassVar[str] = ""
    QUESTION: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = []
    source: Source | None = None  # where the record comes from: set by the application

    class Entered(Message):
        """The user went to another tab; escape comes back."""

        def __init__(self, title: str, state: ViewState) -> None:
            super().__init__()
            self.title, self.state = title, state

    class Moved(Message):
        """The view requests another state for all views."""

        def __init__(self, state: ViewState) -> None:
            super().__init__()
            self.state = state

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.state = state
        self._shown = False
        self.found: list[int] = []  # rows that the filter matches, as the view counts them
        self.found_at = -1
        self._extents: dict[str, Size] = {}

    def extent_of(self, selector: str, before: Size) -> Size:
        """Return the size of a widget of this view; while hidden, its last size or the one given."""
        size = self.query_one(selector).size
        if size.width and size.height:
            self._extents[selector] = size
        return self._extents.get(selector, before)

    @property
    def room(self) -> Size:
        """Columns and rows of the view, also before it is shown: all tabs have the same size."""
        if self.size.width:
            return self.size
        around = self.screen.query_one("#tabs").size
        return Size(
            max(0, around.width - 2), max(0, around.height - 1)
        )  # less what pads a tab, and the line of tabs

    def show(self, state: ViewState) -> None:
        """Show a state; called when the view becomes visible, and when the state changes meanwhile."""
        self.state, self._shown = state, True
        self.redraw()

    def on_resize(self) -> None:
        """Redraw for another size, once the widgets inside have theirs."""
        if self._shown:
            self.call_after_refresh(self.redraw)

    def redraw(self) -> None:
        """Draw the state anew."""
        raise NotImplementedError

    def point(self) -> None:
        """Put the cursor on the selected item, after another tab led here."""

    def place(self) -> str:
        """Return the position in the focused widget, else in the table."""
        focused = self.screen.focused
        if isinstance(focused, LinesPane | SortedTable) and self in focused.ancestors:
            return focused.place()
        table = self.table()
        return table.place() if table is not None and table.display else ""

    def move(self, state: ViewState) -> None:
        """Request another state."""
        self.post_message(self.Moved(state))

    def command(self) -> str:
        """Return the command line that prints the content; FILE stands for the profile."""
        return f"scanviz report FILE{self.scan_option()}"

    def scan_option(self) -> str:
        """Return the option that names the chosen loop; nothing without a choice."""
        loop = self.state.loop_record
        return f" --scan {quoted(self.state.title(loop))}" if loop is not None else ""

    def action_step(self, by: int) -> None:
        """Go a step on."""
        self.move(self.state.at_step(self.state.step + by))

    def action_end(self, last: int) -> None:
        """Go to the first or the last step."""
        self.move(self.state.at_step(self.state.steps if last else 0))

    def action_flip(self, name: str) -> None:
        """Toggle one of the tab's drawing options."""
        setattr(self, name, not getattr(self, name))
        self.redraw()

    def news(self, source: Source) -> bool:
        """Handle news of a running script; return whether there was any."""
        return False

    def enter(self, title: str, state: ViewState) -> None:
        """Request another tab, with a state."""
        self.post_message(self.Entered(title, state))

    # searching: a table shows the rows that match alone; elsewhere a view defines its rows, and n and N go through them

    def table(self) -> SortedTable | None:
        """Return the table that ``/`` filters, or None."""
        return None

    def rows(self) -> list[str]:
        """Return the texts that ``/`` searches."""
        table = self.table()
        return table.texts() if table is not None else []

    def go_to(self, row: int) -> None:
        """Show a found row."""
        table = self.table()
        if table is not None:
            table.move_cursor(row=row)

    def search(self, text: str) -> int:
        """Find rows, hide the other rows of a table, and return the number found."""
        wanted = text.casefold()
        table = self.table()
        if table is not None:
            table.filter_by(text)
        self.found = [k for k, row in enumerate(self.rows()) if wanted and wanted in row.casefold()]
        self.found_at = -1
        if self.found:
            self.next_found(1)
        return len(self.found)

    @property
    def filtered(self) -> str:
        """The text that filters the table's rows; empty for none."""
        table = self.table()
        return table.filter if table is not None else ""

    def next_found(self, by: int) -> None:
        """Go to the next match, or the one before."""
        if self.found:
            self.found_at = (self.found_at + by) % len(self.found)
            self.go_to(self.found[self.found_at])

    def focus_inside(self) -> None:
        """Focus the table, else the first focusable widget."""
        table = self.table()
        if table is not None and table.display:
            focus_now(table)
            return
        for widget in self.query("*"):
            if widget.can_focus and widget.display:
                focus_now(widget)
                return
