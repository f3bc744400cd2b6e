"""``dataclass`` as in the standard library, with slots, for classes that must be defined quickly.

The standard library writes five to eight functions for a class and compiles each of them when the class is defined: 0.4
milliseconds a class, a quarter of what came on top of NumPy until a new process had its first result.  Most classes are
never compared or hashed in a process, many never made, and most of the others made a few times.  So what must be compiled
(``__init__``, ``__eq__``, ``__hash__``) is compiled when it has been called a few times, and until then done field by field;
what needs no speed (``__repr__``, refusing assignment, pickling) is shared by all classes.  A method is compiled once for all
classes with as many fields of the same kinds, and then gets their names.
Instances are the same; ``dataclasses.fields``, ``replace``, ``asdict`` and ``is_dataclass`` see no
difference, and mypy is told that this *is* the standard library's.

The standard library's file is imported where somebody asks for what only it has, which no plain loop does: that takes as long as
defining ten classes.  So fields are described, and instances replaced, by what stands here under the same names.

Fields may have ``default``, ``default_factory``, ``repr``, ``compare``, ``hash`` and ``kw_only``; ``InitVar`` and
``init=False`` are not known here.
"""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scanviz.engine.methods import UNUSUAL, Signature, compiled, numbered, when_called

if TYPE_CHECKING:
    import dataclasses

FIELDS, PARAMS = "__dataclass_fields__", "__dataclass_params__"  # where the standard library looks
OWN = "__scanviz_fields__"  # what a class body declares, as `_own_fields` tells it
DESCRIBED = "__scanviz_described__"  # by name the fields of a class, inherited ones too
MISSING = object()  # in the place of a default that there is none of
_OF_THE_CLASS = ("ClassVar", "typing.ClassVar")  # what annotations begin with that declare no field


class _Later:
    """A class attribute that is computed when the class is first asked for it."""

    __slots__ = ("compute", "name")

    def __init__(self, name: str, compute: Callable[[type], Any]) -> None:
        self.name, self.compute = name, compute

    def __get__(self, instance: object, owner: type) -> Any:
        for kind in owner.__mro__:
            if kind.__dict__.get(self.name) is self:
                found = self.compute(kind)
                setattr(kind, self.name, found)
                return found
        raise AttributeError(self.name)


class Described:
    """A field: its attributes are those of ``dataclasses.Field``, and the one that it was given as, if it was."""

    __slots__ = (
        "compare",
        "default",
        "default_factory",
        "hash",
        "kw_only",
        "name",
        "repr",
        "standard",
        "type",
    )

    def __init__(
        self, default: Any, default_factory: Any, repr: bool, compare: bool, hash: bool | None, kw_only: bool
    ) -> None:
        self.name = self.type = ""
        self.standard: dataclasses.Field[Any] | None = None
        self.default, self.default_factory = default, default_factory
        self.repr, self.compare, self.hash, self.kw_only = repr, compare, hash, kw_only


def _by_us(given: Any) -> Any:
    """Return what was given for a field: the standard library's description as one of ours, anything else as it is."""
    standard = sys.modules.get("dataclasses")
    if standard is None or not isinstance(given, standard.Field):
        return given
    ways = (given.default, given.default_factory)
    default, make = (MISSING if way is standard.MISSING else way for way in ways)
    found = Described(default, make, given.repr, given.compare, given.hash, given.kw_only is True)
    found.standard = given
    return found


