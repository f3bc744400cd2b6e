"""``NamedTuple`` as in the standard library, for classes that must be defined quickly.

The standard library compiles each annotation when the class is defined, and a constructor: 0.25 milliseconds a class.  Here
an annotation stays the text that it is, the constructor is compiled when it has been called a few times, and what needs no speed is
shared by all classes.  Instances are the same; mypy is told that this *is* ``typing.NamedTuple``.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from scanviz.engine.methods import FEW, Signature, compiled, numbered

try:
    from _collections import _tuplegetter as _attribute  # type: ignore[import-not-found,unused-ignore]  # what CPython itself uses
except ImportError:

    def _attribute(index: int, doc: str) -> Any:
        return property(itemgetter(index), doc=doc)


def _new_of(kind: type) -> Callable[..., Any]:
    """Return ``__new__`` of a class, compiled."""
    fields: tuple[str, ...] = kind.__dict__["_fields"]
    defaults: dict[str, Any] = kind.__dict__["_field_defaults"]
    parameters = numbered(fields)
    line = f"return _tuple(_cls, ({''.join(f'{own}, ' for own in parameters)}))"
    names = {"_tuple": tuple.__new__}
    made = compiled(kind, "__new__", list(fields), ["_cls", *parameters], [line], names, defaults)
    made.__annotations__ = inspect.get_annotations(kind)
    return made


def _first_new(name: str) -> tuple[Callable[..., Any], list[type]]:
    """Return a constructor that makes itself when it has been called a few times, and where the class is to be put."""
    owner: list[type] = []
    left = FEW

    def first(_cls: type, /, *args: Any, **kwargs: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            fields: tuple[str, ...] = owner[0].__dict__["_fields"]
            given = {**owner[0].__dict__["_field_defaults"], **kwargs}
            rest = fields[len(args) :]
            if len(args) <= len(fields) and kwargs.keys() <= set(rest) and given.keys() >= set(rest):
                return tuple.__new__(_cls, (*args, *[given[field] for field in rest]))
        made = _new_of(owner[0])
        type.__setattr__(owner[0], "__new__", made)
        return made(_cls, *args, **kwargs)

    first.__name__, first.__qualname__ = "__new__", f"{name}.__new__"
    return first, owner


def _make(cls: Any, iterable: Iterable[Any]) -> Any:
    """Make a new one from a sequence or iterable."""
    found = tuple.__new__(cls, iterable)
    if len(found) != len(cls._fields):
        raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(found)}")
    return found


_UNEXPECTED = TypeError if sys.version_info >= (3, 13) else ValueError  # as the standard library's


def _replace(self: Any, /, **changes: Any) -> Any:
    """Return one like this with other values of some fields."""
    found = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise _UNEXPECTED(f"Got unexpected field names: {list(changes)!r}")
    return found


def _repr(self: Any) -> str:
    values = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=False))
    return f"{self.__class__.__name__}({', '.join(values)})"


def _asdict(self: Any) -> dict[str, Any]:
    """Return a dict of the fields."""
    return dict(zip(self._fields, self, strict=True))


def _as_tuple(self: Any) -> tuple[Any, ...]:
    return tuple(self)


_SHARED = {
    "_make": classmethod(_make),
    "_replace": _replace,
    "_asdict": _asdict,
    "__getnewargs__": _as_tuple,
    "__slots__": (),
}


@cache
def _alias(index: int) -> Any:
    """Return what reads a field by its number, in whatever class."""
    return _attribute(index, f"Alias for field number {index}")


def _defined(name: str, namespace: dict[str, Any]) -> type:
    """Return the class that a body declares."""
    fields = tuple(namespace.get("__annotations__", {}))
    defaults = {field: namespace.pop(field) for field in fields if field in namespace}
    first, owner = _first_new(name)
    for index, field in enumerate(fields):
        namespace[field] = _alias(index)
    namespace = {"__doc__": name + str(fields).replace("'", ""), "__repr__": _repr, **_SHARED, **namespace}
    namespace.update(__new__=first, _fields=fields, __match_args__=fields, _field_defaults=defaults)
    namespace.setdefault("__annotations__", {})
    namespace["__signature__"] = Signature(_new_of)  # what inspect looks for
    made: type = type(name, (tuple,), namespace)
    owner.append(made)
    return made


class _Defining(type):
    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        if not bases:
            return super().__new__(cls, name, bases, namespace)
        if len(bases) > 1:
            raise TypeError("a NamedTuple of scanviz.engine.named_tuple has no other base")
        return _defined(name, namespace)


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class NamedTuple(metaclass=_Defining):
        """Base of a class that is a tuple with names: ``typing.NamedTuple``.

        Examples
        --------
        >>> class Point(NamedTuple):
        ...     x: int
        ...     y: int = 0
        >>> Point(1)
        Point(x=1, y=0)
        >>> Point(1)._replace(y=2) == (1, 2)
        True
        """
