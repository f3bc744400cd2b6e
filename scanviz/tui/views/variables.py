"""Variables: loop variables, their counterparts in the four lists, the reason for each kind, and the connections."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from scanviz.profiler.report.units import size
from scanviz.record.errors import ScanvizError
from scanviz.record.loops import LoopRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.glosses import gloss
from scanviz.render.buffers import why_kind
from scanviz.render.diagram.connections import ConnectionMatrix, connecting_path, connection_matrix
from scanviz.render.diagram.mappings import mappings_table
from scanviz.tui.model.linked_selection import NO_SIGN, SIGN, origin
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import GREEN
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.tables import Cell, Column, Row, SortedTable, text_cell

COLUMNS = (
    Column("no.", number=True),
    Column("kind"),
    Column("name"),
    Column("reads"),
    Column("writes"),
    Column("from"),
    Column("gives"),
    Column("rows", number=True),
    Column("line"),
)
PIECES = ("variables", "connections", "mappings")


class VariablesView(TabView):
    """The tab."""

    TITLE = "Variables"
    QUESTION = "what the loop reads, carries and gives"
    ABOUT = (
        "Loop variables: the cursor chooses one, and its counterparts are marked ▶ in the mappings "
        "and the connection matrix here, and in every other tab. m shows variables, "
        "connections or mappings alone; enter on a variable shows its values, in the matrix the path stands below."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "piece", "connections/mappings"),
    ]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self.piece = 0
        self._filled: object = None

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield SortedTable(COLUMNS, id="variables-table")
        yield TextBlock(id="variables-why")
        with ScrollableContainer(id="variables-more"):
            yield TextBlock(id="variables-mappings")
        yield ConnectionTable(id="variables-matrix")
        yield TextBlock(id="variables-path")

    def redraw(self) -> None:
        """Show the loop's variables and everything about the selected one."""
        loop = self.state.loop_record
        table = self.query_one("#variables-table", SortedTable)
        if loop is None:
            table.fill([])
            self.query_one("#variables-why", TextBlock).show("Choose a loop in the tree.")
            return
        shown = (
            loop.key,
            loop.variables,
        )  # a running script's record is another one, but its loop is the same
        if shown != self._filled:
            self._filled = shown
            table.reversed = False
            lines = [origin(self.state, k).source for k in range(len(loop.variables))]
            table.fill([(k, _row(loop, k, line)) for k, line in enumerate(lines)])
            self.query_one("#variables-matrix", ConnectionTable).fill(loop)
            self.query_one("#variables-path", TextBlock).show(
                "enter on a cell: the path by which the input reaches the output"
            )
        if (
            self.state.variable is not None
            and table.chosen != self.state.variable
            and self.state.variable in table.order
        ):
            table.move_cursor(row=table.order.index(self.state.variable))
        self._mark(loop)
        self._layout_pieces()

    def _layout_pieces(self) -> None:
        piece = PIECES[self.piece]
        self.query_one("#variables-table").display = piece == "variables"
        self.query_one("#variables-why").display = piece != "connections"
        self.query_one("#variables-more").display = piece != "connections"
        self.query_one("#variables-matrix").display = piece == "connections"
        self.query_one("#variables-path").display = piece == "connections"

    def _mark(self, loop: LoopRecord) -> None:
        """Show the reason for the chosen variable's kind, and mark it in the mappings."""
        chosen = self.state.variable
        why = why_kind(loop.variables[chosen]) if chosen is not None and chosen < len(loop.variables) else ""
        text = Text(sanitize(why))
        if why and chosen is not None:
            text = Text(gloss(loop.variables[chosen].kind) + "\n", style="bold").append(
                sanitize(why), "not bold"
            )
        if chosen is not None and (line := origin(self.state, chosen)).source:
            text.append(f"\nbuilt at {sanitize(line.source)}  {sanitize(line.text)}", style="dim")
        self.query_one("#variables-why", TextBlock).show(text)
        self.query_one("#variables-mappings", TextBlock).show(mappings_text(loop, chosen))

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Choose the loop variable under the cursor."""
        event.stop()
        table = self.query_one("#variables-table", SortedTable)
        if event.data_table is not table or table.chosen is None or not table.has_focus:
            return
        if table.chosen != self.state.variable:
            self.move(self.state.at_variable(table.chosen))

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show the values of a loop variable."""
        event.stop()
        if event.data_table is self.table():
            self.enter("Values", self.state.at_variable(self.table().chosen))

    def on_data_table_cell_highlighted(self, event: DataTable.CellHighlighted) -> None:
        """Show the path of the cell under the cursor."""
        event.stop()
        if event.data_table.has_focus:
            self._show_path(event.coordinate)

    def on_data_table_cell_selected(self, event: DataTable.CellSelected) -> None:
        """Show the path of a cell of the matrix."""
        event.stop()
        self._show_path(event.coordinate)

    def _show_path(self, cell: Coordinate) -> None:
        loop = self.state.loop_record
        if loop is not None:
            path = path_text(self.state, loop, cell.row, cell.column)
            self.query_one("#variables-path", TextBlock).show(path)

    def action_piece(self) -> None:
        """Show the next of variables, mappings and connections."""
        self.piece = (self.piece + 1) % len(PIECES)
        self.redraw()
        self.focus_inside()

    def command(self) -> str:
        """Return the command line that shows the same."""
        if self.state.loop_record is None:
            return super().command()
        option = "--connections" if PIECES[self.piece] == "connections" else "--mappings"
        return f"scanviz graph FILE{self.scan_option()} {option}"

    def table(self) -> SortedTable:
        """Return the loop variables."""
        return self.query_one("#variables-table", SortedTable)

    def go_to(self, row: int) -> None:
        """Choose a loop variable."""
        table = self.table()
        table.move_cursor(row=row)
        self.move(self.state.at_variable(table.order[row]))


