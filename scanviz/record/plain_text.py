"""Sanitise text on its way to a terminal: texts of scripts, records and file names.

Twice.  Views pass texts of a record through :func:`sanitize`, so that these have the width of the layout.  All output to
streams passes :func:`write_text` (or :func:`write_json`): it keeps letters, line ends, tabs and the colours of views.  A test
checks that nothing else writes to standard output or standard error.  The terminal application's drawings go through a filter
at the same place (``tui/terminal.py``).
"""

from __future__ import annotations

import json
import re
import sys
import unicodedata
from typing import Any, TextIO

from scanviz.record.errors import CannotWriteError

# Controls, line separators, directions of writing, invisible characters and lone surrogates.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
_OF_A_LINE = re.compile(f"[{_UNSAFE}]")
# The same without line ends, tabs, and the beginning of a colour: ``ESC [ numbers m``.
_OF_A_COLOURED_TEXT = re.compile(rf"\x1b(?!\[[0-9;]{{1,19}}m)|(?![\n\t\x1b])[{_UNSAFE}]")
_OF_A_TEXT = re.compile(rf"(?![\n\t])[{_UNSAFE}]")
_PLAIN_SIGNS = str.maketrans(
    {"·": "-", "…": "~", "–": "-", "×": "x", "→": ">", "µ": "u", "█": "#"}
    | dict(zip("▁▂▃▄▅▆▇", "_..::++", strict=True))
)


def sanitize(text: str) -> str:
    r"""Return text with unsafe characters escaped, so that it cannot steer a terminal.

    Examples
    --------
    >>> print(sanitize("a\x1b[31mb\nc"))
    a\x1b[31mb\nc
    """
    return _OF_A_LINE.sub(_written_out, text)


def is_plain(text: str) -> bool:
    r"""Return whether a line of text is harmless.

    Examples
    --------
    >>> is_plain("h[t-1]"), is_plain("\x1b[2J")
    (True, False)
    """
    return _OF_A_LINE.search(text) is None


def plain_lines(text: str, colours: bool = False) -> str:
    r"""Return sanitised text of several lines: as :func:`sanitize`, but lines and tabs stay.

    Parameters
    ----------
    text : str
        The text.
    colours : bool
        Whether colours stay: for views that sanitized every foreign text.

    Examples
    --------
    >>> print(plain_lines("first\nsecond\x1b]0;title\x07"))
    first
    second\x1b]0;title\x07
    """
    return (_OF_A_COLOURED_TEXT if colours else _OF_A_TEXT).sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode()


def plainest(text: str, encoding: str) -> str:
    r"""Return text in an encoding's characters: similar ones replace those that it lacks.

    Examples
    --------
    >>> plainest("3 µs · ▁█ · é", "ascii")
    '3 us - _# - ?'
    >>> plainest("e\u0301", "ascii")  # a mark above a letter takes no column: nothing stands for it
    'e'
    """
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        known = encoding if _known(encoding) else "ascii"
        bare = "".join(sign for sign in text.translate(_PLAIN_SIGNS) if not unicodedata.combining(sign))
        return bare.encode(known, "replace").decode(known)
    return text


def _known(encoding: str) -> bool:
    try:
        "".encode(encoding)
    except LookupError:
        return False
    return True


def write_text(text: str, stream: TextIO, *, colours: bool = False) -> None:
    """Write sanitised text to a stream, in characters of its encoding.

    Parameters
    ----------
    text : str
        The text.
    stream : TextIO
        The stream to write to.
    colours : bool
        Whether the text has colours of its own.

    Raises
    ------
    CannotWriteError
        If the stream takes no more.
    BrokenPipeError
        If the reader is gone.
    """
    _write(plainest(plain_lines(text, colours), getattr(stream, "encoding", None) or "utf-8"), stream)


def write_json(data: Any, stream: TextIO, indent: int | None = None) -> None:
    r"""Write data as JSON and a line end; escape every character that could steer a terminal.

    Examples
    --------
    >>> import sys
    >>> write_json({"name": "a\x1b[2Jb\x7f"}, sys.stdout)
    {"name": "a\u001b[2Jb\u007f"}
    """
    _write(json.dumps(data, indent=indent, allow_nan=False).replace("\x7f", "\\u007f") + "\n", stream)


def _write(text: str, stream: TextIO) -> None:
    try:
        stream.write(text)
    except BrokenPipeError:  # the reader is gone
        raise
    except OSError as error:
        raise cannot_write(stream, error) from None


def cannot_write(stream: TextIO, error: OSError) -> CannotWriteError:
    """Return the error for a stream that accepts no more data, as on a full disk."""
    name = "standard output" if stream is sys.stdout else "the output"
    return CannotWriteError(f"{name} cannot be written: {error.strerror or error}")
