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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, ModuleType, TracebackType

from scanviz.engine.config import config
from scanviz.engine.tracebacks import frames, is_own, tidy_chain
from scanviz.profiler.run.exits import EXIT, descriptors_held
from scanviz.profiler.run.load import CannotRunError, Script, load, set_path0

# Files of a program that have the names of Python's own modules, such as ``resource.py`` or ``select.py`` beside the script.
#
# Python finds a program's own files first.  So ``import resource`` means the program's file in the program, as without scanviz, and
# whatever scanviz imported of Python by such a name makes room for it.  In scanviz it means Python's module: what imports one while
# the program runs is imported before, and after the program these names are Python's.
#
# Limits: what scanviz imports before, such as ``random``, or in many places, such as ``array``, is Python's in the program, too.  A
# thread of the program that goes on when its main thread has ended, and first imports a file of such a name then, gets Python's.

# Who of scanviz imports these of Python while a program runs; then the names are the program's.
ONE_READER = {
    "queue": ("scanviz.engine.backends.native.run.workers",),
    "resource": ("scanviz.engine.observation.stamps", "scanviz.profiler.recording.processor"),
}
# Imported then in many places, inside functions too: these names stay Python's.
MANY_READERS = {"array", "copy", "difflib", "fractions", "hashlib", "mmap"}


@contextmanager
def program_in(folder: str) -> Iterator[None]:
    """Let a program's files have names of Python's modules while it runs, and scanviz have Python's modules."""
    place = os.path.realpath(folder or os.getcwd())
    names = _names_in(place)
    if not names:
        yield
        return
    finder = _PythonsOwn(names, place)
    sys.meta_path.insert(0, finder)
    for name in names & (ONE_READER.keys() | MANY_READERS):
        for module in ONE_READER.get(name, (name,)):
            importlib.import_module(module)
    sys.meta_path.remove(finder)
    pythons = {name: sys.modules.pop(name) for name in names & ONE_READER.keys() if name in sys.modules}
    try:
        yield
    finally:
        sys.meta_path.insert(0, finder)
        for name in names:
            if _is_in(sys.modules.get(name), place):
                del sys.modules[name]
        sys.modules.update(pythons)


class _PythonsOwn:
    """Finds Python's modules of some names before files of a program.

    Parameters
    ----------
    names : set of str
        The names of modules.
    place : str
        The folder with the program's files.
    """

    def __init__(self, names: set[str], place: str) -> None:
        self.names, self.place = names, place

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where Python's module is; None for others, and for those that are part of Python itself.

        Raises
        ------
        ModuleNotFoundError
            If Python has none of this name on this system.
        """
        if name not in self.names or path is not None or name in sys.builtin_module_names:
            return None
        elsewhere = [entry for entry in sys.path if os.path.realpath(entry or os.getcwd()) != self.place]
        found = PathFinder.find_spec(name, elsewhere, target)
        if found is None:  # such as msvcrt, whose presence means Windows to Python's subprocess
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found


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
