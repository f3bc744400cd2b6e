"""Run a script, a module or a string of code as ``__main__``, as plain python does.

The program runs in this process, with ``sys.argv``, ``__file__``, ``sys.path[0]`` and ``sys.modules["__main__"]`` as python sets
them.  Exceptions propagate, so that exit codes and death by signal are python's own.  Only the hook that prints a traceback is
wrapped, to hide the frames between python and the program.  Frames inside scanviz are hidden as everywhere
(:mod:`scanviz.engine.tracebacks`).

Limits: NumPy and scanviz are imported already, so their modules take precedence over files of the same name next to the script;
``sys.orig_argv`` shows scanviz's command line.
"""

from __future__ import annotations

import builtins
import importlib
import os
import signal
import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, ModuleType, TracebackType

from scanviz.engine.config import config
from scanviz.engine.tracebacks import frames, is_own, tidy_chain
from scanviz.profiler.run.exits import EXIT, descriptors_held
from scanviz.profiler.run.load import CannotRunError, Script, load, set_path0

# A program's folder may have files with the names of Python's own modules, such as ``resource.py``.  The program imports its own
# files, as under python; scanviz needs Python's modules.  So what scanviz imports late is imported before the program runs, and
# after the program its folder is searched last.
#
# Limits: modules that scanviz imports before, such as ``random``, or in many places, such as ``array``, stay Python's.

# Python's modules → the modules of scanviz that import them while a program runs; then the names are the program's.
ONE_READER = {
    "queue": ("scanviz.engine.backends.native.run.workers",),
    "resource": ("scanviz.engine.observation.stamps", "scanviz.profiler.recording.processor"),
    "select": ("selectors",),
}
MANY_READERS = {"array", "copy", "difflib", "fractions", "hashlib", "mmap"}  # these names stay Python's


@contextmanager
def program_in(folder: str) -> Iterator[None]:
    """Let files in a program's folder have the names of Python's modules while the program runs."""
    place = os.path.realpath(folder or os.getcwd())
    names = _names_in(place)
    if not names:
        yield
        return
    _search_last(folder)
    for name in names & (ONE_READER.keys() | MANY_READERS):
        for module in ONE_READER.get(name, (name,)):
            importlib.import_module(module)
    if sys.path and sys.path[-1] == folder:
        sys.path.insert(0, sys.path.pop())
    pythons = {name: sys.modules.pop(name) for name in names & ONE_READER.keys() if name in sys.modules}
    try:
        yield
    finally:
        _search_last(folder)
        for name in names:
            if _is_in(sys.modules.get(name), place):
                del sys.modules[name]
        sys.modules.update(pythons)


def _search_last(folder: str) -> None:
    if folder in sys.path:
        sys.path.remove(folder)
        sys.path.append(folder)


def _names_in(place: str) -> set[str]:
    """Return the names of Python's modules that a program's folder has files of."""
    try:
        entries = os.listdir(place)
    except OSError:  # an archive, or gone
        return set()
    return {entry.partition(".")[0] for entry in entries} & sys.stdlib_module_names


def _is_in(module: ModuleType | None, place: str) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and os.path.realpath(file).startswith(place + os.sep)


def run(program: Script) -> None:
    """Run a program as ``__main__`` and return when its main thread ends.

    Raises
    ------
    CannotRunError
        If it is not there.
    BaseException
        The program's own exception, ``SystemExit`` included; ``sys.excepthook`` then prints only the program's frames.
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
    """Show only the program's frames to ``sys.excepthook``, the program's own hook included.

    Parameters
    ----------
    error : BaseException
        The exception that ended the program.
    entry : CodeType
        The code of the function that ran the program: its frame and those above are hidden.
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
    """Return the traceback below the entry's frame, without the frames that loaded the program."""
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


__all__ = ["MANY_READERS", "ONE_READER", "CannotRunError", "Script", "program_in", "run", "show_program_only"]
