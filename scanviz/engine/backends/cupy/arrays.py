"""CuPy meanings of operations on arrays, by family; elementwise functions and linear systems have their own files.

Where CuPy differs from NumPy, its answer is corrected or refused as NumPy refuses it.  Sizes and integers of an index stay on the
host.  Random numbers are drawn there, so that every backend gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, TRAFFIC, CupyRow, fetched, on_host, single
from scanviz.engine.errors import ScanvizIndexError, ScanvizValueError, ShapeError
from scanviz.engine.graph.declaration import Op, declarations, declared
from scanviz.engine.graph.shared import is_on_device
from scanviz.engine.ops import creation, linalg, reduce, shape
from scanviz.engine.ops import random as _random  # noqa: F401  # declares the draws
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.control import DISCONNECTED_GRAD, GRAD_CLIP, IFELSE, ZERO_GRAD
from scanviz.engine.ops.effects import ASSERT, PRINT
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY, history_values
from scanviz.engine.ops.index_pattern import IndexParameters, is_basic, numpy_index
from scanviz.engine.ops.join import CONCATENATE, REPEAT, concatenate_values
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.ops.size_checks import (
    FIRST_ROWS,
    SPECIFY_SHAPE,
    STATE_SHAPE,
    first_rows_values,
    in_shape_of_state,
)
from scanviz.engine.ops.sort import ARGSORT, BINCOUNT, SEARCHSORTED, SORT, check_counted
from scanviz.engine.ops.support import float_dtype

# creation

# The dtypes of the bounds decide how NumPy rounds the length of a range; CuPy rounds by rules of its own.
CUPY.row(creation.ARANGE)(on_host())
CUPY.row(creation.EYE)(single(creation.eye_values, scalars_on_host=False, numbers=0))
CUPY.row(creation.TRIANGLE)(single(lambda xp, p, x: (xp.tril if p.lower else xp.triu)(x, p.offset)))
CUPY.row(creation.DIAGONAL)(single(lambda xp, p, x: xp.diagonal(x, p.offset, -2, -1)))
CUPY.row(creation.FROM_DIAGONAL)(single(lambda xp, p, x: xp.diag(x, p.offset)))

# random draws

for _declaration in declarations():
    if _declaration.family == "random":
        CUPY.row(_declaration)(on_host())

# shapes


def _vector(xp: Any, parameters: Any, *scalars: Any) -> Any:
    return xp.stack([xp.asarray(scalar) for scalar in scalars]) if scalars else xp.zeros(0, "int64")


def _alloc(xp: Any, parameters: Any, x: Any, *sizes: Any) -> Any:
    return shape.alloc_values(xp, x, sizes)


CUPY.row(shape.DIMENSION)(single(lambda xp, p, x: np.array(x.shape[p.axis], np.int64)))
CUPY.row(shape.MAKE_VECTOR)(single(_vector))
CUPY.row(shape.RESHAPE)(single(lambda xp, p, x, *sizes: shape.reshape_values(x, sizes), numbers=1))
CUPY.row(shape.DIMSHUFFLE)(single(lambda xp, p, x: shape.order_values(p.order, x)))
CUPY.row(shape.ALLOC)(single(_alloc, scalars_on_host=False, numbers=1))
CUPY.row(STATE_SHAPE)(single(lambda xp, p, *values: in_shape_of_state(xp, p, values), numbers=1))
# these use only shapes or numbers on the host
CUPY.row(SPECIFY_SHAPE, shape.BROADCAST_SIZE)(CupyRow(lambda xp, op, values: op.perform(values)))

# indices

# Dtypes whose additions at repeated places CuPy lacks, and those with the same sums, cut to as many bits.
WIDER = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32", "bool": "uint32"}  # fmt: skip


class IndexWithBounds:
    """An array of indices on the device, with its least and its greatest number on the host."""

    __slots__ = ("array", "bounds", "ndim")

    def __init__(self, array: Any) -> None:
        self.ndim: int = array.ndim
        self.array, self.bounds = array, (int(fetched(array.min())), int(fetched(array.max())))

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.array.__cuda_array_interface__


def with_bounds(index: Any) -> Any:
    """Return an array of indices with its bounds, which waits for the device; any other index itself."""
    if isinstance(index, IndexWithBounds) or not is_on_device(index):
        return index
    return IndexWithBounds(index) if index.ndim and index.dtype.kind in "iu" and index.size else index


def read_index(index: Any) -> Any:
    """Return an index that is the same in every step, in a form for which no step waits."""
    return fetched(index) if is_on_device(index) and not index.ndim else with_bounds(index)


def place_of(pattern: IndexParameters, x: Any, numbers: Sequence[Any]) -> tuple[Any, ...]:
    """Return the index for CuPy, after checking that its integer arrays lie inside of ``x``.

    CuPy wraps indices outside an axis, which NumPy refuses; the check waits for the device unless bounds are known.

    Raises
    ------
    ScanvizIndexError
        If an index lies outside its axis.
    """
    place, axis = list(numpy_index(pattern, numbers)), 0
    for k, entry in enumerate(pattern.entries):
        if entry.kind == "array":
            known = with_bounds(place[k])
            TRAFFIC.waits += entry.stop == "mask"  # for the number of places
            if isinstance(known, IndexWithBounds):
                _check_inside(known, axis, x.shape[axis])
                place[k] = known.array
        axis += 0 if entry.kind == "newaxis" else entry.consumed
    return tuple(place)


def _check_inside(index: IndexWithBounds, axis: int, size: int) -> None:
    lowest, highest = index.bounds
    if lowest < -size or highest >= size:
        outside = highest if highest >= size else lowest
        raise ScanvizIndexError(f"index {outside} is out of bounds for axis {axis} with size {size}")


def _index(xp: Any, pattern: Any, x: Any, *numbers: Any) -> Any:
    try:
        return x[place_of(pattern, x, numbers)]
    except IndexError as error:
        raise error if isinstance(error, ScanvizIndexError) else ScanvizIndexError(str(error)) from None


def _assign(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    changed = xp.asarray(values[0]).copy()  # a number known when building is kept on the host
    _assign_in_place(xp, op, values, changed)
    return (changed,)


def _assign_into(xp: Any, op: Op, values: Sequence[Any], out: Any) -> None:
    """Assign into ``out``, which is the first value or other memory."""
    if values[0] is not out:
        out[...] = values[0]
    _assign_in_place(xp, op, values, out)


def _assign_in_place(xp: Any, op: Op, values: Sequence[Any], out: Any) -> None:
    """Assign in place to ``out``; of repeated places CuPy keeps any value, NumPy the last."""
    parameters, value, numbers = op.parameters, values[1], values[2:]
    place = place_of(parameters.pattern, out, numbers)
    if value.ndim and xp.may_share_memory(value, out):
        value = value.copy()
    if not parameters.increment:
        out[place] = value
    elif is_basic(parameters.pattern):
        out[place] += value
    else:
        wider = WIDER.get(str(out.dtype))
        if wider is None:
            xp.add.at(out, place, value)
        else:
            sums = out.astype(wider)
            xp.add.at(sums, place, value.astype(wider))
            out[...] = sums.astype(out.dtype)


CUPY.row(INDEX)(single(_index, numbers=1))
CUPY.row(ASSIGN)(CupyRow(_assign, numbers=2, into=_assign_into, writes=lambda op, dtypes, dtype: True))
CUPY.row(FIRST_ROWS)(single(lambda xp, p, rows, steps: first_rows_values(p, rows, steps), numbers=1))
CUPY.row(LAST_ROW)(single(lambda xp, p, rows, initial: rows[-1] if len(rows) else initial.copy()))
CUPY.row(STATE_HISTORY)(single(lambda xp, p, rows, initial: history_values(xp, p.offset, rows, initial)))

# joining


def _repeat(xp: Any, parameters: Any, x: Any, counts: Any) -> Any:
    wanted = fetched(counts).tolist()  # CuPy takes counts from the host alone
    axis = parameters.axis
    listed = wanted if isinstance(wanted, list) else [wanted]
    if listed and min(listed) < 0:
        raise ScanvizValueError("a count cannot be negative", found=min(listed))
    if len(listed) not in (1, x.shape[axis]):
        raise ShapeError(
            f"one count is needed for each element along axis {axis}",
            expected=f"{x.shape[axis]} counts",
            found=f"{len(listed)} counts",
        )
    return xp.repeat(x, wanted, axis=axis)


CUPY.row(CONCATENATE)(single(lambda xp, p, *arrays: concatenate_values(xp, arrays, p.axis)))
CUPY.row(REPEAT)(single(_repeat))

# products

CUPY.row(linalg.DOT)(single(lambda xp, p, a, b: xp.dot(a, b)))
CUPY.row(linalg.MATMUL)(single(lambda xp, p, a, b: xp.matmul(a, b)))
CUPY.row(linalg.BATCHED_DOT)(single(lambda xp, p, a, b: linalg.batched_dot_values(xp, a, b)))
CUPY.row(linalg.TENSORDOT)(single(lambda xp, p, a, b: xp.tensordot(a, b, axes=(p.first, p.second))))

# reductions


def _called(name: str, *parameters: str, along: str = "axis") -> CupyRow:
    """Return the row of a CuPy function of that name; the parameter ``along`` holds the axes, others keep their names.

    A reduction of no elements has the result or the error of NumPy's meaning.
    """

    def reduced(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
        x, p = xp.asarray(values[0]), op.parameters
        if not x.size:
            return [xp.asarray(result) for result in op.perform([np.empty(x.shape, x.dtype)])]
        given = {parameter: getattr(p, parameter) for parameter in parameters}
        return (getattr(xp, name)(x, axis=getattr(p, along), **given),)

    return CupyRow(reduced)


def _to_shape(xp: Any, parameters: Any, x: Any, *sizes: Any) -> Any:
    axes = reduce.summed_axes(x.shape, sizes)
    return xp.sum(x, axis=axes, dtype=x.dtype, keepdims=True) if axes else x


for _name in ("sum", "prod"):
    CUPY.row(declared(_name))(_called(_name, "dtype", "keepdims", along="axes"))
for _name in ("max", "min", "all", "any"):
    CUPY.row(declared(_name))(_called(_name, "keepdims", along="axes"))
CUPY.row(reduce.ARGMAX)(_called("argmax", "keepdims"))
CUPY.row(reduce.ARGMIN)(_called("argmin", "keepdims"))
CUPY.row(reduce.CUMSUM)(_called("cumsum", "dtype"))
CUPY.row(reduce.CUMPROD)(_called("cumprod", "dtype"))
CUPY.row(reduce.SUM_TO_SHAPE)(single(_to_shape, scalars_on_host=False))

# softmax


def _shifted(xp: Any, parameters: Any, x: Any) -> Any:
    """Return floats less the largest along the axes."""
    floating = x.astype(float_dtype(str(x.dtype)))
    if not x.size:
        return floating
    largest = xp.maximum(floating.max(axis=parameters.axes, keepdims=True), np.finfo(floating.dtype).min)
    return floating - largest


def _sums(xp: Any, parameters: Any, powers: Any) -> Any:
    """Return sums along the axes, 1 where all are 0."""
    return xp.maximum(powers.sum(axis=parameters.axes, keepdims=True), 1)


def _softmax(xp: Any, parameters: Any, x: Any) -> Any:
    powers = xp.exp(_shifted(xp, parameters, x))
    return powers / _sums(xp, parameters, powers)


def _log_softmax(xp: Any, parameters: Any, x: Any) -> Any:
    shifted = _shifted(xp, parameters, x)
    return shifted - xp.log(_sums(xp, parameters, xp.exp(shifted)))


CUPY.row(SOFTMAX)(single(_softmax))
CUPY.row(LOG_SOFTMAX)(single(_log_softmax))

# sorting and counting


def _searchsorted(xp: Any, parameters: Any, a: Any, v: Any) -> Any:
    common = np.result_type(a, v)
    a, v = (xp.asarray(array).astype(common) for array in (a, v))
    return xp.searchsorted(a, v, side=parameters.side)


def _bincount(xp: Any, parameters: Any, numbers: Any, least: Any, *weights: Any) -> Any:
    smallest = int(fetched(numbers.min())) if numbers.size else 0
    check_counted(smallest, numbers.size, int(least), weights)
    dtype = "float64" if weights else "int64"
    if not numbers.size:
        return xp.zeros(int(least), dtype)
    TRAFFIC.waits += 2  # CuPy checks the least and reads the greatest
    return xp.bincount(numbers, *weights, minlength=int(least)).astype(dtype)


CUPY.row(SORT)(single(lambda xp, p, x: xp.sort(x, axis=p.axis)))
CUPY.row(ARGSORT)(single(lambda xp, p, x: xp.argsort(x, axis=p.axis)))
CUPY.row(SEARCHSORTED)(single(_searchsorted))
CUPY.row(BINCOUNT)(single(_bincount, numbers=1))

# effects, barriers and conditions


def _print(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    op.perform([fetched(values[0])])
    return (values[0].copy(),)


def _assert(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    op.perform([np.zeros(()), *map(fetched, values[1:])])  # the value itself is not checked
    return (values[0].copy(),)


def _ifelse(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    half = (len(values) - 1) // 2
    return values[1 : 1 + half] if bool(fetched(values[0])) else values[1 + half :]


CUPY.row(PRINT)(CupyRow(_print))
CUPY.row(ASSERT)(CupyRow(_assert))
# compiled functions have no barriers: only graphs run directly have
CUPY.row(DISCONNECTED_GRAD, ZERO_GRAD, GRAD_CLIP)(single(lambda xp, p, x: x))
CUPY.row(IFELSE)(CupyRow(_ifelse))
