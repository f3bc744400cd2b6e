"""Options of operations that are known when building: whole numbers, numbers, yes or no, and lists; checked and named in errors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe
from scanviz.engine.ops.support import check_meant

MOST_DIMENSIONS = 64  # of an array of NumPy


def whole(value: Any, what: str, least: int | None = None, most: int | None = None) -> int:
    """Return an option that is a whole number within bounds, as an int; ``what`` names it in the error."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise _no_option(value, what, "an integer, known when building")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ScanvizValueError.here(
            f"{what} cannot be used", expected=f"from {least} to {most}", found=value
        )
    return int(value)


def real(value: Any, what: str) -> float:
    """Return an option that is a number, as a float."""
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _no_option(value, what, "a number, known when building")


def truth(value: Any, what: str) -> bool:
    """Return an option that is yes or no, as a bool."""
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return bool(value)
    raise _no_option(value, what, "True or False")


def one_of(value: Any, among: Sequence[str], what: str, fix: str | None = None) -> str:
    """Return an option that is one of some words."""
    if isinstance(value, str) and value in among:
        return value
    shown = f"`{describe(value)}`, symbolic" if isinstance(value, Variable) else repr(value)
    raise ScanvizValueError.here(
        f"{what} cannot be used", expected=" or ".join(map(repr, among)), found=shown, fix=fix
    )


def listed(value: Any, what: str) -> list[Any]:
    """Return an option that is a list of values, or anything that can be iterated over while building, as a list."""
    check_meant(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        with contextlib.suppress(TypeError):  # of a variable of unknown length too
            return list(value)
    raise _no_option(value, what, "a list")


def pairs(value: Any, what: str) -> list[tuple[Any, Any]]:
    """Return an option that is a mapping or a list of pairs, as pairs; None is none."""
    if value is None:
        return []
    wrong = f"{what} must be a dict or a list of pairs"
    if isinstance(value, Variable):
        fix = (
            "function([inputs], outputs, updates={…}): several inputs are a list"
            if what == "updates"
            else None
        )
        raise ScanvizTypeError.here(wrong, found=f"`{describe(value)}`", fix=fix)
    found = list(value.items()) if isinstance(value, Mapping) else listed(value, what)
    for pair in found:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ScanvizTypeError.here(wrong, found=repr(pair))
    return [(key, item) for key, item in found]


def _no_option(value: Any, what: str, expected: str) -> ScanvizTypeError:
    shown = f"`{describe(value)}`, symbolic" if isinstance(value, Variable) else repr(value)
    return ScanvizTypeError.here(f"{what} cannot be used", expected=expected, found=shown)
