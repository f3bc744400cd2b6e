"""What ``scanviz compare --run`` does: run two programs in turns and compare what they took."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.cli.options import Parsed, UsageError
from scanviz.profiler.report.units import counted
from scanviz.record.plain_text import sanitize

if TYPE_CHECKING:
    from scanviz.profiler.compare.comparison import Comparison

_OF_THE_RUNS = ("detail", "mode")  # options that every run is given


def compared_in_turns(parsed: Parsed) -> Comparison:
    """Run the two programs that a command line names and compare them.

    Raises
    ------
    UsageError
        If it names no two programs, or one of them fails.
    """
    from scanviz.profiler.compare.comparison import compare
    from scanviz.profiler.run.exits import terminations_as_interrupts
    from scanviz.profiler.run.in_turns import SECONDS, ProgramFailedError, run_in_turns

    a, b = two_programs(parsed.rest)
    given = [f"--{name}={parsed.options[name]}" for name in _OF_THE_RUNS if name in parsed.options]
    rounds = parsed.number("rounds", 1) if "rounds" in parsed.options else None
    try:
        with terminations_as_interrupts():
            turns = run_in_turns(
                [*given, *a],
                [*given, *b],
                seconds=parsed.number("seconds", int(SECONDS)),
                rounds=rounds,
                notify=_progress,
            )
    except ProgramFailedError as error:
        command = shlex.join(a if error.name == "A" else b)
        told = f"{error.name} ({command}) ended with exit code {error.code}: nothing is compared"
        raise UsageError("\n".join([told, *map(sanitize, error.written.splitlines())])) from None
    finally:
        _progress(0, 0.0)
    return compare(turns.a, turns.b, rounds=True)


def two_programs(words: list[str]) -> tuple[list[str], list[str]]:
    """Return two programs, each with its arguments and with those behind both.

    Raises
    ------
    UsageError
        If there are no two.

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
        raise UsageError(f"which programs? scanviz compare --run takes two, A and B, found {len(found)}")
    return [*found[0], *waiting], [*found[1], *waiting]


def _progress(rounds: int, seconds: float) -> None:
    """Show how far it is on a terminal; nothing of it stays."""
    if sys.stderr is not None and sys.stderr.isatty():
        text = f"{counted(rounds, 'round')}, {seconds:.0f} s" if rounds else ""
        sys.stderr.write(f"\r\x1b[K{text}")
