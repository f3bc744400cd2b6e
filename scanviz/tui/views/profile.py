"""Profile: operations of a loop or function sorted by any column, body against overhead, forward beside backward."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable

from scanviz.profiler.report.loops import headings, tier
from scanviz.profiler.report.roofline import limits_in_words
from scanviz.profiler.report.tails import tail_lines
from scanviz.profiler.report.units import counted, duration, share
from scanviz.record.errors import ScanvizError
from scanviz.record.graphs.graph import GraphSnapshot
from scanviz.record.graphs.plumbing import folded_rows, plumbing_operations
from scanviz.record.loops import LoopRecord
from scanviz.record.measures import Measure, columns, measures
from scanviz.record.model import FunctionRecord, ProfileRecord
from scanviz.record.operations import OperationRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.processor import off_cpu
from scanviz.record.summary.roofline import is_native, known_limits
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.record.summary.typical import BELOW, typical_step, why_untimed
from scanviz.tui.model.linked_selection import SIGN, linked_selection
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import share_style
from scanviz.tui.text.stacked_bar import Segment, legend, stacked
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.run_parts import bound_cells, details, function_rows, number_cell, run_summary
from scanviz.tui.views.steps import titled_steps
from scanviz.tui.views.tables import Cell, Column, Row, SortedTable

_COLUMNS = (
    Column("time", number=True),  # first, so that it is seen however narrow the terminal is
    Column("of run", number=True),
    Column("operation", flexible=True),
    Column("line", seen=True),
    Column("gives"),
    Column("no.", number=True),
)
BY_SHARE = 1  # what took most of the run stands first
SHORTER = {
    "a step (median)": "a step",
    "operations of a step": "operations",
    "rows kept for the gradient": "rows kept",
}
PLUMBING = "plumbing"  # the row that stands for operations that are left out


def table_columns(operations: Sequence[OperationRecord], limited: bool = False) -> list[Column]:
    """Return the columns of a table of operations; optional measures come last."""
    *first, gives, number = _COLUMNS
    limit = [Column("of the limit", number=True)] if limited else []
    numbers = [Column(column.title, number=True) for column in columns(operations)]
    return [*first, *limit, gives, number, *numbers]


def limits_of(record: ProfileRecord) -> Mapping[str, float] | None:
    """Return the machine's limits, or None if they were not measured."""
    return record.measures if known_limits(record) else None


AROUND = 8  # rows of what stands above the operations, with some to spare
LEAST_STEPS, MOST_STEPS = 8, 30  # rows of a chart of steps


