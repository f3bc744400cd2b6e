"""Run a script, a module (-m) or code (-c) and show where its loops spend their time.

The program runs as under python: same arguments, streams and exit code. The report goes to standard error when the
program ends, however it ends; the profile is saved as SCRIPT.scanviz in the working folder. Only what ends a process at
once (os._exit, SIGKILL, a crash) leaves no profile. Options stand before the script; everything after it is the program's.

An earlier profile of the same name is replaced, any other file never: without -o the new one is then numbered, with -o
it is an error unless --force is given. NO_COLOR is honoured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.cli.files import profile_place
from scanviz.cli.options import Option, parse, program_of
from scanviz.cli.run import set_mode
from scanviz.record.paths import working_folder
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord

USAGE = "profile [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("-o", "--output"), "FILE", "where the profile is saved"),
    Option(("-q", "--quiet"), "", "print no report and no progress line"),
    Option(("--top",), "N", "rows of each table"),
    Option(("--scan",), "NAME", "show this loop alone, in full"),
    Option(("--detail",), "LEVEL", "time each step, or each operation of every step", ("steps", "ops")),
    Option(("--steps-a-stamp",), "N", "let so many very short steps share one time"),
    Option(
        ("--values",),
        "[=PATTERN]",
        "keep values of loops (named so) step by step: each call is computed twice",
    ),
    Option(
        ("--mode",), "NAME", "tier that runs functions which name none (numpy, native, reference, cupy, …)"
    ),
    Option(("--html",), "[=PAGE]", "write the profile as one HTML page too"),
    Option(("--children",), "", "record processes made by multiprocessing too, and merge their profiles"),
    Option(
        ("--roofline",), "", "measure the machine's limits after the run: how far operations are from them"
    ),
    Option(("--repeat",), "N", "run the program N times, in fresh processes, for scanviz compare"),
    Option(("--force",), "", "replace FILE even if it is no profile"),
)


def main(arguments: list[str]) -> int:
    """Profile a program; it ends the process by its own exit code."""
    parsed = parse(arguments, OPTIONS, program=True)
    options = parsed.options
    top, steps_a_stamp = parsed.number("top", 8), parsed.number("steps-a-stamp", 1)
    program = program_of(parsed.rest, "profile")
    set_mode(options.get("mode"))
    from scanviz.profiler.run.profiled import RunOptions, free_name, run_profiled
    from scanviz.profiler.run.runner import CannotRunError

    if "output" in options:
        output = profile_place(Path(options["output"]), force="force" in options)
    else:
        output = free_name(Path.cwd() / f"{program.stem}.scanviz")
    also = _page_writer(options["html"], output.name, options) if "html" in options else None
    if "repeat" in options:
        from scanviz.cli.profile_repeats import checked_count, profile_repeatedly

        return profile_repeatedly(parsed, checked_count(parsed), output, also)
    try:
        run_profiled(
            program,
            RunOptions(
                output,
                "quiet" in options,
                top,
                options.get("scan"),
                options.get("detail", "steps"),
                values=(options["values"] or "*") if "values" in options else None,
                also=also,
                force="force" in options,
                steps_a_stamp=steps_a_stamp,
                children="children" in options,
                roofline="roofline" in options,
                folder=working_folder(),
            ),
        )
    except CannotRunError as error:
        write_text(f"scanviz: {error}\n", sys.stderr)
        return error.code
    return 0


def _page_writer(given: str, profile: str, options: dict[str, str]) -> Callable[[ProfileRecord], None]:
    """Return what writes the page to a place that is free now, however the program changes its working folder."""
    from scanviz.cli.html import checked_target, page_of, write_page

    target = checked_target(given or None, profile, "force" in options).absolute()

    def write(record: ProfileRecord) -> None:
        write_page(page_of(record, profile), target, force="force" in options)
        if "quiet" not in options:
            write_text(f"wrote {target}\n", sys.stderr)

    return write
