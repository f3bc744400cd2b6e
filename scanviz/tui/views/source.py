"""Source: the user's lines that built operations, with the time of each."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from textual.app import ComposeResult
from textual.widgets import DataTable

from scanviz.profiler.report.units import duration, share
from scanviz.record.model import ProfileRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import CONTAINERS, RunPart, parts_of, run_time_ns
from scanviz.record.values import SourceRecord
from scanviz.tui.model.linked_selection import NO_SIGN, SIGN, linked_selection
from scanviz.tui.model.state import ViewState
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.tables import Cell, Column, SortedTable, text_cell

COLUMNS = (
    Column("line"),
    Column("time", number=True),
    Column("of run", number=True),
    Column("text", flexible=True),
    Column("loops"),
)


class LineTime(Struct):
    """A source line and the time of its operations."""

    source: SourceRecord
    time_ns: float = 0.0
    loops: list[str] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    function: int | None = None


def line_times(parts: Sequence[RunPart], record: ProfileRecord) -> list[LineTime]:
    """Return the lines of a profile with their times, as the report has them.

    Examples
    --------
    >>> line_times((), ProfileRecord())
    []
    """
    found: dict[tuple[str, int], LineTime] = {}

    def add(
        source: SourceRecord | None, time_ns: float, function: int | None, loop: str, key: int | None
    ) -> None:
        if source is None:
            return
        line = found.setdefault((source.file, source.line), LineTime(source))
        line.function = function if line.function is None else line.function
        line.time_ns += time_ns
        if key is not None and key not in line.keys:
            line.keys.append(key)
            line.loops.append(loop)

    names = {loop.key: loop.name for loop in record.loops}
    for part in parts:
        if part.kind not in (*CONTAINERS, "recording"):
            add(part.source, part.own_ns, part.function, names.get(part.loop or 0, ""), part.loop)
    return [line for line in found.values() if line.time_ns]


class SourceView(TabView):
    """The tab."""

    TITLE = "Source"
    QUESTION = "what each of my lines cost"
    ABOUT = (
        "Your lines, with the time of what each made, in loops and outside of them, and its share of the run "
        "(estimated in loops). Lines of the loop that is looked at are bold, those of the chosen loop variable are "
        "marked ▶. Enter shows the operations of a line."
    )

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self._read: ProfileRecord | None = None
        self._lines: list[LineTime] = []
        self._whole = 0

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="source-about")
        yield SortedTable(COLUMNS, by=1, id="source-table")

    def prepare(self, state: ViewState) -> None:
        """Add up the times of lines, of all functions and loops."""
        if self._read is not state.record:
            parts = parts_of(state.record)  # a thread may do it: the record comes last
            self._lines, self._whole, self._read = (
                line_times(parts, state.record),
                run_time_ns(parts),
                state.record,
            )

    def redraw(self) -> None:
        """Show the lines."""
        self.prepare(self.state)
        lines = self._lines
        whole = self._whole
        marked = linked_selection(self.state).lines
        about = f"{len(lines)} lines built what was run" if lines else "no operation knows its line"
        loop = self.state.loop_record
        if lines and loop is not None:
            about += f" (* those of {sanitize(loop.name)})"
        self.query_one("#source-about", TextBlock).show(about)
        rows = []
        for line in lines:
            here = self.state.loop in line.keys
            name, sign = sanitize(str(line.source)), SIGN if str(line.source) in marked else NO_SIGN
            cells = (
                Cell(f"{sign}{name}{' *' if here else ''}", name.casefold(), "bold" if here else ""),
                Cell(duration(line.time_ns), line.time_ns),
                Cell(share(line.time_ns, whole), line.time_ns),
                text_cell(sanitize(line.source.text)),
                text_cell(sanitize(", ".join(line.loops))),
            )
            rows.append((str(line.source), cells))
        self.table().fill(rows)

    def table(self) -> SortedTable:
        """Return the lines."""
        return self.query_one("#source-table", SortedTable)

    def point(self) -> None:
        """Put the cursor on the selected line."""
        self.table().point_at(self.state.line)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show a line's most expensive operation, in the selected loop or another of its loops."""
        event.stop()
        line = next(
            (line_time for line_time in self._lines if str(line_time.source) == self.table().chosen), None
        )
        if line is None:
            return
        state = self.state
        if state.loop not in line.keys:
            key = line.function
            state = (
                state.at_loop(line.keys[0]) if line.keys else state if key is None else state.at_function(key)
            )
        slowest = state.costliest(line.source)
        if slowest is not None:
            self.enter("Profile", state.at_operation(slowest.index))

    def command(self) -> str:
        """Return the command line that shows operations with their lines."""
        return "scanviz report FILE --top 30"
