"""Buffers as rulers: the rows near a step, with the rows read and written marked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill

from msgspec import Struct, field
from rich.text import Text

from scanviz.record.graphs.graph import LoopVariableRecord
from scanviz.record.loops import LoopRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.summary.glosses import gloss
from scanviz.record.traces.model import TraceRecord
from scanviz.render.buffers import backward_name, called, carried, rows_before, rows_read, rows_written
from scanviz.render.row_values import number, rows_held
from scanviz.tui.model.linked_selection import NO_SIGN, SIGN
from scanviz.tui.model.state import ViewState
from scanviz.tui.text.colours import CYAN, RED

# What the rows of a buffer hold at a step, as shades: known of steps whose values were kept or computed again.

SHADES = " ░▒▓█"
NEAR = 128  # steps before and after the one that is looked at: no ruler shows rows of others


def means_held(
    traces: Iterable[TraceRecord], variable: LoopVariableRecord, index: int, step: int
) -> dict[int, float]:
    """Return the mean of each known row of a buffer after a step, NaN for rows with NaN or infinities."""
    held = rows_held(traces, variable, index, step, range(step - NEAR, step + NEAR + 1))
    return {row: value.mean for row, value in held.items()}


def are_numbers(traces: Iterable[TraceRecord], index: int) -> bool:
    """Return whether a row of a buffer is one number."""
    return all(
        math.prod(seen.shape) == 1 for trace in traces for seen in trace.variables if seen.variable == index
    )


def shades(rows: Mapping[int, float], wanted: Iterable[int]) -> dict[int, str]:
    """Return a shade for each wanted known row, ``!`` for NaN: light is the smallest, dark the largest.

    Examples
    --------
    >>> shades({1: 0.5, 2: 1.5, 3: math.nan}, [0, 1, 2, 3])
    {1: '░', 2: '█', 3: '!'}
    """
    known = {row: rows[row] for row in wanted if row in rows}
    finite = [mean for mean in known.values() if math.isfinite(mean)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    scale = (len(SHADES) - 2) / ((high - low) or 1.0)
    return {
        row: SHADES[1 + round((mean - low) * scale)] if math.isfinite(mean) else "!"
        for row, mean in known.items()
    }


# Those that have rows, in the order in which they are shown.
_INDENT = "    "
_BUFFERS = ("mitmot", "mitsot", "sitsot", "nitsot", "sequence")


def rulers(
    loop: LoopRecord,
    state: ViewState,
    width: int,
    known: Sequence[TraceRecord] = (),
    steps: int | None = None,
) -> Text:
    """Draw the buffers of a loop near a step as rulers, with the rows read and written marked.

    Parameters
    ----------
    loop, state
        The selected loop and state.
    width : int
        Columns.
    known : sequence of TraceRecord
        Values of the run, for the shades of rows.
    steps : int, optional
        Steps of the run; by default those of the longest.
    """
    steps = loop.longest_run if steps is None else steps
    backwards = loop.gradient_of is not None
    text = Text()
    ordered = sorted(
        ((variable, k) for k, variable in enumerate(loop.variables) if variable.kind in _BUFFERS),
        key=lambda pair: _BUFFERS.index(pair[0].kind),
    )
    for variable, index in ordered:
        marked = index == state.variable
        text.append(
            f"{SIGN if marked else NO_SIGN}{sanitize(variable.name)}",
            style="bold reverse" if marked else "bold",
        )
        text.append(f"  {_kind(variable, width)}", style="not bold dim")
        text.append("\n")
        held = contents(known, variable, index, state.step)
        text.append_text(ruler(variable, state.step, steps, width, held, backwards=backwards))
        text.append("\n")
    return text


class Contents(Struct, frozen=True):
    """Known contents of a buffer's rows.

    Attributes
    ----------
    before, after : mapping of int to float
        The mean of each row that is known, before a step and after it.
    numbers : bool
        Whether a row is one number.
    """

    before: Mapping[int, float] = field(default_factory=dict)
    after: Mapping[int, float] = field(default_factory=dict)
    numbers: bool = False


def contents(known: Sequence[TraceRecord], variable: LoopVariableRecord, index: int, step: int) -> Contents:
    """Return the known rows of a loop variable's buffer near a step."""
    before, after = (means_held(known, variable, index, at) for at in (step - 1, step))
    return Contents(before, after, are_numbers(known, index))


def _kind(variable: LoopVariableRecord, width: int) -> str:
    """Return the kind of a loop variable, with its meaning if there is room."""
    meaning = gloss(variable.kind)
    return meaning if len(variable.name) + len(meaning) + 4 <= width else variable.kind


