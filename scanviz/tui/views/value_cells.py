"""What the tab of values says of a step: where its first bad value came up, a row for each variable, watches."""

from __future__ import annotations

import math

from rich.text import Text

from scanviz.record.loops import LoopRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.traces import TracedVariableRecord, TraceRecord
from scanviz.tui.colours import RED
from scanviz.tui.linked_selection import NO_SIGN, SIGN, given_to
from scanviz.tui.origin import origin
from scanviz.tui.state import ViewState
from scanviz.tui.value_text import number
from scanviz.tui.views.tables import Cell, Column, Row, text_cell
from scanviz.tui.watch import WatchError, watched

WIDEST = 36  # letters of a name in the table; below it stands whole
COLUMNS = (
    # Its number is in the order in which the step computes: the first bad one is where it began.
    Column("no.", number=True),
    Column("variable"),
    Column("of the step"),
    Column("min", number=True),
    Column("max", number=True),
    Column("mean", number=True),
    Column("NaN", number=True),
    Column("inf", number=True),
    Column("values"),
    Column("line"),
)


def trace_at(state: ViewState) -> TraceRecord | None:
    """Return values that were kept of the step; of the run that is looked at, else of any."""
    kept = [trace for trace in state.traces if state.step in trace.steps]
    return next((trace for trace in kept if trace.run == state.run), kept[0] if kept else None)


def about_step(state: ViewState, loop: LoopRecord) -> Text:
    """Return which step it is, and where the first NaN or infinity came up and out of what."""
    text = Text(f"{sanitize(loop.name)}, step {state.step} of {state.steps}", style="bold")
    forward = next((other for other in state.record.loops if other.key == loop.gradient_of), None)
    if forward is not None:
        text.append(
            f" (belongs to step {max(0, state.steps - 1 - state.step)} of {sanitize(forward.name)})",
            style="not bold",
        )
    if not state.traces:
        how = "scanviz profile --values SCRIPT keeps them, and scanviz tui --values SCRIPT"
        text.append(f"\nvalues were not recorded: {how}", style="not bold dim")
        return text
    text.append(f"\n{_first_bad(state)}", style="not bold")
    for link in state.blame()[1:]:
        line = f" ({sanitize(str(link.source))})" if link.source is not None else ""
        text.append(f"\n  ← {sanitize(link.words)}{line}", style="not bold")
    return text


def line_of(state: ViewState, variable: TracedVariableRecord) -> str:
    """Return the user's line that a variable stands in; empty where none is known."""
    if variable.source is not None:
        return str(variable.source)
    return origin(state, variable.variable).source if variable.variable is not None else ""


def _first_bad(state: ViewState) -> str:
    """Return in words where the first NaN or infinity came up, and of what."""
    found = state.first_bad()
    if found is None:
        return "no NaN or infinity was kept"
    trace, bad = found
    run = f" of run {trace.run}" if len(state.traces) > 1 else ""
    words = f"first NaN or infinity: step {bad.step}{run} (f)"
    name = sanitize(bad.variable.name)
    if bad.given:
        return f"{words}; the step was given it in {name}"
    line = f" ({sanitize(str(bad.variable.source))})" if bad.variable.source is not None else ""
    place = trace.steps.index(bad.step)
    given = ", ".join(
        _shortly(traced_variable, place) for traced_variable in given_to(state, trace, bad.variable)
    )
    return f"{words}, made by {name}{line}" + (f" of {given}" if given else "")


def _shortly(variable: TracedVariableRecord, place: int) -> str:
    """Return a value in a few words: itself if it is one number, else between what it lies."""
    low, high = variable.statistics[place, :2].tolist()
    told = number(low) if math.prod(variable.shape) == 1 else f"{number(low)} … {number(high)}"
    return f"{sanitize(variable.name)} = {told}"


def variable_row(
    place_in_step: int, variable: TracedVariableRecord, place: int, chosen: int | None, line: str
) -> Row:
    """Return the row of a variable: what it is, its statistics, and its first values."""
    low, high, mean, nan, infinite = variable.statistics[place].tolist()
    bad = f"bold {RED}" if nan or infinite else ""
    name = sanitize(variable.name)
    name = name if len(name) <= WIDEST else f"{name[: WIDEST - 1]}…"
    sign = SIGN if chosen is not None and variable.variable == chosen else NO_SIGN
    values = " ".join(number(element) for element in variable.values[place, :8].tolist())
    more = " …" if math.prod(variable.shape) > 8 else ""
    return (
        Cell(str(place_in_step), place_in_step),
        Cell(f"{sign}{'! ' if bad else ''}{name}", name.casefold(), bad or ("bold" if sign == SIGN else "")),
        text_cell(variable.role),
        *(Cell(number(value), value if math.isfinite(value) else -math.inf) for value in (low, high, mean)),
        Cell(str(int(nan)), nan, bad),
        Cell(str(int(infinite)), infinite, bad),
        text_cell(values + more),
        text_cell(sanitize(line)),
    )


def watch_text(expression: str, trace: TraceRecord | None, state: ViewState) -> str:
    """Return what a watched expression is worth at the step, or why it cannot be said."""
    if trace is None:
        return "not kept at this step"
    place = trace.steps.index(state.step)
    known = {
        variable.name: variable.values[place][: math.prod(variable.shape)].reshape(variable.shape)
        for variable in trace.variables
        if math.prod(variable.shape) <= variable.values.shape[1]
    }
    cut = {variable.name for variable in trace.variables if variable.name not in known}
    try:
        return watched(expression, known, cut)
    except WatchError as error:
        return str(error)