class ProfileView(TabView):
    """The tab."""

    TITLE = "Profile"
    QUESTION = "where the time of a step goes"
    ABOUT = (
        "Where the time goes: the operations of the loop's step, how a step divides into operations, storing rows and the "
        "loop itself, and the forward loop beside its back-propagation. Of a function: its loops, operations outside of "
        "them, and call overhead, which add up to it, and below what the whole run was spent on. s sorts by the next "
        "column; enter shows the line that built an operation. p shows sizes, arrays filled with a constant, axes for broadcasting "
        "and checks of shapes too, which are one row else. ▶ marks what reads or gives the loop variable that was "
        "chosen in Variables."
    )

    BINDINGS: ClassVar[list[BindingType]] = [Binding("p", "flip('unfolded')", "plumbing")]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self.unfolded = False
        self._plumbing: dict[tuple[int | None, int | None, int], frozenset[int]] = {}

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="profile-about")
        yield SortedTable(_COLUMNS, by=BY_SHARE, id="profile-table")
        yield TextBlock(id="profile-steps")
        yield TextBlock(id="profile-pair")

    def redraw(self) -> None:
        """Show the loop, or the function outside of its loops."""
        loop, function = self.state.loop_record, self.state.function_record
        about, pair = self.query_one("#profile-about", TextBlock), self.query_one("#profile-pair", TextBlock)
        table, limits = self.query_one("#profile-table", SortedTable), limits_of(self.state.record)
        parts = parts_of(self.state.record)
        times = OperationTimes(parts)
        if loop is not None:
            about.show(self._with_limits(loop_summary(loop, self.room.width)))
            rows = loop_rows(loop, times, linked_selection(self.state).operations, limits)
            table.retitle(table_columns(loop.operations, limits is not None))
            table.fill(self._folded(rows, loop, times.run_ns), of=("loop", loop.key))
            beside = _pair(self.state, self.room.width) or Text("")
            pair.show(beside)
            self._show_steps(table.row_count + len(str(beside).split("\n")))
        elif function is not None:
            about.show(self._with_limits(function_summary(function)))
            more = columns(function.operations)
            table.retitle(table_columns(function.operations, limits is not None))
            rows = function_rows(function, parts, more, limits)
            table.fill(self._folded(rows, function, times.run_ns), of=("function", function.key))
            pair.show(run_summary(self.state.record, parts, self.room.width))
        else:
            ended = self.state.record.outcome.status != "running"
            about.show("" if ended else "Nothing was recorded yet.")
            table.fill([])
            pair.show(run_summary(self.state.record, parts, self.room.width) if ended else "")
        if loop is None:
            self._show_steps(self.room.height)

    def _show_steps(self, taken: int) -> None:
        """Show the chart of steps if there is room below the table; tab 2 shows it larger."""
        steps, height = self.query_one("#profile-steps", TextBlock), self.room.height - taken - AROUND
        steps.display = height >= LEAST_STEPS
        self.table().set_class(steps.display, "whole")  # as high as its rows
        if steps.display:
            steps.show(titled_steps(self.state, self.room.width, min(height, MOST_STEPS)))

    def _with_limits(self, summary: Text) -> Text:
        limits = limits_in_words(self.state.record)
        return summary.append(f"\nlimits of the machine: {limits}", "not bold dim") if limits else summary

    def _folded(
        self, rows: Sequence[tuple[int, Row]], owner: LoopRecord | FunctionRecord, whole_ns: float
    ) -> list[tuple[object, Row]]:
        """Fold rows of plumbing into one, unless they are unfolded or one of them is selected."""
        names = self.state.function, self.state.loop, len(owner.operations)
        if names not in self._plumbing:
            self._plumbing[names] = plumbing_operations(self._graph())
        folded = folded_rows(owner, self._plumbing[names])
        hidden = [row for index, row in rows if index in folded]
        if self.unfolded or not hidden or self.state.operation in folded:
            return list(rows)
        time, took = (sum(float(row[k].value) for row in hidden) for k in (0, 1))
        words = f"+ {len(hidden)} of plumbing: sizes, fills, axes (p)"
        texts = (duration(time) if time else BELOW, share(took, whole_ns), words)
        cells = [Cell(text, value, "dim") for text, value in zip(texts, (time, took, ""), strict=True)]
        blank = [Cell("", -1.0 if not isinstance(cell.value, str) else "") for cell in hidden[0][3:]]
        return [*((index, row) for index, row in rows if index not in folded), (PLUMBING, (*cells, *blank))]

    def _graph(self) -> GraphSnapshot | None:
        """Return the graph of the selected loop or function; None if it is missing or invalid."""
        function = self.state.function_record
        try:
            graph = function.graph if function is not None else None
        except ScanvizError:
            return None
        if graph is None or self.state.loop is None:
            return graph
        return next((step for loop, step, _ in graph.all_loops() if loop.key == self.state.loop), None)

    def table(self) -> SortedTable:
        """Return the operations."""
        return self.query_one("#profile-table", SortedTable)

    def point(self) -> None:
        """Put the cursor on the selected operation."""
        self.table().point_at(self.state.operation)

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show the line that built an operation."""
        event.stop()
        if self.table().chosen == PLUMBING:
            self.action_flip("unfolded")
            return
        state = self.state.at_operation(self.table().chosen)
        if state.line and state.operation is not None:
            self.enter("Source", state)


def loop_rows(
    loop: LoopRecord,
    times: OperationTimes,
    marked: Collection[int] = (),
    limits: Mapping[str, float] | None = None,
) -> list[tuple[int, Row]]:
    """Return a row for each operation of a loop's step, by index; ``marked`` ones have a sign."""
    more, native = columns(loop.operations), is_native(loop)
    return [
        (
            operation.index,
            _operation_row(
                operation,
                times.of(loop, operation),
                times.run_ns,
                more,
                operation.index in marked,
                bound_cells(operation, limits, native),
            ),
        )
        for operation in loop.operations
    ]


