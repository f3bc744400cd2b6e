"""What a script prints, as a terminal would show it: colours, lines that are written over, and nothing that steers.

A carriage return goes back to the beginning of the line, so a progress bar is one line that changes; a bar of several lines goes up
some lines and erases them.  Of all other sequences that steer a terminal nothing happens; they are left out.  A column is a
character here, whatever its width.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.ansi import SGR_STYLE_MAP
from rich.color import Color
from rich.style import Style
from rich.text import Text

from scanviz.record.plain_text import sanitize
from scanviz.tui.colours import RED, YELLOW, with_our_colours

MOST_LINES = 100_000  # that are kept to be shown
SPARE = 1_000  # lines beyond them before the first are let go, so that this is seldom done
HIGHEST = 200  # lines that a script may go up
FURTHEST = 10_000  # columns that it may go aside at once
LONGEST = 200  # characters of a sequence that steers
TAB = 8
_PARTS = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|\x1b\[(?P<numbers>[0-?]*)[ -/]*(?P<what>[@-~])"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]*[0-Z\\^-~]"  # all other sequences, of two characters or three
    r"|(?P<one>[\x00-\x1f\x7f-\x9f])"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[ -/]*)?$")
_FAILED = re.compile(
    r"(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit)(?:: |$)|Traceback \(most recent call last\)"
)
_WARNED = re.compile(r"(?:^|: )(?:\w+\.)*\w*Warning: ")


@dataclass(slots=True)
class PrintedLine:
    """A line: its text, and the styles of parts of it.

    Attributes
    ----------
    text : str
        Without anything that steers.
    spans : list of tuple of int, int and Style
        Where a style begins, where it ends, and which it is: one after the other.
    """

    text: str = ""
    spans: list[tuple[int, int, Style]] = field(default_factory=list)

    def write(self, at: int, text: str, style: Style) -> None:
        """Write a text over what is there."""
        end = at + len(text)
        if at < len(self.text):
            self._clear_style(at, end)
        self.text = f"{self.text[:at]:<{at}}{text}{self.text[end:]}"
        if style and self.spans and self.spans[-1][1:] == (at, style):
            self.spans[-1] = (self.spans[-1][0], end, style)
        elif style:
            self.spans.append((at, end, style))

    def erase(self, begin: int, end: int) -> None:
        """Write blanks; beyond the last column there is nothing."""
        self._clear_style(begin, end)
        self.text = (
            self.text[:begin]
            if end >= len(self.text)
            else f"{self.text[:begin]:<{begin}}{' ' * (end - begin)}{self.text[end:]}"
        )

    def _clear_style(self, begin: int, end: int) -> None:
        kept = []
        for low, high, style in self.spans:
            kept += [(low, min(high, begin), style)] if low < begin else []
            kept += [(max(low, end), high, style)] if high > end else []
        self.spans = kept

    @property
    def failed(self) -> bool:
        """Whether it begins or ends the report of an error."""
        return _FAILED.match(self.text) is not None

    def styled(self, begin: int, end: int) -> Text:
        """Return some columns of it, as they are shown."""
        text = Text(sanitize(self.text[begin:end]), no_wrap=True)
        if self.failed:
            text.stylize(f"bold {RED}")
        elif not self.spans and _WARNED.search(self.text[:LONGEST]):
            text.stylize(YELLOW)
        for low, high, style in self.spans:
            if high > begin and low < end:
                text.stylize(style, max(0, low - begin), high - begin)
        return with_our_colours(text)


class Printed:
    r"""Lines that grow as text comes.

    Examples
    --------
    >>> printed = Printed()
    >>> printed.take("10 %\r20 %\n\x1b[31mred\x1b[0m and ")
    >>> printed.take("plain")
    >>> [line.text for line in printed.lines]
    ['20 %', 'red and plain']
    """

    def __init__(self) -> None:
        self.lines: list[PrintedLine] = []
        self.gone = 0  # lines that were let go
        self.longest = 0
        self._row = self._column = 0
        self._style = Style.null()
        self._held = ""  # the beginning of a sequence

    def take(self, text: str) -> None:
        """Take what was printed since, which may end anywhere, also in a sequence."""
        text = self._held + text
        begun = _BEGUN.search(text, max(0, len(text) - LONGEST))
        self._held = begun.group() if begun is not None else ""
        if begun is not None:
            text = text[: begun.start()]
        for part in _PARTS.finditer(text):
            if part["text"]:
                self._write(part["text"])
            elif part["what"]:
                self._steer(part["what"], list(_numbers(part["numbers"])))
            elif part["one"]:
                self._control(part["one"])
        if len(self.lines) > MOST_LINES + SPARE:
            gone = len(self.lines) - MOST_LINES
            del self.lines[:gone]
            self.gone += gone
            self._row -= gone

    def _line(self) -> PrintedLine:
        while len(self.lines) <= self._row:
            self.lines.append(PrintedLine())
        return self.lines[self._row]

    def _write(self, text: str) -> None:
        self._line().write(self._column, text, self._style)
        self._column += len(text)
        self.longest = max(self.longest, self._column)

    def _control(self, one: str) -> None:
        if one == "\n":
            self._line()
            self._row, self._column = self._row + 1, 0
        elif one == "\r":
            self._column = 0
        elif one == "\b":
            self._column = max(0, self._column - 1)
        elif one == "\t":
            self._write(" " * (TAB - self._column % TAB))

    def _steer(self, what: str, numbers: list[int]) -> None:
        many = min(max(1, numbers[0] if numbers else 1), FURTHEST)
        if what == "m":
            self._style = _with_codes(self._style, numbers or [0])
        elif what in "AF":
            lowest = max(0, len(self.lines) - HIGHEST)
            self._row = max(lowest, self._row - many) if self._row >= lowest else self._row
            self._column = 0 if what == "F" else self._column
        elif what in "BE":
            self._row = min(self._row + many, max(self._row, len(self.lines)))
            self._column = 0 if what == "E" else self._column
        elif what == "C":
            self._column += many
        elif what == "D":
            self._column = max(0, self._column - many)
        elif what == "G":
            self._column = many - 1
        elif what == "K":
            self._erase(numbers[0] if numbers else 0)

    def _erase(self, part: int) -> None:
        line = self._line()
        begin, end = (self._column, len(line.text)) if part == 0 else (0, self._column + 1)
        line.erase(*((0, len(line.text)) if part == 2 else (min(begin, len(line.text)), end)))


def _numbers(text: str) -> Iterator[int]:
    for part in text.replace(":", ";").split(";") if text else ():
        yield int(part) if part.isascii() and part.isdigit() and len(part) < 5 else 0


def _with_codes(style: Style, codes: list[int]) -> Style:
    """Return a style with what the numbers of a sequence say about colours and weight.

    Examples
    --------
    >>> str(_with_codes(Style.parse("bold"), [38, 5, 208, 4])), str(_with_codes(Style.parse("bold"), [0]))
    ('bold underline color(208)', 'none')
    """
    left = iter(codes)
    for code in left:
        if code == 0:
            style = Style.null()
        elif code in (38, 48):
            colour = _colour(left)
            if colour is not None:
                style += Style(color=colour) if code == 38 else Style(bgcolor=colour)
        elif code in SGR_STYLE_MAP:
            style += Style.parse(SGR_STYLE_MAP[code])
    return style


def _colour(left: Iterator[int]) -> Color | None:
    """Take a colour of a table, or of three parts, off the numbers."""
    kind = next(left, 0)
    if kind == 5:
        return Color.from_ansi(min(255, next(left, 0)))
    if kind == 2:
        red, green, blue = (min(255, next(left, 0)) for _ in range(3))
        return Color.from_rgb(red, green, blue)
    return None


__all__ = ["MOST_LINES", "Printed", "PrintedLine"]
