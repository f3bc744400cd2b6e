"""The lines that a script has printed: they scroll both ways, grow while one looks, and follow the end until one scrolls up."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.events import Resize
from textual.geometry import Size
from textual.strip import Strip

from scanviz.tui.place import Scrolled
from scanviz.tui.printed import Printed, coloured
from scanviz.tui.views.lines import LinesPane


class PrintedPane(LinesPane):
    """The lines."""

    CURSOR: ClassVar[bool] = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.printed = Printed()
        self.wanted = ""  # text that is marked where it stands
        self.found: int | None = None  # a line that is marked whole, counted from the first that was printed
        self._height = 0  # that it had last

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self.printed.lines)

    @property
    def follows(self) -> bool:
        """Whether the end is seen, and stays in sight when more comes."""
        return self.scroll_offset.y >= self.count - self.size.height

    def take(self, text: str) -> None:
        """Take what was printed since."""
        follows, gone = self.follows, self.printed.gone
        self.printed.take(text)
        self.virtual_size = Size(self.printed.longest, self.count)
        if follows:
            self.scroll_to(y=self.count, animate=False, force=True)
        elif self.printed.gone > gone:
            self.scroll_to(y=self.scroll_offset.y - (self.printed.gone - gone), animate=False, force=True)
        self.refresh()
        self.post_message(Scrolled())

    def on_resize(self, event: Resize) -> None:
        """Keep the end in sight where it was."""
        before, self._height = self._height, event.size.height
        if self.scroll_offset.y >= self.count - before:
            self.scroll_to(y=self.count, animate=False, force=True)

    def show_found(self, line: int) -> None:
        """Mark a line and bring it into view, with some before it."""
        self.found = line + self.printed.gone
        self.point_at(max(0, line - self.size.height // 3))

    def render_line(self, y: int) -> Strip:
        """Return a line of what is seen."""
        aside, above = self.scroll_offset
        width, number = self.size.width, y + above
        if number >= self.count:
            return Strip.blank(width, self.rich_style)
        line = self.printed.lines[number]
        text = coloured(line)[aside : aside + width]
        if number + self.printed.gone == self.found:
            text.pad_right(max(0, width - text.cell_len))
            text.stylize("reverse")
        elif self.wanted:
            text.highlight_words([self.wanted], "reverse", case_sensitive=False)
        strip = Strip(text.render(self.app.console)).apply_style(self.rich_style)
        if len(line) > aside + width:
            return Strip.join([strip.crop(0, width - 1), Strip([Segment("…", self.rich_style)])])
        return strip.crop_extend(0, width, self.rich_style)


__all__ = ["PrintedPane"]
