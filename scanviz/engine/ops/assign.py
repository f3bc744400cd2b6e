"""Arrays with some elements changed: ``set_subtensor`` and ``inc_subtensor``.

The result is a new array; what it is made from stays as it is.  Increments at repeated places add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine.errors import ScanvizIndexError, ScanvizTypeError, ShapeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Constant, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.notation import ASSIGNMENT, WrittenTerm, subscripted
from scanviz.engine.graph.types import BOOLEAN
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import index_inputs
from scanviz.engine.ops.index_pattern import (
    IndexParameters,
    assigned,
    input_count,
    is_basic,
    numpy_index,
    written_at,
)
from scanviz.engine.ops.support import as_value, as_variable, constant, kept_shape


class AssignParameters(NamedTuple):
    """The index to write at, and whether to add to the old values."""

    pattern: IndexParameters
    increment: bool

    def __str__(self) -> str:
        return f"{self.pattern}{'+=' if self.increment else '='}"


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    changed = np.array(values[0])
    place = numpy_index(op.parameters.pattern, values[2:])
    try:
        write(changed, place, values[1], op.parameters)
    except IndexError as error:
        raise ScanvizIndexError(str(error)) from None  # the tiers add the names
    except ValueError as error:
        raise ShapeError(str(error)) from None
    return (changed,)


def write(array: Array, place: Any, value: Any, parameters: AssignParameters) -> None:
    """Write or add ``value`` into ``array`` at a NumPy index, in place."""
    if not parameters.increment:
        array[place] = value
    elif is_basic(parameters.pattern):
        array[place] += value
    else:
        add_at(array, place, value)


def add_at(array: Array, place: Any, value: Any) -> None:
    """Add ``value``, broadcast, at a NumPy index, in place; at repeated places all are added.

    NumPy 2.4's ``add.at`` reads beyond the end of a value that it would have to broadcast to an index of several dimensions.
    """
    if np.ndim(value):
        value = np.broadcast_to(value, array[place].shape)
    np.add.at(array, place, value)


def _facts(op: Op) -> Facts:
    """Return facts: NumPy copies a value that is a view of the array first, unless places are given as arrays."""
    if is_basic(op.parameters.pattern):
        return _BASIC
    return _ADDED if op.parameters.increment else _ADVANCED


def _notation(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    index = op.parameters.pattern.written([operand.text for operand in operands[2:]])
    sign = "+=" if op.parameters.increment else "="
    return WrittenTerm(f"{subscripted(operands[0], index).text} {sign} {operands[1].text}", ASSIGNMENT)


_COMMON = Facts(foldable=True, selects=True, overwrites=1, axes=assigned, placed=written_at)
_ADVANCED = replace(_COMMON, calls=8, one_by_one=10)
_ADDED = replace(_COMMON, calls=8, one_by_one=80)
_BASIC = replace(_COMMON, overlaps=1, calls=3)
ASSIGN = Declaration(
    "assign",
    "index",
    arity=lambda op: 2 + input_count(op.parameters.pattern),
    doc="A copy with some elements set or added to.",
    infer=lambda op, inputs: (tensor_type(inputs[0]),),
    perform=_perform,
    shapes=kept_shape,
    notation=_notation,
    facts=_facts,
)


def set_subtensor(part: Variable, value: Any) -> Variable:
    """Return the array that ``part`` was indexed from, with ``value`` in its place.

    Parameters
    ----------
    part : Variable
        ``x[index]``.
    value : array_like
        The values to put there; broadcast to the shape of ``part``.

    Returns
    -------
    Variable
        A new array of the shape and dtype of ``x``.  Of ``y = x[0]``, ``set_subtensor(y[1], value)`` is a new row ``y``; to
        set one element of ``x`` write ``x[0, 1]``.

    Raises
    ------
    ScanvizTypeError
        If ``part`` was not made by indexing, or ``value`` does not fit its dtype.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> set_subtensor(x[1:], 0).eval({x: [1.0, 2.0, 3.0]})
    array([1., 0., 0.])
    """
    return _assign(part, value, False)


def inc_subtensor(part: Variable, value: Any) -> Variable:
    """Return the array that ``part`` was indexed from, with ``value`` added in its place.

    Parameters, errors and result are those of :func:`set_subtensor`.  At repeated indices all values are added.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> inc_subtensor(x[[0, 0]], 1).eval({x: [1.0, 2.0]})
    array([3., 2.])
    """
    return _assign(part, value, True)


def _new_value(value: Any, dtype: str) -> Variable:
    """Return the value to write; Python numbers and lists of them take the dtype of the array if they are of its kind."""
    if isinstance(value, int | float | list | tuple) and type(value) is not bool:
        new = as_variable(value)
        soft = isinstance(new, Constant) and np.can_cast(new.value.dtype, dtype, "same_kind")
        unsigned = isinstance(new, Constant) and new.value.dtype.kind == "i" and dtype.startswith("uint")
        return constant(value, dtype) if soft or unsigned else new
    return as_value(value) if dtype == BOOLEAN else as_variable(value)


def _assign(part: Any, value: Any, increment: bool) -> Variable:
    what = "inc_subtensor" if increment else "set_subtensor"
    if not isinstance(part, Variable):
        raise ScanvizTypeError.here(
            f"{what} needs an indexed symbolic array", found=repr(part), fix=f"{what}(x[index], value)"
        )
    source, pattern, numbers = index_inputs(part)
    wanted = tensor_type(part)
    new = _new_value(value, wanted.dtype)
    kind = tensor_type(new)
    if kind.dtype != wanted.dtype:
        if not np.can_cast(kind.dtype, wanted.dtype, "safe"):
            raise ScanvizTypeError.here(
                f"{what}: `{describe(new)}` would lose precision in `{describe(source)}`",
                expected=wanted.dtype,
                found=kind.dtype,
                fix=f'T.cast(value, "{wanted.dtype}")',
            )
        new = cast(new, wanted.dtype)
    if kind.ndim > wanted.ndim:
        raise ShapeError.here(
            f"{what}: the value has more dimensions than its place", expected=wanted, found=kind
        )
    for size, place in zip(kind.shape[::-1], wanted.shape[::-1], strict=False):
        if size is not None and place is not None and size not in (1, place):
            raise ShapeError.here(f"{what}: the value does not fit its place", expected=wanted, found=kind)
    return build_one(Op(ASSIGN, AssignParameters(pattern, increment)), source, new, *numbers)
