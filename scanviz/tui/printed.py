"""What a script prints, line by line: with its colours, without what steers a terminal.

A carriage return starts its line anew, so a progress bar is one line that changes.  Every other control sequence is left out.
"""

from __future__ import annotations

import re
from typing import ClassVar

from rich.ansi import AnsiDecoder
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.events import Resize
from textual.geometry import Size
from textual.strip import Strip

from scanviz.record.plain_text import sanitize
from scanviz.tui.colours import RED, YELLOW, with_our_colours
from scanviz.tui.place import Scrolled
from scanviz.tui.views.lines import LinesPane

# The lines that a script has printed: they scroll both ways, grow while one looks, and follow the end until one scrolls up.


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


MOST_LINES = 100_000  # that are kept to be shown
SPARE = 1_000  # lines beyond them before the first are let go, so that this is seldom done
LONGEST = 200  # characters of a line that are searched for a warning
_CONTROL = re.compile(
    r"\x1b\[(?![0-9;]*m)[0-?]*[ -/]*[@-~]?"  # control sequences, but for colours
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b(?!\[)[ -/]*[0-~]?"  # the other escape sequences
    r"|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]"
)
_FAILED = re.compile(
    r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?:: |$)|Traceback \(most recent call last\)"
)
_WARNED = re.compile(r"(?:^|: )(?:\w+\.)*\w*Warning: ")


class Printed:
    r"""Lines that grow as text comes.

    Examples
    --------
    >>> printed = Printed()
    >>> printed.take("10 %\r20 %\n\x1b[31mred\x1b[0m and ")
    >>> printed.take("plain")
    >>> [line.plain for line in printed.lines]
    ['20 %', 'red and plain']
    """

    def __init__(self) -> None:
        self.lines: list[Text] = []
        self.gone = 0  # lines that were let go
        self.longest = 0
        self._begun = ""  # the last line, where it has no end yet
        self._decoder, self._style = AnsiDecoder(), Style.null()

    def take(self, text: str) -> None:
        """Take what was printed since, which may end anywhere, also in a sequence."""
        if self._begun:
            self.lines.pop()
            self._decoder.style = self._style
        *whole, begun = (self._begun + text).split("\n")
        self.lines += map(self._decoded, whole)
        self._begun, self._style = "\r".join(begun.rsplit("\r", 2)[-2:]), self._decoder.style
        if self._begun:
            self.lines.append(self._decoded(self._begun))
        if len(self.lines) > MOST_LINES + SPARE:
            gone = len(self.lines) - MOST_LINES
            del self.lines[:gone]
            self.gone += gone

    def _decoded(self, line: str) -> Text:
        """Return a line as a terminal shows it at last: what follows its last carriage return."""
        shown = next((part for part in reversed(line.split("\r")) if part), "")
        text = self._decoder.decode_line(_CONTROL.sub("", shown.expandtabs()))
        if sanitize(text.plain) != text.plain:
            text = Text(sanitize(text.plain))
        text.no_wrap = True
        self.longest = max(self.longest, len(text))
        return text


def is_failure(line: Text) -> bool:
    """Return whether a line begins or ends the report of an error."""
    return _FAILED.match(line.plain) is not None


def coloured(line: Text) -> Text:
    """Return a line in the colours of the application: errors red, warnings yellow."""
    line = line.copy()
    if is_failure(line):
        line.stylize(f"bold {RED}")
    elif not line.spans and _WARNED.search(line.plain[:LONGEST]):
        line.stylize(YELLOW)
    return with_our_colours(line)


__all__ = ["MOST_LINES", "Printed", "PrintedPane", "coloured", "is_failure"]
