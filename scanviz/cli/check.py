"""Run a script, a module (-m) or code (-c) and stop at the first NaN, infinity or other unwanted value.

The finding goes to standard error: the loop, its step, the operation, your line, and the values that the operation was given.
The exit code is 1 if something was found, else that of the script. Every operation is computed one by one, so the script runs
slower.

Without options, check looks for NaN and infinities. With --nan, --inf, --big, --dtype or --shape it looks only for these.

for example:
  scanviz check train.py                      where does the NaN come from?
  scanviz check --big 1e6 train.py            which number grows too large?
  scanviz check --dtype train.py              where does float32 become float64?
"""

from __future__ import annotations

from scanviz.cli.options import MODE, Option, parse, program_of, real
from scanviz.cli.run import set_mode

USAGE = "check [options] SCRIPT [arguments]"
OPTIONS = (
    Option(("--nan",), "", "stop at NaN"),
    Option(("--inf",), "", "stop at an infinity"),
    Option(("--big",), "X", "stop at a number above X or below -X", real("a positive number")),
    Option(("--dtype",), "", "stop at a result of a wider dtype than an input, such as float64 from float32"),
    Option(("--shape",), "", "stop at a result whose shape changed since the last step"),
    MODE,
    Option(("--json",), "", "print the finding as JSON on standard output"),
)


def main(arguments: list[str]) -> int:
    """Check a program; without a finding the program's own exit code ends the process."""
    given = parse(arguments, OPTIONS, program=True)
    program = program_of(given.rest, "check")
    set_mode(given.mode)
    from scanviz.profiler.run.checked import run_checked
    from scanviz.profiler.values.checking import CheckOptions

    named = {name: getattr(given, name) for name in ("nan", "inf", "dtype", "shape", "big")}
    wanted = CheckOptions(**named) if any(named.values()) else CheckOptions()
    return run_checked(program, wanted, given.json)
