"""Running a script for what is shown of it when it ends, however it ends: its functions, or what watching them found."""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from scanviz.cli.options import UsageError
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.engine.function import Function


def show_functions(script: Any, what: str, deliver: Callable[[Sequence[Function], TextIO], None]) -> int:
    """Run a script and show something of the functions that it built: see :func:`run_and_show`."""
    from scanviz.engine.measurement.captured_calls import report_functions

    built: list[Function] = []
    return run_and_show(script, what, report_functions(built.append), lambda out: deliver(built, out))


def run_and_show(
    script: Any, what: str, watching: contextlib.AbstractContextManager[Any], show: Callable[[TextIO], None]
) -> int:
    """Run a script and show something when it ends, also where it fails; return the exit code.

    Parameters
    ----------
    script : object
        A program of the runner.
    what : str
        What is shown, for a message.
    watching : context manager
        Is entered while the script runs.
    show : callable
        ``show(out)``; a UsageError of it is told, and ends the command with 2.
    """
    from scanviz.profiler.run.exits import watch_the_end
    from scanviz.profiler.run.runner import CannotRunError, run

    out, process = own_output(what), os.getpid()
    watch_the_end()

    def at_the_end() -> int:
        if os.getpid() != process:
            return 0
        try:
            with contextlib.suppress(BrokenPipeError):  # nobody reads any more
                show(out)
        except UsageError as error:  # only at the script's end it is known what there is
            write_text(f"scanviz: {error}\n", sys.stderr)
            return 2
        return 0

    try:
        with watching:
            run(script)
    except CannotRunError:
        raise
    except BaseException:
        atexit.register(at_the_end)  # after its traceback, and with its exit code
        raise
    return at_the_end()


def own_output(what: str = "--json") -> TextIO:
    """Return standard output, for us alone: what is printed from now on, also by other processes, goes to standard error."""
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
