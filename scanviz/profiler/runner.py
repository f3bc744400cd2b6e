"""Running a script, a module or a string of code as ``__main__``, as plain python does.

The program runs in this process: ``sys.argv``, ``__file__``, ``sys.path[0]`` and ``sys.modules["__main__"]`` are what python would
set.  Exceptions are left to propagate, so that exit codes and death by signal are python's own; only the hook that prints a
traceback is wrapped, to hide the frames between python and the program.

Limits: NumPy and scanviz are imported already, so a file beside the script that bears the name of a module they use is not found
first; ``sys.orig_argv`` tells of scanviz.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import os
import signal
import sys
import types

from scanviz.profiler.runner_frames import show_program_only
from scanviz.profiler.runner_load import CannotRunError, Program, load, set_path0

_interrupted: list[bool] = []


def die_by_interrupt() -> None:
    """Let the process die by SIGINT at its very end, as python does, if ctrl+c ended the program.

    Call it before anything else is to be done at the end: what is registered first is done last.
    """

    def finish() -> None:
        if not _interrupted or not hasattr(signal, "SIGINT") or sys.platform == "win32":
            return
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # a closed stream has nothing to lose
                stream.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)

    atexit.register(finish)


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
        exec(loaded.code, module.__dict__)
    except (SystemExit, CannotRunError):
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            _interrupted.append(True)
        show_program_only(error, run.__code__)
        raise


__all__ = ["CannotRunError", "Program", "die_by_interrupt", "run"]