def _own_fields(namespace: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Take the fields out of what a class body declares: their names, how each is annotated, and its default or description."""
    found = []
    for name, annotation in namespace.get("__annotations__", {}).items():
        if not annotation.startswith(_OF_THE_CLASS):
            given = namespace.pop(name, MISSING)
            found.append((name, annotation, given if given is MISSING else _by_us(given)))
    return found


def _described(kind: type) -> dict[str, Described]:
    """Return the fields of a class, those that it inherits first."""
    found: dict[str, Described] = {}
    for base in kind.__mro__[::-1]:
        if OWN in base.__dict__:
            for name, annotation, given in base.__dict__[OWN]:
                own = given if isinstance(given, Described) else field(default=given)
                own.name, own.type = name, annotation
                found[name] = own
        elif FIELDS in base.__dict__:  # the standard library made it
            for name, standard in base.__dict__[FIELDS].items():
                found[name] = own = _by_us(standard)
                own.name, own.type = name, standard.type
    return found


def fields_of(kind: type) -> list[str]:
    """Return the names of the fields of a class that is made here."""
    return list(getattr(kind, DESCRIBED))


def _standard_fields(kind: type) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a class as the standard library describes them."""
    import dataclasses

    found = {}
    for name, own in getattr(kind, DESCRIBED).items():
        made: Any = own.standard or dataclasses.field(repr=own.repr, compare=own.compare, hash=own.hash)
        made.name, made.type, made.kw_only = name, own.type, own.kw_only
        for way in ("default", "default_factory"):
            if getattr(own, way) is not MISSING:
                setattr(made, way, getattr(own, way))
        made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]  # what dataclasses.fields goes by
        found[name] = made
    return found


