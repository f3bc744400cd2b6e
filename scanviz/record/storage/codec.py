"""Records to JSON data and back, by msgspec: the classes of :mod:`scanviz.record.model` are the schema.

Series and arrays become lists of numbers, with infinities and NaN as strings.  Reading is strict and trusts nothing;
:mod:`scanviz.record.storage.check` checks the sizes of numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from scanviz.engine.errors import MisfitError
from scanviz.record.loops import Samples
from scanviz.record.traces.model import Numbers

T = TypeVar("T")
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode(value: Any, rows: Callable[[Any], Any] | None = None) -> Any:
    """Return a record as JSON data, None for None; tuples become lists, and so do arrays, unless ``rows`` converts them.

    Examples
    --------
    >>> from scanviz.record.model import SourceRecord
    >>> encode(SourceRecord("rnn.py", 3, "h = f(h)"))
    {'file': 'rnn.py', 'line': 3, 'text': 'h = f(h)'}
    """
    # names of files may be no Unicode, which msgspec's own JSON refuses
    return json.loads(json.dumps(msgspec.to_builtins(value, enc_hook=rows or _rows)))


def decode(kind: type[T], data: Any) -> T:
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
    >>> decode(SourceRecord, {"file": "rnn.py", "line": "3"})
    Traceback (most recent call last):
    scanviz.engine.errors.MisfitError: record.line is not what it should be: expected `int`, got `str`
    """
    try:
        return msgspec.convert(data, kind, dec_hook=_array)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the second of a name that is no Unicode
        raise MisfitError.at("record", error) from None


@cache
def field_types(kind: type) -> dict[str, Any]:
    """Return the fields of a class of a record with their types, in order."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def _rows(array: Any) -> Any:
    """Return an array as strict JSON data."""
    if array.dtype != np.float64 or np.isfinite(array).all():
        return array.tolist()
    return [list(map(_number, row)) for row in array.tolist()]


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _array(kind: Any, data: Any) -> Any:
    """Return the array of a field: rows of four integers, or rows of numbers of equal length."""
    try:
        if kind == Samples:
            return np.array(msgspec.convert(data, list[tuple[int, int, int, int]]), np.int64).reshape(-1, 4)
        assert kind == Numbers
        found = msgspec.convert(data, list[list[float | Literal["NaN", "Infinity", "-Infinity"]]])
        rows = [
            [_NOT_FINITE[number] if isinstance(number, str) else number for number in row] for row in found
        ]
        return np.array(rows, np.float64).reshape(len(rows), len(rows[0]) if rows else 0)
    except (msgspec.ValidationError, OverflowError, ValueError):
        what = "four integers" if kind == Samples else "numbers, all of one length"
        raise ValueError(f"Expected rows of {what}") from None
