"""Steps: step times, a cursor that all tabs follow, zoom, and jumps to notable steps."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Click, MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Size
from textual.widgets import Input

from scanviz.profiler.report.units import amount, counted, duration
from scanviz.record.loops import SAMPLE_REASONS, LoopRecord, TimedSteps
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.run_breakdown import OperationTimes, parts_of
from scanviz.tui.asking import SearchInput, whole_number
from scanviz.tui.model.linked_selection import SIGN
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.chart import AXIS, Window, chart
from scanviz.tui.text.ruler import rows_text
from scanviz.tui.views.base import TabView, TextBlock

SLOW = 2  # a step that took so many times the median is marked
APART = 30  # a slowest step so many times the median would flatten all others on an even scale


class StepsChart(TextBlock, can_focus=True):
    """The chart, which has the focus."""

    def on_resize(self, event: Resize) -> None:
        """Draw the chart for its new size."""
        view = next((ancestor for ancestor in self.ancestors if isinstance(ancestor, StepsView)), None)
        if view is not None and event.size.width:
            view.redraw()


class StepsView(TabView):
    """The tab."""

    TITLE = "Steps"
    QUESTION = "which steps were slow"
    ABOUT = (
        "The time of the steps that were kept, over all runs: █ the median, ░ up to the p95, • the times above that. Kept are the "
        "first, the last, the slowest (which count for dots alone) and every k-th. • below the chart: a step that took more than "
        "twice the loop's median. The cursor is the step of every tab; enter shows its values. "
        "/ finds kept steps by their number or by why they were kept, such as slowest."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "step(-1)", "back", show=False),
        Binding("right,l", "step(1)", "forward", show=False),
        Binding("shift+left,H", "kept(-1)", "kept step before", show=False),
        Binding("shift+right,L", "kept(1)", "next kept step", show=False),
        Binding("g,home", "end(0)", "first step", show=False),
        Binding("G,end", "end(1)", "last step", show=False),
        Binding("s", "app.slowest", "slowest"),
        Binding("f", "app.first_bad", "first NaN"),
        Binding("colon", "ask", "go to step"),
        Binding("plus,equals_sign,up,k", "zoom(0.5)", "zoom in", show=False),
        Binding("minus,down,j", "zoom(2.0)", "zoom out", show=False),
        Binding("0", "whole", "all", show=False),
        Binding("o", "flip('logarithmic')", "log scale"),
        Binding("r", "run", "run"),
        Binding("enter", "values", "values of the step", show=False),
    ]

    def __init__(self, state: ViewState, *, id: str | None = None) -> None:
        super().__init__(state, id=id)
        self._loop: int | None = None
        self._window = Window(0, 0)
        self.logarithmic = False

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        yield TextBlock(id="steps-about")
        yield StepsChart(id="steps-chart")
        yield TextBlock(id="steps-here")
        yield SearchInput(id="steps-ask")

    @property
    def whole(self) -> Window:
        """Window of all steps."""
        return Window(0, max(0, self.state.steps - 1))

    def redraw(self) -> None:
        """Draw the chart with its cursor."""
        loop = self.state.loop_record
        about = self.query_one("#steps-about", TextBlock)
        canvas = self.query_one("#steps-chart", TextBlock)
        here = self.query_one("#steps-here", TextBlock)
        if loop is None or not len(loop.series):
            about.show("Choose a loop in the tree: no single steps are kept of this.")
            canvas.show("")
            here.show("")
            return
        if self._loop != loop.key:
            self._loop, self._window = loop.key, self.whole
            self.logarithmic = _is_far_apart(loop)
        self._window = self._window.following(self.state.step, self.whole)
        about.show(_about(loop, self.state.run, self.logarithmic))
        series = loop.drawn()
        series = series if self.state.run is None else series[series[:, 0] == self.state.run]
        extent = self.extent_of("#steps-chart", Size(self.room.width, max(6, self.room.height - 4)))
        size = (max(20, extent.width), max(5, extent.height))
        lines = chart(
            series, self._window, size, self.state.step, self.logarithmic, SLOW * loop.step_times.p50_ns
        )
        canvas.show(Text("\n").join(lines))
        here.show(_here(loop, self.state))

    def action_kept(self, by: int) -> None:
        """Go to the next kept step."""
        loop = self.state.loop_record
        if loop is not None:
            kept = sorted(set(loop.series[:, 1].tolist()))
            beyond = [step for step in kept if (step - self.state.step) * by > 0]
            if beyond:
                self.move(self.state.at_step(beyond[0] if by > 0 else beyond[-1]))

    def action_zoom(self, factor: float) -> None:
        """Show fewer or more steps."""
        self._window = self._window.zoomed(factor, self.state.step, self.whole)
        self.redraw()

    def action_whole(self) -> None:
        """Show all steps."""
        self._window = self.whole
        self.redraw()

    def action_run(self) -> None:
        """Show the next run only; after the last run, show all."""
        loop = self.state.loop_record
        if loop is not None:
            runs: list[int | None] = [None, *sorted(set(loop.series[:, 0].tolist()))]
            place = runs.index(self.state.run) if self.state.run in runs else 0
            self.move(self.state.at_run(runs[(place + 1) % len(runs)]))

    def action_values(self) -> None:
        """Show the values of the step."""
        self.enter("Values", self.state)

    def rows(self) -> list[str]:
        """Return the kept steps, in words."""
        return [
            f"{timed_steps.words} of run {timed_steps.run}, {SAMPLE_REASONS[timed_steps.reason]}, {duration(timed_steps.time_ns)}"
            + (" on average" if timed_steps.covers > 1 else "")
            for timed_steps in self._kept()
        ]

    def go_to(self, row: int) -> None:
        """Go to a kept step."""
        self.move(self.state.at_step(self._kept()[row].step))

    def _kept(self) -> list[TimedSteps]:
        """Return the kept steps of the selected runs, in order."""
        loop = self.state.loop_record
        kept = loop.timed() if loop is not None else []
        return sorted(timed_steps for timed_steps in kept if self.state.run in (None, timed_steps.run))

    def action_ask(self) -> None:
        """Ask for a step's number."""
        self.query_one("#steps-ask", SearchInput).ask("step number", self.focus_inside)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the step that was asked for."""
        event.stop()
        self.query_one("#steps-ask", SearchInput).action_close()
        step = whole_number(event.value)
        if step is not None:
            self.move(self.state.at_step(step))

    def on_click(self, event: Click) -> None:
        """Put the cursor at the click."""
        canvas = self.query_one("#steps-chart", TextBlock)
        if event.widget is canvas:
            width = max(1, canvas.size.width - AXIS)
            span = self._window.last - self._window.first + 1
            self.move(self.state.at_step(self._window.first + max(0, event.x - AXIS) * span // width))

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Zoom in."""
        self.action_zoom(0.7)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Zoom out."""
        self.action_zoom(1.4)


def _is_far_apart(loop: LoopRecord) -> bool:
    return loop.step_times.max_ns > APART * max(1, loop.step_times.p50_ns)


def all_steps(state: ViewState, width: int, height: int, axis: int = AXIS) -> list[Text]:
    """Return the lines of a chart of all steps of the selected loop; none without kept steps."""
    loop = state.loop_record
    if loop is None or not len(loop.series):
        return []
    window, slow_ns = Window(0, max(0, state.steps - 1)), SLOW * loop.step_times.p50_ns
    size = (width, height)
    return chart(loop.drawn(), window, size, state.step, _is_far_apart(loop), slow_ns, axis)


def titled_steps(state: ViewState, width: int, height: int) -> Text:
    """Return a chart of all steps of the selected loop, with a title line."""
    lines, loop = all_steps(state, width, height - 1), state.loop_record
    if loop is None or not lines:
        return Text("")
    return Text("\n").join([_about(loop, None, _is_far_apart(loop)), *lines])


def _about(loop: LoopRecord, run: int | None, logarithmic: bool) -> Text:
    """Return the chart's title; the quantiles are those of all runs."""
    kept, (median, p95, longest) = loop.series, map(duration, loop.step_quantiles_ns)
    text = Text(f"{sanitize(loop.name)}: ", style="bold")
    if run is None:
        text.append(f"{counted(loop.runs, 'run')}, {counted(loop.steps, 'step')}, ")
    else:
        kept = kept[kept[:, 0] == run]
        text.append(f"run {run}; of {counted(loop.runs, 'run')}, {counted(loop.steps, 'step')}: ")
    words = (
        f"median {median}, p95 {p95}, max {longest}; "
        f"{amount(len(kept))} kept{', logarithmic' if logarithmic else ''}; █ median ░ p95 • above"
    )
    blocks = (
        f", {counted(loop.block_steps, 'step')} in {counted(loop.blocks, 'block')}" if loop.blocks else ""
    )
    return text.append(words + blocks, style="not bold")


def _here(loop: LoopRecord, state: ViewState) -> Text:
    rows = loop.at(state.step)
    text = Text(f"step {state.step}: ", style="bold")
    if not len(rows):
        text.append("was not kept", style="not bold")
    else:
        sentences = [
            f"{duration(row.time_ns)} in run {row.run} ({SAMPLE_REASONS[row.reason]}"
            + (f", average of {row.words})" if row.covers > 1 else ")")
            for row in rows[:4]
        ]
        text.append(
            "; ".join(sentences) + (f"; and {len(rows) - 4} more" if len(rows) > 4 else ""), style="not bold"
        )
    if state.variable is not None and state.variable < len(loop.variables):
        variable = loop.variables[state.variable]
        buffer = rows_text(variable, state.step)
        text.append(f"\n{SIGN}{sanitize(variable.name)}: {buffer}" if buffer else "", style="not bold")
    times = OperationTimes(parts_of(state.record))
    if (heaviest := times.most_of(loop)) is not None:
        place = f"  {sanitize(str(heaviest.source))}" if heaviest.source is not None else ""
        text.append(
            f"\nmost of all steps: {sanitize(heaviest.label)}, {duration(times.of(loop, heaviest))}{place}",
            style="not bold",
        )
    return text
