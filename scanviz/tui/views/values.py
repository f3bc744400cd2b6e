"""Values: the values of any step, as numbers, a ruler of the buffer, a line over time or a heat map; watch expressions."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.events import Click
from textual.timer import Timer
from textual.widgets import DataTable, Input

from scanviz.record.plain_text import sanitize
from scanviz.record.traces.model import TraceRecord
from scanviz.tui.asking import SearchInput, whole_number
from scanviz.tui.model.source import Recomputed, can_recompute
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.ruler import rulers
from scanviz.tui.text.value_text import SHOWN, value_text
from scanviz.tui.views.base import TabView, TextBlock
from scanviz.tui.views.tables import SortedTable
from scanviz.tui.views.value_cells import (
    COLUMNS,
    Scrubber,
    about_step,
    line_of,
    scrubber,
    trace_at,
    variable_row,
    watch_text,
)

SPEEDS = (1, 2, 4, 8, 16, 32)  # steps a second


class ValuesView(TabView):
    """The tab."""

    TITLE = "Values"
    QUESTION = "what the values were, and where a NaN came from"
    FIELDS: ClassVar[tuple[int, ...]] = tuple(
        range(len(COLUMNS))
    )  # which columns the table has, in their order
    ABOUT = (
        "Step by step in either direction (left and right): which rows of each buffer this step reads"
        " (r) and writes (W), which later steps read what it writes, and the values. space plays, + and -"
        " change how fast; a click on the line of steps goes there, and so does : (37, or 2:37 for run 2)."
        " Values of some steps were kept (scanviz profile --values); c computes the others. v shows a "
        "variable as numbers, over time or as a heat map; e adds an expression to watch, such as "
        "`max(h[t]) - min(h[t])`; f goes to the first NaN, and to the operation that made it; enter shows an operation's time."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "back", show=False, priority=True),
        Binding("right,l", "step(1)", "forward", show=False, priority=True),
        Binding("g,home", "end(0)", "first step", show=False, priority=True),
        Binding("G,end", "end(1)", "last step", show=False, priority=True),
        Binding("space", "play", "play"),
        Binding("plus,equals_sign", "speed(1)", "faster", show=False),
        Binding("minus", "speed(-1)", "slower", show=False),
        Binding("c", "compute", "compute"),
        Binding("f", "app.first_bad", "first NaN"),
        Binding("v", "shown", "numbers/time/heat"),
        Binding("e", "watch", "watch"),
        Binding("colon", "ask", "go to step"),
    ]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self.shown_at = 0
        self.watches: list[str] = []
        self._asking = ""
        self._lines: tuple[TraceRecord | None, list[str]] = (None, [])
        self._recomputed = Recomputed()
        self._speed, self._plays, self._asks = SPEEDS.index(4), False, False
        self._scrubber: Scrubber | None = None
        self._timer: Timer | None = None  # of playing
        self._waits: Timer | None = None  # of looking for what was computed

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="values-about")
        yield TextBlock(id="values-scrubber")
        with ScrollableContainer(id="values-scroll"):
            yield TextBlock(id="values-rulers")
        yield SortedTable([COLUMNS[k] for k in self.FIELDS], id="values-table")
        yield TextBlock(id="values-one")
        yield TextBlock(id="values-watches")
        yield SearchInput(id="values-ask")

    def redraw(self) -> None:
        """Show the step."""
        loop = self.state.loop_record
        if loop is None:
            self.query_one("#values-about", TextBlock).show("Choose a loop in the tree.")
            return
        trace = self._trace()
        if trace is None:
            self._ask_for_values()
        known = self._known()
        self.query_one("#values-about", TextBlock).show(about_step(self.state, loop))
        steps = next((trace.total_steps for trace in known), self.state.steps)
        kept = {step for trace in known for step in trace.steps}
        self._scrubber = scrubber(
            self.state.step,
            steps,
            kept,
            SPEEDS[self._speed],
            self._plays,
            self._origin(trace),
            self.room.width,
        )
        self.query_one("#values-scrubber", TextBlock).show(self._scrubber.text)
        self.query_one("#values-rulers", TextBlock).show(
            rulers(loop, self.state, max(40, self.room.width - 4), known, steps)
        )
        table = self.query_one("#values-table", SortedTable)
        table.display = trace is not None
        self.set_class(trace is None, "no-values")
        if trace is not None:
            place = trace.steps.index(self.state.step)
            table.reversed = table.reversed and table.by != 0
            chosen = self.state.variable
            lines = self._lines_of(trace)
            rows = [
                (k, variable_row(k, variable, place, chosen, lines[k]))
                for k, variable in enumerate(trace.variables)
            ]
            table.fill([(k, tuple(row[field] for field in self.FIELDS)) for k, row in rows], of=loop.key)
        self._one(trace)
        self._watches(trace)

    # values that were kept, or computed again

    @property
    def _run(self) -> int:
        """The selected run."""
        kept = trace_at(self.state) or next(iter(self.state.traces), None)
        return self.state.run if self.state.run is not None else kept.run if kept is not None else 0

    def _known(self) -> list[TraceRecord]:
        """Return values of the run, kept ones first."""
        return [
            trace
            for trace in (*self.state.traces, *self._recomputed.traces(self.state.loop))
            if trace.run == self._run
        ]

    def _trace(self) -> TraceRecord | None:
        """Return the step's values: kept ones, else recomputed ones."""
        return next((trace for trace in self._known() if self.state.step in trace.steps), None) or trace_at(
            self.state
        )

    def _ask_for_values(self) -> None:
        """Recompute the step's values, if wanted and possible."""
        source, loop, run = self.source, self.state.loop, self._run
        if source is None or source.recompute is None or loop is None or not (self._asks or source.computes):
            return
        if can_recompute(self.state.record, loop, run):
            self._recomputed.ask(source.recompute, self.state.record, loop, run, self.state.step)
            if self._recomputed.waiting and self._waits is None:
                self._waits = self.set_interval(0.03, self._take)

    def _take(self) -> None:
        """Show recomputed values; request those of the selected step."""
        if self._recomputed.take():
            if self._waits is not None:
                self._waits.stop()
                self._waits = None
            self.redraw()

    def _origin(self, trace: TraceRecord | None) -> str:
        """Describe the origin of the values."""
        loop, run, step = self.state.loop, self._run, self.state.step
        if loop is None or not self.state.record.traces:
            return ""
        runs = f"run {run}, " if len(self.state.traces) > 1 or run else ""
        if trace is not None:
            return f"{runs}{'computed again' if 'asked' in trace.reasons else 'kept'}"
        error = self._recomputed.error(loop, run, step)
        if error:
            return sanitize(error.splitlines()[0])
        if self._recomputed.waiting:
            return f"{runs}computing …"
        if not can_recompute(self.state.record, loop, run):
            return f"{runs}not kept"
        return f"{runs}not kept: c computes it"

    def action_compute(self) -> None:
        """Recompute values that were not kept, from now on."""
        source = self.source
        if source is None or source.recompute is None:
            self.app.notify("Nothing computes values here.")
            return
        if self.state.loop is None or not can_recompute(self.state.record, self.state.loop, self._run):
            self.app.notify(
                "What this run was given is not in the profile: scanviz profile --values keeps it."
            )
            return
        self._asks = True
        self.redraw()

    # the player

    @property
    def plays(self) -> bool:
        """True during playback."""
        return self._plays

    def action_play(self) -> None:
        """Start or stop playback through the steps."""
        self._plays = not self._plays and self.state.steps > 1
        if self._plays and self.state.step >= self.state.steps - 1:
            self.move(self.state.at_step(0))
        self._set_timer()
        self.redraw()

    def action_speed(self, by: int) -> None:
        """Play faster or slower."""
        self._speed = max(0, min(self._speed + by, len(SPEEDS) - 1))
        self._set_timer()
        self.redraw()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / SPEEDS[self._speed], self._play_on) if self._plays else None

    def _play_on(self) -> None:
        """Advance by a step once its values are there; stop at the end, or in another tab."""
        if self._recomputed.waiting:
            return
        if not self.size.width or self.state.step >= self.state.steps - 1:
            self._plays = False
            self._set_timer()
            self.redraw()
        else:
            self.move(self.state.at_step(self.state.step + 1))

    def on_click(self, event: Click) -> None:
        """Go to the step that was clicked in the scrubber."""
        if self._scrubber is not None and event.widget is self.query_one("#values-scrubber"):
            step = self._scrubber.step_at(event.x)
            if step is not None:
                self.move(self.state.at_step(step))

    def _lines_of(self, trace: TraceRecord) -> list[str]:
        """Return the lines that built a step's values; cached, not recomputed for every step."""
        if self._lines[0] is not trace:
            self._lines = trace, [line_of(self.state, variable) for variable in trace.variables]
        return self._lines[1]

    def _one(self, trace: TraceRecord | None) -> None:
        """Show the variable under the cursor in the chosen form."""
        box = self.query_one("#values-one", TextBlock)
        chosen = self.query_one("#values-table", SortedTable).chosen
        if trace is None or chosen is None or chosen >= len(trace.variables):
            box.show("")
            return
        variable = trace.variables[chosen]
        width = max(30, self.room.width - 4)
        box.show(value_text(variable, trace, trace.steps.index(self.state.step), SHOWN[self.shown_at], width))

    def _watches(self, trace: TraceRecord | None) -> None:
        text = Text()
        for watch in self.watches:
            text.append(f"{sanitize(watch)} = ", style="bold")
            text.append(f"{watch_text(watch, trace, self.state)}\n", style="not bold")
        text.rstrip()
        self.query_one("#values-watches", TextBlock).show(text)

    def on_data_table_row_highlighted(self, event: DataTable.RowHighlighted) -> None:
        """Show the variable under the cursor."""
        event.stop()
        self._one(self._trace())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable step keys while the user types."""
        return not (action in ("step", "end", "speed") and isinstance(self.app.focused, Input))

    def action_shown(self) -> None:
        """Show values in the next way."""
        self.shown_at = (self.shown_at + 1) % len(SHOWN)
        self._one(self._trace())

    def action_watch(self) -> None:
        """Ask for an expression to watch; an empty one removes the last."""
        self._ask("watch", "an expression, such as mean(h[t]); nothing takes the last away")

    def action_ask(self) -> None:
        """Ask for a step's number."""
        self._ask("step", "step number, or run:step")

    def _ask(self, what: str, words: str) -> None:
        self._asking = what
        self.query_one("#values-ask", SearchInput).ask(words, self.focus_inside)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the expression or the step that was asked for."""
        event.stop()
        self.query_one("#values-ask", SearchInput).action_close()
        given = event.value.strip()
        if self._asking == "step":
            before, _, behind = given.rpartition(":")
            run, step = whole_number(before), whole_number(behind)
            if step is not None and (not before or (run is not None and run >= 0)):
                state = self.state if run is None else self.state.at_run(run)
                self.move(state.at_step(step))
        elif given:
            self.watches.append(given)
        elif self.watches:
            self.watches.pop()
        self.redraw()

    def command(self) -> str:
        """Return the command line that shows this step's values."""
        trace, run, loop = self._trace(), self._run, self.state.loop
        unkept = trace is None or "asked" in trace.reasons
        again = unkept and loop is not None and can_recompute(self.state.record, loop, run)
        command = f"scanviz report FILE --values{self.scan_option()} --step {self.state.step}"
        return f"{command} --run {run} --recompute" if again else command

    def table(self) -> SortedTable:
        """Return the variables."""
        return self.query_one("#values-table", SortedTable)

    def point(self) -> None:
        """Put the cursor on the first variable with a NaN or infinity, if it is in this step."""
        trace, found = self._trace(), self.state.first_bad()
        if trace is None or found is None or found[0] is not trace or found[1].step != self.state.step:
            return
        self.table().point_at(
            next(k for k, variable in enumerate(trace.variables) if variable is found[1].variable)
        )

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show the operation that gave a value, in the profile."""
        event.stop()
        trace, chosen = self._trace(), self.table().chosen
        if trace is not None and chosen is not None and trace.variables[chosen].operation is not None:
            self.enter("Profile", self.state.at_operation(trace.variables[chosen].operation))
