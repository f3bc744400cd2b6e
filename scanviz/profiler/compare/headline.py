"""The net figure of a comparison: by how much the loop that changed most, or the function, is faster or slower."""

from __future__ import annotations

import math

from scanviz.profiler.compare.comparison import Compared, Comparison
from scanviz.profiler.report.units import duration
from scanviz.record.plain_text import sanitize


def headline(comparison: Comparison) -> str:
    """Return the net figure as a sentence; empty where nothing was measured in both.

    Examples
    --------
    >>> from scanviz.profiler.compare.comparison import compare
    >>> from scanviz.record.model import DurationRecord, FunctionRecord, ProfileRecord
    >>> def run(ns):
    ...     times = DurationRecord(9, 9 * ns, ns, ns, ns, ns, ns)
    ...     return ProfileRecord(functions=(FunctionRecord(1, "f", None, "numpy", calls=9, first_ns=ns, call_times=times),))
    >>> headline(compare(run(4_100_000), run(2_300_000)))
    'your function f is 1.8 times faster: 4.10 → 2.30 ms a call'
    """
    larger = [row for row in comparison.rows if row.figure.kind != "operation" and row.interval is not None]
    changed = [row for row in larger if row.verdict in ("slower", "faster")]
    unlike = {difference.what for difference in comparison.unlike}
    loops = [
        row
        for row in changed
        if row.figure.kind == "loop" and f"steps a run of loop {row.figure.name}" not in unlike
    ]
    if changed:
        row = max(loops or changed, key=lambda row: abs(row.lost_ns))
        return f"your {row.figure.kind} {_name(row)} is {_times(row)} {row.verdict}: {_per(row)}"
    if not larger:
        return ""
    row = max(larger, key=lambda row: (row.figure.kind == "loop", (row.b_ns or 0) * row.figure.count))
    what = f"{row.figure.kind} {_name(row)}"
    if any(change.verdict == "no verdict" for change in larger):
        return f"no verdict: {what} {_per(row)}"
    return f"no difference was found: {what} {_per(row)}; one of {_visible(row)} would have been"


def _name(row: Compared) -> str:
    name = sanitize(row.figure.name)
    return name if len(name) <= 44 else name[:43] + "…"


def _times(row: Compared) -> str:
    assert row.interval is not None
    factor = max(row.interval.ratio, 1 / row.interval.ratio)
    if factor < 1.095:
        return f"{100 * (factor - 1):.0f} %"
    return f"{factor:.1f} times" if factor < 100 else f"{factor:,.0f} times"


def _per(row: Compared) -> str:
    """Return the times of a call, or of a run of a loop."""
    steps = row.figure.a_run
    unit = "a call" if row.figure.kind == "function" else "a run"
    before, after = ((ns or 0.0) * steps for ns in (row.a_ns, row.b_ns))
    old, new = duration(before), duration(after)
    if old.split()[-1] == new.split()[-1]:
        old = old.split()[0]
    return f"{old} → {new} {unit}"


def _visible(row: Compared) -> str:
    """Return the change that the interval would have told from none."""
    assert row.interval is not None
    reach = max(row.interval.high / row.interval.ratio, row.interval.ratio / row.interval.low)
    return f"{math.ceil(100 * (reach - 1))} %" if reach < 2 else f"{reach:.1f} times"


__all__ = ["headline"]
