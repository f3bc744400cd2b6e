"""Values: any step in either direction; each buffer as a ruler, values as numbers, a line over time or a heat map; watches."""

from __future__ import annotations

import itertools
import math
from typing import ClassVar

import numpy as np
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.widgets import DataTable, Input

from scanviz.record.loops import LoopRecord, LoopVariableRecord
from scanviz.record.plain_text import plain
from scanviz.record.traces import TracedVariableRecord, TraceRecord
from scanviz.render.buffers import called, rows_before, rows_read, rows_written
from scanviz.tui.state import State
from scanviz.tui.views.base import View, Words
from scanviz.tui.views.steps import quoted
from scanviz.tui.views.tables import Cell, Column, Row, SortedTable, text_cell
from scanviz.tui.watch import WatchError, watched

COLUMNS = (
    Column(
        "no.", number=True
    ),  # in the order in which the step computes: the first bad one is where it began
    Column("variable"),
    Column("of the step"),
    Column("min", number=True),
    Column("max", number=True),
    Column("mean", number=True),
    Column("NaN", number=True),
    Column("inf", number=True),
    Column("values"),
)
SHOWN = ("numbers", "over time", "heat map")
_BUFFERS = ("mitmot", "mitsot", "sitsot", "nitsot", "sequence")
_SHADES = " ░▒▓█"


