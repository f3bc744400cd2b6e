"""Read zip archives of any origin, with every size checked: no header is trusted.

Before anything is unpacked the file's size, the length of its directory, the number of entries, their names, their packing and the
stated sizes are checked; while it is unpacked, the real ones.  Names are keys of a dict, never paths.  Whatever the
readers of the standard library raise for damaged bytes is one error.
"""

from __future__ import annotations

import os
import re
import zipfile
from typing import IO, NamedTuple

from scanviz.record.errors import ScanvizError, ScanvizValueError
from scanviz.record.storage.reading import open_file

MARK = b"scanviz profile"  # the zip's comment
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_LONGEST_ENTRY_OF_DIRECTORY = 256  # bytes: ours have less than 80


class Limits(NamedTuple):
    """Limits of an archive.

    Attributes
    ----------
    names : pattern
        Names of entries.
    entries : int
        Most entries.
    total : int
        Bytes of all of them, unpacked; the file itself may be as large.
    largest : dict of str to int
        Bytes of one entry, by the part of its name before a slash.
    """

    names: re.Pattern[str]
    entries: int
    total: int
    largest: dict[str, int]

    def of(self, name: str) -> int:
        """Return the byte limit of an entry, by its name before the first slash."""
        return self.largest[name.partition("/")[0]]


def entries_of(path: str | os.PathLike[str], limits: Limits) -> dict[str, bytes]:
    """Return the entries of an archive by name.

    Raises
    ------
    ScanvizError
        If it is no archive, is damaged, is beyond a limit, or holds something else.
    OSError
        If it cannot be opened.
    """
    name = os.fspath(path)
    with open_file(name) as stream:
        try:
            if os.fstat(stream.fileno()).st_size > limits.total:
                raise ScanvizValueError(f"{name} is too large for a scanviz profile")
            with zipfile.ZipFile(_Directory(stream, limits.entries * _LONGEST_ENTRY_OF_DIRECTORY)) as archive:
                _check(archive, name, limits)
                return {
                    member.filename: _unpacked(archive, member, limits.of(member.filename))
                    for member in archive.infolist()
                }
        except ScanvizError:
            raise
        except (
            Exception
        ) as error:  # zipfile and zlib raise a dozen kinds for damaged bytes, not all on purpose
            raise ScanvizValueError(
                f"{name} is no scanviz profile, or it is damaged",
                found=f"{type(error).__name__}: {error}",
                fix=f"scanviz profile {name}  makes one of a script" if name.endswith(".py") else None,
            ) from None


def comment_of(path: str | os.PathLike[str]) -> bytes:
    """Return the comment of a zip archive, nothing for other or unreadable files."""
    try:
        with open_file(path) as stream, zipfile.ZipFile(stream) as archive:
            return archive.comment
    except Exception:  # as above
        return b""


def is_profile(path: str | os.PathLike[str]) -> bool:
    """Return whether scanviz wrote a file as a profile, by its mark only."""
    return comment_of(path) == MARK


class _Directory:
    """A file whose reads are limited to the size of a directory, which zipfile reads at once.

    Packed data are read through it as well, in pieces of at most the same size.
    """

    def __init__(self, stream: IO[bytes], longest: int) -> None:
        self._stream, self._longest = stream, max(longest, 2**17)  # also a comment is looked for
        self.seek, self.tell, self.seekable, self.close = (
            stream.seek,
            stream.tell,
            stream.seekable,
            stream.close,
        )

    def read(self, size: int = -1) -> bytes:
        """Read at most as many bytes as a directory may have."""
        return self._stream.read(self._longest if size < 0 else min(size, self._longest))


def _check(archive: zipfile.ZipFile, name: str, limits: Limits) -> None:
    """Refuse an archive by its directory."""
    entries = archive.infolist()
    if len(entries) > limits.entries or sum(entry.file_size for entry in entries) > limits.total:
        raise ScanvizValueError(f"{name} is too large for a scanviz profile")
    for entry in entries:
        if not limits.names.fullmatch(entry.filename):
            raise ScanvizValueError(
                f"{name} holds something that is no part of a profile", found=repr(entry.filename[:80])
            )
        if entry.flag_bits & 1 or entry.compress_type not in _PACKINGS:
            raise ScanvizValueError(f"{name} is encrypted or packed in an unknown way")
    if len({entry.filename for entry in entries}) != len(entries):
        raise ScanvizValueError(f"{name} holds an entry twice")


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> bytes:
    """Return an entry's bytes, at most as many as the limit, whatever its header claims."""
    with archive.open(entry) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise ScanvizValueError(
            f"{entry.filename} in the profile is too large", expected=f"at most {limit} bytes"
        )
    return data