def ruler(
    variable: LoopVariableRecord,
    step: int,
    steps: int,
    width: int,
    held: Contents | None = None,
    *,
    backwards: bool = False,
) -> Text:
    """Return one buffer as a row of cells: ``r`` is read, ``W`` is written, ``B`` both, ``i`` holds an initial row.

    Below stands what rows hold, where it is known: the number, if a row is one, else its mean behind a shade.  A buffer to whose
    rows steps add is shown before the step and after it, and its rows have their names in the time of the loop before.  With
    ``backwards`` the last row stands first: rows of a gradient are then in the order of the forward loop.

    Examples
    --------
    >>> state = LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,), inner_inputs=("x[t-3]", "x[t-1]"))
    >>> print(ruler(state, 1, 4, 60, Contents(after={1: 0.5, 4: 12.0}, numbers=True)).plain)
        row │ 0i│ 1r│ 2i│ 3r│ 4W│ 5 │ 6 │
      holds │   │0.5│   │   │12 │   │   │
        reads row 1 as x[t-3], row 3 as x[t-1]; writes row 4 as x[t]
        row 4 is read by step 2 as x[t-1]
    """
    held = held or Contents()
    before = rows_before(variable)
    reads, writes = rows_read(variable, step), rows_written(variable, step)
    last = max(step, steps - 1)
    last_rows = (*rows_read(variable, last), *rows_written(variable, last))
    total = max(before + steps, *(row + 1 for row in last_rows), 1)
    lines = _lines(variable, steps, held) if held.numbers else _means(held)
    longest = max((len(text) for _, texts in lines for text in texts.values()), default=0)
    cell = max(len(str(total - 1)) + 2, longest)
    room = max(4, (width - 10) // (cell + 1))
    first = max(0, min(min((*reads, *writes), default=0) - 2, total - room))
    rows = range(first, min(total, first + room))
    rows, end = (rows[::-1], 0) if backwards else (rows, total - 1)
    styles = {row: f"bold {RED}" if row in writes else f"bold {CYAN}" for row in (*reads, *writes)}
    text = Text("    row │")
    for row in rows:
        sign = (
            ("B" if row in reads else "W")
            if row in writes
            else "r"
            if row in reads
            else "i"
            if row < before
            else " "
        )
        text.append(f"{row:>{cell - 1}}{sign}", style=styles.get(row, "dim"))
        text.append("│")
    if rows[-1] != end:
        text.append(f" … {end}")
    for title, texts in lines:
        _line(text, title, texts, rows, cell, styles)
    for sentence in filter(None, (rows_text(variable, step), carried(variable, step, steps))):
        text.append(
            f"\n{fill(sanitize(sentence), max(30, width), initial_indent=_INDENT, subsequent_indent=_INDENT)}",
            style="dim",
        )
    return text


def _lines(variable: LoopVariableRecord, steps: int, held: Contents) -> list[tuple[str, dict[int, str]]]:
    """Return the lines below the rows: a title each, and a text for each row that has one."""
    before, after = ({row: number(mean) for row, mean in rows.items()} for rows in (held.before, held.after))
    if variable.kind != "mitmot":
        return [("holds", after)] if after else []
    names = {row: backward_name(variable, row, steps) for row in {*before, *after}}
    lines = [("cell", names), ("before", before), ("after", after)]
    return [(title, texts) for title, texts in lines if any(texts.values())]


def _means(held: Contents) -> list[tuple[str, dict[int, str]]]:
    """Return the means of rows, each with a shade relative to the others."""
    signs = shades(held.after, held.after)
    means = {
        row: f"{sign}{held.after[row]:.3g}" if sign != "!" else f"!{number(held.after[row])}"
        for row, sign in signs.items()
    }
    return [("mean", means)] if means else []


def _line(
    text: Text, title: str, texts: Mapping[int, str], rows: range, cell: int, styles: Mapping[int, str]
) -> None:
    """Add a line of texts below the rows."""
    text.append(f"\n{title:>7} │", style="dim")
    for row in rows:
        shown = texts.get(row, "").rjust(cell - 1).ljust(cell)  # below the row's number, where there is room
        bad = shown.strip(" -").startswith(("!", "NaN", "inf"))
        text.append(
            shown,
            style=f"not bold {RED if bad else styles.get(row, '').removeprefix('bold ')}".strip(),
        )
        text.append("│", style="dim")


def rows_text(variable: LoopVariableRecord, step: int) -> str:
    """Describe the rows of a buffer that a step reads and writes; empty for kinds without rows.

    Examples
    --------
    >>> rows_text(LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,), inner_inputs=("h[t-1]",)), 3)
    'reads row 3 as h[t-1]; writes row 4 as h[t]'
    """
    if variable.kind not in _BUFFERS:
        return ""
    names = {
        "reads": [
            f"row {row} as {_read_name(variable, k)}" for k, row in enumerate(rows_read(variable, step))
        ],
        "writes": [
            f"row {row} as {_write_name(variable, k)}" for k, row in enumerate(rows_written(variable, step))
        ],
    }
    return "; ".join(f"{verb} {', '.join(rows)}" for verb, rows in names.items() if rows)


def _read_name(variable: LoopVariableRecord, place: int) -> str:
    if variable.kind == "sequence":
        return sanitize(", ".join(variable.inner_inputs))
    return sanitize(called(variable, variable.reads[place]))


def _write_name(variable: LoopVariableRecord, place: int) -> str:
    return sanitize(variable.name if variable.kind == "nitsot" else called(variable, variable.writes[place]))
