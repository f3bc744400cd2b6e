"""Write output files atomically: under another name beside their place, then moved there in one step.

Nothing that a user made is lost.  A write that fails or is interrupted leaves the old file, and nothing beside it.  Files that
scanviz did not make are replaced only on demand; folders, FIFOs and devices never are.  Links are followed, as the shell's
``>`` does.  Ctrl+c and termination wait until a file stands in its place (:mod:`scanviz.record.storage.writing`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

from scanviz.record.errors import CannotWriteError
from scanviz.record.storage.reading import kind_at

TEMPORARY = ".scanviz-"  # begins the name of a file that is not finished


def check_place(path: Path, ours: Callable[[Path], bool] | None, what: str, fix: str) -> None:
    """Refuse a path at which no file may be written.

    Parameters
    ----------
    path : Path
        The path of the file.
    ours : callable, optional
        Whether a file there is one that scanviz made and may be replaced; None if any may.
    what : str
        Name of such a file, such as ``"page of scanviz"``; empty where no file is.
    fix : str
        The advice for replacing it all the same.

    Raises
    ------
    CannotWriteError
        If there is no such folder, or something there that is not to be replaced.

    Examples
    --------
    >>> check_place(Path(os.devnull), None, "scanviz profile", "")
    Traceback (most recent call last):
        ...
    scanviz.record.errors.CannotWriteError: /dev/null cannot be written: it is a device
    """
    place = Path(os.path.realpath(path))
    try:
        kind, around = kind_at(place), kind_at(place.parent)
        taken = kind == "a file" and ours is not None and not ours(place)
    except OSError as error:
        raise _cannot(path, error) from None
    if around != "a folder":
        raise CannotWriteError(f"{path} cannot be written: there is no folder {path.parent}")
    if kind not in ("nothing", "a file"):
        raise CannotWriteError(f"{path} cannot be written: it is {kind}")
    if taken:
        raise CannotWriteError(f"{path} exists{f' and is no {what}' if what else ''}; {fix}")


@contextmanager
def replacing(
    target: Path, ours: Callable[[Path], bool] | None = None, what: str = ""
) -> Iterator[IO[bytes]]:
    """Open a file that replaces the target if the block succeeds, and is removed if it fails.

    Parameters
    ----------
    target : Path
        The place.
    ours : callable, optional
        Whether a file that has appeared there meanwhile may be replaced; None if any may.
    what : str
        Name of such a file.

    Raises
    ------
    CannotWriteError
        If it cannot be written; a file that was there before is unchanged.
    """
    place = Path(os.path.realpath(target))
    temporary = place.with_name(f"{TEMPORARY}{os.urandom(8).hex()}")
    with signals_wait():
        try:
            check_place(target, ours, what, "it was left as it is")
            try:
                with _created(temporary, place) as stream:
                    yield stream
                check_place(target, ours, what, "it was left as it is")
                os.replace(temporary, place)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise
        except CannotWriteError:
            raise
        except OSError as error:
            raise _cannot(target, error) from None


def _created(temporary: Path, place: Path) -> IO[bytes]:
    """Create a file with the permissions of the one that it replaces, else of a new one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    stream = os.fdopen(os.open(temporary, flags, 0o666), "wb")
    with contextlib.suppress(OSError):  # a new file
        os.chmod(temporary, place.stat().st_mode & 0o777)
    return stream


def _cannot(path: Path, error: OSError) -> CannotWriteError:
    found = CannotWriteError(f"{path} cannot be written: {error.strerror or error}")
    found.errno = error.errno
    return found


# Ctrl+c last: it keeps its handler while others are exchanged, and gets it back first.
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name))


@contextmanager
def signals_wait() -> Iterator[None]:
    """Defer signals that end the process until the block ends, then deliver them in order.

    Signals that are ignored stay ignored; those that the program handles itself reach its handlers.

    Examples
    --------
    >>> done = []
    >>> before = signal.signal(signal.SIGINT, lambda number, frame: done.append("interrupted"))
    >>> with signals_wait():
    ...     signal.raise_signal(signal.SIGINT)
    ...     done.append("saved")
    >>> _ = signal.signal(signal.SIGINT, before)
    >>> done
    ['saved', 'interrupted']
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        arrived.append(number)

    handlers = {number: signal.getsignal(number) for number in _ENDING}
    exchanged = [number for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)]
    try:
        for number in exchanged:
            signal.signal(number, note)
        yield
    finally:
        for number in exchanged:
            signal.signal(number, handlers[number])
        for number in dict.fromkeys(arrived):
            signal.raise_signal(number)
