"""Values as JSON data and back, by the types that their classes declare: for files and profiles.

Dataclasses and named tuples are the schema; nothing is written down twice.  Reading is strict and trusts nothing: data of another
form than a type says are refused, and the error names the place.  Known are whole numbers, strings, booleans, ``Literal``, unions,
tuples, mappings and classes with fields.  What else a format holds, and how it writes what JSON lacks, is a form of its codec.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from itertools import repeat
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from msgspec import Struct

from scanviz.engine.errors import ScanvizValueError

Write = Callable[[Any], Any]
Read = Callable[[Any], Any]
LIMIT = 2**63
_WRONG = "is not what it should be"


class MisfitError(ScanvizValueError):
    """Data that are not what they must be: the place, what was expected and what was found."""


class Misfit(Exception):  # noqa: N818  # nobody sees it but the codec, which makes a MisfitError of it
    """Data of the wrong form: where they stand is added on the way out, so that what is right costs nothing."""

    def __init__(self, expected: str, data: Any, message: str = _WRONG) -> None:
        super().__init__()
        self.expected, self.data, self.message = expected, data, message
        self.path: list[str] = []

    def error(self, place: str) -> MisfitError:
        """Return the error for a user."""
        what = f"{place}{''.join(reversed(self.path))} {self.message}"
        if self.message != _WRONG:
            return MisfitError(what, expected=self.expected)
        found = f"a list of {len(self.data)}" if isinstance(self.data, list) else repr(self.data)
        shown = found if len(found) <= 60 else found[:59] + "…"
        return MisfitError(what, expected=self.expected, found=shown)


class Form(NamedTuple):
    """How values of a type are written and read.

    Attributes
    ----------
    write : callable
        Gives JSON data of a value.
    read : callable
        Gives the value that JSON data describe, or raises a :class:`Misfit`.
    """

    write: Write
    read: Read


class Codec:
    """Writes and reads values of declared types.

    Parameters
    ----------
    forms : mapping
        Type → its form, of types that have one of their own.
    without : collection of str
        Names of fields that are not written.
    absent : mapping
        Field → what makes its value where data leave it out; other fields have their defaults then, if they have any.

    Examples
    --------
    >>> class Size(NamedTuple):
    ...     rows: int
    ...     names: tuple[str, ...] = ()
    >>> codec = Codec({})
    >>> codec.write(Size(3, ("h",)), Size), codec.read({"rows": 4}, Size, "size")
    ({'rows': 3, 'names': ['h']}, Size(rows=4, names=()))
    """

    def __init__(
        self,
        forms: Mapping[Any, Form],
        without: Collection[str] = (),
        absent: Mapping[str, Callable[[], Any]] = types.MappingProxyType({}),
    ) -> None:
        self._forms = {**_PLAIN, **forms}
        self._without, self._absent = without, absent

    def write(self, value: Any, hint: Any) -> Any:
        """Return a value of a declared type as JSON data."""
        return self.form(hint).write(value)

    def read(self, data: Any, hint: Any, place: str) -> Any:
        """Return the value of a declared type that JSON data describe.

        Raises
        ------
        MisfitError
            Naming the place in the data, which begins with ``place``.
        """
        try:
            return self.form(hint).read(data)
        except Misfit as misfit:
            raise misfit.error(place) from None

    def form(self, hint: Any) -> Form:
        """Return the form of a type, made when it is first met."""
        found = self._forms.get(hint)
        if found is None:
            found = self._forms[hint] = self._made(hint)
        return found

    def _made(self, hint: Any) -> Form:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin in (Union, types.UnionType):
            return self._union(arguments)
        if origin is Literal:
            return _words(arguments)
        if origin is tuple:
            return self._tuple(arguments)
        if origin is not None and issubclass(origin, Mapping):
            return self._object(arguments[1]) if arguments[0] is str else self._pairs(arguments)
        return self.fields(hint)

    def fields(self, kind: Any) -> Form:
        """Return the form of a class as an object of its fields."""
        absent = {name: make for name, make in self._absent.items() if name in fields_of(kind)}

        @cache  # only when it is used: classes may hold values of their own
        def forms() -> tuple[dict[str, Write], dict[str, Read]]:
            found = {name: self.form(hint) for name, hint in fields_of(kind).items()}
            writers = {name: form.write for name, form in found.items() if name not in self._without}
            return writers, {name: form.read for name, form in found.items()}

        def write(value: Any) -> dict[str, Any]:
            writers, _ = forms()
            return {name: write(getattr(value, name)) for name, write in writers.items()}

        def read(data: Any) -> Any:
            if not isinstance(data, dict):
                raise Misfit("an object", data)
            _, known = forms()
            values = {name: make() for name, make in absent.items() if name not in data}
            for name, written in data.items():
                reader = known.get(name)
                if reader is None:
                    raise Misfit(", ".join(known), data, f"has an unknown field {name[:60]!r}")
                try:
                    values[name] = reader(written)
                except Misfit as misfit:
                    misfit.path.append(f".{name}")
                    raise
            try:
                return kind(**values)
            except TypeError:
                missing = [name for name in known if name not in values]
                raise Misfit(", ".join(missing), data, "lacks fields") from None

        return Form(write, read)

    def _tuple(self, hints: tuple[Any, ...]) -> Form:
        same = hints[1:] == (...,)
        forms = list(map(self.form, hints[:1] if same else hints))
        writers: Iterable[Write] = repeat(forms[0].write) if same else [form.write for form in forms]
        readers: Iterable[Read] = repeat(forms[0].read) if same else [form.read for form in forms]

        def write(value: Any) -> list[Any]:
            return [write(item) for write, item in zip(writers, value, strict=False)]

        def read(data: Any) -> tuple[Any, ...]:
            if not isinstance(data, list) or (not same and len(data) != len(hints)):
                raise Misfit("a list" if same else f"a list of {len(hints)}", data)
            return tuple(_read_each(readers, data))

        return Form(write, read)

    def _object(self, hint: Any) -> Form:
        form = self.form(hint)

        def write(value: Mapping[str, Any]) -> dict[str, Any]:
            return {key: form.write(item) for key, item in value.items()}

        def read(data: Any) -> dict[str, Any]:
            if not isinstance(data, dict):
                raise Misfit("an object", data)
            found = {}
            for key, item in data.items():
                try:
                    found[key] = form.read(item)
                except Misfit as misfit:
                    misfit.path.append(f"[{key[:60]!r}]")
                    raise
            return found

        return Form(write, read)

    def _pairs(self, hints: tuple[Any, ...]) -> Form:
        """Return the form of a mapping whose keys are no strings: a list of pairs."""
        pair = self._tuple(hints)

        def write(value: Mapping[Any, Any]) -> list[Any]:
            return [pair.write(item) for item in value.items()]

        def read(data: Any) -> dict[Any, Any]:
            if not isinstance(data, list):
                raise Misfit("a list of pairs", data)
            found = dict(_read_each(repeat(pair.read), data))
            if len(found) != len(data):
                raise Misfit("no key twice", data)
            return found

        return Form(write, read)

    def _union(self, members: tuple[Any, ...]) -> Form:
        hints = [member for member in members if member is not types.NoneType]
        forms = [(get_origin(hint) or hint, self.form(hint)) for hint in hints]
        optional, first = len(hints) < len(members), forms[0][1]

        def write(value: Any) -> Any:
            if value is None:
                return None
            return next((form for kind, form in forms if type(value) is kind), first).write(value)

        def read(data: Any) -> Any:
            if data is None and optional:
                return None
            if len(forms) == 1:
                return first.read(data)
            for _, form in forms:
                try:
                    return form.read(data)
                except Misfit:
                    continue
            raise Misfit(" or ".join(getattr(hint, "__name__", str(hint)) for hint in hints), data)

        return Form(write, read)


@cache
def fields_of(kind: Any) -> dict[str, Any]:
    """Return the fields of a Struct or named tuple with their types, in order."""
    hints = typing.get_type_hints(kind)
    names = kind.__struct_fields__ if issubclass(kind, Struct) else kind._fields
    return {name: hints[name] for name in names}


def unchanged(value: Any) -> Any:
    """Return a value: the data of what JSON has."""
    return value


def _read_each(readers: Iterable[Read], data: list[Any]) -> list[Any]:
    found: list[Any] = []
    try:
        for reader, item in zip(readers, data, strict=False):
            found.append(reader(item))
    except Misfit as misfit:
        misfit.path.append(f"[{len(found)}]")
        raise
    return found


def _words(words: tuple[Any, ...]) -> Form:
    def read(data: Any) -> Any:
        if type(data) is not str or data not in words:
            raise Misfit("one of " + ", ".join(map(repr, words)), data)
        return data

    return Form(unchanged, read)


def _whole(data: Any) -> int:
    if type(data) is not int or not -LIMIT <= data < LIMIT:
        raise Misfit("an integer", data)
    return data


def _string(data: Any) -> str:
    if type(data) is not str:
        raise Misfit("a string", data)
    return data


def _boolean(data: Any) -> bool:
    if type(data) is not bool:
        raise Misfit("true or false", data)
    return data


_PLAIN = {
    int: Form(unchanged, _whole),
    str: Form(unchanged, _string),
    bool: Form(unchanged, _boolean),
    Any: Form(unchanged, unchanged),
}
