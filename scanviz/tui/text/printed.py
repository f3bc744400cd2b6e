"""What a script prints, line by line: with its colours, without what steers a terminal.

A carriage return starts its line anew, so a progress bar is one line that changes.  Every other control sequence is left out.
"""

from __future__ import annotations

import re

from rich.ansi import AnsiDecoder
from rich.style import Style
from rich.text import Text

from scanviz.record.plain_text import sanitize
from scanviz.tui.text.colours import RED, YELLOW, with_our_colours

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
