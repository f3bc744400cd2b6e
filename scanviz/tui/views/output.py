"""Output: what the program prints while it runs, whole."""

from __future__ import annotations

import shlex

from textual.app import ComposeResult
from textual.widgets import Log

from scanviz.profiler.report.units import amount
from scanviz.record.plain_text import sanitize
from scanviz.tui.source import Source
from scanviz.tui.state import ViewState
from scanviz.tui.views.base import TabView, TextBlock

MOST_LINES = 100_000  # that are kept to be shown


class OutputView(TabView):
    """The tab."""

    TITLE = "Output"
    ABOUT = "What the program prints, its standard output and errors together, as they come."

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self._live = False
        self._written = 0
        self._about = ""

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="output-about")
        yield Log(max_lines=MOST_LINES, id="output-log")

    def redraw(self) -> None:
        """Say where output comes from."""
        if not self._live:
            self.query_one("#output-about", TextBlock).show(
                "A saved profile holds no output: scanviz tui SCRIPT shows it while the script runs."
            )

    def news(self, source: Source) -> bool:
        """Add what was printed since, also of a line that has not ended yet."""
        self._live = True
        text = source.output()
        log = self.query_one("#output-log", Log)
        if text:
            self._written += text.count("\n")
            log.write("\n".join(sanitize(line.expandtabs()) for line in text.split("\n")))
        about = sanitize(source.status())
        if self._written > MOST_LINES:
            about += f"; the last {amount(MOST_LINES)} of {amount(self._written)} lines"
        if about != self._about:
            self._about = about
            self.query_one("#output-about", TextBlock).show(about)
        return bool(text)

    def rows(self) -> list[str]:
        """Return the lines."""
        return list(self.query_one("#output-log", Log).lines)

    def go_to(self, row: int) -> None:
        """Show a line."""
        self.query_one("#output-log", Log).scroll_to(y=row, animate=False)

    def command(self) -> str:
        """Return the command line that runs the script again."""
        record = self.state.record
        return shlex.join(
            ["scanviz", "profile", sanitize(record.script) or "SCRIPT", *map(sanitize, record.arguments)]
        )
