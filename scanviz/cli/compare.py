"""Compare two programs, or two saved profiles: what became faster, what slower, and what is the same within noise.

--run profiles two scripts in turns, each time in a fresh process, and compares them: A is the program before, B after it was
changed. Everything after B is given to both; a program with arguments of its own is one quoted word ("rnn.py --wide").
It takes about a minute (--seconds). Without --run, A and B are profiles; make both with `scanviz profile --repeat 8`.

Steps are compared by their medians, calls by their CPU time. What was edited, moved or copied to another file is matched by its
place in the graph and by its expression. Where the machine was too busy to tell there is no verdict. Profiles of runs that did not
do the same (other arguments, tier, dtypes, numbers of steps, machine) are refused unless --anyway is given; with --run it is told.

Exit code 0; with --fail-over 1 if a function, loop or operation is slower by more than that with the whole of its interval; 2 if
the runs are not alike, a program failed, or something is wrong with the command line or the files.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scanviz.cli.files import loaded
from scanviz.cli.options import Option, Parsed, UsageError, parse
from scanviz.record.plain_text import write_json, write_text

if TYPE_CHECKING:
    from scanviz.profiler.compare.comparison import Comparison
    from scanviz.record.model import ProfileRecord

USAGE = "compare [options] A B\n       scanviz compare --run [options] A.py B.py [arguments]"
OPTIONS = (
    Option(("--run",), "", "run two scripts in turns instead of reading profiles"),
    Option(("--seconds",), "N", "with --run: how long (60)"),
    Option(("--rounds",), "N", "with --run: how many rounds, however long they take"),
    Option(("--detail",), "LEVEL", "with --run: as of scanviz profile", ("steps", "ops")),
    Option(("--mode",), "NAME", "with --run: tier of functions which name none"),
    Option(("--fail-over",), "PERCENT", "exit with 1 if something is slower by more, such as 5%"),
    Option(("--json",), "", "print the comparison as JSON"),
    Option(("--top",), "N", "changes that are shown"),
    Option(("--anyway",), "", "compare runs that are not alike"),
)
_PIPE_COLUMNS = 80


def main(arguments: list[str]) -> int:
    """Compare two profiles and return the exit code."""
    running = "--run" in arguments
    parsed = parse(arguments, OPTIONS, program=running)
    options = parsed.options
    fail_over = _share(options["fail-over"]) if "fail-over" in options else None
    top = parsed.number("top", 12)
    from scanviz.profiler.compare.report import render_comparison, render_refusal
    from scanviz.profiler.report.text import wants_color

    comparison = _of_programs(parsed) if "run" in options else _of_profiles(parsed)
    if comparison.unlike and "anyway" not in options and "run" not in options:
        color = wants_color(sys.stderr)
        text = render_refusal(comparison, width=_width(sys.stderr), color=color)
        write_text(text, sys.stderr, colours=color)
        return 2
    if "json" in options:
        write_json(comparison.to_json(fail_over), sys.stdout, indent=1)
    else:
        width, color = _width(sys.stdout), wants_color(sys.stdout)
        text = render_comparison(comparison, width=width, top=top, color=color, fail_over=fail_over)
        write_text(text, sys.stdout, colours=color)
    return int(fail_over is not None and bool(comparison.slower_than(fail_over)))


def _of_programs(parsed: Parsed) -> Comparison:
    from scanviz.cli.compare_in_turns import compared_in_turns

    return compared_in_turns(parsed)


def _of_profiles(parsed: Parsed) -> Comparison:
    from scanviz.profiler.compare.comparison import compare

    for name in ("seconds", "rounds", "detail", "mode"):
        if name in parsed.options:
            raise UsageError(f"--{name} is for --run: A and B are profiles that were made")
    if len(parsed.rest) != 2:
        raise UsageError(f"which profiles? scanviz compare takes two, A and B, found {len(parsed.rest)}")
    return compare(*map(_loaded, parsed.rest))


def _share(text: str) -> float:
    """Return a percentage as a share; its sign may be left out."""
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?\s*%?", text):
        raise UsageError(f"--fail-over takes a percentage such as 5%, not {text!r}")
    return float(text.rstrip("% ")) / 100


def _loaded(path: str) -> ProfileRecord:
    from scanviz.record.errors import ScanvizError

    try:
        return loaded(Path(path))
    except ScanvizError as error:  # 1 is for what is slower
        raise UsageError(str(error)) from None


def _width(stream: TextIO) -> int:
    """Return the columns of a terminal, as ``COLUMNS`` says, or 80: what CI keeps is read anywhere."""
    from scanviz.profiler.report.text import width_of

    return width_of(stream) if stream.isatty() or os.environ.get("COLUMNS") else _PIPE_COLUMNS
