"""Records to JSON data and back (:mod:`scanviz.engine.codec`): the classes of :mod:`scanviz.record.model` are the schema.

What they hold beside: finite numbers, bytes, series, and arrays of numbers, in which what is not finite is written as a string.
"""

from __future__ import annotations

import binascii
import math
import typing
from typing import Any, TypeVar

import numpy as np

from scanviz.engine.codec import LIMIT, Codec, Form, Misfit, unchanged
from scanviz.engine.codec import fields_of as field_types
from scanviz.record.loops import Samples
from scanviz.record.traces.model import Numbers

T = TypeVar("T")
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode(value: Any) -> Any:
    """Return a record as JSON data, None for None; tuples and arrays become lists.

    Examples
    --------
    >>> from scanviz.record.model import SourceRecord
    >>> encode(SourceRecord("rnn.py", 3, "h = f(h)"))
    {'file': 'rnn.py', 'line': 3, 'text': 'h = f(h)'}
    """
    return None if value is None else _CODEC.write(value, type(value))


def decode(kind: type[T], data: Any, place: str = "record") -> T:
    """Return the record of class ``kind`` that JSON data describes.

    Missing fields take their defaults where there are any; unknown ones are refused.

    Raises
    ------
    ScanvizValueError
        Naming the place in the data.

    Examples
    --------
    >>> from scanviz.record.model import SourceRecord
    >>> decode(SourceRecord, {"file": "rnn.py", "line": 3})
    SourceRecord(file='rnn.py', line=3, text='')
    """
    return typing.cast(T, _CODEC.read(data, kind, place))


def _float(data: Any) -> float:
    # NaN is neither; a whole number may become the limit when it is rounded
    if type(data) not in (int, float) or not -LIMIT < data < LIMIT or abs(float(data)) >= LIMIT:
        raise Misfit("a finite number", data)
    return float(data)


def _base64(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode("ascii")


def _bytes(data: Any) -> bytes:
    try:
        return binascii.a2b_base64(_CODEC.form(str).read(data), strict_mode=True)
    except ValueError:  # characters beyond ASCII too
        raise Misfit("bytes in base64", data) from None


def _series(data: Any) -> Any:
    rows = isinstance(data, list) and all(isinstance(row, list) and len(row) == 4 for row in data)
    if not rows or not all(type(number) is int and abs(number) < LIMIT for row in data for number in row):
        raise Misfit("rows of four integers", data)
    return np.array(data, np.int64).reshape(-1, 4)


def _rows(array: Numbers) -> Any:
    """Return an array as strict JSON has it."""
    if np.isfinite(array).all():
        return array.tolist()
    return [list(map(_number, row)) for row in array.tolist()]


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _numbers(data: Any) -> Any:
    rows = isinstance(data, list) and all(isinstance(row, list) for row in data)
    width = len(data[0]) if rows and data else 0
    if not rows or any(len(row) != width for row in data):
        raise Misfit("rows of numbers, all of one length", data)
    plain = [[_NOT_FINITE.get(text, text) if isinstance(text, str) else text for text in row] for row in data]
    if not all(type(number) in (int, float) for row in plain for number in row):
        raise Misfit("rows of numbers", data)
    return np.array(plain, np.float64).reshape(len(data), width)


_CODEC = Codec(
    {
        float: Form(unchanged, _float),
        bytes: Form(_base64, _bytes),
        Samples: Form(np.ndarray.tolist, _series),
        Numbers: Form(_rows, _numbers),
    }
)

__all__ = ["decode", "encode", "field_types"]
