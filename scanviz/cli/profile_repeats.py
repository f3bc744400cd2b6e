"""What ``scanviz profile --repeat N`` does: run the program so often, save one profile, print its report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.cli.options import Parsed, UsageError
from scanviz.profiler.report.units import counted
from scanviz.profiler.run.profiled import saved_line
from scanviz.record.names import not_one_loop
from scanviz.record.paths import working_folder
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

_OF_THE_RUN = (
    "detail",
    "steps-a-stamp",
    "values",
    "mode",
    "children",
    "roofline",
)  # options that every run is given


def checked_count(parsed: Parsed) -> int:
    """Return how often the program is to run.

    Raises
    ------
    UsageError
        If it is no sensible number.
    """
    from scanviz.profiler.run.repeats import MOST

    count = parsed.number("repeat", 1)
    if count > MOST:
        raise UsageError(f"--repeat takes at most {MOST}, not {count}")
    return count


def profile_repeatedly(
    parsed: Parsed, count: int, output: Path, also: Callable[[ProfileRecord], None] | None
) -> int:
    """Run a program several times, save what was recorded and return the exit code of its last run."""
    from scanviz.profiler.run.exits import terminations_as_interrupts, watch_the_end
    from scanviz.profiler.run.profiled import free_name
    from scanviz.profiler.run.repeats import INTERRUPTED, run_repeatedly
    from scanviz.record.errors import CannotWriteError
    from scanviz.record.file import save

    options = parsed.options
    given = [
        f"--{name}={options[name]}" if options[name] else f"--{name}"
        for name in _OF_THE_RUN
        if name in options
    ]
    watch_the_end()
    with terminations_as_interrupts():
        done = run_repeatedly([*given, *parsed.rest], count)
    code = done.code if done.code >= 0 else 128 - done.code
    if done.record is None:
        if code == INTERRUPTED:
            write_text("scanviz: interrupted before there was anything to save\n", sys.stderr)
        return code
    place = output if "force" in options else free_name(output)
    try:
        save(done.record, place)
    except CannotWriteError as error:
        write_text(f"scanviz: the profile could not be saved: {error}\n", sys.stderr)
        return code or 1
    if also is not None:
        also(done.record)
    problem = not_one_loop(done.record, options["scan"]) if "scan" in options else ""
    if "quiet" not in options:
        _report(parsed, done.record, place, None if problem else options.get("scan"))
        if problem:
            write_text(f"scanviz: {problem}\n", sys.stderr)
    if code != 0:
        kept = f"the profile holds {counted(1 + len(done.record.repeats), 'run')}"
        write_text(f"scanviz: run {done.runs} of {count} ended with exit code {code}; {kept}\n", sys.stderr)
        if done.typed and done.runs > 1:
            told = "what is typed reaches the first run alone: a program that reads needs a file or a pipe (< FILE)"
            write_text(f"scanviz: {told}\n", sys.stderr)
    return code or int(bool(problem))


def _report(parsed: Parsed, record: ProfileRecord, output: Path, scan: str | None) -> None:
    from scanviz.profiler.report.overview import print_report

    sys.stdout.flush()
    write_text("\n", sys.stderr)
    print_report(record, sys.stderr, top=parsed.number("top", 8), scan_name=scan)
    runs = 1 + len(record.repeats)
    told = f"the first of {runs} runs; scanviz compare uses them all" if runs > 1 else "one run"
    write_text(f"{told}\n{saved_line(output, working_folder())}", sys.stderr)
