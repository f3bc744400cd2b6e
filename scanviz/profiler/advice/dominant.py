"""What takes most of a run, in words: what is said where no change can be promised to better it."""

from __future__ import annotations

from scanviz.profiler.report.units import share
from scanviz.record.model import ProfileRecord
from scanviz.record.names import loop_titles
from scanviz.record.parts import RunPart, parts_of

_KINDS = {
    "script": "is the script's own time: imports, its Python, and waiting",
    "building": "is building graphs and functions",
    "function": "is in calls of `{function}`, outside of what was timed there",
    "checks": "is checking arguments of `{function}`",
    "copies": "is copying results of `{function}`",
    "entry": "is calling `{function}`, around its operations",
    "loop": "is in loop `{loop}`, outside of what was timed there",
    "steps": "is the steps of loop `{loop}`, which were not timed one by one",
    "rows": "is storing rows of loop `{loop}`",
    "round": "is going round loop `{loop}` and taking slices",
    "around": "is starting and ending loop `{loop}`",
    "code": "is making code for loop `{loop}`",
    "recording": "is the recording itself",
}


def dominant(record: ProfileRecord) -> list[RunPart]:
    """Return the part of a run that takes most by itself; where that is in no function, the largest in one too."""
    parts = [part for part in parts_of(record) if part.kind != "run" and part.own_ns > 0]
    parts.sort(key=lambda part: -part.own_ns)
    inside = [part for part in parts if part.function is not None]
    return parts[:1] if parts[:1] == inside[:1] else [*parts[:1], *inside[:1]]


def in_words(record: ProfileRecord, part: RunPart) -> str:
    """Return what a part is of a run: how much, what, and its line.

    Examples
    --------
    >>> from scanviz.record.run_times import ThreadTimesRecord
    >>> record = ProfileRecord(script="rnn.py", wall_ns=2_000_000, threads=ThreadTimesRecord())
    >>> in_words(record, *dominant(record))
    "100 % of the run is the script's own time: imports, its Python, and waiting"
    """
    whole = parts_of(record)[0].total_ns
    function = next((function.name for function in record.functions if function.key == part.function), "")
    loop = loop_titles(record).get(part.loop, "") if part.loop is not None else ""
    if part.kind == "operation":
        where = f"loop `{loop}`" if loop else f"`{function}`, outside of loops"
        what = f"is `{part.label}` in {where}"
    else:
        what = _KINDS.get(part.kind, f"is {part.label}").format(function=function, loop=loop)
    line = f" ({part.source})" if part.source is not None else ""
    return f"{share(part.own_ns, whole)} of the run {what}{line}"


__all__ = ["dominant", "in_words"]
