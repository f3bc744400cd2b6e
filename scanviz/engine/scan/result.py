"""What scan returns: outputs and updates, a pair to unpack that says so where it is taken for the outputs.

``h = scan(…)`` without ``return_updates=False`` gives the pair.  It is a tuple, so that it unpacks and indexes as one, but
``h * 2`` would repeat it and ``T.sum(h)`` would try to stack it; both are errors that say what to write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn, TypeVar

from scanviz.engine.errors import ScanvizAttributeError, ScanvizTypeError
from scanviz.engine.graph.syntax import has_meaning

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
            raise ScanvizAttributeError(**_told(self.not_a_variable()))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def decorate(cls: Class) -> Class:
        for name in (*_ARITHMETIC, *more):
            setattr(cls, f"__{name}__", refuse)
        cls.__getattr__ = missing  # type: ignore[attr-defined]  # asked only for what the class does not have
        return cls

    return decorate


def _told(error: ScanvizTypeError) -> dict[str, Any]:
    return {name: getattr(error, name) for name in ("what", "where", "text", "expected", "found", "fix")}


@no_variable("add")
class ScanResult(NamedTuple):
    """What a loop gives; unpack it: ``outputs, updates = scan(…)``.

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
