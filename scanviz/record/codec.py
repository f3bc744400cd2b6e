"""Records to JSON data and back, strictly: data of the wrong form is refused with the place where it is wrong.

The classes of :mod:`scanviz.record.model` are the schema; nothing is written down twice.  Only the types that they
use are known: numbers, strings, ``Literal``, unions with None, tuples of one type, dicts with string keys, records,
series and arrays of numbers, in which what is not finite is written as a string.
"""

from __future__ import annotations

import base64
import dataclasses
import math
import types
import typing
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

from scanviz.engine.errors import ScanvizValueError

T = TypeVar("T")
Decoder = Callable[[Any], Any]
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
        if getattr(value, "LISTED", False):
            return _listed(value)
        kind: Any = type(value)
        return {name: encode(getattr(value, name)) for name in field_types(kind)}
    if isinstance(value, np.ndarray):
        return (
            value.tolist()
            if np.isfinite(value).all()
            else [list(map(_number, row)) for row in value.tolist()]
        )
    if isinstance(value, tuple):
        return [encode(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dict):
        return {str(key): encode(each) for key, each in value.items()}
    return value


def _listed(value: Any) -> list[Any]:
    """Return a record of a class that is written as a list: its fields in order, without defaults at the end."""
    kind: Any = type(value)
    found, defaults = [getattr(value, name) for name in field_types(kind)], _defaults(kind)
    while found and found[-1] == defaults[len(found) - 1]:
        found.pop()
    return list(map(encode, found))


@cache
def _defaults(kind: type) -> list[Any]:
    return [field.default for field in dataclasses.fields(kind) if field.init]


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
    try:
        return typing.cast(T, _decoder(kind)(data))  # type: ignore[arg-type]  # classes are hashable
    except _MisfitError as misfit:
        raise misfit.error(place) from None


class _MisfitError(Exception):
    """Data of the wrong form: where it stands is added on the way out, so that what is right costs nothing."""

    def __init__(self, expected: str, data: Any, says: str = "is not what it should be") -> None:
        super().__init__()
        self.expected, self.data, self.message = expected, data, says
        self.path: list[str] = []

    def error(self, place: str) -> ScanvizValueError:
        """Return the error for a user."""
        where = place + "".join(reversed(self.path))
        if self.message != "is not what it should be":
            return ScanvizValueError(f"{where} {self.message}", expected=self.expected)
        return _wrong(where, self.expected, self.data)


@cache
def field_types(kind: type) -> dict[str, Any]:
    """Return the fields of a record class with their types, in order."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}


@cache
def _decoder(hint: Any) -> Decoder:
    """Return what reads data of a type; made once for each type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = _decoder(arguments[0])
        return lambda data: None if data is None else inner(data)
    if origin is Literal:
        return _literals(arguments)
    if origin is np.ndarray:
        return _numbers if get_args(arguments[1]) == (np.float64,) else _series
    if origin is tuple:
        return _tuples(arguments[0])
    if origin is dict:
        return _dicts(arguments[1])
    if dataclasses.is_dataclass(hint):
        return _records(typing.cast(type, hint))
    return {int: _integer, float: _float, str: _string, bool: _boolean, bytes: _bytes}[hint]


def _records(kind: type) -> Decoder:
    if getattr(kind, "LISTED", False):
        return _lists(kind)
    readers: dict[str, Decoder] = {}

    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _MisfitError("an object", data)
        if not readers:  # only now: records may hold records of their own class
            readers.update({name: _decoder(each) for name, each in field_types(kind).items()})
        values = {}
        for name, value in data.items():
            reader = readers.get(name)
            if reader is None:
                raise _MisfitError(", ".join(readers), data, f"has an unknown field {name[:60]!r}")
            try:
                values[name] = reader(value)
            except _MisfitError as misfit:
                misfit.path.append(f".{name}")
                raise
        try:
            return kind(**values)
        except TypeError:
            missing = [name for name in readers if name not in values]
            raise _MisfitError(", ".join(missing), data, "lacks fields") from None

    return read


def _lists(kind: type) -> Decoder:
    """Return what reads a record of a class that is written as a list."""
    types = field_types(kind)
    least = sum(default is dataclasses.MISSING for default in _defaults(kind))
    readers: list[Decoder] = []

    def read(data: Any) -> Any:
        if not isinstance(data, list) or not least <= len(data) <= len(types):
            raise _MisfitError(f"a list of {', '.join(types)}", data)
        if not readers:  # only now: records may hold records of their own class
            readers.extend(map(_decoder, types.values()))
        values: list[Any] = []
        try:
            for reader, each in zip(readers, data, strict=False):
                values.append(reader(each))
        except _MisfitError as misfit:
            misfit.path.append(f"[{len(values)}]")
            raise
        return kind(*values)

    return read


def _tuples(hint: Any) -> Decoder:
    def read(data: Any) -> Any:
        if not isinstance(data, list):
            raise _MisfitError("a list", data)
        inner = _decoder(hint)
        found = []
        try:
            for each in data:
                found.append(inner(each))
        except _MisfitError as misfit:
            misfit.path.append(f"[{len(found)}]")
            raise
        return tuple(found)

    return read


def _dicts(hint: Any) -> Decoder:
    def read(data: Any) -> Any:
        if not isinstance(data, dict):
            raise _MisfitError("an object", data)
        inner = _decoder(hint)
        found = {}
        for key, each in data.items():
            try:
                found[key] = inner(each)
            except _MisfitError as misfit:
                misfit.path.append(f"[{key[:60]!r}]")
                raise
        return found

    return read


def _literals(words: tuple[Any, ...]) -> Decoder:
    def read(data: Any) -> Any:
        if not isinstance(data, str) or data not in words:
            raise _MisfitError("one of " + ", ".join(map(repr, words)), data)
        return data

    return read


def _string(data: Any) -> str:
    if type(data) is not str:
        raise _MisfitError("a string", data)
    return data


def _bytes(data: Any) -> bytes:
    try:
        return base64.b64decode(_string(data), validate=True)
    except ValueError:  # characters beyond ASCII too
        raise _MisfitError("bytes in base64", data) from None


def _boolean(data: Any) -> bool:
    if type(data) is not bool:
        raise _MisfitError("true or false", data)
    return data


def _integer(data: Any) -> int:
    if type(data) is not int or not -_LIMIT < data < _LIMIT:
        raise _MisfitError("an integer", data)
    return data


def _float(data: Any) -> float:
    # NaN is neither; a whole number may become the limit when it is rounded
    if type(data) not in (int, float) or not -_LIMIT < data < _LIMIT or abs(float(data)) >= _LIMIT:
        raise _MisfitError("a finite number", data)
    return float(data)


def _series(data: Any) -> Any:
    rows = isinstance(data, list) and all(isinstance(row, list) and len(row) == 4 for row in data)
    if not rows or not all(type(number) is int and abs(number) < _LIMIT for row in data for number in row):
        raise _MisfitError("rows of four integers", data)
    return np.array(data, np.int64).reshape(-1, 4)


def _numbers(data: Any) -> Any:
    rows = isinstance(data, list) and all(isinstance(row, list) for row in data)
    width = len(data[0]) if rows and data else 0
    if not rows or any(len(row) != width for row in data):
        raise _MisfitError("rows of numbers, all of one length", data)
    plain = [[_NOT_FINITE.get(text, text) if isinstance(text, str) else text for text in row] for row in data]
    if not all(type(each) in (int, float) for row in plain for each in row):
        raise _MisfitError("rows of numbers", data)
    return np.array(plain, np.float64).reshape(len(data), width)


def _wrong(place: str, expected: str, data: Any) -> ScanvizValueError:
    shown = f"a list of {len(data)}" if isinstance(data, list) else repr(data)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return ScanvizValueError(f"{place} is not what it should be", expected=expected, found=shown)