class ConnectionTable(DataTable[Text]):
    """The connection pattern: outer inputs down, outer outputs across."""

    ABOUT = "Outer inputs down, outer outputs across: ● reaches over any number of steps, · does not. Enter shows the path."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
        Binding("h", "cursor_left", "left", show=False),
        Binding("l", "cursor_right", "right", show=False),
    ]

    def fill(self, loop: LoopRecord) -> None:
        """Show a loop's pattern."""
        self.clear(columns=True)
        matrix = _matrix(loop)
        for column in matrix.columns:
            self.add_column(Text(sanitize(column.label)))
        for entry, cells in zip(matrix.rows, matrix.cells, strict=True):
            texts = [
                Text("●" if cell else "·", style=f"bold {GREEN}" if cell else "dim", justify="center")
                for cell in cells
            ]
            self.add_row(*texts, label=Text(sanitize(entry.label)))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the path of the cell under the cursor as soon as keys go here."""
        super().watch_has_focus(has_focus)
        if has_focus and self.row_count:
            self.action_select_cursor()


def _matrix(loop: LoopRecord) -> ConnectionMatrix:
    try:
        return connection_matrix(loop)
    except ScanvizError:
        return ConnectionMatrix(loop.name, (), (), ())


def _row(loop: LoopRecord, index: int, line: str) -> Row:
    variable = loop.variables[index]
    texts = (
        variable.kind,
        variable.name,
        ", ".join(variable.inner_inputs),
        ", ".join(variable.inner_outputs),
        variable.outer_input or "",
        variable.outer_output or "",
    )
    rows = Cell(size(variable.row_bytes) if variable.row_bytes else "–", variable.row_bytes)
    return (
        Cell(str(index), index),
        *(text_cell(sanitize(text)) for text in texts),
        rows,
        text_cell(sanitize(line)),
    )


def mappings_text(loop: LoopRecord, chosen: int | None) -> Text:
    """Return the twelve maps in four columns, with ▶ before the rows of the chosen loop variable."""
    table = mappings_table(loop)
    text = Text()
    lines = table.as_text().splitlines()
    owners: list[int | None] = [None, None]
    for group in table.groups:
        owners += [group.variable] * max(1, *(len(cell) for cell in group.cells))
    for line, owner in zip(lines, owners, strict=False):
        marked = chosen is not None and owner == chosen
        text.append((SIGN if marked else NO_SIGN) + line + "\n", style="bold reverse" if marked else "")
    return text


def path_text(state: ViewState, loop: LoopRecord, row: int, column: int) -> Text:
    """Return in words how an outer input reaches an outer output."""
    function = state.function_record
    matrix = _matrix(loop)
    if row >= len(matrix.rows) or column >= len(matrix.columns):
        return Text("")
    names = f"{sanitize(matrix.rows[row].label)} → {sanitize(matrix.columns[column].label)}"
    if not matrix.cells[row][column]:
        return Text(f"{names}: not connected, however many steps there are")
    if function is None or function.graph is None:
        return Text(f"{names}: connected (the profile holds no graph to find the path in)")
    try:
        path = connecting_path(function.graph, loop, row, column)
    except ScanvizError as error:
        return Text(f"{names}: {error}")
    if path is None:
        return Text(f"{names}: connected")
    return Text(f"{names}:\n" + "\n".join(f"  {word}" for word in path.words))