class ValuesView(View):
    """The tab."""

    TITLE = "Values"
    ABOUT = (
        "Step by step in either direction (left and right): which rows of each buffer this step reads"
        " (r) and writes (W), and the values that were kept (scanviz profile --values). v shows a "
        "variable as numbers, over time or as a heat map; e adds an expression to watch, such as "
        "`max(h[t]) - min(h[t])`; f goes to the first NaN."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "back", show=False, priority=True),
        Binding("right,l", "step(1)", "forward", show=False, priority=True),
        Binding("g,home", "end(0)", "first step", show=False),
        Binding("G,end", "end(1)", "last step", show=False),
        Binding("f", "app.first_bad", "first NaN"),
        Binding("v", "shown", "numbers/time/heat"),
        Binding("e", "watch", "watch"),
        Binding("colon", "ask", "go to step"),
    ]

    def __init__(self, state: State, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self.shown_at = 0
        self.watches: list[str] = []
        self._asking = ""

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield Words(id="values-about")
        with ScrollableContainer(id="values-scroll"):
            yield Words(id="values-rulers")
        yield SortedTable(COLUMNS, id="values-table")
        yield Words(id="values-one")
        yield Words(id="values-watches")
        yield Input(id="values-ask", disabled=True)

    def redraw(self) -> None:
        """Show the step."""
        loop = self.state.loop_record
        if loop is None:
            self.query_one("#values-about", Words).tell("Choose a loop in the tree.")
            return
        self.query_one("#values-about", Words).tell(_about(self.state, loop))
        self.query_one("#values-rulers", Words).tell(rulers(loop, self.state, max(40, self.size.width - 2)))
        trace = trace_at(self.state)
        table = self.query_one("#values-table", SortedTable)
        table.display = trace is not None
        if trace is not None:
            place = trace.steps.index(self.state.step)
            table.reversed = table.reversed and table.by != 0
            table.fill([(k, _row(k, each, place)) for k, each in enumerate(trace.variables)])
        self._one(trace)
        self._watches(trace)

    def _one(self, trace: TraceRecord | None) -> None:
        """Show the variable that the cursor stands on, in the chosen way."""
        box = self.query_one("#values-one", Words)
        chosen = self.query_one("#values-table", SortedTable).chosen
        if trace is None or chosen is None or chosen >= len(trace.variables):
            box.tell("")
            return
        variable = trace.variables[chosen]
        width = max(30, self.size.width - 4)
        box.tell(value_text(variable, trace, trace.steps.index(self.state.step), SHOWN[self.shown_at], width))

    def _watches(self, trace: TraceRecord | None) -> None:
        text = Text()
        for each in self.watches:
            text.append(f"{plain(each)} = ", style="bold")
            text.append(f"{_watched(each, trace, self.state)}\n", style="not bold")
        text.rstrip()
        self.query_one("#values-watches", Words).tell(text)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the variable that the cursor stands on."""
        event.stop()
        self._one(trace_at(self.state))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the keys of steps to a line that is being written."""
        return not (action == "step" and isinstance(self.app.focused, Input))

    def action_step(self, by: int) -> None:
        """Go a step on."""
        self.move(self.state.at_step(self.state.step + by))

    def action_end(self, last: int) -> None:
        """Go to the first or the last step."""
        self.move(self.state.at_step(self.state.steps if last else 0))

    def action_shown(self) -> None:
        """Show values in the next way."""
        self.shown_at = (self.shown_at + 1) % len(SHOWN)
        self._one(trace_at(self.state))

    def action_watch(self) -> None:
        """Ask for an expression to watch; an empty one takes the last away."""
        self._ask(
            "watch", "an expression of the step's variables, such as mean(h[t]); nothing takes the last away"
        )

    def action_ask(self) -> None:
        """Ask for a step's number."""
        self._ask("step", "step number")

    def _ask(self, what: str, words: str) -> None:
        self._asking = what
        box = self.query_one("#values-ask", Input)
        box.disabled, box.value, box.placeholder = False, "", words
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the expression or the step that was asked for."""
        event.stop()
        event.input.disabled = True
        self.focus_inside()
        given = event.value.strip()
        if self._asking == "step":
            if given.lstrip("-").isdigit():
                self.move(self.state.at_step(int(given)))
        elif given:
            self.watches.append(given)
        elif self.watches:
            self.watches.pop()
        self.redraw()

    def command(self) -> str:
        """Return the command line that shows this step's values."""
        loop = self.state.loop_record
        scan = f" --scan {quoted(loop.name)}" if loop is not None else ""
        return f"scanviz report FILE --values{scan} --step {self.state.step}"

    def rows(self) -> list[str]:
        """Return the variables."""
        return self.query_one("#values-table", SortedTable).texts()

    def go_to(self, row: int) -> None:
        """Put the cursor on a variable."""
        self.query_one("#values-table", SortedTable).move_cursor(row=row)


def trace_at(state: State) -> TraceRecord | None:
    """Return values that were kept of the step; of the run that is looked at, else of any."""
    kept = [each for each in state.traces if state.step in each.steps]
    return next((each for each in kept if each.run == state.run), kept[0] if kept else None)


def _about(state: State, loop: LoopRecord) -> Text:
    text = Text(f"{plain(loop.name)}, step {state.step} of {state.steps}", style="bold")
    forward = next((each for each in state.record.loops if each.key == loop.gradient_of), None)
    if forward is not None:
        text.append(
            f" (belongs to step {max(0, state.steps - 1 - state.step)} of {plain(forward.name)})",
            style="not bold",
        )
    if not state.traces:
        text.append("\nvalues were not recorded: scanviz profile --values keeps them", style="not bold dim")
        return text
    bad = state.first_bad_step()
    text.append(
        f"\nfirst NaN or infinity: step {bad} (f)" if bad is not None else "\nno NaN or infinity was kept",
        style="not bold",
    )
    kept = sorted({step for trace in state.traces for step in trace.steps})
    if state.step not in kept:
        nearest = min(kept, key=lambda each: abs(each - state.step))
        text.append(f"; this step was not kept, the nearest is {nearest}", style="not bold dim")
    return text


def rulers(loop: LoopRecord, state: State, width: int) -> Text:
    """Return the buffers of a loop around a step, each as a ruler of rows with what is read and written marked."""
    text = Text()
    ordered = sorted(
        ((each, k) for k, each in enumerate(loop.variables) if each.kind in _BUFFERS),
        key=lambda pair: _BUFFERS.index(pair[0].kind),
    )
    for variable, index in ordered:
        marked = index == state.variable
        text.append(
            f"{'▶ ' if marked else '  '}{plain(variable.name)}", style="bold reverse" if marked else "bold"
        )
        text.append(f"  {variable.kind}", style="not bold dim")
        text.append("\n")
        text.append_text(ruler(variable, state.step, loop.longest_run, width))
        text.append("\n")
    return text


def ruler(variable: LoopVariableRecord, step: int, steps: int, width: int) -> Text:
    """Return one buffer as a row of cells: ``r`` is read, ``W`` is written, ``i`` holds an initial row.

    Examples
    --------
    >>> state = LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,), inner_inputs=("x[t-3]", "x[t-1]"))
    >>> print(ruler(state, 1, 4, 60).plain)
        row │ 0i│ 1r│ 2i│ 3r│ 4W│ 5 │ 6 │
        reads row 1 as x[t-3], row 3 as x[t-1]; writes row 4 as x[t]
    """
    before = rows_before(variable)
    reads, writes = rows_read(variable, step), rows_written(variable, step)
    total = max(before + steps, *(row + 1 for row in (*reads, *writes)), 1)
    digits = len(str(total - 1)) + 1
    room = max(4, (width - 10) // (digits + 2))
    first = max(0, min(min((*reads, *writes), default=0) - 2, total - room))
    text = Text("    row │")
    for row in range(first, min(total, first + room)):
        read, write = row in reads, row in writes
        sign = ("B" if read else "W") if write else "r" if read else "i" if row < before else " "
        style = "bold red" if write else "bold cyan" if read else "dim"
        text.append(f"{row:>{digits}}{sign}", style=style)
        text.append("│")
    if first + room < total:
        text.append(f" … {total - 1}")
    names = {
        "reads": [f"row {row} as {_read_name(variable, k)}" for k, row in enumerate(reads)],
        "writes": [f"row {row} as {_write_name(variable, k)}" for k, row in enumerate(writes)],
    }
    told = "; ".join(f"{verb} {', '.join(each)}" for verb, each in names.items() if each)
    return text.append(f"\n    {told}", style="dim")


def _read_name(variable: LoopVariableRecord, place: int) -> str:
    if variable.kind == "sequence":
        return plain(", ".join(variable.inner_inputs))
    return plain(called(variable, variable.reads[place]))


def _write_name(variable: LoopVariableRecord, place: int) -> str:
    return plain(variable.name if variable.kind == "nitsot" else called(variable, variable.writes[place]))


def _row(number: int, variable: TracedVariableRecord, place: int) -> Row:
    low, high, mean, nan, infinite = variable.statistics[place].tolist()
    bad = "bold red" if nan or infinite else ""
    values = " ".join(_number(each) for each in variable.values[place, :8].tolist())
    more = " …" if math.prod(variable.shape) > 8 else ""
    return (
        Cell(str(number), number),
        text_cell(("! " if bad else "  ") + plain(variable.name), bad),
        text_cell(variable.role),
        *(Cell(_number(each), each if math.isfinite(each) else -math.inf) for each in (low, high, mean)),
        Cell(str(int(nan)), nan, bad),
        Cell(str(int(infinite)), infinite, bad),
        text_cell(values + more),
    )


def _number(value: float) -> str:
    return "NaN" if math.isnan(value) else f"{value:.4g}"


def value_text(
    variable: TracedVariableRecord, trace: TraceRecord, place: int, shown: str, width: int
) -> Text:
    """Return one variable: its numbers at a step, its smallest and largest over time, or its numbers over time as shades."""
    text = Text(
        f"{plain(variable.name)} {plain(variable.dtype)}{list(variable.shape)}, {shown}\n", style="bold"
    )
    if shown == "numbers":
        numbers = " ".join(_number(each) for each in variable.values[place].tolist())
        return text.append(numbers[: 4 * width], style="not bold")
    if shown == "over time":
        for name, column in (("max", 1), ("mean", 2), ("min", 0)):
            line = _sparkline(variable.statistics[:, column], place, width - 8)
            text.append(f"{name:>5} ", style="not bold dim")
            text.append_text(line)
            text.append("\n")
        return text
    columns = variable.values[:, :12].T
    for number, row in enumerate(columns):
        text.append(f"{f'[{number}]':>5} ", style="not bold dim")
        text.append_text(_shades(row, place, width - 8))
        text.append("\n")
    return text


def _sparkline(values: np.ndarray, place: int, width: int) -> Text:
    return _scaled(values, place, width, "▁▂▃▄▅▆▇█")


def _shades(values: np.ndarray, place: int, width: int) -> Text:
    return _scaled(values, place, width, _SHADES)


def _scaled(values: np.ndarray, place: int, width: int, signs: str) -> Text:
    """Return values over the kept steps as signs, the step that is looked at reversed; ! stands for NaN and infinities."""
    first = max(0, min(place - width // 2, len(values) - width))
    part = values[first : first + width]
    finite = part[np.isfinite(part)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    drawn = []
    for k, each in enumerate(part.tolist()):
        sign = (
            "!"
            if not math.isfinite(each)
            else signs[round((each - low) / ((high - low) or 1.0) * (len(signs) - 1))]
        )
        drawn.append((sign, "bold reverse" if first + k == place else "bold red" if sign == "!" else "cyan"))
    text = Text()
    for style, run in itertools.groupby(drawn, key=lambda each: each[1]):
        text.append("".join(sign for sign, _ in run), style=style)
    return text.append(f" {_number(low)} … {_number(high)}", style="dim")


def _watched(expression: str, trace: TraceRecord | None, state: State) -> str:
    if trace is None:
        return "not kept at this step"
    place = trace.steps.index(state.step)
    known = {
        each.name: each.values[place][: math.prod(each.shape)].reshape(each.shape)
        for each in trace.variables
        if math.prod(each.shape) <= each.values.shape[1]
    }
    cut = {each.name for each in trace.variables if each.name not in known}
    try:
        return watched(expression, known, cut)
    except WatchError as error:
        return str(error)
