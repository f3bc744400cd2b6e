"""Lines of text, such as pictures in characters, that scroll both ways and have a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from scanviz.tui.model.place import Scrolled, place_words

ABOVE = 2  # lines that stay in view above and below the cursor


class LinesPane(ScrollView, can_focus=True):
    """The lines.

    Attributes
    ----------
    CURSOR : bool
        Whether one of them is marked; else keys scroll.
    """

    CURSOR: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "point(1)", "down", show=False),
        Binding("k,up", "point(-1)", "up", show=False),
        Binding("h,left", "aside(-8)", "left", show=False),
        Binding("l,right", "aside(8)", "right", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("g,home", "edge(0)", "top", show=False),
        Binding("G,end", "edge(1)", "end", show=False),
    ]

    class Pointed(Message):
        """The cursor moved to another line."""

        def __init__(self, pane: LinesPane) -> None:
            super().__init__()
            self.pane = pane

    class Clicked(Message):
        """A line was clicked, or chosen with enter; the cursor is on it."""

        def __init__(self, pane: LinesPane, *, by_mouse: bool) -> None:
            super().__init__()
            self.pane, self.by_mouse = pane, by_mouse

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: list[Text] = []
        self.cursor = 0

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.lines)

    def place(self) -> str:
        """Return the position: the line of the cursor, or the last visible line."""
        last = self.cursor if self.CURSOR else min(self.count, self.scroll_offset.y + self.size.height) - 1
        return place_words(last, self.count)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Report scrolling."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(Scrolled())

    def show(self, lines: Sequence[Text], cursor: int = 0) -> None:
        """Show lines, with the cursor on one of them."""
        self.lines = list(lines)
        self.cursor = max(0, min(cursor, len(self.lines) - 1))
        self.virtual_size = Size(max((line.cell_len for line in self.lines), default=0), len(self.lines))
        self.refresh()

    def drawn(self, number: int) -> Text:
        """Return a line as it is drawn."""
        line = self.lines[number]
        return self.highlighted(line) if number == self.cursor and self.CURSOR and self.has_focus else line

    def highlighted(self, line: Text) -> Text:
        """Return a line in reverse colours, up to the right edge."""
        line = line.copy()
        line.pad_right(max(0, self.scroll_offset.x + self.size.width - line.cell_len))
        line.stylize("reverse")
        return line

    def render_line(self, y: int) -> Strip:
        """Draw one visible line."""
        aside, above = self.scroll_offset
        width, number = self.size.width, y + above
        if number >= self.count:
            return Strip.blank(width, self.rich_style)
        line = self.drawn(number)
        strip = Strip(line.render(self.app.console)).apply_style(self.rich_style)
        if line.cell_len > aside + width:
            more = Strip([Segment("…", self.rich_style)])
            return Strip.join([strip.crop(aside, aside + width - 1), more])
        return strip.crop_extend(aside, aside + width, self.rich_style)

    def point_at(self, line: int) -> None:
        """Put the cursor on a line, and bring it into view."""
        self.cursor = max(0, min(line, self.count - 1))
        if self.CURSOR:
            self.bring(self.cursor)
        else:
            self.scroll_to(y=self.cursor, animate=False)
        self.refresh()
        self.post_message(self.Pointed(self))
        self.post_message(Scrolled())

    def bring(self, line: int) -> None:
        """Scroll a line into view, with some around it."""
        region = Region(self.scroll_offset.x, max(0, line - ABOVE), 1, 2 * ABOVE + 1)
        self.scroll_to_region(region, animate=False, force=True)

    @property
    def _here(self) -> int:
        return self.cursor if self.CURSOR else self.scroll_offset.y

    def action_point(self, by: int) -> None:
        """Move the cursor."""
        self.point_at(self._here + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a page."""
        self.point_at(self._here + by * max(1, self.size.height - ABOVE))

    def action_aside(self, by: int) -> None:
        """Scroll to the left or to the right."""
        self.scroll_to(x=self.scroll_offset.x + by, animate=False)

    def action_edge(self, last: int) -> None:
        """Go to the first line or the last."""
        self.point_at(self.count - 1 if last else 0)

    def on_click(self, event: Click) -> None:
        """Put the cursor on the line under the mouse."""
        line = event.y + self.scroll_offset.y
        if self.CURSOR and line < self.count:
            self.point_at(line)
            self.post_message(self.Clicked(self, by_mouse=True))

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.refresh()
