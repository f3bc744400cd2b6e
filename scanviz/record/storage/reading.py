"""Open input files: only regular files, checked before they are opened.

Opening a FIFO waits for somebody to write, a terminal for somebody to type, and ``/dev/zero`` never ends: so anything but a
regular file is refused, and the message names its kind.
"""

from __future__ import annotations

import os
import stat
from typing import IO

from scanviz.record.errors import CannotReadError

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO or pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def kind_at(path: str | os.PathLike[str]) -> str:
    """Return the kind of a path, links followed: ``"nothing"``, ``"a file"``, ``"a folder"``, ``"a device"``, …

    Raises
    ------
    OSError
        If that cannot be found out, as in a folder that may not be looked into.

    Examples
    --------
    >>> kind_at(os.devnull), kind_at(os.curdir), kind_at("nothing-here.scanviz")
    ('a device', 'a folder', 'nothing')
    """
    try:
        return kind_of(os.stat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return "nothing"


def kind_of(mode: int) -> str:
    """Return the kind of a file with this ``st_mode``, in words."""
    return "a file" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "something else")


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading.

    Raises
    ------
    CannotReadError
        If it is no regular file.
    OSError
        If it is not there or may not be read.

    Examples
    --------
    >>> open_file(os.devnull)
    Traceback (most recent call last):
        ...
    scanviz.record.errors.CannotReadError: /dev/null cannot be read: it is a device, not a file
    """
    name = os.fspath(path)
    _refuse_other(os.stat(name).st_mode, name)
    handle = os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _refuse_other(os.fstat(handle).st_mode, name)  # another may have taken its place
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def ends_of(path: str | os.PathLike[str], first: int, last: int) -> bytes:
    """Return the first and the last bytes of a file; nothing for an unreadable one."""
    try:
        with open_file(path) as stream:
            head = stream.read(first)
            if last:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - last))
            return head + (stream.read(last) if last else b"")
    except OSError:
        return b""


def _refuse_other(mode: int, name: str) -> None:
    if not stat.S_ISREG(mode):
        raise CannotReadError(f"{name} cannot be read: it is {kind_of(mode)}, not a file")
