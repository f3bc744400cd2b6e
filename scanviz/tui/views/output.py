"""Output: the program's output, as a terminal would show it, and an input line for it."""

from __future__ import annotations

import re
import shlex
from typing import ClassVar

from rich.ansi import AnsiDecoder
from rich.style import Style
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.geometry import Size
from textual.widgets import Input

from scanviz.profiler.report.units import amount, counted
from scanviz.record.plain_text import sanitize
from scanviz.tui.asking import SearchInput
from scanviz.tui.model.place import Scrolled
from scanviz.tui.model.source import Source
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import RED, YELLOW, with_our_colours
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.lines import LinesPane

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
    r"""Printed lines, which grow as text arrives.

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
        """Take new output, which may end within an escape sequence."""
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
        """Return a line's final content: the text after its last carriage return."""
        shown = next((part for part in reversed(line.split("\r")) if part), "")
        text = self._decoder.decode_line(_CONTROL.sub("", shown.expandtabs()))
        if sanitize(text.plain) != text.plain:
            text = Text(sanitize(text.plain))
        text.no_wrap = True
        self.longest = max(self.longest, len(text))
        return text


def is_failure(line: Text) -> bool:
    """Return whether a line is the first or last of an error report."""
    return _FAILED.match(line.plain) is not None


def coloured(line: Text) -> Text:
    """Return a line in the colours of the application: errors red, warnings yellow."""
    line = line.copy()
    if is_failure(line):
        line.stylize(f"bold {RED}")
    elif not line.spans and _WARNED.search(line.plain[:LONGEST]):
        line.stylize(YELLOW)
    return with_our_colours(line)


class PrintedPane(LinesPane):
    """The lines that a script printed: they scroll both ways and follow the end until the user scrolls up."""

    CURSOR: ClassVar[bool] = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.printed = Printed()
        self.wanted = ""  # text that is marked where it stands
        self.found: int | None = None  # a line that is marked whole, counted from the first that was printed
        self._height = 0  # that it had last

    @property
    def count(self) -> int:
        """The number of lines."""
        return len(self.printed.lines)

    @property
    def follows(self) -> bool:
        """True if the view follows the end of the output."""
        return self.scroll_offset.y >= self.count - self.size.height

    def take(self, text: str) -> None:
        """Take new output."""
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
        """Keep the end in view if it was."""
        before, self._height = self._height, event.size.height
        if self.scroll_offset.y >= self.count - before:
            self.scroll_to(y=self.count, animate=False, force=True)

    def show_found(self, line: int) -> None:
        """Mark a line and scroll it into view, with some before it."""
        self.found = line + self.printed.gone
        self.point_at(max(0, line - self.size.height // 3))

    def drawn(self, number: int) -> Text:
        """Return a line in colours, marked where it was found."""
        text = coloured(self.printed.lines[number])[: self.scroll_offset.x + self.size.width + 1]
        if number + self.printed.gone == self.found:
            return self.highlighted(text)
        if self.wanted:
            text.highlight_words([self.wanted], "reverse", case_sensitive=False)
        return text


class OutputView(TabView):
    """The tab."""

    TITLE = "Output"
    QUESTION = "what the script prints"
    ABOUT = (
        "What the program prints, its standard output and errors together, as they come, with their colours; a progress bar is"
        " one line that changes. The end stays in sight until you scroll up; G follows it again. Enter writes a line to"
        " the program, which is what input() and a debugger wait for; D ends its input, as ctrl+d does on a terminal."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer", "write to the script"),
        Binding("D", "end_input", "end its input", show=False),
        Binding("e", "failure(1)", "next error"),
        Binding("E", "failure(-1)", "error before", show=False),
    ]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self._live = False
        self._about = ""

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="output-about")
        yield PrintedPane(id="output-log")
        yield SearchInput(id="output-ask")

    @property
    def pane(self) -> PrintedPane:
        """The lines."""
        return self.query_one("#output-log", PrintedPane)

    def redraw(self) -> None:
        """Show the source of the output."""
        if not self._live:
            self.query_one("#output-about", TextBlock).show(
                "A saved profile holds no output: scanviz tui SCRIPT shows it while the script runs."
            )

    def news(self, source: Source) -> bool:
        """Add new output, incomplete lines included."""
        self._live = True
        text = source.output()
        if text:
            self.pane.take(text)
        self._show_status(source)
        return bool(text)

    def _show_status(self, source: Source) -> None:
        printed = self.pane.printed
        parts = [sanitize(source.status()), counted(len(printed.lines) + printed.gone, "line")]
        if printed.gone:
            parts[1] = f"the last {amount(MOST_LINES)} of {parts[1]}"
        if source.takes_input:
            parts.append("enter writes a line to it")
        about = " · ".join(parts)
        if about != self._about:
            self._about = about
            self.query_one("#output-about", TextBlock).show(about)

    def rows(self) -> list[str]:
        """Return the lines."""
        return [line.plain for line in self.pane.printed.lines]

    def search(self, text: str) -> int:
        """Find lines and mark the text in them; return their number."""
        self.pane.wanted, self.pane.found = text, None
        self.pane.refresh()
        return super().search(text)

    def go_to(self, row: int) -> None:
        """Show a line, with some before it."""
        self.pane.show_found(row)

    def action_failure(self, by: int) -> None:
        """Go to the next line that begins or ends the report of an error, or the one before."""
        known = [number for number, line in enumerate(self.pane.printed.lines) if is_failure(line)]
        if not known:
            self.notify("No line looks like an error.")
            return
        if self.found != known:
            self.found, self.found_at = known, -1 if by > 0 else 0
        self.next_found(by)

    def action_answer(self) -> None:
        """Ask for a line for the script."""
        if self.source is None or not self.source.takes_input:
            self.notify("No script waits for a line.")
            return
        ask = self.query_one("#output-ask", SearchInput)
        ask.ask("a line for the script: enter writes it, escape gives up", self.focus_inside)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Write the line to the script, and show it after the script's output, as a terminal does."""
        event.stop()
        self.query_one("#output-ask", SearchInput).action_close()
        failed = self.source.write_input(event.value + "\n") if self.source is not None else ""
        if failed:
            self.notify(failed, severity="warning")
        else:
            self.pane.take(f"\x1b[1;36m{event.value}\x1b[0m\n")

    def action_end_input(self) -> None:
        """End the script's standard input."""
        if self.source is None or not self.source.takes_input:
            self.notify("No script waits for a line.")
            return
        self.source.end_input()
        self._show_status(self.source)

    def command(self) -> str:
        """Return the command line that runs the script again."""
        record = self.state.record
        return shlex.join(
            ["scanviz", "profile", sanitize(record.script) or "SCRIPT", *map(sanitize, record.arguments)]
        )
