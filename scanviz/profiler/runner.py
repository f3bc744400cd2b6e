"""Running a script, a module or a string of code as ``__main__``, as plain python does.

The program runs in this process: ``sys.argv``, ``__file__``, ``sys.path[0]`` and ``sys.modules["__main__"]`` are what python would
set.  Exceptions are left to propagate, so that exit codes and death by signal are python's own; only the hook that prints a
traceback is wrapped, to hide the frames between python and the program.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import signal
import sys
import types
from types import CodeType, TracebackType
from typing import Any, Literal, NamedTuple

from scanviz.engine.errors import ScanvizError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Program(NamedTuple):
    """What to run.

    Attributes
    ----------
    kind : {"script", "module", "code"}
        A file (or folder, or zip, with a ``__main__.py``), a module as with ``-m``, or code as with ``-c``.
    target : str
        Path, module name or the code itself.
    arguments : list of str
        What the program finds in ``sys.argv[1:]``.
    """

    kind: Literal["script", "module", "code"]
    target: str
    arguments: list[str]

    @property
    def title(self) -> str:
        """What to call it in a report."""
        return {"script": self.target, "module": f"-m {self.target}", "code": "-c …"}[self.kind]

    @property
    def stem(self) -> str:
        """The name of its profile, less the ending."""
        if self.kind == "code":
            return "command"
        base = (
            os.path.basename(os.path.abspath(self.target))
            if self.kind == "script"
            else self.target.rsplit(".", 1)[-1]
        )
        return os.path.splitext(base)[0] or "profile"


class CannotRunError(Exception):
    """The program was not found or could not be read: the message python would print, and its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class _Loaded(NamedTuple):
    """A program ready to run: its code, and the attributes of its ``__main__``."""

    code: CodeType
    attributes: dict[str, Any]
    argv0: str
    path0: str


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
        if program.kind == "module":
            sys.path[0:1] = [os.getcwd()]
        loaded = {"script": _script, "module": _module, "code": _code}[program.kind](program.target)
    except SyntaxError as error:
        _hide_frames(error, None)
        raise
    module = types.ModuleType("__main__")
    module.__dict__.update(loaded.attributes)
    module.__dict__.setdefault("__annotations__", {})
    module.__dict__["__builtins__"] = builtins
    sys.argv[:] = [loaded.argv0, *program.arguments]
    if program.kind != "module":
        sys.path[0:1] = [loaded.path0]
    sys.modules["__main__"] = module
    try:
        exec(loaded.code, module.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            _interrupted.append(True)
        _hide_frames(error, _users_frames(error))
        raise


def _script(target: str) -> _Loaded:
    path = os.path.abspath(target)
    if os.path.isdir(path) or (os.path.isfile(path) and _is_zip(path)):
        return _folder(target, path)
    try:
        with io.open_code(path) as stream:
            source = stream.read()
    except OSError as error:
        raise CannotRunError(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}", 2) from None
    code = compile(source, path, "exec", dont_inherit=True)
    loader = importlib.machinery.SourceFileLoader("__main__", path)
    attributes = {
        "__file__": path,
        "__loader__": loader,
        "__spec__": None,
        "__package__": None,
        "__cached__": None,
    }
    return _Loaded(code, attributes, target, os.path.dirname(os.path.realpath(path)))


def _is_zip(path: str) -> bool:
    with open(path, "rb") as stream:
        if stream.read(2) == b"PK":
            return True
    return False


def _folder(target: str, path: str) -> _Loaded:
    importer = pkgutil.get_importer(path)
    spec = importer.find_spec("__main__", None) if importer is not None else None
    if spec is None or spec.loader is None:
        raise CannotRunError(f"can't find '__main__' module in {path!r}", 1)
    code = spec.loader.get_code("__main__")  # type: ignore[attr-defined]  # loaders of files and zips have it
    attributes = {
        "__file__": spec.origin,
        "__loader__": spec.loader,
        "__spec__": spec,
        "__package__": "",
        "__cached__": spec.cached,
    }
    return _Loaded(code, attributes, target, path)


def _module(name: str) -> _Loaded:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
            if spec is None:
                raise CannotRunError(
                    f"No module named {name}.__main__; {name!r} is a package and cannot be directly executed",
                    1,
                )
    except (ImportError, ValueError, AttributeError) as error:
        raise CannotRunError(
            f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})", 1
        ) from None
    if spec is None or spec.loader is None:
        raise CannotRunError(f"No module named {name}", 1)
    code = spec.loader.get_code(spec.name)  # type: ignore[attr-defined]  # as runpy does
    if code is None:
        raise CannotRunError(f"No code object available for {name}", 1)
    attributes = {
        "__file__": spec.origin,
        "__loader__": spec.loader,
        "__spec__": spec,
        "__package__": spec.parent,
        "__cached__": spec.cached,
    }
    return _Loaded(code, attributes, spec.origin or name, os.getcwd())


def _code(source: str) -> _Loaded:
    code = compile(source, "<string>", "exec", dont_inherit=True)
    attributes = {"__loader__": importlib.machinery.BuiltinImporter, "__spec__": None, "__package__": None}
    return _Loaded(code, attributes, "-c", "")


def _users_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback from the program's first frame on; for scanviz's own errors, up to its last frame."""
    trace = error.__traceback__
    while trace is not None and _is_own(trace):
        trace = trace.tb_next
    if trace is None or not isinstance(error, ScanvizError) or os.environ.get("SCANVIZ_DEBUG"):
        return trace
    error.__cause__, error.__suppress_context__ = None, True
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    while frames and _is_own(frames[-1]):
        frames.pop()
    shown: TracebackType | None = None
    for each in reversed(frames):
        shown = TracebackType(shown, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return shown


def _is_own(trace: TracebackType) -> bool:
    file = trace.tb_frame.f_code.co_filename
    return file.startswith((_PACKAGE, "<scanviz", "<frozen importlib"))


def _hide_frames(error: BaseException, shown: TracebackType | None) -> None:
    """Let ``sys.excepthook``, the program's own if it has set one, see these frames alone."""
    print_it = sys.excepthook

    def hook(kind: type[BaseException], value: BaseException, trace: TracebackType | None) -> None:
        if value is error:
            value.__traceback__ = shown
            print_it(kind, value, shown)
        else:
            print_it(kind, value, trace)

    sys.excepthook = hook
