"""Methods of classes that must be defined quickly: done in parts a few times, and compiled when they were called more often.

A method is compiled once for all classes with as many fields of the same kinds: in its text fields are numbered, and the code
then gets their names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import cache
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

FEW = 40  # calls of a method before it is compiled: that takes as long as more of them
UNUSUAL = object()  # told by a method that is not compiled where the compiled one has to decide


class Signature:
    """What ``inspect.signature`` says of a class: how it is called."""

    __slots__ = ("method",)

    def __init__(self, method: Callable[[type], Callable[..., Any]]) -> None:
        self.method = method

    def __get__(self, instance: object, owner: type) -> inspect.Signature:
        if (
            instance is not None or owner.__dict__.get("__signature__") is not self
        ):  # a class that inherits it has its own
            raise AttributeError("__signature__")
        found = inspect.signature(self.method(owner))
        return found.replace(parameters=list(found.parameters.values())[1:])


def numbered(fields: Collection[object]) -> list[str]:
    """Return what the fields are called in the text of a method."""
    return [f"_{number}" for number in range(len(fields))]


@cache
def _code(text: str) -> CodeType:
    return compile(text, "<scanviz.engine.methods>", "exec")


def compiled(
    kind: type,
    name: str,
    fields: list[str],
    parameters: list[str],
    lines: list[str],
    names: dict[str, Any] | None = None,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[..., Any]:
    """Return a method of a class, from its parameters and lines, in which fields are numbered, and which may use some names."""
    body = "".join(f"    {line}\n" for line in lines)
    names = names or {}
    exec(_code(f"def {name}({', '.join(parameters)}):\n{body}"), names)
    made: FunctionType = names[name]
    named = dict(zip(numbered(fields), fields, strict=True))

    def with_names(found: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(named.get(part, part) for part in found)

    code = made.__code__
    variables = with_names(code.co_varnames)
    made.__code__ = code.replace(
        co_varnames=variables, co_names=with_names(code.co_names), co_consts=with_names(code.co_consts)
    )
    if defaults:
        positional, end = variables[: code.co_argcount], code.co_argcount + code.co_kwonlyargcount
        given = tuple(defaults[field] for field in positional if field in defaults)
        if not all(field in defaults for field in positional[len(positional) - len(given) :]):
            raise TypeError(f"{kind.__qualname__}: a field without a default follows one with a default")
        made.__defaults__ = given
        made.__kwdefaults__ = {
            field: defaults[field] for field in variables[code.co_argcount : end] if field in defaults
        }
    made.__qualname__ = f"{kind.__qualname__}.{name}"
    return made


def when_called(
    owner: list[type],
    qualname: str,
    name: str,
    compiled: Callable[[type], Callable[..., Any]],
    in_parts: Callable[[type], Callable[..., Any] | None],
) -> Callable[..., Any]:
    """Return a method that does its work in parts a few times, then makes itself and steps back.

    ``owner`` has the class when the method is called: it is made with its methods, setting them later takes twice as long.
    """
    left, few = FEW, None

    def first(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal left, few
        (kind,) = owner
        if left == FEW:
            few = in_parts(kind)
        left -= 1
        if few is not None and left >= 0:
            found = few(self, *args, **kwargs)
            if found is not UNUSUAL:
                return found
        made = compiled(kind)
        setattr(kind, name, made)
        return made(self, *args, **kwargs)

    first.__name__, first.__qualname__ = name, f"{qualname}.{name}"
    return first


__all__ = ["FEW", "UNUSUAL", "Signature", "compiled", "numbered", "when_called"]
