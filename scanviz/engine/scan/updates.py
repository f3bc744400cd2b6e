"""The result of scan: outputs and updates, with an error for use of the pair as a variable.

``h = scan(…)`` without ``return_updates=False`` gives the pair.  It is a tuple, so that it unpacks and indexes as one, but ``h
* 2`` would repeat it and ``T.sum(h)`` would try to stack it; both are errors that name the code to write.

Updates map the shared variables that a loop changes to their new values, for ``function(updates=…)``.  They are a dict that
checks its keys on insertion and refuses a merge with a dict that gives the same variable another value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, NoReturn, TypeVar

from scanviz.engine.errors import ScanvizAttributeError, ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe
from scanviz.engine.graph.provenance import SourceLine, user_line
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.graph.syntax import has_meaning
from scanviz.engine.ops.support import pairs

Class = TypeVar("Class", bound=type)
_ARITHMETIC = (
    "mul", "rmul", "sub", "rsub", "truediv", "rtruediv", "floordiv", "rfloordiv", "mod", "rmod", "pow", "rpow",
    "matmul", "rmatmul", "and", "rand", "xor", "rxor", "neg", "pos", "abs", "invert",
)  # fmt: skip


def no_variable(*more: str) -> Callable[[Class], Class]:
    """Decorate a class whose objects are taken for variables: arithmetic and array methods raise its ``not_a_variable``."""

    def refuse(self: Any, *others: Any) -> NoReturn:
        raise self.not_a_variable()

    def missing(self: Any, name: str) -> NoReturn:
        if has_meaning(f"method:{name}") or has_meaning(f"attribute:{name}"):
            raise ScanvizAttributeError(**_fields(self.not_a_variable()))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def decorate(cls: Class) -> Class:
        for name in (*_ARITHMETIC, *more):
            setattr(cls, f"__{name}__", refuse)
        cls.__getattr__ = missing  # type: ignore[attr-defined]  # asked only for what the class does not have
        return cls

    return decorate


def _fields(error: ScanvizTypeError) -> dict[str, Any]:
    return {name: getattr(error, name) for name in ("what", "where", "text", "expected", "found", "fix")}


@no_variable("add")
class ScanResult(NamedTuple):
    """The pair that a loop returns; unpack it: ``outputs, updates = scan(…)``.

    Attributes
    ----------
    outputs : Variable, list of Variable or None
        One result an output, with one row a step.
    updates : Updates
        New values of shared variables, for ``function(updates=…)``.
    """

    outputs: Any
    updates: Any

    def not_a_variable(self) -> ScanvizTypeError:
        """Return the error of using the pair where its outputs are meant."""
        return ScanvizTypeError.here(
            "the pair that scan returns was used as if it were the loop's outputs",
            shown=True,
            expected="a variable",
            found="(outputs, updates)",
            fix="h, updates = scan(…)\nh = scan(…, return_updates=False) where nothing is updated",
        )


def updates_error() -> ScanvizTypeError:
    """Return the error of using a loop's updates as a variable, as in ``scan(…)[-1] + 1``."""
    return ScanvizTypeError.here(
        "a loop's updates were used as if they were its outputs",
        shown=True,
        expected="a variable",
        found="Updates, the second of the pair that scan returns",
        fix="h, updates = scan(…), then h[-1] for the value after the last step\n"
        "updates[w] for the new value of a shared variable `w`",
    )


@no_variable()
class Updates(dict[SharedVariable, Variable]):
    """New values of shared variables, to be given to ``function(updates=…)``.

    A dict that takes only shared variables as keys and refuses to be added to one with another value for the same variable.
    ``updates[w]`` is symbolic and can be computed with.

    Examples
    --------
    >>> from scanviz import shared
    >>> a = shared(1.0, name="a")
    >>> Updates({a: a + 1}) + Updates({a: a + 2})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    scanviz.engine.errors.ScanvizValueError: ...two different updates for `a`...
    """

    def not_a_variable(self) -> ScanvizTypeError:
        """Return the error of using updates where a loop's outputs are meant."""
        return updates_error()

    def __init__(self, pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = ()) -> None:
        super().__init__()
        self.update(pairs)

    def __setitem__(self, key: SharedVariable, value: Variable) -> None:
        check_key(key)
        super().__setitem__(key, value)

    def update(self, *others: Any, **more: Any) -> None:
        """Merge other mappings or lists of pairs; a key given twice must have the same value."""
        for other in (*others, more):
            for key, value in _pairs(other):
                check_key(key)
                if key in self and self[key] is not value:
                    raise ScanvizValueError.here(
                        f"two different updates for `{describe(key)}`",
                        fix="keep one of them, or combine the values",
                    )
                self[key] = value

    def __add__(self, other: Any) -> Updates:
        total = Updates(self)
        total.update(other)
        return total

    def __radd__(self, other: Any) -> Updates:
        total = Updates(other)
        total.update(self)
        return total

    def __ior__(self, other: Any) -> Updates:  # type: ignore[override]  # dict's takes fewer forms
        self.update(other)
        return self

    def __or__(self, other: Any) -> Updates:  # type: ignore[override]  # conflicts are refused, so the result is one of ours
        return self.__add__(other)


def check_key(key: object, where: SourceLine | None = None) -> None:
    """Raise if the key of an update is no shared variable."""
    if not isinstance(key, SharedVariable):
        shown = describe(key) if isinstance(key, Variable) else repr(key)
        raise ScanvizTypeError(
            f"only shared variables can be updated, `{shown}` is none",
            where=where or user_line(),
            fix="shared(value)",
        )


def _pairs(given: Any) -> list[tuple[Any, Any]]:
    if isinstance(given, Variable | int | float):
        raise updates_error()
    return pairs([None] if given is None else given, "updates")  # None is no list of pairs, not an empty one


def updates_of_loop(final: Mapping[SharedVariable, Variable]) -> Updates:
    """Return a loop's updates from the values of shared variables after it.

    Where a variable has a default update, as random states do, that becomes the loop's: a function that is not given the
    updates still moves the state past all that the loop drew.
    """
    for shared, value in final.items():
        if shared.default_update is not None:
            shared.default_update = value
    return Updates(final)
