"""Records to JSON data and back, strictly: data of the wrong form is refused with the place where it is wrong."""

from __future__ import annotations

import dataclasses
import types
import typing
from typing import Any, TypeVar, Union, get_args, get_origin

import numpy as np

from scanviz.engine.errors import ScanvizValueError

T = TypeVar("T")
_HINTS: dict[type, dict[str, Any]] = {}


def encode(value: Any) -> Any:
    """Return a record as JSON data; arrays become lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: encode(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [encode(each) for each in value]
    if isinstance(value, dict):
        return {str(key): encode(each) for key, each in value.items()}
    return value


def decode(kind: type[T], data: Any, place: str = "record") -> T:
    """Return the record of class ``kind`` that JSON data describes.

    Unknown fields are refused; missing ones take their defaults where there are any.

    Raises
    ------
    ScanvizValueError
        Naming the place in the data.
    """
    if not isinstance(data, dict):
        raise _wrong(place, kind.__name__, data)
    hints = _HINTS.get(kind)
    if hints is None:
        hints = _HINTS[kind] = typing.get_type_hints(kind)
    known = {each.name: each for each in dataclasses.fields(kind)}  # type: ignore[arg-type]  # only dataclasses come here
    unknown = [name for name in data if name not in known]
    if unknown:
        raise ScanvizValueError(f"{place} has an unknown field {unknown[0]!r}")
    values = {name: _decode(hints[name], value, f"{place}.{name}") for name, value in data.items()}
    try:
        return kind(**values)
    except TypeError:
        missing = [each.name for each in known.values() if each.name not in values]
        raise ScanvizValueError(f"{place} lacks fields", expected=", ".join(missing)) from None


def _decode(hint: Any, data: Any, place: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if data is None and type(None) in arguments:
            return None
        return _decode(next(each for each in arguments if each is not type(None)), data, place)
    if origin is np.ndarray:
        return _array(data, place)
    if origin is list:
        if not isinstance(data, list):
            raise _wrong(place, "a list", data)
        return [_decode(arguments[0], each, f"{place}[{k}]") for k, each in enumerate(data)]
    if origin is dict:
        if not isinstance(data, dict):
            raise _wrong(place, "an object", data)
        return {key: _decode(arguments[1], each, f"{place}.{key}") for key, each in data.items()}
    if dataclasses.is_dataclass(hint):
        return decode(hint, data, place)  # type: ignore[arg-type]  # a class, by is_dataclass on a hint
    return _plain(hint, data, place)


def _plain(hint: Any, data: Any, place: str) -> Any:
    if hint is float and type(data) in (int, float):
        return float(data)
    if hint is Any or type(data) is hint:
        return data
    raise _wrong(place, hint.__name__, data)


def _array(data: Any, place: str) -> Any:
    if isinstance(data, np.ndarray):
        return data
    try:
        array = np.array(data, np.int64).reshape(-1, 4)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(place, "rows of four integers", data) from None
    return array


def _wrong(place: str, expected: str, data: Any) -> ScanvizValueError:
    shown = repr(data)
    return ScanvizValueError(
        f"{place} is not what it should be",
        expected=expected,
        found=shown if len(shown) < 60 else shown[:57] + "…",
    )
