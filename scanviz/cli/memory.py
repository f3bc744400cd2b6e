"""Forecast how much memory the calls of a script need, and show the measured memory beside it.

One line per function is printed on standard output when the script ends: the call with the largest forecast. The script's own
output goes to standard error. The forecast counts scanviz's arrays: rows and buffers of loops, results of operations and of calls.
With --limit, a call that would need more raises OutOfMemoryError before it starts.

for example:
  scanviz memory train.py
  scanviz memory --limit 4G train.py          stop before a call that needs more
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scanviz.cli.built import run_and_show
from scanviz.cli.options import MODE, Option, parse, program_of
from scanviz.cli.run import set_mode
from scanviz.record.plain_text import sanitize, write_text

if TYPE_CHECKING:
    from scanviz.engine.measurement.captured_calls import ForecastCall

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"takes a size such as 500M or 4G, not {text!r}")
    return int(float(found[1]) * _UNITS[found[2].upper()])


USAGE = "memory [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("--limit",), "SIZE", "refuse calls that need more, such as 500M or 4G", _bytes),
    MODE,
)


def main(arguments: list[str]) -> int:
    """Run a script with forecasts of its calls and return the exit code; a failing script keeps its own."""
    given = parse(arguments, OPTIONS, program=True)
    script = program_of(given.rest, "memory")
    set_mode(given.mode)
    from scanviz.engine.measurement.captured_calls import Forecasts

    forecasts = Forecasts(given.limit)
    return run_and_show(
        script, "the forecast", forecasts.observing(), lambda out: _print(forecasts.calls, out)
    )


def _print(calls: list[ForecastCall], out: TextIO) -> None:
    from scanviz.profiler.report.text import width_of
    from scanviz.profiler.report.units import size

    if not calls:
        write_text("no scanviz function was called\n", out)
        return
    rows = [["function", "forecast", "measured", "calls", "at", "line"]]
    for call in calls:
        forecast, held = call.forecast, call.measured_bytes
        more = f" and {forecast.unknown} results of unknown size" if forecast.unknown else ""
        where = "" if forecast.where is None else sanitize(Path(str(forecast.where)).name)
        bytes_ = [size(forecast.peak_bytes) + more, "–" if held is None else size(held)]
        rows.append([sanitize(call.function.name), *bytes_, str(call.calls), sanitize(forecast.at), where])
    write_text("".join(f"{line.rstrip()}\n" for line in _table(rows, width_of(out))), out)
    out.flush()


def _table(rows: list[list[str]], width: int) -> list[str]:
    """Return a table; long function names get their own lines instead of being cut.

    Examples
    --------
    >>> rows = [["function", "forecast"], ["cost and gradient", "160 KiB"]]
    >>> _table(rows, 40)
    ['function           forecast', 'cost and gradient   160 KiB']
    >>> _table(rows, 20)
    ['function  forecast', 'cost and gradient', '           160 KiB']
    """
    from scanviz.profiler.report.text import columns, table

    whole = table(rows, 1, sum(len(cell) + 2 for row in rows for cell in row))
    if max(map(columns, whole)) <= width:
        return whole
    heading, *lines = table([rows[0], *(["", *row[1:]] for row in rows[1:])], 1, width)
    return [heading, *(text for row, line in zip(rows[1:], lines, strict=True) for text in (row[0], line))]
