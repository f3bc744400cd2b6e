"""Output: what the program prints while it runs, whole."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Log, Static

from scanviz.record.plain_text import plain
from scanviz.tui.source import Source
from scanviz.tui.views.base import View

MOST_LINES = 50_000  # that are shown; the file keeps them all


class OutputView(View):
    """The tab."""

    TITLE = "Output"
    ABOUT = "What the program prints, its standard output and errors together, as they come."

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield Static(id="output-about", markup=False)
        yield Log(max_lines=MOST_LINES, id="output-log")

    def redraw(self) -> None:
        """Say where output comes from."""
        about = self.query_one("#output-about", Static)
        if not self.query_one("#output-log", Log).line_count:
            about.update(
                "A saved profile holds no output: scanviz tui SCRIPT shows it while the script runs."
            )

    def news(self, source: Source) -> None:
        """Add what was printed since."""
        text = source.output()
        if text:
            self.query_one("#output-log", Log).write(
                "".join(f"{plain(line)}\n" for line in text.split("\n")[:-1])
            )
            self.query_one("#output-about", Static).update(plain(source.status()))

    def rows(self) -> list[str]:
        """Return the lines."""
        return list(self.query_one("#output-log", Log).lines)

    def go_to(self, row: int) -> None:
        """Show a line."""
        self.query_one("#output-log", Log).scroll_to(y=row, animate=False)

    def command(self) -> str:
        """Return the command line that runs the script."""
        return "scanviz profile FILE"