def _init_of(kind: type) -> Callable[..., None]:
    """Return ``__init__`` of a class, compiled."""
    fields: dict[str, Described] = getattr(kind, DESCRIBED)
    parameters, lines, defaults = ["self"], [], {}
    names: dict[str, Any] = {"_set": object.__setattr__, "_none": MISSING}
    ordered = sorted(fields.values(), key=lambda field: bool(field.kw_only))
    for number, (own, field) in enumerate(zip(numbered(ordered), ordered, strict=True)):
        if field.kw_only and not (number and ordered[number - 1].kw_only):
            parameters.append("*")
        parameters.append(own)
        value = own
        if field.default_factory is not MISSING:
            names[f"_make{own}"] = field.default_factory
            defaults[field.name] = MISSING
            value = f"_make{own}() if {own} is _none else {own}"
        elif field.default is not MISSING:
            defaults[field.name] = field.default
        frozen = getattr(kind, PARAMS).frozen
        lines.append(f"_set(self, {own!r}, {value})" if frozen else f"self.{own} = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    fields_named = [field.name for field in ordered]
    made = compiled(kind, "__init__", fields_named, parameters, lines or ["pass"], names, defaults)
    made.__annotations__ = {**{field.name: field.type for field in ordered}, "return": None}
    return made


def _eq_of(kind: type) -> Callable[..., bool]:
    """Return ``__eq__`` of a class, compiled: as tuples of the fields that are compared."""
    compared = [field.name for field in getattr(kind, DESCRIBED).values() if field.compare]
    ours, theirs = (f"({''.join(f'{of}.{own}, ' for own in numbered(compared))})" for of in ("self", "other"))
    lines = [
        "if other.__class__ is self.__class__:",
        f"    return {ours} == {theirs}",
        "return NotImplemented",
    ]
    return compiled(kind, "__eq__", compared, ["self", "other"], lines)


def _hash_of(kind: type) -> Callable[..., int]:
    """Return ``__hash__`` of a class, compiled: of the tuple of the fields that are compared."""
    hashed = [
        field.name
        for field in getattr(kind, DESCRIBED).values()
        if (field.compare if field.hash is None else field.hash)
    ]
    line = f"return hash(({''.join(f'self.{own}, ' for own in numbered(hashed))}))"
    return compiled(kind, "__hash__", hashed, ["self"], [line])


def _declared(kind: type) -> dict[str, Any] | None:
    """Return what was given for each field of a class (``MISSING``, a default, a description), inherited ones first.

    None where the standard library made one of its bases.
    """
    found: dict[str, Any] = {}
    for base in kind.__mro__[::-1]:
        if FIELDS in base.__dict__:
            if OWN not in base.__dict__:
                return None
            found.update({name: given for name, _, given in base.__dict__[OWN]})
    return found


def _init_in_parts(kind: type) -> Callable[..., Any] | None:
    """Return what does what ``__init__`` does, field by field; unusual are arguments that it would refuse."""
    declared = _declared(kind)
    if declared is None:
        return None
    positional: dict[str, tuple[Any, Any]] = {}
    by_name: dict[str, tuple[Any, Any]] = {}
    may_lack = False
    for name, given in declared.items():
        described = isinstance(given, Described)
        default, make = (given.default, given.default_factory) if described else (given, MISSING)
        if described and given.kw_only:
            by_name[name] = default, make
            continue
        positional[name] = default, make
        lacks = default is not MISSING or make is not MISSING
        if may_lack and not lacks:
            return (
                None  # a field without a default follows one with a default: refused where that is compiled
            )
        may_lack = lacks
    every, most = {**positional, **by_name}, len(positional)
    put = object.__setattr__ if kind.__dict__[PARAMS].frozen else setattr
    checks = hasattr(kind, "__post_init__")

    def init(self: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) == len(every) and not kwargs and not by_name:  # mostly
            for name, value in zip(every, args, strict=True):
                put(self, name, value)
            return self.__post_init__() if checks else None
        values = dict(zip(positional, args, strict=False))
        if len(args) > most or not (kwargs.keys() <= every.keys() - values.keys()):
            return UNUSUAL
        values.update(kwargs)
        for name, (default, make) in every.items():
            if make is not MISSING and values.get(name, MISSING) is MISSING:
                values[name] = make()
            elif name not in values:
                if default is MISSING:
                    return UNUSUAL
                values[name] = default
        for name in every:
            put(self, name, values[name])
        return self.__post_init__() if checks else None

    return init


def _values_of(kind: type, hashed: bool) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return what gives the values of an instance that are compared, or those of them that are hashed."""
    declared = _declared(kind)
    if declared is None:
        return None
    names = []
    for name, given in declared.items():
        if not isinstance(given, Described) or (
            given.compare if not hashed or given.hash is None else given.hash
        ):
            names.append(name)
    return lambda made: tuple([getattr(made, name) for name in names])


def _eq_in_parts(kind: type) -> Callable[..., Any] | None:
    values = _values_of(kind, hashed=False)
    if values is None:
        return None

    def eq(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return eq


def _hash_in_parts(kind: type) -> Callable[..., Any] | None:
    values = _values_of(kind, hashed=True)
    return None if values is None else lambda self: hash(values(self))


def _positional(kind: type) -> tuple[str, ...]:
    """Return ``__match_args__``: what a pattern may name by position."""
    return tuple(field.name for field in getattr(kind, DESCRIBED).values() if not field.kw_only)


@reprlib.recursive_repr()
def _repr(self: Any) -> str:
    shown = (field.name for field in getattr(self, DESCRIBED).values() if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _refuse_assignment(self: object, name: str, value: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(self: object, name: str) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, DESCRIBED)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, DESCRIBED), state, strict=True):
        object.__setattr__(self, name, value)


@cache
def _params(frozen: bool, eq: bool) -> SimpleNamespace:
    """Return what the standard library says of how a class was asked for."""
    return SimpleNamespace(init=True, repr=True, eq=eq, order=False, unsafe_hash=False, frozen=frozen)


# Each is about the class that is asked for it.
_OF_ALL = {
    FIELDS: _Later(FIELDS, _standard_fields),
    DESCRIBED: _Later(DESCRIBED, _described),
    "__match_args__": _Later("__match_args__", _positional),
}
_SIGNATURE = Signature(_init_of)


def _namespace_of(kind: type, frozen: bool, eq: bool) -> dict[str, Any]:
    """Return what is in the class that is made of a declared one, but for the methods that are compiled."""
    namespace = dict(kind.__dict__)
    own = _own_fields(namespace)
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    slots = [name for name, _, _ in own]
    if len(kind.__mro__) > 2:
        inherited = {name for base in kind.__mro__[1:-1] for name in getattr(base, "__slots__", ())}
        slots = [name for name in slots if name not in inherited]
    namespace.update(_OF_ALL)
    namespace["__slots__"], namespace[OWN], namespace[PARAMS] = tuple(slots), own, _params(frozen, eq)
    namespace.setdefault("__repr__", _repr)
    if frozen:
        namespace["__setattr__"], namespace["__delattr__"] = _refuse_assignment, _refuse_deletion
        namespace.setdefault("__getstate__", _state)
        namespace.setdefault("__setstate__", _set_state)
    elif eq:
        namespace.setdefault("__hash__", None)  # equal instances may become unequal
    return namespace


def _slotted(kind: type, frozen: bool, eq: bool) -> type:
    """Return a class like one that was declared, with slots and the methods of a dataclass."""
    given, namespace = kind.__dict__, _namespace_of(kind, frozen, eq)
    namespace["__qualname__"] = kind.__qualname__
    methods: dict[str, Any] = {"__init__": (_init_of, _init_in_parts)}
    if eq:
        methods["__eq__"] = (_eq_of, _eq_in_parts)
    if eq and frozen:
        methods["__hash__"] = (_hash_of, _hash_in_parts)
    owner: list[type] = []
    for name, ways in methods.items():
        if given.get(name) is None:  # Python says None of __hash__ where a class body has __eq__
            namespace[name] = when_called(owner, kind.__qualname__, name, *ways)
    if "__init__" not in given:
        namespace["__signature__"] = _SIGNATURE  # what inspect looks for
    made: type = type(kind)(kind.__name__, kind.__bases__, namespace)
    owner.append(made)
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
else:

    def field(
        *,
        default: Any = MISSING,
        default_factory: Any = MISSING,
        repr: bool = True,
        compare: bool = True,
        hash: bool | None = None,
        kw_only: bool = False,
    ) -> Described:
        """Describe a field in a class body: ``dataclasses.field``."""
        return Described(default, default_factory, repr, compare, hash, kw_only)

    def replace(made: Any, /, **changes: Any) -> Any:
        """Return an instance like one, with other values of some fields: ``dataclasses.replace``."""
        kind = type(made)
        if OWN not in kind.__dict__:
            from dataclasses import replace

            return replace(made, **changes)
        fields = getattr(kind, DESCRIBED)
        if (
            "__signature__" not in kind.__dict__
            or hasattr(kind, "__post_init__")
            or not changes.keys() <= fields.keys()
        ):
            return kind(**{name: getattr(made, name) for name in fields if name not in changes}, **changes)
        found, put = (
            object.__new__(kind),
            object.__setattr__,
        )  # what the constructor does, which need not be compiled for that
        for name in fields:
            put(found, name, changes[name] if name in changes else getattr(made, name))
        return found

    def dataclass(*, slots: bool, frozen: bool = False, eq: bool = True) -> Callable[[type], type]:
        """Make a class with slots, a constructor and comparisons of its annotated attributes: ``dataclasses.dataclass``.

        Parameters
        ----------
        slots : bool
            True: there is no other kind.
        frozen : bool, default False
            Whether assignment to its attributes is refused.
        eq : bool, default True
            Whether instances are compared (and hashed, where frozen) by their attributes, and not by identity.

        Raises
        ------
        TypeError
            Without ``slots=True``.

        Examples
        --------
        >>> @dataclass(frozen=True, slots=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1)
        Point(x=1, y=0)
        >>> Point(1, 2) == Point(1, y=2)
        True
        """
        if not slots:
            raise TypeError("a dataclass of scanviz.engine.slotted has slots: say slots=True")
        return lambda kind: _slotted(kind, frozen, eq)
