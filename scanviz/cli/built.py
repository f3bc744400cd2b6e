"""Run a script, then show its functions, or an observer's findings."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TextIO

from scanviz.cli.options import UsageError
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.engine.function import Function
    from scanviz.profiler.run.runner import Script


def show_functions(script: Script, what: str, deliver: Callable[[Sequence[Function], TextIO], None]) -> int:
    """Run a script, then show its functions (see :func:`run_and_show`)."""
    from scanviz.engine.measurement.captured_calls import report_functions

    built: list[Function] = []
    return run_and_show(script, what, report_functions(built.append), lambda out: deliver(built, out))


def run_and_show(
    script: Script, what: str, observing: AbstractContextManager[Any], show: Callable[[TextIO], None]
) -> int:
    """Run a script, then show a result even if the script failed; return the exit code.

    Parameters
    ----------
    script : Script
        The program.
    what : str
        Name of the output, for a message.
    observing : context manager
        Entered while the script runs.
    show : callable
        ``show(out)``; its UsageError is printed, and ends the command with 2.
    """
    out = own_output(what)

    def finish() -> int:
        try:
            with contextlib.suppress(BrokenPipeError):  # nobody reads any more
                show(out)
        except UsageError as error:  # only at the script's end it is known what there is
            write_text(f"scanviz: {error}\n", sys.stderr)
            return 2
        return 0

    return run_to_the_end(script, observing, finish)


def run_to_the_end(script: Script, observing: AbstractContextManager[Any], finish: Callable[[], int]) -> int:
    """Run a script, then finish and return its exit code; a failing script keeps its own.

    Forks of the process do not finish.
    """
    from scanviz.profiler.run.exits import register_final_exit
    from scanviz.profiler.run.runner import CannotRunError, run

    process = os.getpid()
    register_final_exit()

    def finish_here() -> int:
        return finish() if os.getpid() == process else 0

    try:
        with observing:
            run(script)
    except CannotRunError:
        raise
    except BaseException as error:
        if not isinstance(error, SystemExit) or error.code not in (None, 0):
            atexit.register(finish_here)  # after its traceback, and with its exit code
            raise
    return finish_here()


def own_output(what: str = "--json") -> TextIO:
    """Return standard output for scanviz alone, and redirect all other output to standard error."""
    sys.stdout.flush()
    try:
        own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{what} goes to standard output, which cannot be written: {error}") from None
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if sys.stderr is not None and sys.stderr.isatty() and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    return own
