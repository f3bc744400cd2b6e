"""Sorting along an axis, searching in what is sorted, and counting.

``argsort`` is stable on every backend, so that it gives one answer for equal elements everywhere.  ``sort`` need not be: equal
elements are the same but for the sign of zero, and the quick way is up to fifty times quicker.  NaN comes last, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine import cost
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.types import BOOLEAN, INTEGERS, TensorType
from scanviz.engine.ops import axes
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.options import one_of
from scanviz.engine.ops.reduce import kept_or_flat, single_axis
from scanviz.engine.ops.support import as_integer, as_variable, infer_by, kept_dtype


class SortParameters(NamedTuple):
    """Parameters of sorting: the axis, None for the flattened array."""

    axis: int | None


def _declare(
    name: str, function: Callable[..., Array], dtypes: Callable[..., Sequence[str]], doc: str
) -> Declaration:
    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        return (function(np.asarray(values[0]), op.parameters.axis),)

    facts = Facts(cost.of_input, weight="heavy", axes=axes.but("axis"), calls=4)
    return Declaration(
        name,
        "sort",
        arity=1,
        doc=doc,
        infer=infer_by(dtypes),
        perform=perform,
        shapes=kept_or_flat,
        facts=facts,
    )


def _places(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    return ("int64",)


def _sorted(value: Array, axis: int | None) -> Array:
    small = value.dtype.kind != "f" and value.dtype.itemsize <= 2  # NumPy counts digits of these, stably
    return np.sort(value, axis, "stable" if small else None)


def _order(value: Array, axis: int | None) -> Array:
    return np.argsort(value, axis, "stable")


SORT = _declare("sort", _sorted, kept_dtype, "Elements in ascending order along an axis.")
ARGSORT = _declare(
    "argsort", _order, _places, "Indices that would sort along an axis; equal elements keep their order."
)


def sort(value: Any, axis: int | None = -1) -> Variable:
    """Return the elements in ascending order along ``axis``, all in one row for None."""
    return _build(SORT, value, axis)


def argsort(value: Any, axis: int | None = -1) -> Variable:
    """Return the indices that would sort along ``axis``, the flattened array for None."""
    return _build(ARGSORT, value, axis)


def _build(declaration: Declaration, value: Any, axis: int | None) -> Variable:
    variable = as_variable(value)
    return build_one(Op(declaration, SortParameters(single_axis(axis, variable, declaration.name))), variable)


class SideParameters(NamedTuple):
    """On which side of equal elements a place is: ``"left"`` or ``"right"``."""

    side: str


SEARCHSORTED = Declaration(
    "searchsorted",
    "sort",
    arity=2,
    doc="Places in a sorted vector at which elements would keep it sorted.",
    infer=infer_by(_places),
    perform=lambda op, values: (np.asarray(np.searchsorted(values[0], values[1], op.parameters.side)),),
    shapes=lambda op, dims: (dims.shapes[1],),
    facts=Facts(cost.elementary, weight="heavy", raises=False, axes=axes.sought, calls=4),
)


def searchsorted(value: Any, sought: Any, side: Any = "left") -> Variable:
    """Return at which places elements would keep a sorted vector sorted; int64."""
    variable = _vector(value, "searchsorted")
    return build_one(
        Op(SEARCHSORTED, SideParameters(one_of(side, ("left", "right"), "searchsorted: side"))),
        variable,
        as_variable(sought),
    )


def _vector(value: Any, what: str) -> Variable:
    variable = as_variable(value)
    if tensor_type(variable).ndim != 1:
        raise ScanvizTypeError.here(
            f"{what}: `{describe(variable)}` is no vector", expected="1 dimension", found=variable.type
        )
    return variable


def _bincount(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    numbers, least, *weights = values
    check_counted(int(np.min(numbers, initial=0)), len(numbers), int(least), weights)
    counts = np.bincount(numbers, weights[0] if weights else None, int(least))
    return (counts.astype("float64" if weights else "int64", copy=False),)  # NumPy counts nothing in int64


def check_counted(smallest: int, count: int, least: int, weights: Sequence[Any]) -> None:
    """Raise what ``bincount`` refuses: numbers and lengths below 0, and weights that are not one for each number."""
    if smallest < 0:
        raise ScanvizValueError("a number is negative", expected="0 or more", found=smallest)
    if least < 0:
        raise ScanvizValueError("minlength is negative", expected="0 or more", found=least)
    if weights and len(weights[0]) != count:
        raise ShapeError(
            "one weight is needed for each number", expected=f"{count} weights", found=len(weights[0])
        )


BINCOUNT = Declaration(
    "bincount",
    "sort",
    arity=(2, 3),
    doc="How often each number from 0 occurs, or the sum of its weights.",
    infer=infer_by(lambda op, kinds: ("int64" if len(kinds) < 3 else "float64",)),
    perform=_bincount,
    shapes=lambda op, dims: ((None,),),
    facts=Facts(cost.of_input, weight="heavy", axes=axes.nowhere, calls=11),
)


def bincount(numbers: Any, weights: Any = None, minlength: Any = 0) -> Variable:
    """Return how often each number from 0 occurs, or the sum of its weights."""
    variable = _vector(numbers, "bincount")
    if tensor_type(variable).dtype not in (*INTEGERS, BOOLEAN):
        raise ScanvizTypeError.here(
            f"bincount: `{describe(variable)}` holds no whole numbers",
            found=variable.type,
            fix='T.bincount(T.cast(x, "int64"))',
        )
    more = [] if weights is None else [cast(_vector(weights, "bincount"), "float64")]
    least = as_integer(minlength, "bincount: minlength")
    return build_one(Op(BINCOUNT), cast(variable, "int64"), least, *more)
