"""Running a script, a module or a string of code as ``__main__``, as plain python does.

The program runs in this process: ``sys.argv``, ``__file__``, ``sys.path[0]`` and ``sys.modules["__main__"]`` are what python would
set.  Exceptions are left to propagate, so that exit codes and death by signal are python's own; only the hook that prints a
traceback is wrapped, to hide the frames between python and the program.  Frames inside scanviz are hidden as everywhere
(:mod:`scanviz.engine.tracebacks`).

Limits: NumPy and scanviz are imported already, so a file beside the script that bears the name of a module they use is not found
first; ``sys.orig_argv`` tells of scanviz.
"""

from __future__ import annotations

import builtins
import signal
import sys
import types
from types import CodeType, TracebackType

from scanviz.engine.config import config
from scanviz.engine.tracebacks import frames, is_own, tidy_chain
from scanviz.profiler.run.exits import EXIT, descriptors_held
from scanviz.profiler.run.load import CannotRunError, Script, load, set_path0
from scanviz.profiler.run.names_of_python import program_in


def run(program: Script) -> None:
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
        with program_in(sys.path[0]), descriptors_held():
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


def show_program_only(error: BaseException, entry: CodeType) -> None:
    """Let ``sys.excepthook``, the program's own if it has set one, see the program's frames alone.

    Parameters
    ----------
    error : BaseException
        What ended the program.
    entry : CodeType
        The code of the function that ran it: its frame and those above are hidden.
    """
    print_it = sys.excepthook

    def hook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        if value is error:
            value.__traceback__ = trace = _below(trace, entry)
            if config.traceback != "full":
                tidy_chain(value)
                trace = value.__traceback__
            sys.last_traceback = trace
        print_it(kind, value, trace)

    sys.excepthook = hook


def _below(trace: TracebackType | None, entry: CodeType) -> TracebackType | None:
    """Return what stands below the entry's frame, less the frames that only loaded the program."""
    found = frames(trace)
    for position, traceback in enumerate(found):
        if traceback.tb_frame.f_code is entry:
            trace = traceback.tb_next
            for below in found[position + 1 :]:
                if not is_own(below) and not below.tb_frame.f_code.co_filename.startswith(
                    "<frozen importlib"
                ):
                    return below
                trace = None
            return trace
    return trace


__all__ = ["CannotRunError", "Script", "run", "show_program_only"]
