"""Updates: which shared variables a loop changes, and to what.

It is what ``scan`` gives back beside the outputs, for ``function(updates=…)``: a dict that checks its keys when they are put in,
and that is not merged with another which gives the same variable another value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe
from scanviz.engine.graph.provenance import SourceLine, user_line
from scanviz.engine.graph.shared import SharedVariable
from scanviz.engine.ops.options import pairs
from scanviz.engine.scan.result import no_variable, updates_error


@no_variable()
class Updates(dict[SharedVariable, Variable]):
    """New values of shared variables, to be given to ``function(updates=…)``.

    A dict that takes only shared variables as keys and refuses to be added to one that says otherwise about the same
    variable.  ``updates[w]`` is symbolic and can be computed with.

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
        """Take over all pairs of other mappings or lists of pairs; a key given twice must have the same value."""
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
    """Raise where what is to be updated is no shared variable; at the user's line, or that of a step."""
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
