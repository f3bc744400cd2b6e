"""Source: the user's lines that built operations, with the time of each."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.widgets import DataTable

from scanviz.profiler.report.units import duration, share
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import CONTAINERS, RunPart, parts_of, run_time_ns
from scanviz.record.summary.totals import lines
from scanviz.tui.model.linked_selection import NO_SIGN, SIGN, linked_selection
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.tables import Cell, Column, SortedTable, text_cell

COLUMNS = (
    Column("line"),
    Column("time", number=True),
    Column("of run", number=True),
    Column("text", flexible=True),
    Column("loops"),
)


def owners_of_lines(parts: Sequence[RunPart]) -> dict[str, dict[int | None, int | None]]:
    """Return the loops of each line (None: outside of loops), and the function of each loop.

    Examples
    --------
    >>> owners_of_lines(())
    {}
    """
    found: dict[str, dict[int | None, int | None]] = {}
    for part in parts:
        if part.source is not None and part.kind not in (*CONTAINERS, "recording"):
            found.setdefault(str(part.source), {}).setdefault(part.loop, part.function)
    return found


class SourceView(TabView):
    """The tab."""

    TITLE = "Source"
    QUESTION = "what each of my lines cost"
    ABOUT = (
        "Your lines, with the time of what each made, in loops and outside of them, and its share of the run "
        "(estimated in loops). Lines of the loop that is looked at are bold, those of the chosen loop variable are "
        "marked ▶. Enter shows the operations of a line."
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="source-about")
        yield SortedTable(COLUMNS, by=1, id="source-table")

    def redraw(self) -> None:
        """Show the lines."""
        parts, loop = parts_of(self.state.record), self.state.loop_record
        *found, _ = lines(parts)
        owners, whole = owners_of_lines(parts), run_time_ns(parts)
        names = {one.key: one.name for one in self.state.record.loops}
        marked = linked_selection(self.state).lines
        about = f"{len(found)} lines built what was run" if found else "no operation knows its line"
        if found and loop is not None:
            about += f" (* those of {sanitize(loop.name)})"
        self.query_one("#source-about", TextBlock).show(about)
        rows = []
        for line in found:
            key, source = str(line.source), line.source
            loops = [names[loop] for loop in owners[key] if loop is not None and loop in names]
            here = self.state.loop is not None and self.state.loop in owners[key]
            name, sign = sanitize(key), SIGN if key in marked else NO_SIGN
            cells = (
                Cell(f"{sign}{name}{' *' if here else ''}", name.casefold(), "bold" if here else ""),
                Cell(duration(line.total_ns), line.total_ns),
                Cell(share(line.total_ns, whole), line.total_ns),
                text_cell(sanitize(source.text if source is not None else "")),
                text_cell(sanitize(", ".join(loops))),
            )
            rows.append((key, cells))
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
        state, key = self.state, self.table().chosen
        *found, _ = lines(parts_of(state.record))
        line = next((line for line in found if str(line.source) == key), None)
        if line is None:
            return
        owners = owners_of_lines(parts_of(state.record))[key]
        loop = next((loop for loop in owners if loop is not None), None)
        function = next(iter(owners.values()))
        if state.loop is None or state.loop not in owners:
            if loop is not None:
                state = state.at_loop(loop)
            elif function is not None:
                state = state.at_function(function)
        slowest = state.costliest(line.source)
        if slowest is not None:
            self.enter("Profile", state.at_operation(slowest.index))

    def command(self) -> str:
        """Return the command line that shows operations with their lines."""
        return "scanviz report FILE --top 30"
