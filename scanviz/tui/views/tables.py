"""Tables with sorting by any column, search, and columns cut to readable widths."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.widgets import DataTable

from scanviz.profiler.report.text import clipped
from scanviz.tui.model.place import Scrolled, place_words
from scanviz.tui.text.colours import CYAN

NARROWEST = 16  # columns of a cell that is cut
MOST_ROWS = 1_000  # of a table: the first ones in its order


class Column(Struct, frozen=True):
    """A column of a table.

    Attributes
    ----------
    title : str
        Its heading.
    number : bool
        Whether its cells stand to the right, and larger ones come first when it is sorted by.
    flexible : bool
        Whether its cells are cut, where the columns up to the last one that is ``seen`` would not fit.
    seen : bool
        Whether it is to be seen without scrolling.
    """

    title: str
    number: bool = False
    flexible: bool = False
    seen: bool = False


class Cell(Struct, frozen=True):
    """A cell: its text and its sort key."""

    text: str
    value: float | str = ""
    style: str = ""


Row = tuple[Cell, ...]


def text_cell(text: str) -> Cell:
    """Return a cell that is sorted by its text."""
    return Cell(text, text.casefold())


class SortedTable(DataTable[Text]):
    """A table with a cursor on a row, sorted by any of its columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "down", show=False),
        Binding("k", "cursor_up", "up", show=False),
        Binding("h", "scroll_left", "left", show=False),
        Binding("l", "scroll_right", "right", show=False),
        Binding("g", "scroll_top", "first", show=False),
        Binding("G", "scroll_bottom", "last", show=False),
        Binding("s", "sort(1)", "sort"),
        Binding("S", "reverse", "reverse", show=False),
    ]

    def __init__(self, columns: Sequence[Column], *, by: int = 0, id: str | None = None) -> None:
        super().__init__(cursor_type="row", zebra_stripes=True, id=id)
        self._titles = tuple(columns)
        self.by, self.reversed = by, columns[by].number
        self.all_rows: list[tuple[Any, Row]] = []
        self.order: list[Any] = []
        self._owner: object = None  # the loop or function that the rows belong to
        self.filter = ""  # only rows with this text are shown
        self._written_for = 0  # columns of the screen
        self._seen_width = 0  # columns

    def on_mount(self) -> None:
        """Write the headings."""
        self._write()

    def on_resize(self) -> None:
        """Cut columns for another width, and keep the cursor's row in view if the table became smaller."""
        if self.row_count:
            self.call_after_refresh(self.move_cursor, row=self.cursor_row)
        if self.size.width != self._written_for and any(column.flexible for column in self._titles):
            self._write()

    def fill(self, rows: Sequence[tuple[Any, Row]], of: object = None) -> None:
        """Show rows, each with its key; the cursor stays on its key, but goes to the top for rows of another owner."""
        rows = list(rows)
        if of != self._owner:
            self._owner, self.order, self.all_rows = of, [], []
        if rows != self.all_rows or not self.columns:
            self.all_rows = rows
            self._write()

    def filter_by(self, text: str) -> int:
        """Show the rows that contain a text, all for an empty one; return their number."""
        if text != self.filter:
            self.filter = text
            self._write()
        return len(self.order)

    def retitle(self, columns: Sequence[Column]) -> None:
        """Replace the columns, before the rows."""
        if tuple(columns) != self._titles:
            self._titles, self.all_rows = tuple(columns), []
            self.by = min(self.by, len(columns) - 1)

    def point_at(self, key: Any) -> None:
        """Put the cursor on a key's row, if it is shown."""
        if key in self.order and self.chosen != key:
            self.move_cursor(row=self.order.index(key))

    def _kept(self, row: Row) -> bool:
        return not self.filter or any(self.filter.casefold() in cell.text.casefold() for cell in row)

    def _write(self) -> None:
        at, place = self.chosen, self.scroll_offset
        self.clear(columns=True)
        for k, column in enumerate(self._titles):
            sign = ("▼" if self.reversed else "▲") if k == self.by else " "
            self.add_column(
                Text(f"{column.title} {sign}", justify="right" if column.number else "left"), key=str(k)
            )
        kept = [row for row in self.all_rows if self._kept(row[1])]
        rows = sorted(kept, key=lambda row: _order(row[1][self.by]), reverse=self.reversed)[:MOST_ROWS]
        self.order = [row[0] for row in rows]
        widths = self._widths([row for _, row in rows])
        for _, row in rows:
            self.add_row(
                *(
                    _written(cell, title, width)
                    for cell, title, width in zip(row, self._titles, widths, strict=True)
                )
            )
        if at in self.order:
            self.move_cursor(row=self.order.index(at), scroll=False)
            self.scroll_to(place.x, place.y, animate=False)

    def _widths(self, rows: Sequence[Row]) -> list[int | None]:
        """Return the widths that the cells of each column are cut to; None for uncut ones."""
        found: list[int | None] = [None] * len(self._titles)
        cut = next((k for k, column in enumerate(self._titles) if column.flexible), None)
        self._written_for = self.size.width
        if cut is None or not self.size.width:
            return found
        last = max(k for k, column in enumerate(self._titles) if column.seen or column.flexible)
        needed = 1  # the scroll bar
        for k, column in enumerate(self._titles[: last + 1]):
            longest = max((cell_len(row[k].text) for row in rows), default=0) if k != cut else 0
            needed += max(longest, len(column.title) + 2 if k != cut else 0) + 2 * self.cell_padding
        found[cut] = max(NARROWEST, self.size.width - needed)
        return found

    @property
    def chosen(self) -> Any:
        """The key of the cursor's row."""
        return self.order[self.cursor_row] if 0 <= self.cursor_row < len(self.order) else None

    def place(self) -> str:
        """Return the position: the row of the cursor, and the number of hidden columns."""
        ends = list(itertools.accumulate(column.get_render_width(self) for column in self.ordered_columns))
        self._seen_width = self.size.width or self._seen_width  # the last one, while its tab is not seen
        width = self._seen_width
        hidden = sum(end > self.scroll_offset.x + width for end in ends) if width else 0
        return place_words(
            self.cursor_row if self.row_count else -1, self.row_count, hidden, self.scroll_offset.x
        )

    def watch_cursor_coordinate(self, old_coordinate: Coordinate, new_coordinate: Coordinate) -> None:
        """Notify the application of the cursor's move."""
        super().watch_cursor_coordinate(old_coordinate, new_coordinate)
        self.post_message(Scrolled())

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        """Report scrolling."""
        super().watch_scroll_x(old_value, new_value)
        self.post_message(Scrolled())

    def texts(self) -> list[str]:
        """Return the rows as texts, in their order."""
        rows = dict(self.all_rows)
        return [" ".join(cell.text for cell in rows[key]) for key in self.order]

    def action_sort(self, by: int) -> None:
        """Sort by the next column."""
        self.sort_by((self.by + by) % len(self._titles))

    def action_reverse(self) -> None:
        """Reverse the order."""
        self.reversed = not self.reversed
        self._write()

    def sort_by(self, column: int) -> None:
        """Sort by a column: numbers from the largest, texts from the first."""
        self.reversed = self._titles[column].number if column != self.by else not self.reversed
        self.by = column
        self._write()

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """Sort by the heading that was clicked."""
        event.stop()
        self.sort_by(event.column_index)


def _written(cell: Cell, column: Column, width: int | None) -> Text:
    shown = cell.text if width is None else clipped(cell.text, width)
    return Text(shown, style=cell.style, justify="right" if column.number else "left", no_wrap=True)


def place_cell(text: str, most: int = 24) -> Cell:
    """Return a cell with a source line, cut at its beginning to keep the line number.

    Examples
    --------
    >>> place_cell("a/very/long/way/to/train.py:34", 12).text
    '…train.py:34'
    """
    return Cell(text if len(text) <= most else f"…{text[1 - most :]}", text.casefold(), CYAN)


def _order(cell: Cell) -> tuple[int, float, str]:
    return (0, 0.0, cell.value) if isinstance(cell.value, str) else (1, float(cell.value), "")
