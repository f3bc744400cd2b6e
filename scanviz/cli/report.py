"""Print the report of a saved profile.

With --json the whole record goes to standard output, for other programs. With --values, what the variables of loops were, for
a profile that was made with `scanviz profile --values`; with --recompute at any step, computed again from what the profile holds.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scanviz.cli.files import loaded, one_file
from scanviz.cli.options import Option, Parsed, UsageError, parse
from scanviz.cli.recomputing import RECOMPUTE, recomputing, seconds_of
from scanviz.record.names import not_one_loop
from scanviz.record.plain_text import write_json, write_text

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

USAGE = "report [options] FILE"
OPTIONS = (
    Option(("--json",), "", "print the record as JSON"),
    Option(("--top",), "N", "rows of each table"),
    Option(("--scan",), "NAME", "show this loop alone, in full"),
    Option(("--values",), "", "show the values of loops' variables at a step"),
    Option(("--step",), "N", "with --values: at step N, counted from 0, or the nearest that was kept"),
    Option(("--run",), "N", "with --values: in run N of the loop alone, counted from 0"),
    RECOMPUTE,
)


def main(arguments: list[str]) -> int:
    """Print a report and return the exit code."""
    parsed = parse(arguments, OPTIONS, program=False)
    path = one_file(parsed.rest, "report")
    from scanviz.profiler.advice.best import to_try
    from scanviz.profiler.report.overview import print_report

    top = parsed.number("top", 8)
    step, run = _number(parsed, "step"), _number(parsed, "run")
    if "recompute" in parsed.options and step is None:
        raise UsageError("--recompute goes with --values --step N")
    seconds = seconds_of(parsed)
    record = loaded(path)
    wanted = parsed.options.get("scan")
    problem = not_one_loop(record, wanted) if wanted is not None else ""
    if problem:
        raise UsageError(f"{parsed.rest[0]}: {problem}")
    if "json" in parsed.options:
        write_json(record.to_json(), sys.stdout)
    elif "values" in parsed.options:
        _print_values(record, step, wanted, run, seconds)
    else:
        print_report(record, sys.stdout, top=top, scan_name=wanted, to_try=to_try(record))
    return 0


def _number(parsed: Parsed, name: str) -> int | None:
    text = parsed.options.get(name)
    if text is None:
        return None
    if "values" not in parsed.options:
        raise UsageError(f"--{name} goes with --values")
    if not text.isdecimal():
        raise UsageError(f"--{name} takes a number of 0 or more, not {text!r}")
    return int(text)


def _print_values(
    record: ProfileRecord, step: int | None, name: str | None, run: int | None, seconds: float | None
) -> None:
    from scanviz.profiler.report.text import wants_color, width_of
    from scanviz.profiler.report.values import render_values

    out = sys.stdout
    color = wants_color(out)
    with recomputing(record, seconds) as look:
        text = render_values(
            record, width=width_of(out), step=step, scan_name=name, color=color, run=run, look=look
        )
    write_text(text, out, colours=color)
