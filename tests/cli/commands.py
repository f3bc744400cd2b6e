"""`python -m scanviz …` and `python script.py …` in a process of its own, forked from one that has imported all of scanviz: a tenth of the time of a fresh one.

The child gets its own arguments, folder, environment and standard streams and ends as a process does, but for taking its modules down.
Whatever is about how a process starts and ends (flags, hash seeds, signals while it imports, a terminal, what is left open) is tested in
fresh ones: ``test_fidelity.py``, ``test_corners.py``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120.0
READ_AT_START = (
    "PYTHON",
    "SCANVIZ",
    "OPENBLAS",
)  # with another value of one of these, a fresh process is started
Done = subprocess.CompletedProcess[str]


def command(*arguments: str, cwd: str | Path, stdin: IO[str] | None = None, **environment: str) -> Done:
    """Run the command in a folder with further environment variables; return its output and exit code."""
    return _python(["-m", "scanviz", *arguments], cwd, stdin, environment)


def script(path: str | Path, *arguments: str, cwd: str | Path, **environment: str) -> Done:
    """Run a script that imports scanviz, as ``command`` runs the command."""
    return _python([str(path), *arguments], cwd, None, environment)


def _python(words: list[str], cwd: str | Path, stdin: IO[str] | None, environment: Mapping[str, str]) -> Done:
    wanted = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    if not hasattr(os, "fork") or not hasattr(socket, "send_fds") or _read_at_start(wanted) != _as_started():
        return subprocess.run(
            [sys.executable, *words], cwd=cwd, env=wanted, stdin=stdin or subprocess.DEVNULL, capture_output=True,
            text=True, encoding="utf-8", timeout=PATIENCE, check=False,
        )  # fmt: skip
    with contextlib.ExitStack() as files:
        given = stdin or files.enter_context(open(os.devnull))
        out, errors = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        request = files.enter_context(tempfile.TemporaryFile("w+"))
        json.dump([words, str(cwd), wanted], request)
        request.seek(0)
        try:
            code = _starter().run([each.fileno() for each in (given, out, errors, request)])
        except TimeoutError:
            _starter.cache_clear()  # its next answer would be that of this command
            raise
        return subprocess.CompletedProcess([sys.executable, *words], code, _text(out), _text(errors))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8").replace("\r\n", "\n")


def _read_at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that Python and scanviz read when they start."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_AT_START) and name != "PYTHONIOENCODING"
    }


@functools.cache
def _as_started() -> dict[str, str]:
    return _read_at_start(_starter().environment)


@functools.cache
def _starter() -> _Starter:
    return _Starter()


class _Starter:
    """The process that forks."""

    def __init__(self) -> None:
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        self._ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], env=self.environment, pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        theirs.close()
        self._ours.settimeout(PATIENCE)
        self._answers = self._ours.makefile("r")
        atexit.register(self.end)

    def end(self) -> None:
        """Close the requests, so that the process ends."""
        self._answers.close()
        self._ours.close()
        self._process.wait(PATIENCE)

    def run(self, files: list[int]) -> int:
        """Fork a command over standard streams and a request, and return its exit code."""
        socket.send_fds(self._ours, [b"."], files)
        child = int(self._answers.readline())
        try:
            return os.waitstatus_to_exitcode(int(self._answers.readline()))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            raise


def _serve(requests: socket.socket) -> None:
    """Fork for each request; return in the child, or raise SystemExit when requests end."""
    import scanviz

    atexit.register(_end_at_once)  # which is registered first and called last
    _import_all(scanviz.__path__, "scanviz.")
    gc.freeze()
    while True:
        _, files, _, _ = socket.recv_fds(requests, 1, 4)
        if not files:
            return
        child = os.fork()
        if child == 0:
            requests.close()
            return _become(files)
        for file in files:
            os.close(file)
        requests.sendall(b"%d\n" % child)
        _, status = os.waitpid(child, 0)
        requests.sendall(b"%d\n" % status)


def _import_all(folders: Iterable[str], prefix: str) -> None:
    """Import the modules that every command imports first: nine tenths of the time of a short one."""
    for module in pkgutil.iter_modules(folders, prefix):
        if module.name in ("scanviz.__main__", "scanviz.testing", "scanviz.tui"):
            continue
        with contextlib.suppress(ImportError):  # needs a package that is not installed
            package = importlib.import_module(module.name)
            if module.ispkg:
                _import_all(package.__path__, f"{module.name}.")


def _become(files: list[int]) -> None:
    """Be ``python`` with the request's arguments, folder, variables and standard streams."""
    *streams, request = files
    with open(request, encoding="utf-8") as file:
        words, folder, environment = json.load(file)
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if encoding := environment.get("PYTHONIOENCODING"):
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            stream.reconfigure(encoding=encoding)  # type: ignore[union-attr]  # they are text streams here
    module = words[1] if words[0] == "-m" else None
    sys.argv = words[:1] + words[2:] if module else words
    sys.path[0] = os.getcwd() if module else str(Path(words[0]).resolve().parent)
    sys.orig_argv[1:] = words
    try:
        if module:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
        _ended_with(None)
    except SystemExit as left:
        _ended_with(left.code)
        raise


def _ended_with(code: object) -> None:
    """Let the process end after its last function of ``atexit`` if it comes to that: taking all modules down would be most of its time."""
    _ENDS.append(code & 0xFF if isinstance(code, int) else 0 if code is None else 1)


def _end_at_once() -> None:
    if _ENDS:
        with contextlib.suppress(Exception):  # Python prints it after this, in its own words
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(_ENDS[0])


_ENDS: list[int] = []


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
