"""Find and compile a program as python's command line does.

A script may be a source file, compiled byte code (``.pyc``), standard input (``-``), or a folder or zip archive with a
``__main__.py``; a module is found as by ``python -m``.  A missing program gives python's message and exit code.

Limits: a file with bytes outside its encoding gives ``compile``'s message instead of that of python's own file reader.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import shlex
import stat
import sys
from types import CodeType
from typing import IO, Any, Literal, NamedTuple

from scanviz.record.storage.archive import is_profile

LONGEST = 2**24  # largest program in bytes that is not a regular file


class Script(NamedTuple):
    """A program to run.

    Attributes
    ----------
    kind : {"script", "module", "code"}
        A file (or folder, or zip, with a ``__main__.py``), a module as with ``-m``, or code as with ``-c``.
    target : str
        Path, module name or the code itself.
    arguments : list of str
        The program's ``sys.argv[1:]``.
    """

    kind: Literal["script", "module", "code"]
    target: str
    arguments: list[str]

    @property
    def title(self) -> str:
        """The program's title in a report."""
        return {"script": self.target, "module": f"-m {self.target}", "code": "-c …"}[self.kind]

    @property
    def stem(self) -> str:
        """The name of its profile without extension."""
        if self.kind == "code" or self.target == "-":
            return "command"
        if self.kind == "module":
            return self.target.rsplit(".", 1)[-1] or "profile"
        return os.path.splitext(os.path.basename(os.path.abspath(self.target)))[0] or "profile"


class CannotRunError(Exception):
    """A program cannot be found or read: carries python's message and exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Loaded(NamedTuple):
    """A program ready to run.

    Attributes
    ----------
    code : CodeType
        The code.
    attributes : dict
        Initial attributes of its ``__main__`` module.
    argv0 : str
        ``sys.argv[0]``.
    path0 : str
        ``sys.path[0]``.
    """

    code: CodeType
    attributes: dict[str, Any]
    argv0: str
    path0: str


def load(program: Script) -> Loaded:
    """Find and compile a program, with ``sys.argv`` and ``sys.path`` as python has them at that moment.

    Raises
    ------
    CannotRunError
        If the program does not exist.
    SyntaxError
        If it is not Python.
    BaseException
        Any error from importing the packages around a module.
    """
    if program.kind == "module":
        sys.argv[:] = ["-m", *program.arguments]
        set_path0(os.getcwd())
        return _module(program.target)
    return _script(program.target) if program.kind == "script" else _code(program.target)


def set_path0(folder: str) -> None:
    """Replace scanviz's own folder in ``sys.path[0]``, unless python runs with a safe path."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0:1] = [folder]


def _script(target: str) -> Loaded:
    if target == "-":
        source = sys.stdin.buffer.read()
        code = compile(source, "<stdin>", "exec", dont_inherit=True)
        return Loaded(code, {**_unfiled(), "__file__": "<stdin>", "__cached__": None}, "-", "")
    path = os.path.join(os.getcwd(), target)
    if pkgutil.get_importer(path) is not None:
        return _folder(target, path)
    if path.endswith(".scanviz") and os.path.isfile(path):
        raise CannotRunError(
            f"{target} is no script, and no saved profile either: it is damaged, or something else", 1
        )
    try:
        with io.open_code(path) as stream:
            compiled = pkgutil.read_code(stream) if path.endswith(".pyc") else None
            source = _source(stream, path) if compiled is None else b""
    except OSError as error:
        raise CannotRunError(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}", 2) from None
    loader: Any = importlib.machinery.SourceFileLoader("__main__", path)
    if compiled is not None:
        loader = importlib.machinery.SourcelessFileLoader("__main__", path)
    else:
        compiled = compile(source, path, "exec", dont_inherit=True)
    attributes = {
        "__file__": path,
        "__loader__": loader,
        "__spec__": None,
        "__package__": None,
        "__cached__": None,
    }
    return Loaded(compiled, attributes, target, os.path.dirname(os.path.realpath(path)))


def _source(stream: IO[bytes], path: str) -> bytes:
    """Read a program, with a size limit unless it is a regular file: a pipe or ``/dev/zero`` may be endless."""
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream.read()
    source = stream.read(LONGEST + 1)
    if len(source) > LONGEST:
        raise CannotRunError(f"can't open file {path!r}: it is too large for a program", 2)
    return source


def _folder(target: str, path: str) -> Loaded:
    importer = pkgutil.get_importer(path)
    spec = importer.find_spec("__main__", None) if importer is not None else None
    if spec is None or spec.loader is None:
        if is_profile(path):
            saved = (
                f"{target} is a saved profile, not a script; scanviz report {shlex.quote(target)} prints it"
            )
            raise CannotRunError(saved, 1)
        raise CannotRunError(f"can't find '__main__' module in {path!r}", 1)
    code = spec.loader.get_code("__main__")  # type: ignore[attr-defined]  # loaders of files and zips have it
    attributes = {
        "__file__": spec.origin,
        "__loader__": spec.loader,
        "__spec__": spec,
        "__package__": "",
        "__cached__": spec.cached,
    }
    return Loaded(code, attributes, target, path)


def _code(source: str) -> Loaded:
    return Loaded(compile(source, "<string>", "exec", dont_inherit=True), _unfiled(), "-c", "")


def _unfiled() -> dict[str, Any]:
    return {"__loader__": importlib.machinery.BuiltinImporter, "__spec__": None, "__package__": None}


def _module(name: str) -> Loaded:
    spec = _found(name)
    if spec.submodule_search_locations is not None:
        try:
            return _module(f"{name}.__main__")
        except CannotRunError as error:
            if name not in sys.modules:
                raise
            raise CannotRunError(
                f"{error}; {name!r} is a package and cannot be directly executed", error.code
            ) from None
    code = spec.loader.get_code(name) if spec.loader is not None else None  # type: ignore[attr-defined]  # as runpy does
    if code is None:
        raise CannotRunError(f"No code object available for {name}", 1)
    attributes = {
        "__file__": spec.origin,
        "__loader__": spec.loader,
        "__spec__": spec,
        "__package__": spec.parent,
        "__cached__": spec.cached,
    }
    return Loaded(code, attributes, spec.origin or name, os.getcwd())


def _found(name: str) -> importlib.machinery.ModuleSpec:
    """Return a module's specification; errors of the packages around it propagate as the program's own."""
    if name.startswith("."):
        raise CannotRunError("Relative module names not supported", 1)
    package = name.rpartition(".")[0]
    try:
        if package:
            __import__(package)
    except ImportError as error:
        if error.name is None or (error.name != package and not package.startswith(error.name + ".")):
            raise
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        hint = (
            f". Try using '{name[:-3]}' instead of '{name}' as the module name."
            if name.endswith(".py")
            else ""
        )
        raise CannotRunError(
            f"Error while finding module specification for {name!r} ({type(error).__name__}: {error}){hint}",
            1,
        ) from None
    if spec is None:
        raise CannotRunError(f"No module named {name}", 1)
    return spec
