"""Records to JSON data and back, strictly: data of the wrong form is refused with the place where it is wrong.

The classes of :mod:`scanviz.record.model` are the schema; nothing is written down twice.  Only the types that they
use are known: numbers, strings, ``Literal``, unions with None, tuples of one type, dicts with string keys, records,
series and arrays of numbers, in which what is not finite is written as a string.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from scanviz.engine.errors import ScanvizValueError

T = TypeVar("T")
_LIMIT = 2**63
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def encode(value: Any) -> Any:
    """Return a record as JSON data; tuples and arrays become lists.

    Examples
    --------
    >>> from scanviz.record.model import SourceRecord
    >>> encode(SourceRecord("rnn.py", 3, "h = f(h)"))
    {'file': 'rnn.py', 'line': 3, 'text': 'h = f(h)'}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: encode(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return (
            value.tolist()
            if np.isfinite(value).all()
            else [list(map(_number, row)) for row in value.tolist()]
        )
    if isinstance(value, tuple):
        return [encode(each) for each in value]
    if isinstance(value, dict):
        return {str(key): encode(each) for key, each in value.items()}
    return value


def _number(value: float) -> float | str:
    """Return a number as strict JSON has it."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


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
    if not isinstance(data, dict):
        raise _wrong(place, "an object", data)
    known = field_types(kind)  # type: ignore[arg-type]  # classes are hashable
    for name in data:
        if name not in known:
            raise ScanvizValueError(f"{place} has an unknown field {name[:60]!r}", expected=", ".join(known))
    values = {
        name: value if _is_plainly(known[name], value) else _decode(known[name], value, f"{place}.{name}")
        for name, value in data.items()
    }
    try:
        return kind(**values)
    except TypeError:
        missing = [name for name in known if name not in values]
        raise ScanvizValueError(f"{place} lacks fields", expected=", ".join(missing)) from None


def _is_plainly(hint: Any, value: Any) -> bool:
    """Return whether a value is what it should be at first sight: most are, and their place need not be written down."""
    return type(value) is hint and (hint is str or hint is bool or (hint is int and abs(value) < _LIMIT))


@cache
def field_types(kind: type) -> dict[str, Any]:
    """Return the fields of a record class with their types, in order."""
    hints = typing.get_type_hints(kind)
    return {each.name: hints[each.name] for each in dataclasses.fields(kind)}


def _decode(hint: Any, data: Any, place: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return None if data is None else _decode(arguments[0], data, place)
    if origin is Literal:
        if not isinstance(data, str) or data not in arguments:
            raise _wrong(place, "one of " + ", ".join(map(repr, arguments)), data)
        return data
    if origin is np.ndarray:
        floats = get_args(arguments[1]) == (np.float64,)
        return _numbers(data, place) if floats else _series(data, place)
    if origin is tuple:
        if not isinstance(data, list):
            raise _wrong(place, "a list", data)
        if all(_is_plainly(arguments[0], each) for each in data):
            return tuple(data)
        return tuple(_decode(arguments[0], each, f"{place}[{k}]") for k, each in enumerate(data))
    if origin is dict:
        if not isinstance(data, dict):
            raise _wrong(place, "an object", data)
        return {key: _decode(arguments[1], each, f"{place}[{key[:60]!r}]") for key, each in data.items()}
    if dataclasses.is_dataclass(hint):
        return decode(typing.cast(type, hint), data, place)
    return _plain(hint, data, place)


def _plain(hint: Any, data: Any, place: str) -> Any:
    if hint is float and type(data) in (int, float) and abs(data) < _LIMIT and math.isfinite(data):
        return float(data)
    if type(data) is hint and (hint is not int or abs(data) < _LIMIT) and hint is not float:
        return data
    names = {int: "an integer", float: "a finite number", str: "a string", bool: "true or false"}
    raise _wrong(place, names[hint], data)


def _series(data: Any, place: str) -> Any:
    rows = isinstance(data, list) and all(isinstance(row, list) and len(row) == 4 for row in data)
    if not rows or not all(type(each) is int and abs(each) < _LIMIT for row in data for each in row):
        raise _wrong(place, "rows of four integers", data)
    return np.array(data, np.int64).reshape(-1, 4)


def _numbers(data: Any, place: str) -> Any:
    rows = isinstance(data, list) and all(isinstance(row, list) for row in data)
    width = len(data[0]) if rows and data else 0
    if not rows or any(len(row) != width for row in data):
        raise _wrong(place, "rows of numbers, all of one length", data)
    plain = [[_NOT_FINITE.get(each, each) if isinstance(each, str) else each for each in row] for row in data]
    if not all(type(each) in (int, float) for row in plain for each in row):
        raise _wrong(place, "rows of numbers", data)
    return np.array(plain, np.float64).reshape(len(data), width)


def _wrong(place: str, expected: str, data: Any) -> ScanvizValueError:
    shown = f"a list of {len(data)}" if isinstance(data, list) else repr(data)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return ScanvizValueError(f"{place} is not what it should be", expected=expected, found=shown)
