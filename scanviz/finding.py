"""Modules of this package are where their names say: importing them looks nowhere else.

Until a new process has its first result, two hundred modules of this package are imported.  For each, Python asks every finder
there is, lists folders, tries one ending after another, and works out three times where its byte code may be; that is a third
of what importing takes.  Here ``scanviz.engine.mode`` is ``engine/mode.py`` in the package's folder, and its byte code is used
where it was made of the file as it is now.  In any other case (no byte code, or another's; no such file; the package in a zip
file) Python's own machinery does what it always does.
"""

import marshal
import os
import sys
from _imp import _fix_co_filename  # type: ignore[attr-defined]  # what Python itself does to what it read
from collections.abc import Sequence
from importlib._bootstrap_external import (  # importlib.util, its home, takes longer than this saves of five modules
    MAGIC_NUMBER,
)
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

OURS = __name__.removesuffix("finding")  # what the names of our modules begin with
BY_TIME = bytes(4)  # byte code that is of the source while time and size are the same
# Bytes of byte code; the largest of ours have 40 KB.  Room for much more would be mapped anew for each file: 20 µs.
LARGEST = 1 << 16
_READ_ONLY = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Loader(SourceFileLoader):
    """Python's own, but for the byte code of a file that was just found: that is read at once.

    Parameters
    ----------
    name, path : str
        The module and its source.
    byte_code : str
        Where its byte code is, if there is any.
    found : os.stat_result
        What was found of the source.
    """

    def __init__(self, name: str, path: str, byte_code: str, found: os.stat_result) -> None:
        super().__init__(name, path)
        self.byte_code = byte_code
        self.found: os.stat_result | None = found

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return a module that knows its files: Python would ask it for either, and make an error into words each time."""
        module = ModuleType(spec.name)
        vars(module).update(__file__=spec.origin, __cached__=spec.cached)
        return module

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        found, self.found = self.found, None  # who asks later wants the source as it is then
        code = None if found is None else self._read(found)
        return super().get_code(fullname) if code is None else code

    def _read(self, source: os.stat_result) -> CodeType | None:
        """Return the byte code where it is of this source, which has not moved since."""
        try:
            file = os.open(self.byte_code, _READ_ONLY)
        except OSError:
            return None
        try:
            data = os.read(file, LARGEST)
        finally:
            os.close(file)
        made_of = (int(source.st_mtime) & 0xFFFFFFFF) | (source.st_size & 0xFFFFFFFF) << 32
        if data[:16] != MAGIC_NUMBER + BY_TIME + made_of.to_bytes(8, "little") or len(data) == LARGEST:
            return None
        code: CodeType = marshal.loads(memoryview(data)[16:])
        if (
            code.co_filename != self.path
        ):  # compiled elsewhere: in a folder that was moved, or by a path from another one
            _fix_co_filename(code, self.path)
        return code


class Finder:
    """Finds modules of this package, one of ``sys.meta_path``."""

    def __init__(self) -> None:
        self._endings: dict[str, tuple[str, str]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is, None where it is none of ours or not simply a file."""
        if not fullname.startswith(OURS) or path is None or len(path) != 1:
            return None
        name = fullname.rpartition(".")[2]
        if name != name.lower():  # on some systems a file is found by its name in capitals, too
            return None
        (folder,) = path
        try:
            source = f"{folder}{os.sep}{name}.py"
            found = os.stat(source)
            inside = None
        except OSError:
            inside = f"{folder}{os.sep}{name}"
            source = f"{inside}{os.sep}__init__.py"
            try:
                found = os.stat(source)
            except OSError:
                return None
            folder, name = inside, "__init__"
        before, after = self._endings.get(folder) or self._byte_code_of(folder)
        byte_code = f"{before}{name}{after}"
        loader = Loader(fullname, source, byte_code, found)
        spec = ModuleSpec(fullname, loader, origin=source, is_package=inside is not None)
        if inside is not None:
            spec.submodule_search_locations = [inside]
        spec.has_location, spec.cached = True, byte_code
        return spec

    def _byte_code_of(self, folder: str) -> tuple[str, str]:
        """Return what stands before and after a module's name in the path of its byte code."""
        some = ModuleSpec("x", None, origin=f"{folder}{os.sep}x.py")
        some.has_location = True
        where, name = os.path.split(some.cached or "")
        found = self._endings[folder] = (f"{where}{os.sep}", name[1:])
        return found


def _install() -> None:
    """Find the package's modules so from now on, if this one was found as a plain file, too; once.

    Whoever stands before Python's own finders, to change what modules do, still comes first.
    """
    own = type(__spec__.loader)
    if (own is not SourceFileLoader and own.__module__ != __name__) or sys.implementation.cache_tag is None:
        return
    for finder in [found for found in sys.meta_path if type(found).__module__ == __name__]:
        sys.meta_path.remove(finder)  # of the package before it was imported anew
    for place, found in enumerate(sys.meta_path):
        if getattr(found, "__module__", "").startswith("_frozen_importlib"):
            sys.meta_path.insert(place, Finder())
            return


_install()
