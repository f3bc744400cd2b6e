"""Profile: operations of a loop or function sorted by any column, body against overhead, forward beside backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.widgets import DataTable

from scanviz.profiler.report.loops import headings
from scanviz.profiler.report.roofline import limits_in_words
from scanviz.profiler.report.tails import tail_lines
from scanviz.profiler.report.units import counted, duration, quantity, share
from scanviz.record.loops import LoopRecord, OperationRecord
from scanviz.record.measures import Measure, columns, measures
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.parts import parts_of
from scanviz.record.plain_text import sanitize
from scanviz.record.processor import off_cpu
from scanviz.record.roofline import is_native, known_limits
from scanviz.record.typical import BELOW, typical_step
from scanviz.tui.colours import CYAN
from scanviz.tui.linked_selection import SIGN, linked_selection
from scanviz.tui.state import ViewState
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.run_parts import bound_cells, function_rows, run_summary
from scanviz.tui.views.steps import quoted
from scanviz.tui.views.tables import Cell, Column, Row, SortedTable, text_cell

_COLUMNS = (
    Column("time", number=True),  # first, so that it is seen however narrow the terminal is
    Column("share", number=True),
    Column("operation"),
    Column("gives"),
    Column("line"),
    Column("no.", number=True),
)
BAR = 24


def table_columns(operations: Sequence[OperationRecord], limited: bool = False) -> list[Column]:
    """Return the columns of a table of operations: the numbers that some of them have come last."""
    *first, gives, line, number = _COLUMNS
    limit = [Column("of the limit", number=True)] if limited else []
    numbers = [Column(column.title, number=True) for column in columns(operations)]
    return [*first, *limit, gives, line, number, *numbers]


def limits_of(record: ProfileRecord) -> Mapping[str, float] | None:
    """Return the machine's limits; None where they were not measured."""
    return record.measures if known_limits(record) else None


