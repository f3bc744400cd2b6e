"""What the rows of a buffer hold at a step, as shades: known of steps whose values were kept or computed again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from scanviz.record.loops import LoopVariableRecord
from scanviz.record.traces import TraceRecord
from scanviz.render.buffers import rows_before

SHADES = " ░▒▓█"
_MEAN, _NAN, _INF = 2, 3, 4  # columns of statistics


def rows_held(
    traces: Iterable[TraceRecord], variable: LoopVariableRecord, index: int, step: int
) -> dict[int, float]:
    """Return the mean of each row of a buffer as it is after a step, NaN where a number in it is none; of the rows that are known.

    A row is what was last written to it, or read from it, in steps up to this one.

    Examples
    --------
    >>> import numpy as np
    >>> from scanviz.record.traces import TracedVariableRecord
    >>> rows = np.array([[0.0, 1, 0.5, 0, 0], [0.0, 2, 1.5, 0, 0]])
    >>> written = TracedVariableRecord("h[t]", "output", 0, 0, statistics=rows)
    >>> h = LoopVariableRecord("sitsot", "h", reads=(-1,), writes=(0,))
    >>> rows_held([TraceRecord(1, 0, 2, (0, 1), variables=(written,))], h, 0, 1)
    {1: 0.5, 2: 1.5}
    """
    before = rows_before(variable)
    found: dict[int, tuple[int, int, float]] = {}  # row → step, whether it was written, its mean
    for trace in traces:
        of = [
            each
            for each in trace.variables
            if each.variable == index and (each.tap is not None or variable.kind in ("sequence", "nitsot"))
        ]
        for place, at in enumerate(trace.steps):
            if at > step:
                break
            for each in of:
                row = at if variable.kind in ("sequence", "nitsot") else at + (each.tap or 0) + before
                when = (at, int(each.role == "output"))
                if row not in found or found[row][:2] < when:
                    values = each.statistics[place]
                    bad = values[_NAN] or values[_INF]
                    found[row] = (*when, math.nan if bad else float(values[_MEAN]))
    return {row: mean for row, (_, _, mean) in sorted(found.items())}


def shades(rows: Mapping[int, float], wanted: Iterable[int]) -> dict[int, str]:
    """Return a shade for each of the wanted rows that is known, ``!`` for NaN: light is the smallest of them, dark the largest.

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


__all__ = ["rows_held", "shades"]
