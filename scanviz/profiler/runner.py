"""Running a script, a module or a string of code as ``__main__``, as plain python does.

The program runs in this process: ``sys.argv``, ``__file__``, ``sys.path[0]`` and ``sys.modules["__main__"]`` are what python would
set.  Exceptions are left to propagate, so that exit codes and death by signal are python's own; only the hook that prints a
traceback is wrapped, to hide the frames between python and the program.

Limits: NumPy and scanviz are imported already, so a file beside the script that bears the name of a module they use is not found
first; ``sys.orig_argv`` tells of scanviz.
"""

from __future__ import annotations

import builtins
import signal
import sys
import types

from scanviz.profiler.exits import EXIT
from scanviz.profiler.runner_frames import show_program_only
from scanviz.profiler.runner_load import CannotRunError, Program, load, set_path0


def run(program: Program) -> None:
    """Run a program as ``__main__`` and return when its main thread ends.

    Raises
    ------
    CannotRunError
        If it is not there.
    BaseException
        Whatever the program raises, ``SystemExit`` included; ``sys.excepthook`` then prints the program's frames alone.
    """
    try:
        loaded = load(program)
        module = types.ModuleType("__main__")
        module.__dict__.update(loaded.attributes)
        module.__dict__.setdefault("__annotations__", {})
        module.__dict__["__builtins__"] = builtins
        sys.argv[:] = [loaded.argv0, *program.arguments]
        if program.kind != "module":
            set_path0(loaded.path0)
        sys.modules["__main__"] = module
        EXIT.began = True
        exec(loaded.code, module.__dict__)
    except (SystemExit, CannotRunError):
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            EXIT.number = signal.SIGINT
            EXIT.ended_by_program = EXIT.began
        show_program_only(error, run.__code__)
        raise


__all__ = ["CannotRunError", "Program", "run"]
