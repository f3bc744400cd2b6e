"""Run a script, a module (-m) or code (-c) and show where its loops spend their time.

The program runs as under python, with the same arguments, streams and exit code. At its end the report is printed on standard
error, and the profile is saved as SCRIPT.scanviz in the working folder. Options stand before the script: everything after it
belongs to the program.

An earlier profile of the same name is replaced. Other files are kept: without -o the new profile gets a number, with -o the
command stops unless --force is given. A process that is killed (os._exit, SIGKILL, a crash) leaves no profile.

for example:
  scanviz profile train.py --epochs 2         --epochs 2 goes to train.py
  scanviz profile --html -m package.train     write a page for the browser too
  scanviz profile --values train.py           keep the numbers of each step, to find a NaN
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.cli.files import profile_place
from scanviz.cli.options import (
    DETAIL,
    MODE_OF_RUN,
    TABLES,
    Given,
    Option,
    UsageError,
    as_given,
    parse,
    positive,
    program_of,
    rows_of_tables,
)
from scanviz.cli.run import set_mode
from scanviz.profiler.report.units import counted
from scanviz.record.paths import working_folder
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

USAGE = "profile [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("-o", "--output"), "FILE", "where to save the profile (SCRIPT.scanviz)"),
    Option(("-q", "--quiet"), "", "print no report and no progress line"),
    *TABLES,
    Option(("--scan",), "NAME", "show this loop alone, in full"),
    DETAIL,
    Option(("--steps-a-stamp",), "N", "time N steps together, for very short steps", positive, 1),
    Option(
        ("--values",),
        "[=PATTERN]",
        "keep the values of loops (named PATTERN) step by step; each call is computed twice",
    ),
    MODE_OF_RUN,
    Option(("--html",), "[=PAGE]", "write the profile as one HTML page too"),
    Option(("--children",), "", "also profile processes of multiprocessing, and merge their profiles"),
    Option(
        ("--roofline",),
        "",
        "measure the machine's limits after the run, and how close operations come to them",
    ),
    Option(("--repeat",), "N", "run the program N times in fresh processes, for scanviz compare", positive),
    Option(("--force",), "", "replace FILE even if it is no profile"),
)


def main(arguments: list[str]) -> int:
    """Profile a program; its exit code ends the process."""
    given = parse(arguments, OPTIONS, program=True)
    program = program_of(given.rest, "profile")
    set_mode(given.mode)
    from scanviz.profiler.run.profiled import RunOptions, free_name, run_profiled

    if given.output is not None:
        output = profile_place(Path(given.output), force=given.force)
    else:
        output = free_name(Path.cwd() / f"{program.stem}.scanviz")
    also = None if given.html is None else _page_writer(given, output.name)
    if given.repeat is not None:
        return _profile_repeatedly(given, output, also)
    run_profiled(
        program,
        RunOptions(
            output,
            given.quiet,
            rows_of_tables(given),
            given.scan,
            given.detail,
            values="*" if given.values == "" else given.values,
            also=also,
            force=given.force,
            steps_a_stamp=given.steps_a_stamp,
            children=given.children,
            roofline=given.roofline,
            folder=working_folder(),
        ),
    )
    return 0


def _page_writer(given: Given, profile: str) -> Callable[[ProfileRecord], None]:
    """Return a function that writes the page; its path is fixed before the program changes the working folder."""
    from scanviz.cli.html import checked_target, page_of, write_page

    target = checked_target(given.html or None, profile, given.force).absolute()

    def write(record: ProfileRecord) -> None:
        write_page(page_of(record, profile), target, force=given.force)
        if not given.quiet:
            write_text(f"wrote {target}\n", sys.stderr)

    return write


def _profile_repeatedly(given: Given, output: Path, also: Callable[[ProfileRecord], None] | None) -> int:
    """Run a program several times, save the profile and return the last exit code."""
    from scanviz.profiler.run.exits import register_final_exit, terminations_as_interrupts
    from scanviz.profiler.run.profiled import free_name
    from scanviz.profiler.run.repeats import INTERRUPTED, MOST, run_repeatedly
    from scanviz.record.errors import CannotWriteError
    from scanviz.record.storage.file import save

    count = given.repeat
    if count > MOST:
        raise UsageError(f"--repeat takes at most {MOST}, not {count}")
    options = as_given(given, "detail", "steps-a-stamp", "values", "mode", "children", "roofline")
    register_final_exit()
    with terminations_as_interrupts():
        done = run_repeatedly([*options, *given.rest], count)
    code = done.code if done.code >= 0 else 128 - done.code
    if done.record is None:
        if code == INTERRUPTED:
            write_text("scanviz: interrupted before there was anything to save\n", sys.stderr)
        return code
    place = output if given.force else free_name(output)
    try:
        save(done.record, place)
    except CannotWriteError as error:
        write_text(f"scanviz: the profile could not be saved: {error}\n", sys.stderr)
        return code or 1
    if also is not None:
        also(done.record)
    from scanviz.record.names import not_one_loop  # all runs have ended

    problem = "" if given.scan is None else not_one_loop(done.record, given.scan)
    if not given.quiet:
        _report(given, done.record, place, None if problem else given.scan)
        if problem:
            write_text(f"scanviz: {problem}\n", sys.stderr)
    if code != 0:
        kept = f"the profile holds {counted(1 + len(done.record.repeats), 'run')}"
        write_text(f"scanviz: run {done.runs} of {count} ended with exit code {code}; {kept}\n", sys.stderr)
        if done.typed and done.runs > 1:
            message = "typed input reaches only the first run: give it a file or a pipe (< FILE)"
            write_text(f"scanviz: {message}\n", sys.stderr)
    return code or int(bool(problem))


def _report(given: Given, record: ProfileRecord, output: Path, scan: str | None) -> None:
    from scanviz.profiler.report.overview import print_report
    from scanviz.profiler.run.profiled import saved_line

    sys.stdout.flush()
    write_text("\n", sys.stderr)
    top, runs = rows_of_tables(given), 1 + len(record.repeats)
    more = [f"The first of {runs} runs; scanviz compare uses them all."] if runs > 1 else []
    more.append(saved_line(output, working_folder(), top is not None))
    print_report(record, sys.stderr, top=top, scan_name=scan, more=more)