class ProfileView(TabView):
    """The tab."""

    TITLE = "Profile"
    ABOUT = (
        "Where the time goes: the operations of the loop's step, how a step divides into operations, storing rows and the "
        "loop itself, and the forward loop beside its back-propagation. Of a function: its loops, operations outside of "
        "them, checks and copies, which add up to it, and below what the whole run was spent on. s sorts by the next "
        "column; enter shows the line that built an operation. ▶ marks what reads or gives the loop variable that was "
        "chosen in Variables."
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="profile-about")
        yield SortedTable(_COLUMNS, id="profile-table")
        yield TextBlock(id="profile-pair")

    def redraw(self) -> None:
        """Show the loop, or the function outside of its loops."""
        loop, function = self.state.loop_record, self.state.function_record
        about, pair = self.query_one("#profile-about", TextBlock), self.query_one("#profile-pair", TextBlock)
        table, limits = self.query_one("#profile-table", SortedTable), limits_of(self.state.record)
        if loop is not None:
            whole = loop.body_ns + loop.copy_ns + loop.overhead_ns
            about.show(self._with_limits(loop_summary(loop, self.room.width)))
            marked, more = linked_selection(self.state).operations, columns(loop.operations)
            rows = [
                (
                    operation.index,
                    operation_row(
                        operation,
                        operation.mean_ns,
                        whole,
                        more,
                        operation.index in marked,
                        bound_cells(operation, limits, is_native(loop)),
                    ),
                )
                for operation in loop.operations
            ]
            table.retitle(table_columns(loop.operations, limits is not None))
            table.fill(rows)
            pair.show(_pair(self.state) or "")
        elif function is not None:
            about.show(self._with_limits(function_summary(function)))
            more = columns(function.operations)
            table.retitle(table_columns(function.operations, limits is not None))
            parts = parts_of(self.state.record)
            table.fill(function_rows(function, parts, more, limits))
            pair.show(run_summary(self.state.record, parts, self.room.width))
        else:
            about.show("Nothing was recorded yet.")
            table.fill([])

    def _with_limits(self, summary: Text) -> Text:
        limits = limits_in_words(self.state.record)
        return summary.append(f"\nlimits of the machine: {limits}", "not bold dim") if limits else summary

    def command(self) -> str:
        """Return the command line that shows this loop."""
        loop = self.state.loop_record
        return (
            f"scanviz report FILE --scan {quoted(self.state.title(loop))}"
            if loop is not None
            else "scanviz report FILE"
        )

    def table(self) -> SortedTable:
        """Return the operations."""
        return self.query_one("#profile-table", SortedTable)

    def point(self) -> None:
        """Put the cursor on the operation that is looked at."""
        self.table().point_at(self.state.operation)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show the line that built an operation."""
        event.stop()
        state = self.state.at_operation(self.table().chosen)
        if state.line and state.operation is not None:
            self.enter("Source", state)


def operation_row(
    operation: OperationRecord,
    time_ns: float,
    whole_ns: float,
    more: Sequence[Measure] = (),
    marked: bool = False,
    limit: Sequence[Cell] = (),
) -> Row:
    """Return the cells of an operation."""
    name = sanitize(operation.label)
    return (
        Cell((duration(time_ns) if time_ns else BELOW) if operation.samples else "–", time_ns),
        Cell(share(time_ns, whole_ns), time_ns),
        Cell((SIGN if marked else "") + name, name.casefold(), "bold" if marked else ""),
        *limit,
        text_cell(sanitize(operation.output)),
        text_cell(sanitize(str(operation.source or ""))),
        Cell(str(operation.index), operation.index),
        *(_number_cell(measure, operation) for measure in more),
    )


def _number_cell(measure: Measure, record: LoopRecord | OperationRecord) -> Cell:
    value = measure.value(record)
    return Cell("–", -1.0) if value is None else Cell(quantity(value, measure.unit), value)


def loop_summary(loop: LoopRecord, width: int) -> Text:
    """Return a loop's time and how a step divides."""
    text = Text(sanitize(loop.name), style="bold")
    parts = [
        *([busy] if (busy := off_cpu(loop)) else []),
        duration(loop.total_ns),
        counted(loop.runs, "run"),
        counted(loop.steps, "step"),
    ]
    if loop.step_times.count:
        parts.append(f"typical step {duration(loop.step_times.p50_ns)}")
    parts += headings(loop)
    text.append("  " + " · ".join(parts) + "\n", style="not bold")
    for line in tail_lines(loop):
        text.append(line.text + "\n", style="not bold")
    whole = loop.typical_ns
    if not whole:
        why = typical_step(loop) or "operations of a step were not timed: too few steps"
        return text.append(why, style="not bold dim")
    for name, part in (
        ("operations", loop.body_ns),
        ("storing rows", loop.copy_ns),
        ("the loop itself", loop.overhead_ns),
    ):
        room = max(8, min(BAR, width - 34))
        filled = round(room * part / whole)
        text.append(f"{name:>16} ", style="not bold")
        text.append("█" * filled + "░" * (room - filled), style=f"not bold {CYAN}")
        shown = duration(part) if part else BELOW
        text.append(f" {share(part, whole):>6}  {shown}\n", style="not bold")
    text.rstrip()
    return text


def function_summary(function: FunctionRecord) -> Text:
    """Return a function's calls."""
    text = Text(sanitize(function.name), style="bold")
    parts = [
        *([f"from {sanitize(function.origin)}"] if function.origin else []),
        *([busy] if (busy := off_cpu(function)) else []),
        counted(function.calls, "call"),
        duration(function.total_ns),
        f"first {duration(function.first_ns)}",
    ]
    parts += headings(function)
    built = ", ".join(f"{sanitize(stage)} {duration(spent)}" for stage, spent in function.build_ns.items())
    text.append(f"  {' · '.join(parts)} · on {sanitize(function.backend)}", style="not bold")
    return text.append(f"\nbuilt in: {built}", style="not bold") if built else text


def _pair(state: ViewState) -> Table | None:
    """Return the forward loop beside its loops of back-propagation; None where there is no pair."""
    loop = state.loop_record
    if loop is None:
        return None
    forward = (
        loop
        if loop.gradient_of is None
        else next((x for x in state.record.loops if x.key == loop.gradient_of), None)
    )
    if forward is None:
        return None
    backward = [each for each in state.record.loops if each.gradient_of == forward.key]
    if not backward:
        return None
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for each in (forward, *backward):
        table.add_column(Text(sanitize(each.name)), justify="right", overflow="ellipsis")
    for fact in measures("loop", "facts"):
        table.add_row(fact.title, *(_number_cell(fact, each).text for each in (forward, *backward)))
    return table
