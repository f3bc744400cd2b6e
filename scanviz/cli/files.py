"""Files that commands read and write: one profile, and a place where something may be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scanviz.cli.options import Option, Parsed, UsageError, as_given, parse

if TYPE_CHECKING:
    from scanviz.record.model import ProfileRecord


def one_file(rest: Sequence[str], command: str) -> Path:
    """Return the one profile that a command line names.

    Raises
    ------
    UsageError
        If it names none or several.

    Examples
    --------
    >>> one_file(["rnn.scanviz"], "report").name
    'rnn.scanviz'
    """
    if len(rest) != 1:
        found = f", found {len(rest)}" if rest else ""
        raise UsageError(f"which profile? scanviz {command} takes one FILE{found}")
    return Path(rest[0])


def options_after_file(parsed: Parsed, options: Sequence[Option], command: str) -> Parsed:
    """Return what was given where options stand behind a FILE too; behind a SCRIPT they would be the script's.

    Raises
    ------
    UsageError
        If there is more than one file.

    Examples
    --------
    >>> depth = Option(("--depth",), "N", "…")
    >>> options_after_file(Parsed({}, ["rnn.scanviz", "--depth", "0"]), [depth], "graph")
    Parsed(options={'depth': '0'}, rest=['rnn.scanviz'])
    """
    again = parse([*parsed.rest[1:], *as_given(parsed.options)], options, program=False)
    if again.rest:
        raise UsageError(f"scanviz {command} takes one FILE, found {again.rest[0]!r} too")
    return Parsed(again.options, parsed.rest[:1])


def loaded(path: Path) -> ProfileRecord:
    """Return the record of a file.

    Raises
    ------
    UsageError
        If it cannot be read.
    ScanvizError
        If it is no profile.
    """
    from scanviz.record.file import load

    try:
        return load(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def profile_place(path: Path, *, force: bool) -> Path:
    """Return a path where a profile may be saved.

    Raises
    ------
    UsageError
        If it may not be written.
    """
    from scanviz.record.file import is_profile

    return free_place(path, force=force, ours=is_profile, what="scanviz profile")


def free_place(path: Path, *, force: bool, ours: Callable[[Path], bool], what: str) -> Path:
    """Return a path that may be written: nothing is there, or something that scanviz wrote, or it may be replaced.

    Parameters
    ----------
    path : Path
        Where.
    force : bool
        Whether anything may be replaced.
    ours : callable
        Whether a file is one that scanviz wrote.
    what : str
        What such a file is called, such as ``"page of scanviz"``.

    Raises
    ------
    UsageError
        If it may not be written.
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        reason = "it is a folder" if path.is_dir() else "there is no such folder"
        raise UsageError(f"{path} cannot be written: {reason}")
    if path.exists() and not force and not ours(path):
        raise UsageError(f"{path} exists and is no {what}; --force replaces it, -o names another")
    return path
