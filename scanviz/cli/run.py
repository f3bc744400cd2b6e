"""Run a script, a module (-m) or code (-c) as python does, with scanviz's own error messages.

Tracebacks show the frames of your program, not those inside scanviz; SCANVIZ_TRACEBACK=full shows all.

for example:
  scanviz run train.py --epochs 2             --epochs 2 goes to train.py
  scanviz run --mode native train.py          run all functions as machine code
"""

from __future__ import annotations

from scanviz.cli.options import MODE_OF_RUN, UsageError, parse, program_of

USAGE = "run [options] SCRIPT [arguments]"
OPTIONS = (MODE_OF_RUN,)


def main(arguments: list[str]) -> int:
    """Run a program; its exit code ends the process."""
    given = parse(arguments, OPTIONS, program=True)
    program = program_of(given.rest, "run")
    set_mode(given.mode)
    from scanviz.profiler.run.exits import register_final_exit
    from scanviz.profiler.run.runner import run

    register_final_exit()
    run(program)
    return 0


def set_mode(name: str | None) -> None:
    """Make a tier the default of this process, refusing names that are none."""
    if name is None:
        return
    from scanviz.engine.backends.registry import resolve
    from scanviz.engine.config import config
    from scanviz.engine.errors import BackendError

    try:
        resolve(name)
    except BackendError as error:
        error.where = None  # the command line has no line number
        raise UsageError(str(error)) from None
    config.mode = name
