"""The mark of scanviz's pictures: only marked files are replaced without asking."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from scanviz.record.storage.reading import ends_of

MARK = "scanviz-picture-1: made by scanviz graph, which may replace this file"
_PNG = b"\x89PNG\r\n\x1a\n"


def is_picture(path: Path) -> bool:
    """Return whether scanviz wrote a picture file.

    Examples
    --------
    >>> is_picture(Path("nothing-here.svg"))
    False
    """
    mark = MARK.encode()
    return mark in ends_of(path, 2000, 400)


def marked(data: bytes, format: str) -> bytes:
    """Return a file's bytes with the mark, where its format allows remarks."""
    mark = MARK.encode()
    if mark in data:
        return data
    if format == "png" and data.startswith(_PNG):
        chunk = b"tEXtSoftware\x00" + mark
        header = len(_PNG) + 25  # length, type, 13 bytes and a checksum
        length, checksum = struct.pack(">I", len(chunk) - 4), struct.pack(">I", zlib.crc32(chunk))
        return data[:header] + length + chunk + checksum + data[header:]
    if format == "svg":  # after the root's start, where a remark may stand
        start = data.find(b"<svg")
        end = data.find(b">", start) + 1
        return data[:end] + b"\n<!-- " + mark + b" -->" + data[end:] if start >= 0 and end > 0 else data
    if format == "txt":
        return data + b"\n(" + mark + b")\n"
    if format == "pdf":
        return data.rstrip(b"\n") + b"\n% " + mark + b"\n"
    return data
