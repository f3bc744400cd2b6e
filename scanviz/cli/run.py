"""Run a script, a module (-m) or code (-c) as python does.

Tracebacks show the program's own frames; errors of scanviz come without frames inside scanviz.
SCANVIZ_TRACEBACK=full shows them all.
"""

from __future__ import annotations

import sys

from scanviz.cli.options import Option, parse, program_of
from scanviz.record.plain_text import write_text

USAGE = "run [options] SCRIPT [arguments]"
OPTIONS = (
    Option(
        ("--mode",), "NAME", "tier that runs functions which name none (numpy, native, reference, cupy, …)"
    ),
)


def main(arguments: list[str]) -> int:
    """Run a program; it ends the process by its own exit code."""
    parsed = parse(arguments, OPTIONS, program=True)
    program = program_of(parsed.rest, "run")
    set_mode(parsed.options.get("mode"))
    from scanviz.profiler.run.exits import watch_the_end
    from scanviz.profiler.run.runner import CannotRunError, run

    watch_the_end()
    try:
        run(program)
    except CannotRunError as error:
        write_text(f"scanviz: {error}\n", sys.stderr)
        return error.code
    return 0


def set_mode(name: str | None) -> None:
    """Make a tier the default of this process, refusing names that are none."""
    if name is None:
        return
    from scanviz.cli.options import UsageError
    from scanviz.engine.backends.registry import resolve
    from scanviz.engine.config import config
    from scanviz.engine.errors import BackendError

    try:
        resolve(name)
    except BackendError as error:
        error.where = None  # it stands on the command line, on no line of a program
        raise UsageError(str(error)) from None
    config.mode = name
