"""Files of a program that have the names of Python's own modules, such as ``resource.py`` or ``select.py`` beside the script.

Python finds a program's own files first.  So ``import resource`` means the program's file in the program, as without scanviz, and
whatever scanviz imported of Python by such a name makes room for it.  In scanviz it means Python's module: what imports one while
the program runs is imported before, and after the program these names are Python's.

Limits: what scanviz imports before, such as ``random``, or in many places, such as ``array``, is Python's in the program, too.  A
thread of the program that goes on when its main thread has ended, and first imports a file of such a name then, gets Python's.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# Who of scanviz imports these of Python while a program runs; then the names are the program's.
ONE_READER = {
    "queue": ("scanviz.engine.backends.native.workers",),
    "resource": ("scanviz.engine.observation.preemption", "scanviz.profiler.recording.processor"),
}
# Imported then in many places, inside functions too: these names stay Python's.
MANY_READERS = {"array", "difflib", "fractions", "hashlib", "mmap"}


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
        if found is None:  # as msvcrt, which tells Python's subprocess that this is Windows
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
