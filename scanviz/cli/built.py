"""Running a script for the functions that it builds: what they are is shown when it ends, however it ends."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from scanviz.cli.options import UsageError
from scanviz.record.plain_text import write_text

if TYPE_CHECKING:
    from scanviz.engine.function import Function

    Deliver = Callable[[Sequence[Function], TextIO], None]


def run_and_show(script: Any, what: str, deliver: Deliver) -> int:
    """Run a script and show something of the functions that it built, also where it fails; return the exit code.

    Parameters
    ----------
    script : object
        A program of the runner.
    what : str
        What is shown, for a message.
    deliver : callable
        ``deliver(functions, out)`` shows it; a UsageError of it is told, and ends the command with 2.
    """
    from scanviz.cli.rewrites import own_output
    from scanviz.engine.measurement.captured_calls import told_of_functions
    from scanviz.profiler.run.exits import watch_the_end
    from scanviz.profiler.run.runner import CannotRunError, run

    built: list[Function] = []
    out, process = own_output(what), os.getpid()
    watch_the_end()

    def show() -> int:
        if os.getpid() != process:
            return 0
        try:
            with contextlib.suppress(BrokenPipeError):  # nobody reads any more
                deliver(built, out)
        except UsageError as error:  # only at the script's end it is known what there is
            write_text(f"scanviz: {error}\n", sys.stderr)
            return 2
        return 0

    try:
        with told_of_functions(built.append):
            run(script)
    except CannotRunError as error:
        write_text(f"scanviz: {error}\n", sys.stderr)
        return error.code
    except BaseException:
        atexit.register(show)  # after its traceback, and with its exit code
        raise
    return show()


__all__ = ["run_and_show"]
