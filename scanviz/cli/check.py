"""Run a script, a module (-m) or code (-c) and stop at the first value that should not be.

By default that is the first NaN or infinity which an operation gives. Function, loop, run, step, operation, line, and what the
operation was made of go to standard error; the script's output stays its own. The exit code is 1 if something was found and 0
if not; a script that fails by itself keeps its own. Every value is computed one by one, so the script runs slower.

With one of --nan, --inf, --big, --dtype and --shape only what is named is looked for.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from scanviz.cli.options import Option, Parsed, UsageError, parse, program_of
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.profiler.values.checking import CheckOptions

USAGE = "check [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("--nan",), "", "stop at NaN"),
    Option(("--inf",), "", "stop at an infinity"),
    Option(("--big",), "X", "stop at a number larger than X, without its sign"),
    Option(
        ("--dtype",), "", "stop at a result that is wider than a floating input, such as float64 of float32"
    ),
    Option(("--shape",), "", "stop at a result whose shape is not that of the step before"),
    Option(("--json",), "", "print what was found as JSON, on standard output"),
)


def main(arguments: list[str]) -> int:
    """Check a program; where nothing is found it ends the process by its own exit code."""
    parsed = parse(arguments, OPTIONS, program=True)
    big = _big(parsed)
    program = program_of(parsed.rest, "check")
    from scanviz.profiler.run.checked import run_checked
    from scanviz.profiler.run.runner import CannotRunError

    try:
        return run_checked(program, _wanted(parsed, big), "json" in parsed.options)
    except CannotRunError as error:
        write_text(f"scanviz: {error}\n", sys.stderr)
        return error.code


def _wanted(parsed: Parsed, big: float | None) -> CheckOptions:
    from scanviz.profiler.values.checking import CheckOptions

    named = {text: text in parsed.options for text in ("nan", "inf", "dtype", "shape")}
    if big is None and not any(named.values()):
        return CheckOptions()
    return CheckOptions(big=big, **named)


def _big(parsed: Parsed) -> float | None:
    text = parsed.options.get("big")
    if text is None:
        return None
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not limit > 0:
        raise UsageError(f"--big takes a positive number, not {text!r}")
    return limit
