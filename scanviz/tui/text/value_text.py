"""One variable of a step as text: its numbers, its range over time, or its numbers over time as shades."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from rich.text import Text

from scanviz.record.plain_text import sanitize
from scanviz.record.traces.model import TracedVariableRecord, TraceRecord
from scanviz.render.row_values import number
from scanviz.tui.text.colours import CYAN, RED

SHOWN = ("numbers", "over time", "heat map")
_SHADES = " ░▒▓█"
_HEIGHTS = "▁▂▃▄▅▆▇█"
_BESIDE = 46  # columns of a series' name and numbers


def value_text(
    variable: TracedVariableRecord, trace: TraceRecord, place: int, shown: str, width: int
) -> Text:
    """Return one variable as text: its numbers at a step, its range over time, or its numbers over time as shades."""
    text = Text(
        f"{sanitize(variable.name)} {sanitize(variable.dtype)}{list(variable.shape)}, {shown}\n", style="bold"
    )
    if shown == "numbers":
        numbers = " ".join(number(element) for element in variable.values[place].tolist())
        return text.append(numbers[: 4 * width], style="not bold")
    if shown == "over time":
        series = {
            name: variable.statistics[:, column] for name, column in (("max", 1), ("mean", 2), ("min", 0))
        }
    else:
        series = {f"[{which}]": row for which, row in enumerate(variable.values[:, :12].T)}
    signs = _HEIGHTS if shown == "over time" else _SHADES
    room = max(8, width - _BESIDE)
    first = max(0, min(place - room // 2, len(trace.steps) - room))
    last = min(first + room, len(trace.steps))
    text.append(f" step {_axis(trace.steps[first:last], place - first)}\n", style="not bold dim")
    for name, values in series.items():
        text.append(f"{name:>5} ", style="not bold dim")
        text.append_text(_scaled(values, place, first, last, signs))
        text.append("\n")
    return text


def _axis(steps: Sequence[int], here: int) -> str:
    """Return the numbers of the first, chosen and last step, each below its column if it fits.

    Examples
    --------
    >>> _axis(range(20, 40), 9), _axis([7], 0), _axis(range(3), 1)
    ('20       29       39', '7', '0 2')
    """
    text = str(steps[0])
    for place in (here, len(steps) - 1):
        written = str(steps[place])
        start = max(len(text) + 1, place - len(written) + 1 if place == len(steps) - 1 else place)
        if place and (place == len(steps) - 1 or start == place):
            text = f"{text:<{start}}{written}"
    return text


def _scaled(values: np.ndarray, place: int, first: int, last: int, signs: str) -> Text:
    """Draw the values of kept steps as signs, the selected step reversed; ! marks NaN and infinities.

    Behind them stand the value at that step, and between what the others lie.
    """
    part = values[first:last]
    finite = part[np.isfinite(part)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    drawn = []
    for k, element in enumerate(part.tolist()):
        sign = (
            "!"
            if not math.isfinite(element)
            else signs[round((element - low) / ((high - low) or 1.0) * (len(signs) - 1))]
        )
        drawn.append((sign, "bold reverse" if first + k == place else f"bold {RED}" if sign == "!" else CYAN))
    text = Text()
    for style, run in itertools.groupby(drawn, key=lambda pair: pair[1]):
        text.append("".join(sign for sign, _ in run), style=style)
    text.append(f" {number(float(values[place]))}", style="not dim")
    return text.append(f" in {number(low)} … {number(high)}", style="dim")
