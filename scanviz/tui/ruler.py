"""Buffers as rulers: the rows around a step, with those that it reads and writes marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from scanviz.record.loops import LoopRecord, LoopVariableRecord
from scanviz.record.plain_text import sanitize
from scanviz.record.traces import TraceRecord
from scanviz.render.buffers import called, carried, rows_before, rows_read, rows_written
from scanviz.tui.colours import CYAN, RED
from scanviz.tui.heat import rows_held, shades
from scanviz.tui.linked_selection import NO_SIGN, SIGN
from scanviz.tui.state import ViewState

# Those that have rows, in the order in which they are shown.
_BUFFERS = ("mitmot", "mitsot", "sitsot", "nitsot", "sequence")


def rulers(
    loop: LoopRecord,
    state: ViewState,
    width: int,
    known: Sequence[TraceRecord] = (),
    steps: int | None = None,
) -> Text:
    """Return the buffers of a loop around a step, each as a ruler of rows with what is read and written marked.

    Parameters
    ----------
    loop, state
        What is looked at.
    width : int
        Columns.
    known : sequence of TraceRecord
        Values of the run, for the shades of rows.
    steps : int, optional
        Steps of the run; by default those of the longest.
    """
    steps = loop.longest_run if steps is None else steps
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
        text.append(f"  {variable.kind}", style="not bold dim")
        text.append("\n")
        held = rows_held(known, variable, index, state.step)
        text.append_text(ruler(variable, state.step, steps, width, held))
        text.append("\n")
    return text


def ruler(
    variable: LoopVariableRecord, step: int, steps: int, width: int, held: Mapping[int, float] | None = None
) -> Text:
    """Return one buffer as a row of cells: ``r`` is read, ``W`` is written, ``i`` holds an initial row.

    Below stand the means of rows that are known (``held``), as shades.

    Examples
    --------
    >>> state = LoopVariableRecord("mitsot", "x", reads=(-3, -1), writes=(0,), inner_inputs=("x[t-3]", "x[t-1]"))
    >>> print(ruler(state, 1, 4, 60).plain)
        row │ 0i│ 1r│ 2i│ 3r│ 4W│ 5 │ 6 │
        reads row 1 as x[t-3], row 3 as x[t-1]; writes row 4 as x[t]
        row 4 is read by step 2 as x[t-1]
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
        style = f"bold {RED}" if write else f"bold {CYAN}" if read else "dim"
        text.append(f"{row:>{digits}}{sign}", style=style)
        text.append("│")
    if first + room < total:
        text.append(f" … {total - 1}")
    shown = shades(held or {}, range(first, min(total, first + room)))
    if shown:
        text.append("\n   mean │", style="dim")
        for row in range(first, min(total, first + room)):
            sign = shown.get(row, " ")
            style = f"bold {RED}" if sign == "!" else CYAN if row in (*reads, *writes) else ""
            text.append(sign * digits + " ", style=f"not bold {style}")
            text.append("│", style="dim")
    text.append(f"\n    {touched(variable, step)}", style="dim")
    later = carried(variable, step, steps)
    return text.append(f"\n    {sanitize(later)}", style="dim") if later else text


def touched(variable: LoopVariableRecord, step: int) -> str:
    """Return in words which rows of a buffer a step reads and writes; nothing for what has no rows.

    Examples
    --------
    >>> touched(LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,), inner_inputs=("h[t-1]",)), 3)
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
    return "; ".join(f"{verb} {', '.join(each)}" for verb, each in names.items() if each)


def _read_name(variable: LoopVariableRecord, place: int) -> str:
    if variable.kind == "sequence":
        return sanitize(", ".join(variable.inner_inputs))
    return sanitize(called(variable, variable.reads[place]))


def _write_name(variable: LoopVariableRecord, place: int) -> str:
    return sanitize(variable.name if variable.kind == "nitsot" else called(variable, variable.writes[place]))
