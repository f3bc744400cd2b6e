"""Run a script, a module (-m) or code (-c) and stop at the first value that should not be.

By default that is the first NaN or infinity which an operation gives. Function, loop, run, step, operation, line, and what the
operation was made of go to standard error; the script's output stays its own. The exit code is 1 if something was found and 0
if not; a script that fails by itself keeps its own. Every value is computed one by one, so the script runs slower.

With one of --nan, --inf, --big, --dtype and --shape only what is named is looked for.
"""

from __future__ import annotations

from scanviz.cli.options import Option, parse, program_of, real

USAGE = "check [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("--nan",), "", "stop at NaN"),
    Option(("--inf",), "", "stop at an infinity"),
    Option(("--big",), "X", "stop at a number larger than X, without its sign", real("a positive number")),
    Option(
        ("--dtype",), "", "stop at a result that is wider than a floating input, such as float64 of float32"
    ),
    Option(("--shape",), "", "stop at a result whose shape is not that of the step before"),
    Option(("--json",), "", "print what was found as JSON, on standard output"),
)


def main(arguments: list[str]) -> int:
    """Check a program; where nothing is found it ends the process by its own exit code."""
    given = parse(arguments, OPTIONS, program=True)
    program = program_of(given.rest, "check")
    from scanviz.profiler.run.checked import run_checked
    from scanviz.profiler.values.checking import CheckOptions

    named = {name: getattr(given, name) for name in ("nan", "inf", "dtype", "shape", "big")}
    wanted = CheckOptions(**named) if any(named.values()) else CheckOptions()
    return run_checked(program, wanted, given.json)
