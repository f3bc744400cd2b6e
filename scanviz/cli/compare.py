"""Compare two programs or two saved profiles: what became faster, what slower, what stayed the same.

With --run, A.py and B.py run in turns for about a minute (--seconds), each time in a fresh process. Arguments after B go to both
programs; a program with its own arguments is one quoted word. Without --run, A and B are profiles, best made with
`scanviz profile --repeat 8`.

Steps are compared by their median, calls by their CPU time. Edited, moved or copied code is matched by its place in the graph
and its expression. On a busy machine there may be no verdict. Profiles of different work (arguments, tier, dtypes, number of
steps, machine) are refused unless --anyway is given.

The exit code is 0; with --fail-over 1 if something is slower by more than that, noise allowed for; 2 if the runs cannot be
compared.

for example:
  scanviz compare --run before.py after.py
  scanviz compare --run "train.py --wide" "train.py --narrow"
  scanviz compare --fail-over 5% before.scanviz after.scanviz
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from scanviz.cli.files import loaded
from scanviz.cli.options import Given, Option, UsageError, as_given, one_of, parse, positive
from scanviz.profiler.report.units import counted
from scanviz.record.plain_text import sanitize, write_json, write_text

if TYPE_CHECKING:
    from scanviz.profiler.compare.comparison import Comparison
    from scanviz.record.model import ProfileRecord


def _share(text: str) -> float:
    """Return a percentage as a share; the percent sign is optional."""
    if not re.fullmatch(r"\d{1,6}(\.\d{1,6})?\s*%?", text):
        raise argparse.ArgumentTypeError(f"takes a percentage such as 5%, not {text!r}")
    return float(text.rstrip("% ")) / 100


USAGE = "compare [options] A B\n       scanviz compare --run [options] A.py B.py [arguments]"
OPTIONS = (
    Option(("--run",), "", "run two scripts in turns, instead of reading profiles"),
    Option(("--seconds",), "N", "with --run: for how long (60)", positive),
    Option(("--rounds",), "N", "with --run: how many rounds, instead of --seconds", positive),
    Option(("--detail",), "LEVEL", "with --run: what is timed (steps, ops)", one_of("steps", "ops")),
    Option(("--mode",), "NAME", "with --run: tier for functions without mode="),
    Option(("--fail-over",), "PERCENT", "exit with 1 if something is slower by more than, say, 5%", _share),
    Option(("--json",), "", "print the comparison as JSON"),
    Option(("--top",), "N", "show N changes (12)", positive, 12),
    Option(("--anyway",), "", "compare runs of different work all the same"),
)
_PIPE_COLUMNS = 80


def main(arguments: list[str]) -> int:
    """Compare two profiles and return the exit code."""
    given = parse(arguments, OPTIONS, program="--run" in arguments)
    fail_over = given.fail_over
    from scanviz.profiler.compare.report import render_comparison, render_refusal
    from scanviz.profiler.report.text import wants_color

    comparison = _of_programs(given) if given.run else _of_profiles(given)
    if comparison.unlike and not (given.anyway or given.run):
        color = wants_color(sys.stderr)
        text = render_refusal(comparison, width=_width(sys.stderr), color=color)
        write_text(text, sys.stderr, colours=color)
        return 2
    if given.json:
        write_json(comparison.to_json(fail_over), sys.stdout, indent=1)
    else:
        width, color = _width(sys.stdout), wants_color(sys.stdout)
        text = render_comparison(comparison, width=width, top=given.top, color=color, fail_over=fail_over)
        write_text(text, sys.stdout, colours=color)
    return int(fail_over is not None and bool(comparison.slower_than(fail_over)))


def _of_programs(given: Given) -> Comparison:
    """Run two programs in turns and compare them.

    Raises
    ------
    UsageError
        If there are not two programs, or one fails.
    """
    from scanviz.profiler.compare.comparison import compare
    from scanviz.profiler.run.exits import terminations_as_interrupts
    from scanviz.profiler.run.repeats import SECONDS, ProgramFailedError, run_in_turns

    a, b = two_programs(given.rest)
    both = as_given(given, "detail", "mode")
    seconds = given.seconds or int(SECONDS)
    try:
        with terminations_as_interrupts():
            turns = run_in_turns(
                [*both, *a], [*both, *b], seconds=seconds, rounds=given.rounds, notify=_progress
            )
    except ProgramFailedError as error:
        command = shlex.join(a if error.name == "A" else b)
        message = f"{error.name} ({command}) ended with exit code {error.code}: nothing is compared"
        raise UsageError("\n".join([message, *map(sanitize, error.written.splitlines())])) from None
    finally:
        _progress(0, 0.0)
    return compare(turns.a, turns.b, rounds=True)


def _of_profiles(given: Given) -> Comparison:
    from scanviz.profiler.compare.comparison import compare

    for name in ("seconds", "rounds", "detail", "mode"):
        if getattr(given, name) is not None:
            raise UsageError(f"--{name} needs --run: A and B are saved profiles")
    if len(given.rest) != 2:
        raise UsageError(
            f"scanviz compare takes two profiles, A and B, found {len(given.rest)}; --run compares scripts"
        )
    return compare(*map(_loaded, given.rest))


def _loaded(path: str) -> ProfileRecord:
    from scanviz.record.errors import ScanvizError

    try:
        return loaded(Path(path))
    except ScanvizError as error:  # exit code 1 means slower
        raise UsageError(str(error)) from None


def _width(stream: TextIO) -> int:
    """Return the width of a terminal or from ``COLUMNS``; else 80, for logs of CI."""
    from scanviz.profiler.report.text import width_of

    return width_of(stream) if stream.isatty() or os.environ.get("COLUMNS") else _PIPE_COLUMNS


def two_programs(words: list[str]) -> tuple[list[str], list[str]]:
    """Return two programs, each with its own and the common arguments.

    Raises
    ------
    UsageError
        If there are not two.

    Examples
    --------
    >>> two_programs(["a.py", "b.py --wide", "10"])
    (['a.py', '10'], ['b.py', '--wide', '10'])
    >>> two_programs(["-m", "one", "-m", "other"])
    (['-m', 'one'], ['-m', 'other'])
    """
    waiting, found = list(words), list[list[str]]()
    while waiting and len(found) < 2:
        word = waiting.pop(0)
        if word in ("-m", "-c") and waiting:
            found.append([word, *(shlex.split(waiting.pop(0)) if word == "-m" else [waiting.pop(0)])])
        else:
            found.append([word] if Path(word).exists() else shlex.split(word))
    if len(found) != 2 or not all(found):
        raise UsageError(f"scanviz compare --run takes two programs, A and B, found {len(found)}")
    return [*found[0], *waiting], [*found[1], *waiting]


def _progress(rounds: int, seconds: float) -> None:
    """Show the progress on a terminal, in a line that is erased."""
    if sys.stderr is not None and sys.stderr.isatty():
        text = f"{counted(rounds, 'round')}, {seconds:.0f} s" if rounds else ""
        sys.stderr.write(f"\r\x1b[K{text}")
