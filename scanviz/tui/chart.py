"""A chart of times over steps in characters: a bar a column, with a cursor, on an even or a logarithmic scale.

A column stands for several steps where there are more steps than columns, and shows the slowest of them, so that no slow step is
ever hidden; a step takes several columns where there are fewer.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.text import Text

from scanviz.profiler.report.units import amount, duration
from scanviz.record.loops import Samples
from scanviz.tui.colours import CYAN, RED, YELLOW

_EIGHTHS = " ▁▂▃▄▅▆▇█"
AXIS = 9  # columns for the numbers on the left


@dataclass(frozen=True, slots=True)
class Window:
    """The steps that a chart shows.

    Attributes
    ----------
    first, last : int
        The first and the last step.
    """

    first: int
    last: int

    def zoomed(self, factor: float, around: int, whole: Window) -> Window:
        """Return a narrower or wider window with a step at the same place, within the whole.

        Examples
        --------
        >>> Window(0, 1000).zoomed(0.5, 500, Window(0, 1000))
        Window(first=250, last=750)
        """
        around = max(self.first, min(around, self.last))
        first = round(around - (around - self.first) * factor)
        last = round(around + (self.last - around) * factor)
        last = max(last, first + min(8, whole.last - whole.first))
        shift = max(0, whole.first - first) or min(0, whole.last - last)
        return Window(max(whole.first, first + shift), min(whole.last, last + shift))

    def following(self, step: int, whole: Window) -> Window:
        """Return a window as wide in which a step is seen."""
        if self.first <= step <= self.last:
            return self
        width = self.last - self.first
        first = max(whole.first, min(step - width // 2, whole.last - width))
        return Window(first, first + width)


def columns_of(
    series: Samples, window: Window, width: int, slow_ns: float = math.inf
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for each column the slowest time of its steps (NaN for none), whether it is above what is slow, and its cell.

    Cells are what is drawn alike: one or more steps a cell, and a cell is one column, or several where there are fewer steps.
    """
    span = window.last - window.first + 1
    cells = max(1, min(width, span))
    high = np.full(cells, -np.inf)
    steps, times = series[:, 1], series[:, 2]
    seen = (steps >= window.first) & (steps <= window.last)
    places = cell_of(steps[seen], window, cells)
    np.maximum.at(high, places, times[seen])
    high[np.isinf(high)] = np.nan
    shown = np.arange(width) * cells // width
    return high[shown], high[shown] > slow_ns, shown


def cell_of(step: Any, window: Window, cells: int) -> Any:
    """Return the cell in which a step stands.

    Examples
    --------
    >>> cell_of(50, Window(0, 99), 10)
    5
    """
    return (step - window.first) * cells // max(1, window.last - window.first + 1)


def chart(
    series: Samples,
    window: Window,
    size: tuple[int, int],
    cursor: int,
    logarithmic: bool,
    slow_ns: float = math.inf,
) -> list[Text]:
    """Return the lines of a chart.

    Parameters
    ----------
    series : numpy.ndarray
        Rows of run, step, nanoseconds and reason, as records have them.
    window : Window
        The steps that are shown.
    size : tuple of int
        Columns and rows, axes included.
    cursor : int
        The step that is looked at.
    logarithmic : bool
        Whether equal heights are equal ratios.
    slow_ns : float
        Nanoseconds above which a step is marked as slow, by its colour and by ``•`` below it.

    Examples
    --------
    >>> rows = np.array([[0, step, 1000 * (step + 1), 0] for step in range(4)])
    >>> for line in chart(rows, Window(0, 3), (13, 4), 2, False):
    ...     print(line.plain.rstrip())
     4.00 µs   ▄█
             ▄███
               ▲
             0  3
    """
    width, height = max(4, size[0] - AXIS), max(2, size[1] - 2)
    high, slow, cells = columns_of(series, window, width, slow_ns)
    if np.isnan(high).all():
        return [Text("no step that was kept lies here")]
    top = float(np.nanmax(high))
    base = max(1.0, float(np.nanmin(high))) / 1.5 if logarithmic else 0.0
    heights = [0.0 if math.isnan(each) else _part(each, base, top, logarithmic) * height for each in high]
    here = cells == cell_of(cursor, window, int(cells[-1]) + 1)
    lines = []
    for row in range(height):
        label = duration(top) if row == 0 else duration(base) if row == height - 1 and height > 2 else ""
        line = Text(f"{label:>{AXIS - 1}} ", style="dim")
        drawn = []
        for column, number in enumerate(heights):
            full = number - (height - 1 - row)
            cell = (
                _EIGHTHS[max(0, min(8, math.ceil(full * 8)))]
                if number
                else ("·" if row == height - 1 else " ")
            )
            style = f"bold {YELLOW}" if here[column] else f"bold {RED}" if slow[column] else CYAN
            drawn.append((cell, style if cell != " " else ""))
        for style, run in itertools.groupby(drawn, key=lambda each: each[1]):
            line.append("".join(cell for cell, _ in run), style=style)  # one span for many cells
        lines.append(line)
    marks = np.where(slow, "•", " ")
    columns = np.flatnonzero(here)
    if len(columns):
        marks[columns[len(columns) // 2]] = "▲"
    lines.append(Text(" " * AXIS + "".join(marks).rstrip()))
    first, last = amount(window.first), amount(window.last)
    lines.append(Text(f"{'':{AXIS}}{first}{last:>{max(1, width - len(first))}}", style="dim"))
    return lines


def _part(value: float, base: float, top: float, logarithmic: bool) -> float:
    if not logarithmic:
        return value / top
    return math.log(max(value, base) / base) / max(math.log(top / base), 1e-9)
