"""One variable of a step as text: its numbers, its smallest and largest over time, or its numbers over time as shades."""

from __future__ import annotations

import itertools
import math

import numpy as np
from rich.text import Text

from scanviz.record.plain_text import sanitize
from scanviz.record.traces import TracedVariableRecord, TraceRecord
from scanviz.tui.colours import CYAN, RED

SHOWN = ("numbers", "over time", "heat map")
_SHADES = " ░▒▓█"
_HEIGHTS = "▁▂▃▄▅▆▇█"


def number(value: float) -> str:
    """Return a number in four digits."""
    return "NaN" if math.isnan(value) else f"{value:.4g}"


def value_text(
    variable: TracedVariableRecord, trace: TraceRecord, place: int, shown: str, width: int
) -> Text:
    """Return one variable: its numbers at a step, its smallest and largest over time, or its numbers over time as shades."""
    text = Text(
        f"{sanitize(variable.name)} {sanitize(variable.dtype)}{list(variable.shape)}, {shown}\n", style="bold"
    )
    if shown == "numbers":
        numbers = " ".join(number(element) for element in variable.values[place].tolist())
        return text.append(numbers[: 4 * width], style="not bold")
    if shown == "over time":
        for name, column in (("max", 1), ("mean", 2), ("min", 0)):
            line = _scaled(variable.statistics[:, column], place, width - 8, _HEIGHTS)
            text.append(f"{name:>5} ", style="not bold dim")
            text.append_text(line)
            text.append("\n")
        return text
    columns = variable.values[:, :12].T
    for which, row in enumerate(columns):
        text.append(f"{f'[{which}]':>5} ", style="not bold dim")
        text.append_text(_scaled(row, place, width - 8, _SHADES))
        text.append("\n")
    return text


def _scaled(values: np.ndarray, place: int, width: int, signs: str) -> Text:
    """Return values over the kept steps as signs, the step that is looked at reversed; ! stands for NaN and infinities."""
    first = max(0, min(place - width // 2, len(values) - width))
    part = values[first : first + width]
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
    return text.append(f" {number(low)} … {number(high)}", style="dim")
