"""The ``.scanviz`` file: a zip of one JSON document, ``.npy`` arrays (one a loop, two a traced variable), Programs and bare arrays.

It is data, never code: no pickle.  Sizes are checked before and during reading (``archive.py``).  Entries are matched against a
list of names and never used as paths.  Headers of arrays are compared, not evaluated.  Writing goes to a temporary file beside
the target, which then takes its place (``writing.py``).  ``docs/reference/profile-format.md`` documents it.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from scanviz.record.errors import CannotWriteError, ScanvizValueError
from scanviz.record.model import SCHEMA, LoopRecord, ProfileRecord
from scanviz.record.storage.archive import MARK, Limits, entries_of, is_profile
from scanviz.record.storage.codec import decode, encode
from scanviz.record.storage.writing import replacing
from scanviz.record.traces.held_calls import HeldCallRecord
from scanviz.record.traces.model import STATISTICS, TracedVariableRecord, TraceRecord

_DOCUMENT = "record.json"
_NAMES = re.compile(
    r"record\.json|(series/\d{1,18}|(values|statistics)/\d{1,6})\.npy|programs/\d{1,18}\.program|calls/\d{1,6}\.bin"
)
LIMITS = Limits(
    _NAMES,
    entries=20_000,
    total=256 * 2**20,
    largest={
        _DOCUMENT: 64 * 2**20,
        "series": 2**20,
        "values": 2**23,
        "statistics": 2**23,
        "programs": 2**20,
        "calls": 2**25,
    },
)
_NO_TIME = (
    1980,
    1,
    1,
    0,
    0,
    0,
)  # of entries: the earliest that a zip can hold, so that equal records give equal files


def save(record: ProfileRecord, path: str | os.PathLike[str]) -> None:
    """Write a record to a file atomically.

    Parameters
    ----------
    record : ProfileRecord
        The record.
    path : path
        The file; one that is there is replaced in one step.

    Raises
    ------
    OSError
        If the file cannot be written; a file that was there before is unchanged.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rnn.scanviz")
    ...     save(ProfileRecord(script="rnn.py"), path)
    ...     load(path).script
    'rnn.py'
    """
    document = encode(record, rows=lambda array: None)  # these arrays are files of their own
    document["repeats"] = [encode(repeat) for repeat in record.repeats]  # those of repeats are not
    for loop in document["loops"]:
        loop.pop("series")
    for function in document["functions"]:
        function.pop("program")
    for variable in (variable for trace in document["traces"] for variable in trace["variables"]):
        variable.pop("values"), variable.pop("statistics")
    for array in (array for call in document["calls"] for array in call["arrays"]):
        array["content"] = ""
    with replacing(Path(path)) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = MARK
        _put(archive, _DOCUMENT, json.dumps(document, separators=(",", ":")).encode())
        for timed in record.loops:
            if len(timed.series):
                _put(archive, f"series/{timed.key}.npy", packed(timed.series, "<i8"))
        for function in record.functions:
            if function.program:
                _put(archive, f"programs/{function.key}.program", function.program)
        for number, variable in enumerate(
            variable for trace in record.traces for variable in trace.variables
        ):
            _put(archive, f"values/{number}.npy", packed(variable.values, "<f8"))
            _put(archive, f"statistics/{number}.npy", packed(variable.statistics, "<f8"))
        for number, call in enumerate(record.calls):
            _put(archive, f"calls/{number}.bin", b"".join(array.content for array in call.arrays))


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    if len(data) > LIMITS.of(name):
        raise CannotWriteError(
            f"the profile cannot be written: its {name} has {len(data)} bytes, which is too large"
        )
    entry = zipfile.ZipInfo(name, _NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    archive.writestr(entry, data)


def load(path: str | os.PathLike[str]) -> ProfileRecord:
    """Read a record from a file of any origin.

    Raises
    ------
    ScanvizError
        If it is no profile, is damaged, too large, makes no sense, or was made by another version.
    OSError
        If it cannot be opened; anything but a regular file is a ``CannotReadError``, which is both.
    """
    from scanviz.record.storage.check import check

    name = os.fspath(path)
    entries = entries_of(name, LIMITS)
    record = decode(ProfileRecord, _document(entries, name))
    loops = tuple(_with_series(entries, loop) for loop in record.loops)
    functions = tuple(
        replace(function, program=entries.get(f"programs/{function.key}.program", function.program))
        for function in record.functions
    )
    traces = _with_values(entries, record.traces)
    calls = _with_contents(entries, record.calls)
    record = replace(record, loops=loops, functions=functions, traces=traces, calls=calls)
    _refuse_what_belongs_to_nothing(entries, record, name)
    check(record)
    return record


def _document(entries: Mapping[str, bytes], name: str) -> Any:
    try:
        document = json.loads(entries[_DOCUMENT])
    except (KeyError, ValueError, RecursionError) as error:
        raise ScanvizValueError(
            f"{name} is no scanviz profile, or it is damaged", found=f"{type(error).__name__}: {error}"
        ) from None
    version = document.get("schema") if isinstance(document, dict) else None
    if type(version) is not int or version < 1:
        raise ScanvizValueError(f"{name} is no scanviz profile: it states no version")
    if version != SCHEMA:
        raise ScanvizValueError(
            f"{name} was written by {'a newer' if version > SCHEMA else 'an older'} scanviz",
            expected=f"schema {SCHEMA}",
            found=f"schema {version}",
            fix="pip install --upgrade scanviz" if version > SCHEMA else "profile the script again",
        )
    return document


def _refuse_what_belongs_to_nothing(entries: Mapping[str, bytes], record: ProfileRecord, name: str) -> None:
    count = sum(len(trace.variables) for trace in record.traces)
    meant = {_DOCUMENT, *(f"series/{loop.key}.npy" for loop in record.loops)}
    meant.update(f"programs/{function.key}.program" for function in record.functions)
    meant.update(f"{kind}/{k}.npy" for kind in ("values", "statistics") for k in range(count))
    meant.update(f"calls/{k}.bin" for k in range(len(record.calls)))
    others = sorted(set(entries) - meant)
    if others:
        raise ScanvizValueError(f"{name} holds something that is no part of a profile", found=repr(others[0]))


def _with_series(entries: Mapping[str, bytes], loop: LoopRecord) -> LoopRecord:
    entry = f"series/{loop.key}.npy"
    if entry not in entries:
        return loop
    return replace(loop, series=unpacked(entries[entry], entry, "<i8", 4))


def _with_contents(
    entries: Mapping[str, bytes], calls: tuple[HeldCallRecord, ...]
) -> tuple[HeldCallRecord, ...]:
    """Return calls with their arrays, which are concatenated in one file."""
    found = []
    for number, call in enumerate(calls):
        content, arrays, start = entries.get(f"calls/{number}.bin", b""), [], 0
        for array in call.arrays:
            end = start + array.expected_bytes
            arrays.append(replace(array, content=content[start:end]))
            start = end
        if start != len(content):
            raise ScanvizValueError(f"calls/{number}.bin in the profile is cut off or too long")
        found.append(replace(call, arrays=tuple(arrays)))
    return tuple(found)


def _with_values(entries: Mapping[str, bytes], traces: tuple[TraceRecord, ...]) -> tuple[TraceRecord, ...]:
    """Return traces with their arrays; variables are numbered through all traces."""
    number, found = itertools.count(), []
    for trace in traces:
        variables = [_with_numbers(entries, variable, next(number)) for variable in trace.variables]
        found.append(replace(trace, variables=tuple(variables)))
    return tuple(found)


def _with_numbers(
    entries: Mapping[str, bytes], variable: TracedVariableRecord, number: int
) -> TracedVariableRecord:
    values, statistics = f"values/{number}.npy", f"statistics/{number}.npy"
    if values in entries:
        variable = replace(variable, values=unpacked(entries[values], values, "<f8", None))
    if statistics in entries:
        read = unpacked(entries[statistics], statistics, "<f8", len(STATISTICS))
        variable = replace(variable, statistics=read)
    return variable


_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([^'\\]{1,20})', 'fortran_order': (False|True), 'shape': (\([\d, ]{0,60}\)), \} *\n"
)
_SHAPE = re.compile(rb"\((\d{1,18}), (\d{1,18})\)")


def packed(rows: np.ndarray[Any, Any], dtype: str) -> bytes:
    """Return an array as ``.npy`` bytes of version 1.0."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(rows, dtype), version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def unpacked(data: bytes, entry: str, kind: str, columns: int | None) -> np.ndarray[Any, Any]:
    """Return the rows in ``.npy`` bytes of any origin.

    Parameters
    ----------
    data : bytes
        The file.
    entry : str
        Its name in messages.
    kind : str
        The dtype that it must have, such as ``"<f8"``.
    columns : int, optional
        Required number of columns; None for any number.

    Raises
    ------
    ScanvizValueError
        If it is anything but a plain array of that dtype and number of columns.

    Examples
    --------
    >>> unpacked(packed(np.eye(2), "<f8"), "values/0.npy", "<f8", 2)
    array([[1., 0.],
           [0., 1.]])
    """
    if not data.startswith(_MAGIC) or len(data) < len(_MAGIC) + 2:
        raise ScanvizValueError(f"{entry} in the profile is no array of version 1.0")
    (length,) = struct.unpack_from("<H", data, len(_MAGIC))
    start = len(_MAGIC) + 2 + length
    header = _HEADER.fullmatch(data, len(_MAGIC) + 2, start)
    if header is None or start > len(data):
        raise ScanvizValueError(f"{entry} in the profile has a header that NumPy does not write")
    dtype, columns_first, shape = header.groups()
    sizes = _SHAPE.fullmatch(shape)
    wanted = np.dtype(kind)
    right = dtype == kind.encode() and columns_first == b"False" and sizes is not None
    rows, width = map(int, sizes.groups()) if sizes is not None else (0, 0)
    if not right or (columns is not None and width != columns):
        raise ScanvizValueError(
            f"{entry} in the profile has the wrong form",
            expected=f"{wanted.name} of shape (n, {columns if columns is not None else 'm'})",
            found=f"{dtype.decode('latin-1')!a} of shape {shape.decode('ascii')}",
        )
    if len(data) - start != wanted.itemsize * rows * width:
        raise ScanvizValueError(f"{entry} in the profile is cut off or too long")
    read = np.frombuffer(data, wanted, offset=start)
    return read.astype(wanted.newbyteorder("=")).reshape(rows, width)


__all__ = ["is_profile", "load", "save"]
