"""Values of a Program as JSON data and back, by the types that its classes declare.

The dataclasses of :mod:`scanviz.engine.program.instructions` and the named tuples of operations' parameters are the schema;
nothing is written down twice.  Reading trusts nothing: each value must have the type that its field declares, and an error
names the place.  What has no JSON of its own (operations, types, arrays, lines of the user) has a row in :data:`SPECIAL`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from scanviz.engine.errors import ScanvizValueError

LARGEST = 2**63


class MisfitError(ScanvizValueError):
    """Data of a Program that are not what they must be: the place, what was expected and what was found."""


class Special(NamedTuple):
    """How values of a class are written and read.

    Attributes
    ----------
    write : callable
        ``write(value, writer)`` gives JSON data.
    read : callable
        ``read(data, reader)`` gives the value, or raises a MisfitError.
    """

    write: Callable[[Any, Writer], Any]
    read: Callable[[Any, Reader], Any]


SPECIAL: dict[object, Special] = {}


@dataclasses.dataclass(slots=True)
class Writer:
    """Where data are written.

    Attributes
    ----------
    without : frozenset of str
        Names of fields that are left out.
    arrays : list
        Arrays found so far: data hold their numbers.
    place : callable
        How the file of a user's line is named.
    """

    without: frozenset[str] = frozenset()
    arrays: list[Any] = dataclasses.field(default_factory=list)
    place: Callable[[str], str] = str

    def write(self, value: Any, hint: Any) -> Any:
        """Return a value of a declared type as JSON data."""
        special = SPECIAL.get(hint)
        if special is not None:
            return special.write(value, self)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return None if value is None else self.write(value, _member(value, arguments))
        if origin is tuple:
            return [
                self.write(each, of) for each, of in zip(value, _items(arguments, len(value)), strict=True)
            ]
        if origin is not None and origin is not Literal:  # a mapping
            return [
                [self.write(one, of) for one, of in zip(pair, arguments, strict=True)]
                for pair in value.items()
            ]
        if _has_fields(hint):
            return self.fields(value, hint)
        return value.hex() if type(value) is float else value

    def fields(self, value: Any, kind: Any) -> dict[str, Any]:
        """Return the fields of a dataclass or named tuple as JSON data."""
        kept = {name: of for name, of in fields_of(kind).items() if name not in self.without}
        return {name: self.write(getattr(value, name), of) for name, of in kept.items()}


@dataclasses.dataclass(slots=True)
class Reader:
    """Where data are read, and the place that an error names.

    Attributes
    ----------
    arrays : sequence
        The arrays that data number.
    absent : mapping
        Field → what makes its value where data leave it out.
    path : list of str
        How far the reading has gone in.
    """

    arrays: typing.Sequence[Any]
    absent: Mapping[str, Callable[[], Any]]
    path: list[str] = dataclasses.field(default_factory=list)

    def misfit(self, expected: str, data: Any) -> MisfitError:
        """Return the error of data of another form than expected."""
        found = f"a list of {len(data)}" if isinstance(data, list) else repr(data)
        shown = found if len(found) <= 60 else found[:59] + "…"
        return MisfitError(
            f"program{''.join(self.path)} is not what it should be", expected=expected, found=shown
        )

    def at(self, place: str, data: Any, hint: Any) -> Any:
        """Return what is read of data at a place inside."""
        self.path.append(place)
        found = self.read(data, hint)
        self.path.pop()
        return found

    def read(self, data: Any, hint: Any) -> Any:
        """Return the value of a declared type that JSON data describe."""
        special = SPECIAL.get(hint)
        if special is not None:
            return special.read(data, self)
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return self._one_of(data, arguments)
        if origin is Literal:
            if type(data) is not str or data not in arguments:
                raise self.misfit("one of " + ", ".join(map(repr, arguments)), data)
            return data
        if origin is tuple:
            return (
                tuple(
                    self.at(f"[{k}]", each, of)
                    for k, (each, of) in enumerate(
                        zip(self.listed(data), _items(arguments, len(data)), strict=False)
                    )
                )
                if _fits(arguments, self.listed(data))
                else self._fail(f"a list of {len(arguments)}", data)
            )
        if origin is not None:
            return self._mapping(data, arguments)
        if _has_fields(hint):
            return self.fields(data, hint)
        return self._plain(data, hint)

    def listed(self, data: Any, count: int | None = None) -> list[Any]:
        """Return data that must be a list, of ``count`` values if that is given."""
        if not isinstance(data, list) or (count is not None and len(data) != count):
            raise self.misfit("a list" if count is None else f"a list of {count}", data)
        return data

    def _fail(self, expected: str, data: Any) -> Any:
        raise self.misfit(expected, data)

    def _mapping(self, data: Any, arguments: tuple[Any, ...]) -> dict[Any, Any]:
        pairs = [self.listed(each, 2) for each in self.listed(data)]
        found = {
            self.at(f"[{k}] key", key, arguments[0]): self.at(f"[{k}]", value, arguments[1])
            for k, (key, value) in enumerate(pairs)
        }
        return found if len(found) == len(pairs) else self._fail("no key twice", data)

    def fields(self, data: Any, kind: Any) -> Any:
        """Return the dataclass or named tuple that JSON data describe."""
        hints = fields_of(kind)
        if not isinstance(data, dict) or not set(data) <= set(hints):
            raise self.misfit("an object of " + ", ".join(hints), data)
        missing = [name for name in hints if name not in data and name not in self.absent]
        if missing:
            raise self.misfit("an object with " + ", ".join(missing), data)
        return kind(
            **{
                name: self.at(f".{name}", data[name], of) if name in data else self.absent[name]()
                for name, of in hints.items()
            }
        )

    def _one_of(self, data: Any, members: tuple[Any, ...]) -> Any:
        if data is None and type(None) in members:
            return None
        depth = len(self.path)
        wanted = [member for member in members if member is not type(None)]
        for each in wanted:
            try:
                return self.read(data, each)
            except MisfitError:
                if len(wanted) == 1:
                    raise
                del self.path[depth:]
        raise self.misfit(" or ".join(getattr(each, "__name__", str(each)) for each in wanted), data)

    def _plain(self, data: Any, kind: Any) -> Any:
        if kind is float and type(data) is not int:
            try:
                return float.fromhex(data)
            except (TypeError, ValueError, OverflowError):
                raise self.misfit("a number as float.hex() writes it", data) from None
        wanted = int if kind is float else kind
        if type(data) is not wanted or (wanted is int and not -LARGEST <= data < LARGEST):
            raise self.misfit({int: "an integer", str: "a string", bool: "true or false"}[wanted], data)
        return data


@cache
def fields_of(kind: Any) -> dict[str, Any]:
    """Return the fields of a dataclass or named tuple with their types, in order."""
    return {name: hint for name, hint in typing.get_type_hints(kind).items() if not name.startswith("_")}


def _has_fields(hint: Any) -> bool:
    return dataclasses.is_dataclass(hint) or hasattr(hint, "_fields")


def _items(arguments: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """Return the type of each value of a tuple."""
    return arguments[:1] * count if arguments[1:] == (Ellipsis,) else arguments


def _fits(arguments: tuple[Any, ...], data: list[Any]) -> bool:
    return arguments[1:] == (Ellipsis,) or len(arguments) == len(data)


def _member(value: Any, members: tuple[Any, ...]) -> Any:
    """Return the type of a union that a value has."""
    for member in members:
        kind = get_origin(member) or member
        if type(value) is kind or (member in SPECIAL and kind is not type(None) and isinstance(value, kind)):
            return member
    return next(member for member in members if member is not type(None))


__all__ = ["SPECIAL", "MisfitError", "Reader", "Special", "Writer", "fields_of"]
