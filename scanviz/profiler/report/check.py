"""The finding of `scanviz check` as text and as JSON data."""

from __future__ import annotations

import math
from typing import Any

from msgspec import to_builtins

from scanviz.profiler.report.text import HEADING, HOT, QUIET, ReportLine, rendered, wrapped
from scanviz.profiler.report.units import amount, counted
from scanviz.profiler.report.values import number
from scanviz.record.traces.finding import CheckedRecord, FindingRecord, StepPlaceRecord, ValueRecord
from scanviz.record.values import SourceRecord

_PROBLEMS = {
    "nan": "NaN",
    "inf": "an infinity",
    "big": "a number that is too big",
    "dtype": "an unexpected dtype",
    "shape": "a shape that changed",
}

MEANT = "an infinity on purpose, such as a mask or the logarithm of 0: to look for NaN alone: scanviz check --nan SCRIPT"


def render_check(record: CheckedRecord, *, width: int = 100, color: bool = False) -> str:
    """Return the finding of a check, or the counts of checked values.

    Examples
    --------
    >>> print(render_check(CheckedRecord(calls=1, steps=3, operations=6, values=6)), end="")
    scanviz check: nothing found in 6 values of 6 operations, 3 steps of loops, 1 call
    """
    found = record.finding
    lines = _nothing(record) if found is None else _found(found)
    return rendered(lines, width, color)


def check_as_json(record: CheckedRecord) -> Any:
    """Return a check as JSON data; NaN and infinities become strings."""
    return _strict(to_builtins(record))


def _strict(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _strict(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_strict(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else "Infinity" if data > 0 else "-Infinity"
    return data


def _nothing(record: CheckedRecord) -> list[ReportLine]:
    if not record.calls:
        return [wrapped("scanviz check: no scanviz function was called, nothing was looked at")]
    parts = [
        f"nothing found in {counted(record.values, 'value')} of {counted(record.operations, 'operation')}",
        f"{counted(record.steps, 'step')} of loops",
        counted(record.calls, "call"),
    ]
    return [wrapped("scanviz check: " + ", ".join(parts))]


def _found(found: FindingRecord) -> list[ReportLine]:
    facts = [
        ("function", f"{found.function}, call {amount(found.call)}", ""),
        *(("loop", _loop(loop), "") for loop in reversed(found.loops)),
        ("operation", found.operation, ""),
        ("line", "" if found.source is None else _line(found.source), ""),
        ("gave", _value(found.result), HOT),
        *(("read", f"by loop {_loop(place)}", "") for place in found.read_at),
        *(("made from", f"results of loop {_loop(place)}", "") for place in found.made_of),
        ("your data", ", ".join(found.rows), ""),
        ("meant?", MEANT if found.problem == "inf" else "", QUIET),
        ("expected", found.expected, ""),
    ]
    lines = [wrapped(f"scanviz check: {_PROBLEMS[found.problem]} {_where(found)}", HEADING)]
    lines += [wrapped(f"  {name:<9}  {text}", style) for name, text, style in facts if text]
    lines.append(wrapped(f"  {_made_of(found)}", QUIET))
    for value in found.inputs:
        lines.append(wrapped(f"    {value.name}  {_value(value)}"))
        if value.where is not None and value.origin:
            lines.append(wrapped(f"      it came from outside: {value.origin}", HOT))
    if found.step_inputs:
        lines.append(ReportLine("  at the beginning of the step:", QUIET))
    lines += [wrapped(f"    {value.name}  {_value(value)}") for value in found.step_inputs]
    return lines


def _where(found: FindingRecord) -> str:
    """Return the loops and steps of a finding, innermost first."""
    read = [f"for {_step(loop_place)}" for loop_place in found.read_at[:1]]
    read += [f"of what {_step(loop_place, ' gave')}" for loop_place in found.made_of[:1]]
    if not found.loops:
        moved = "computed for all steps at once" if found.moved_from and read else "outside of loops"
        return ", ".join([moved, *read])
    inner, *around = reversed(found.loops)
    at = f"in loop {inner.loop} at step {amount(inner.step)}{_back(inner)}"
    return ", ".join([at, *(f"in {_step(loop_place)}" for loop_place in around), *read])


def _step(place: StepPlaceRecord, did: str = "") -> str:
    return f"step {amount(place.step)} of loop {place.loop}{did}{_back(place)}"


def _back(place: StepPlaceRecord) -> str:
    if place.forward_loop is None or place.forward_step is None:
        return ""
    return f", back over step {amount(place.forward_step)} of loop {place.forward_loop}"


def _made_of(found: FindingRecord) -> str:
    if found.problem in ("dtype", "shape"):
        return "its inputs:"
    if found.cause == "given":
        return "this operation did not make it; one of its inputs had it:"
    return (
        "this operation made it; its inputs had none:"
        if found.inputs
        else "this operation made it; it has no inputs"
    )


def _loop(place: StepPlaceRecord) -> str:
    parts = [place.loop + (f" ({place.source})" if _adds(place) else "")]
    parts += [f"run {amount(place.run)}"] if place.run is not None else []
    parts.append(f"step {amount(place.step)}")
    if place.forward_loop is not None:
        step = "" if place.forward_step is None else f"step {amount(place.forward_step)} of "
        parts.append(f"back over {step}loop {place.forward_loop}")
    return ", ".join(parts)


def _adds(place: StepPlaceRecord) -> bool:
    return place.source is not None and str(place.source) not in place.loop


def _line(source: SourceRecord) -> str:
    return f"{source}  {source.text}".rstrip()


def _value(value: ValueRecord) -> str:
    low, high, mean, nan, infinite = value.statistics
    kind = f"{value.dtype}[{','.join(map(str, value.shape))}]"
    shown = " ".join(number(entry, missing="nan") for entry in value.numbers)
    more = " …" if math.prod(value.shape) > len(value.numbers) else ""
    if not value.shape and not nan and not infinite:
        return f"{kind} = {shown}"
    parts = []
    if nan:
        parts.append(f"{amount(int(nan))} NaN")
    if infinite:
        parts.append(f"{amount(int(infinite))} infinite")
    if value.where is not None and value.shape:
        parts.append(f"first at [{', '.join(map(str, value.where))}]")
    if not math.isnan(mean):
        finite = "finite ones " if nan or infinite else ""
        parts.append(f"{finite}from {number(low)} to {number(high)}, mean {number(mean)}")
    return f"{kind}: {', '.join(parts) or 'empty'}  ({shown}{more})"