def _operation_row(
    operation: OperationRecord,
    took_ns: float,
    run_ns: float,
    more: Sequence[Measure],
    marked: bool,
    limit: Sequence[Cell],
) -> Row:
    """Return the cells of an operation: its time in a typical step, and the share of the run of all steps."""
    name, time_ns = sanitize(operation.label), operation.typical_ns
    return (
        Cell((duration(time_ns) if time_ns else BELOW) if operation.samples else "–", time_ns),
        Cell(share(took_ns, run_ns) if operation.samples else "–", took_ns, share_style(took_ns, run_ns)),
        Cell((SIGN if marked else "") + name, name.casefold(), "bold" if marked else ""),
        *details(operation.source, operation, more, limit),
    )


def loop_summary(loop: LoopRecord, width: int) -> Text:
    """Return a loop's time and how a step divides."""
    text = Text(sanitize(loop.name), style="bold")
    parts = [
        duration(loop.total_ns),
        counted(loop.runs, "run"),
        counted(loop.steps, "step"),
    ]
    if loop.step_times.count:
        parts.append(f"typical step {duration(loop.median_step_ns)}")
    parts += [*headings(loop), *([busy] if (busy := off_cpu(loop)) else [])]
    text.append("  " + " · ".join(parts) + "\n", style="not bold")
    whole = loop.typical_ns
    if not whole:
        why = typical_step(loop) or why_untimed(loop)
        return text.append(why, style="not bold dim")
    names = ("operations", loop.body_ns), ("rows", loop.copy_ns), ("loop", loop.overhead_ns)
    parts_of_step = [Segment(f"{name} {duration(part) if part else BELOW}", part) for name, part in names]
    labels = legend(parts_of_step)
    text.append("step ", style="not bold")
    text.append_text(stacked(parts_of_step, max(3, min(30, width - labels.cell_len - 7)))).append("  ")
    text.append_text(labels)
    tails = sanitize("; ".join(line.text.strip() for line in tail_lines(loop)))
    return text.append(f"\n{tails}" if tails else "", style="not bold")


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
    text.append(f"  {' · '.join(parts)} · on {sanitize(tier(function))}", style="not bold")
    return text.append(f"\nbuilt in: {built}", style="not bold") if built else text


def _pair(state: ViewState, width: int) -> Table | None:
    """Return the forward loop beside its backward loops, or None without a pair."""
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
    backward = [other for other in state.record.loops if other.gradient_of == forward.key]
    if not backward:
        return None
    shown = (forward, *backward)
    names = [Text(("↩ " if other is not forward else "") + sanitize(other.name)) for other in shown]
    left = width - min(24, max(name.cell_len for name in names)) - 2
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True, overflow="ellipsis", max_width=24)
    rows: list[list[Text]] = [[name] for name in names]
    for fact in measures("loop", "facts"):
        title = SHORTER.get(fact.title, fact.title)
        cells = [number_cell(fact, other).text for other in shown]
        left -= max(len(text) for text in (title, *cells)) + 2
        if left < 0:
            break
        table.add_column(title, justify="right", no_wrap=True)
        for row, cell in zip(rows, cells, strict=True):
            row.append(Text(cell))
    for row, other in zip(rows, shown, strict=True):
        table.add_row(*row, style="bold" if other is loop else "")
    return table
