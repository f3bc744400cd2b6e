"""The ``.scanviz`` file: a zip of one JSON document and ``.npy`` arrays: one a loop, two a traced variable.

It is data, never code: no pickle; sizes are checked before anything is read and again while it is; entries are matched
against a list of names and never used as paths.  Writing goes to a temporary file beside the target, which then takes
its place.
``docs/profile-format.md`` documents it.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from scanviz.engine.errors import ScanvizError, ScanvizValueError
from scanviz.record.check import check
from scanviz.record.codec import decode, encode
from scanviz.record.model import SCHEMA, LoopRecord, ProfileRecord, Samples
from scanviz.record.traces import STATISTICS, TracedVariableRecord, TraceRecord

MARK = b"scanviz profile"  # the zip's comment
MAX_ENTRIES = 20_000
MAX_DOCUMENT = 64 * 2**20
MAX_SERIES = 2**20
MAX_VALUES = 2**23
MAX_TOTAL = 256 * 2**20
_DOCUMENT = "record.json"
_ARRAYS = re.compile(r"(series/\d{1,18}|(values|statistics)/\d{1,6})\.npy")
_PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Everything that a damaged file makes the zip, JSON and array readers raise.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def save(record: ProfileRecord, path: str | os.PathLike[str]) -> None:
    """Write a record to a file, all of it or nothing.

    Parameters
    ----------
    record : ProfileRecord
        What to keep.
    path : path
        The file; one that is there is replaced in one step.

    Raises
    ------
    OSError
        If the file cannot be written; what was there before is as it was.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rnn.scanviz")
    ...     save(ProfileRecord(script="rnn.py"), path)
    ...     load(path).script
    'rnn.py'
    """
    document = encode(record)
    for loop in document["loops"]:
        loop.pop("series")
    for variable in (each for trace in document["traces"] for each in trace["variables"]):
        variable.pop("values"), variable.pop("statistics")
    with replacing(Path(path)) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = MARK
        archive.writestr(_DOCUMENT, json.dumps(document, separators=(",", ":")))
        for each in record.loops:
            if len(each.series):
                archive.writestr(f"series/{each.key}.npy", _packed(each.series, "<i8"))
        for number, variable in enumerate(each for trace in record.traces for each in trace.variables):
            archive.writestr(f"values/{number}.npy", _packed(variable.values, "<f8"))
            archive.writestr(f"statistics/{number}.npy", _packed(variable.statistics, "<f8"))


def _packed(rows: np.ndarray[Any, Any], dtype: str) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(rows, dtype), allow_pickle=False)
    return buffer.getvalue()


@contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces the target when the block ends well, and vanishes when it does not."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(name, _usual_mode(target))
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _usual_mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those a new file gets."""
    try:
        return target.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def load(path: str | os.PathLike[str]) -> ProfileRecord:
    """Read a record from a file, whoever wrote it.

    Raises
    ------
    ScanvizError
        If it is no profile, is damaged, too large, makes no sense, or was made by a newer version.
    OSError
        If it cannot be opened.
    """
    name = os.fspath(path)
    with open(name, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                return _record(archive, name)
        except ScanvizError:
            raise
        except (OSError, *_DAMAGE) as error:  # a seek to before the beginning is an OSError
            raise ScanvizValueError(
                f"{name} is no scanviz profile, or it is damaged", found=f"{type(error).__name__}: {error}"
            ) from None


def is_profile(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a profile that scanviz wrote, by its mark alone."""
    try:
        with zipfile.ZipFile(os.fspath(path)) as archive:
            return archive.comment == MARK
    except (OSError, *_DAMAGE):
        return False


def _record(archive: zipfile.ZipFile, name: str) -> ProfileRecord:
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES or sum(each.file_size for each in entries) > MAX_TOTAL:
        raise ScanvizValueError(f"{name} is too large for a scanviz profile")
    for each in entries:
        if each.filename != _DOCUMENT and not _ARRAYS.fullmatch(each.filename):
            raise ScanvizValueError(
                f"{name} holds something that is no part of a profile", found=repr(each.filename[:80])
            )
        if each.flag_bits & 1 or each.compress_type not in _PLAIN:
            raise ScanvizValueError(f"{name} is encrypted or packed in an unknown way")
    record = decode(ProfileRecord, _document(archive, name))
    names = {each.filename for each in entries}
    loops = tuple(_with_series(archive, each, names) for each in record.loops)
    record = replace(record, loops=loops, traces=_with_values(archive, record.traces, names))
    check(record)
    return record


def _read(archive: zipfile.ZipFile, entry: str, limit: int) -> bytes:
    """Return an entry's bytes, never more than the limit whatever its header says."""
    with archive.open(entry) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:
        raise ScanvizValueError(f"{entry} in the profile is too large", expected=f"at most {limit} bytes")
    return data


def _document(archive: zipfile.ZipFile, name: str) -> Any:
    document = json.loads(_read(archive, _DOCUMENT, MAX_DOCUMENT))
    version = document.get("schema") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise ScanvizValueError(f"{name} is no scanviz profile: it states no version")
    if version > SCHEMA:
        raise ScanvizValueError(
            f"{name} was written by a newer scanviz",
            expected=f"schema {SCHEMA} or older",
            found=f"schema {version}",
            fix="pip install --upgrade scanviz",
        )
    return document


def _with_series(archive: zipfile.ZipFile, loop: LoopRecord, names: set[str]) -> LoopRecord:
    entry = f"series/{loop.key}.npy"
    return replace(loop, series=_series(archive, entry)) if entry in names else loop


def _with_values(
    archive: zipfile.ZipFile, traces: tuple[TraceRecord, ...], names: set[str]
) -> tuple[TraceRecord, ...]:
    """Return traces with their arrays; variables are numbered through all of them."""
    number, found = itertools.count(), []
    for trace in traces:
        variables = [_with_numbers(archive, each, next(number), names) for each in trace.variables]
        found.append(replace(trace, variables=tuple(variables)))
    return tuple(found)


def _with_numbers(
    archive: zipfile.ZipFile, variable: TracedVariableRecord, number: int, names: set[str]
) -> TracedVariableRecord:
    values, statistics = f"values/{number}.npy", f"statistics/{number}.npy"
    if values in names:
        variable = replace(variable, values=_array(archive, values, MAX_VALUES, "<f8", None))
    if statistics in names:
        read = _array(archive, statistics, MAX_VALUES, "<f8", len(STATISTICS))
        variable = replace(variable, statistics=read)
    return variable


def _series(archive: zipfile.ZipFile, entry: str) -> Samples:
    return _array(archive, entry, MAX_SERIES, "<i8", 4)


def _array(
    archive: zipfile.ZipFile, entry: str, limit: int, kind: str, columns: int | None
) -> np.ndarray[Any, Any]:
    """Return an entry's rows, refusing everything but a plain array of the wanted dtype and number of columns."""
    data = _read(archive, entry, limit)
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ScanvizValueError(f"{entry} in the profile is no array of version 1.0")
    shape, in_columns, dtype = np.lib.format.read_array_header_1_0(stream)
    given = data[stream.tell() :]
    wanted = np.dtype(kind)
    if dtype != wanted or in_columns or len(shape) != 2 or (columns is not None and shape[1] != columns):
        raise ScanvizValueError(
            f"{entry} in the profile has the wrong form",
            expected=f"{wanted.name} of shape (n, {columns if columns is not None else 'm'})",
            found=f"{dtype} of shape {shape}",
        )
    if min(shape) < 0 or len(given) != 8 * shape[0] * shape[1]:
        raise ScanvizValueError(f"{entry} in the profile is cut off or too long")
    return np.frombuffer(given, wanted).astype(wanted.newbyteorder("=")).reshape(shape)


__all__ = ["is_profile", "load", "save"]
