"""A chart of step times in characters: the median as a bar, a band up to the p95, and slower steps as dots.

A column stands for several steps where there are more steps than columns; a step takes several columns where there are fewer.  No
slow step is ever hidden: what is above the band of its column has a dot of its own.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from msgspec import Struct
from rich.text import Text

from scanviz.profiler.report.units import amount, duration
from scanviz.record.loops import Samples
from scanviz.tui.text.colours import CYAN, RED, YELLOW

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_SLOWEST = 3  # why a step was kept: among the slowest
BAND, DOT = "░", "•"
AXIS = 9  # columns for the numbers on the left


class Window(Struct, frozen=True):
    """The steps that a chart shows.

    Attributes
    ----------
    first, last : int
        The first and the last step.
    """

    first: int
    last: int

    def zoomed(self, factor: float, around: int, whole: Window) -> Window:
        """Return a narrower or wider window in which a step keeps its place, within the whole.

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
        """Return a window of the same width that contains a step."""
        if self.first <= step <= self.last:
            return self
        width = self.last - self.first
        first = max(whole.first, min(step - width // 2, whole.last - width))
        return Window(first, first + width)


class Cells(Struct, frozen=True):
    """Step times by cell: a cell is one column, or several if there are fewer steps than columns.

    Attributes
    ----------
    median, high : numpy.ndarray
        float64, shape (cells,): half of the times are below, and 95 % of them, NaN where no step was kept.  Steps that were
        kept for being slow count only where there are no others.
    beyond : dict of int to numpy.ndarray
        The times above ``high`` of cells that have any.
    slow : numpy.ndarray
        bool: whether a time of the cell is above what is slow.
    shown : numpy.ndarray
        The cell of each column.
    """

    median: np.ndarray
    high: np.ndarray
    beyond: dict[int, np.ndarray]
    slow: np.ndarray
    shown: np.ndarray

    @property
    def extremes(self) -> tuple[float, float]:
        """The least and the greatest drawn time."""
        most = max((float(times.max()) for times in self.beyond.values()), default=0.0)
        return float(np.nanmin(self.median)), max(most, float(np.nanmax(self.high)))


def cells_of(series: Samples, window: Window, width: int, slow_ns: float = math.inf) -> Cells:
    """Return the step times of a window, binned into columns."""
    count = max(1, min(width, window.last - window.first + 1))
    steps = series[:, 1]
    seen = series[(steps >= window.first) & (steps <= window.last)]
    places, times = cell_of(seen[:, 1], window, count), seen[:, 2]
    fair = seen[:, 3] != _SLOWEST
    lacking = np.bincount(places[fair], minlength=count)[places] == 0 if len(seen) else fair
    fair |= lacking
    median, high = (_ranked(places[fair], times[fair], count, part) for part in (0.5, 0.95))
    above = times > high[places]
    beyond = {int(cell): times[above & (places == cell)] for cell in np.unique(places[above])}
    slow = np.zeros(count, bool)
    slow[places[times > slow_ns]] = True
    return Cells(median, high, beyond, slow, np.arange(width) * count // width)


def _ranked(places: np.ndarray, times: np.ndarray, count: int, part: float) -> np.ndarray:
    """Return a quantile of the times of each cell (nearest rank), NaN for empty cells."""
    order = np.lexsort((times, places))
    many = np.bincount(places, minlength=count)
    first = np.cumsum(many) - many
    found = np.full(count, np.nan)
    some = many > 0
    rank = np.ceil(part * many[some]).astype(np.int64) - 1
    found[some] = times[order][first[some] + rank]
    return found


def cell_of(step: Any, window: Window, cells: int) -> Any:
    """Return the cell of a step.

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
    axis: int = AXIS,
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
        Nanoseconds above which a step is marked as slow, by ``•`` below it.
    axis : int
        Columns for the numbers on the left; 0 leaves them out.

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
    width, height = max(4, size[0] - axis), max(2, size[1] - 2)
    cells = cells_of(series, window, width, slow_ns)
    if np.isnan(cells.median).all():
        return [Text("no step that was kept lies here")]
    least, top = cells.extremes
    scale = Scale(max(1.0, least) / 1.5 if logarithmic else 0.0, top, height, logarithmic)
    here = cells.shown == cell_of(cursor, window, len(cells.median))
    drawn = [_column(cells, cell, scale) for cell in range(len(cells.median))]
    lines = []
    for row in range(height):
        label = (
            duration(top) if row == 0 else duration(scale.base) if row == height - 1 and height > 2 else ""
        )
        line = Text(f"{label:>{axis - 1}} " if axis else "", style="dim")
        looks = [_look(drawn[cell][row], bool(here[k])) for k, cell in enumerate(cells.shown)]
        for style, run in itertools.groupby(looks, key=lambda look: look[1]):
            line.append("".join(sign for sign, _ in run), style=style)  # one span for many cells
        lines.append(line)
    marks = np.where(cells.slow[cells.shown], DOT, " ")
    columns = np.flatnonzero(here)
    if len(columns):
        marks[columns[len(columns) // 2]] = "▲"
    lines.append(Text(" " * axis + "".join(marks).rstrip()))
    first, last = amount(window.first), amount(window.last)
    lines.append(Text(f"{' ' * axis}{first}{last:>{max(1, width - len(first))}}", style="dim"))
    return lines


class Scale(Struct, frozen=True):
    """The scale from times to heights.

    Attributes
    ----------
    base, top : float
        Nanoseconds at the foot and at the top.
    height : int
        Rows.
    logarithmic : bool
        Whether equal heights are equal ratios.
    """

    base: float
    top: float
    height: int
    logarithmic: bool

    def rows(self, time_ns: float) -> float:
        """Return the height of a time in rows."""
        return _part(time_ns, self.base, self.top, self.logarithmic) * self.height


def _column(cells: Cells, cell: int, scale: Scale) -> list[str]:
    """Return a cell's characters from the top down: its bar, its band, its dots."""
    height = scale.height
    if math.isnan(cells.median[cell]):
        return [" "] * (height - 1) + ["·"]
    bar, band = scale.rows(cells.median[cell]), scale.rows(cells.high[cell])
    found = []
    for row in range(height):
        foot = height - 1 - row
        filled = max(0, min(8, math.ceil((bar - foot) * 8)))
        found.append(_EIGHTHS[filled] if filled or band <= foot else BAND)
    for time in cells.beyond.get(cell, ()):
        found[height - 1 - min(height - 1, int(scale.rows(time)))] = DOT
    return found


def _look(sign: str, here: bool) -> tuple[str, str]:
    """Return a character of the chart in its style."""
    if sign == " ":
        return sign, ""
    if here:
        return sign, f"bold {YELLOW}"
    return sign, f"bold {RED}" if sign == DOT else CYAN


def _part(value: float, base: float, top: float, logarithmic: bool) -> float:
    if not logarithmic:
        return value / top
    return math.log(max(value, base) / base) / max(math.log(top / base), 1e-9)
