"""Print the report of a saved profile.

--values prints the values of loop variables at one step, for profiles made with `scanviz profile --values`. --recompute computes
steps that the profile does not hold.

for example:
  scanviz report train.scanviz                the answer in 20 lines
  scanviz report --full train.scanviz         all tables
  scanviz report --values --step 731 train.scanviz
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scanviz.cli.files import RECOMPUTE, loaded, one_file, recomputing, seconds_of
from scanviz.cli.options import TABLES, Given, Option, UsageError, number, parse, rows_of_tables
from scanviz.record.names import not_one_loop
from scanviz.record.plain_text import write_json, write_text

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

_count = number("a number of 0 or more", 0)
USAGE = "report [options] FILE"
OPTIONS = (
    Option(("--json",), "", "print the record as JSON"),
    *TABLES,
    Option(("--scan",), "NAME", "show this loop alone, in full"),
    Option(("--values",), "", "show the values of loop variables at a step"),
    Option(("--step",), "N", "with --values: at step N, counted from 0, or the nearest one kept", _count),
    Option(("--run",), "N", "with --values: in run N of the loop, counted from 0", _count),
    RECOMPUTE,
)


def main(arguments: list[str]) -> int:
    """Print a report and return the exit code."""
    given = parse(arguments, OPTIONS)
    path = one_file(given.rest, "report")
    from scanviz.profiler.advice.report import to_try
    from scanviz.profiler.report.overview import print_report

    for name in ("step", "run"):
        if getattr(given, name) is not None and not given.values:
            raise UsageError(f"--{name} needs --values")
    if given.recompute is not None and given.step is None:
        raise UsageError("--recompute needs --values --step N")
    record, wanted = loaded(path), given.scan
    problem = "" if wanted is None else not_one_loop(record, wanted)
    if problem:
        raise UsageError(f"{given.rest[0]}: {problem}")
    if given.json:
        write_json(record.to_json(), sys.stdout)
    elif given.values:
        _print_values(record, given)
    else:
        top = rows_of_tables(given)
        print_report(record, sys.stdout, top=top, scan_name=wanted, to_try=to_try(record))
    return 0


def _print_values(record: ProfileRecord, given: Given) -> None:
    from scanviz.profiler.report.text import wants_color, width_of
    from scanviz.profiler.report.values import render_values

    out = sys.stdout
    width, color = width_of(out), wants_color(out)
    with recomputing(record, seconds_of(given)) as look:
        text = render_values(
            record, width=width, step=given.step, scan_name=given.scan, color=color, run=given.run, look=look
        )
    write_text(text, out, colours=color)
