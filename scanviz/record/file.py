"""The ``.scanviz`` file: a zip of one JSON document and one ``.npy`` array a loop.

It is data, never code: no pickle, sizes are checked before anything is read, names are matched against a list and never
used as paths.  Writing goes to a temporary file beside the target that then takes its place.
"""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizError, ScanvizValueError
from scanviz.record.codec import decode, encode
from scanviz.record.model import SCHEMA, ProfileRecord

MAGIC = "scanviz profile"
_DOCUMENT = "record.json"
_SERIES = re.compile(r"series/\d{1,12}\.npy")
MAX_ENTRIES = 20_000
MAX_DOCUMENT = 256 * 2**20
MAX_SERIES = 32 * 2**20
MAX_TOTAL = 512 * 2**20


def save(record: ProfileRecord, path: str | os.PathLike[str]) -> None:
    """Write a record to a file, all of it or nothing.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    target = Path(path)
    document = encode(record)
    for loop in document["loops"]:
        loop.pop("series")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = MAGIC.encode()
            archive.writestr(_DOCUMENT, json.dumps(document, separators=(",", ":")))
            for each in record.loops:
                if len(each.series):
                    buffer = io.BytesIO()
                    np.save(buffer, np.ascontiguousarray(each.series, np.int64), allow_pickle=False)
                    archive.writestr(f"series/{each.key}.npy", buffer.getvalue())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        if os.path.exists(name):
            os.unlink(name)
        raise


def load(path: str | os.PathLike[str]) -> ProfileRecord:
    """Read a record from a file.

    Raises
    ------
    ScanvizError
        If it is no profile, is damaged, too large, or made by a newer version.
    OSError
        If it cannot be opened.
    """
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(name) as archive:
            _check_entries(archive, name)
            document = _document(archive, name)
            record = decode(ProfileRecord, document)
            for loop in record.loops:
                loop.series = _series(archive, loop.key)
            return record
    except ScanvizError:
        raise
    except OSError as error:
        if error.errno is not None:  # the file system's own error; others are damage found by the zip reader
            raise
        raise _damaged(name, error) from None
    except Exception as error:  # whatever a damaged file makes the zip, JSON or array readers raise
        raise _damaged(name, error) from None


def is_profile(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a profile that scanviz wrote, by its mark alone."""
    try:
        with zipfile.ZipFile(os.fspath(path)) as archive:
            return archive.comment == MAGIC.encode()
    except (OSError, zipfile.BadZipFile, ValueError):
        return False


def _damaged(name: str, error: BaseException) -> ScanvizValueError:
    return ScanvizValueError(f"{name} is no scanviz profile, or it is damaged ({type(error).__name__})")


def _check_entries(archive: zipfile.ZipFile, name: str) -> None:
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES or sum(each.file_size for each in entries) > MAX_TOTAL:
        raise ScanvizValueError(f"{name} is too large to be a scanviz profile")
    for each in entries:
        if each.filename != _DOCUMENT and not _SERIES.fullmatch(each.filename):
            raise ScanvizValueError(
                f"{name} holds something that is no part of a profile", found=repr(each.filename[:80])
            )


def _read(archive: zipfile.ZipFile, entry: str, limit: int) -> bytes:
    """Return an entry's bytes, never more than a limit whatever its header says."""
    with archive.open(entry) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise ScanvizValueError(f"{entry} in the profile is too large", expected=f"at most {limit} bytes")
    return data


def _document(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        document = json.loads(_read(archive, _DOCUMENT, MAX_DOCUMENT))
    except KeyError:
        raise ScanvizValueError(f"{name} is no scanviz profile") from None
    version = document.get("schema") if isinstance(document, dict) else None
    if type(version) is int and version > SCHEMA:
        raise ScanvizValueError(
            f"{name} was written by a newer scanviz",
            expected=f"schema {SCHEMA} or older",
            found=f"schema {version}",
            fix="pip install --upgrade scanviz",
        )
    return document


def _series(archive: zipfile.ZipFile, key: int) -> Any:
    entry = f"series/{key}.npy"
    if entry not in archive.namelist():
        return np.zeros((0, 4), np.int64)
    data = _read(archive, entry, MAX_SERIES)
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ScanvizValueError(f"{entry} in the profile is no array of version 1.0")
    shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype != np.int64 or len(shape) != 2 or shape[1] != 4 or shape[0] * 32 != len(data) - stream.tell():
        raise ScanvizValueError(
            f"{entry} in the profile has the wrong form",
            expected="int64 of shape (n, 4)",
            found=f"{dtype} {shape}",
        )
    return np.load(io.BytesIO(data), allow_pickle=False)
