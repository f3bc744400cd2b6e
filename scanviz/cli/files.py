"""Input and output files of commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.cli.options import Given, Option, UsageError, real
from scanviz.record.plain_text import cannot_write, write_text

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord
    from scanviz.record.traces.model import TraceRecord

STANDARD_OUTPUT = ("-", "/dev/stdout")  # as -o takes it
FORCE = "--force replaces it, -o names another"


def one_file(rest: Sequence[str], command: str) -> Path:
    """Return the single profile of a command line.

    Raises
    ------
    UsageError
        If there is none or several.

    Examples
    --------
    >>> one_file(["rnn.scanviz"], "report").name
    'rnn.scanviz'
    """
    if len(rest) != 1:
        found = f", found {len(rest)}" if rest else ""
        raise UsageError(f"scanviz {command} takes one FILE, a saved profile{found}")
    return Path(rest[0])


def loaded(path: Path) -> ProfileRecord:
    """Return the record of a file.

    Raises
    ------
    UsageError
        If it cannot be read.
    ScanvizError
        If it is no profile.
    """
    from scanviz.record.errors import CannotReadError
    from scanviz.record.storage.file import load

    try:
        return load(path)
    except CannotReadError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def profile_place(path: Path, *, force: bool) -> Path:
    """Return the path for a profile, if it may be written.

    Raises
    ------
    UsageError
        If it may not be written.
    """
    from scanviz.record.storage.archive import is_profile

    if str(path) in STANDARD_OUTPUT:
        raise UsageError("a profile cannot go to standard output: -o FILE names a file")
    return free_place(path.absolute(), force=force, ours=is_profile, what="scanviz profile")


def free_place(path: Path, *, force: bool, ours: Callable[[Path], bool], what: str, fix: str = FORCE) -> Path:
    """Return a path if it may be written: it is free, holds a file of scanviz, or replacing is allowed.

    Parameters
    ----------
    path : Path
        The path of the file.
    force : bool
        Whether any file may be replaced; folders and devices never are.
    ours : callable
        Whether scanviz wrote a file.
    what : str
        Name of such a file, such as ``"page of scanviz"``.
    fix : str
        The advice for replacing another file.

    Raises
    ------
    UsageError
        If it may not be written.
    """
    from scanviz.record.errors import CannotWriteError
    from scanviz.record.storage.writing import check_place

    try:
        check_place(path, None if force else ours, what, fix)
    except CannotWriteError as error:
        raise UsageError(str(error)) from None
    return path


def never(path: Path) -> bool:
    """Return False: no existing file may be replaced."""
    return False


def write_to_standard_output(data: bytes) -> None:
    """Write a file's content to standard output; for a terminal it is sanitised.

    Raises
    ------
    UsageError
        If a terminal would get bytes that are no text.
    """
    if not sys.stdout.isatty():
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        except BrokenPipeError:  # nobody reads any more
            raise
        except OSError as error:
            raise cannot_write(sys.stdout, error) from None
        return
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(
            "this format is no text, and cannot go to a terminal: -o FILE names a file"
        ) from None
    write_text(text, sys.stdout)


RECOMPUTE = Option(
    ("--recompute",),
    "[=SECONDS]",
    "compute values of other steps too, each within SECONDS (20)",
    real("a number of seconds"),
)


def seconds_of(given: Given) -> float | None:
    """Return the time limit for recomputing; None without ``--recompute``."""
    from scanviz.profiler.values.recompute import SECONDS

    seconds: float | None = SECONDS if given.recompute == "" else given.recompute
    return seconds


@contextmanager
def recomputing(
    record: ProfileRecord, seconds: float | None
) -> Iterator[Callable[[int, int, int, int], TraceRecord] | None]:
    """Attach a recompute service to a record; None without ``--recompute``."""
    if seconds is None:
        yield None
        return
    from scanviz.profiler.values.recompute import RecomputeService

    with closing(RecomputeService(seconds)) as service:
        yield partial(service.window, record)
