"""New arrays from numbers: ranges, identity matrices, triangles and diagonals.

How many elements there are follows from values (``arange(n)``): a shape is known when building where these are sizes or constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.notation import WrittenTerm, called
from scanviz.engine.graph.types import INTEGERS, canonical_dtype
from scanviz.engine.ops.shape import axes_of, dimshuffle
from scanviz.engine.ops.support import (
    as_integer,
    as_variable,
    constant_integer,
    infer_by,
    kept_dtype,
    kept_shape,
    whole,
)
from scanviz.engine.sizes.dims import Dims


class DtypeParameters(NamedTuple):
    """The dtype of the result."""

    dtype: str


class DiagonalParameters(NamedTuple):
    """The diagonal (0 is the main one, positive above it), and whether the lower part is kept."""

    offset: int
    lower: bool = True


class EyeParameters(NamedTuple):
    """The diagonal of ones, and the dtype."""

    offset: int
    dtype: str


def _arange_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    if op.parameters.dtype not in INTEGERS:
        return ((None,),)  # how many steps fit is a matter of rounding
    start, stop, step = (dims.value(k) for k in range(3))
    if isinstance(step, int) and step > 0:
        count = dims.floor_divide(dims.add(dims.subtract(stop, start), step - 1), step)
    else:  # the quotient rounded up, whatever the sign of the step
        count = dims.subtract(0, dims.floor_divide(dims.subtract(start, stop), step))
    return ((dims.maximum(count, 0),),)


def _arange_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    # scalars with their dtypes, which decide how the length is rounded
    start, stop, step = (np.asarray(value)[()] for value in values)  # type: Any, Any, Any
    if step == 0:
        raise ScanvizValueError("the step of arange is 0")
    return (np.arange(start, stop, step, dtype=op.parameters.dtype),)


_CHEAP = Facts(cheap=True)
ARANGE = Declaration(
    "arange",
    "creation",
    arity=3,
    doc="Evenly spaced numbers.",
    infer=infer_by(lambda op, kinds: (op.parameters.dtype,)),
    perform=_arange_perform,
    shapes=_arange_shapes,
    facts=Facts(cheap=True, calls=6),
)


def _arange_dtype(given: Sequence[Any]) -> Any:
    """Return NumPy's dtype: at least int64; floats of Python alone give ``config.floatX``."""
    if all(type(bound) in (int, float) for bound in given):
        return config.floatX if any(type(bound) is float for bound in given) else "int64"
    return np.result_type("int64", *(tensor_type(as_variable(bound)).dtype for bound in given))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: object = None) -> Variable:
    """Evenly spaced numbers.

    Parameters
    ----------
    start, stop, step : int, float or scalar variable
        As for ``numpy.arange``; one argument alone is ``stop``.
    dtype : dtype, optional
        By default as NumPy: int64 for whole numbers, float64 for floats; ``config.floatX`` for Python floats alone.

    Returns
    -------
    Variable
        Vector.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> n = T.iscalar("n")
    >>> T.arange(n).eval({n: 4})
    array([0, 1, 2, 3])
    """
    given = (0, start, step) if stop is None else (start, stop, step)
    parts = [as_variable(bound) for bound in given]
    for part in parts:
        if tensor_type(part).ndim != 0:
            raise ScanvizTypeError.here(
                "the bounds of arange must be scalars", found=f"`{describe(part)}` {part.type}"
            )
    if constant_integer(parts[2]) == 0:
        raise ScanvizValueError.here("the step of arange is 0")
    wanted = canonical_dtype(_arange_dtype(given) if dtype is None else dtype)
    if wanted in INTEGERS and all(tensor_type(part).dtype in INTEGERS for part in parts):
        parts = [as_integer(part, "arange: a bound") for part in parts]
    return build_one(Op(ARANGE, DtypeParameters(wanted)), *parts)


def eye_values(xp: Any, parameters: EyeParameters, *sizes: Any) -> Any:
    """Return a matrix of an array library with ones on a diagonal."""
    rows, columns = map(int, sizes)
    if rows < 0 or columns < 0:
        raise ShapeError("a size cannot be negative", found=(rows, columns))
    return xp.eye(rows, columns, parameters.offset, parameters.dtype)


EYE = Declaration(
    "eye",
    "creation",
    arity=2,
    doc="Matrix with ones on a diagonal.",
    infer=infer_by(lambda op, kinds: (op.parameters.dtype,)),
    perform=lambda op, values: (eye_values(np, op.parameters, *values),),
    shapes=lambda op, dims: ((dims.value(0), dims.value(1)),),
    facts=Facts(cheap=True, calls=14),
)


def eye(n: Any, m: Any = None, k: int = 0, dtype: object = None) -> Variable:
    """Matrix with ones on its k-th diagonal, n × m (square by default).

    Parameters
    ----------
    n, m : int or integer scalar variable
        Rows and columns.
    k : int, optional
        The diagonal: 0 for the main one, positive above it.
    dtype : dtype, optional
        ``config.floatX`` by default.

    Raises
    ------
    ScanvizTypeError
        If a size is no integer.
    ShapeError
        At run time, if a size is negative.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.eye(2).eval()
    array([[1., 0.],
           [0., 1.]])
    """
    rows = as_integer(n, "eye: the number of rows")
    columns = rows if m is None else as_integer(m, "eye: the number of columns")
    return build_one(
        Op(
            EYE, EyeParameters(whole(k, "eye: k"), canonical_dtype(config.floatX if dtype is None else dtype))
        ),
        rows,
        columns,
    )


_of_array = partial(Declaration, family="creation", arity=1, infer=infer_by(kept_dtype))


def _triangle_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    cut = np.tril if op.parameters.lower else np.triu
    return (cut(values[0], op.parameters.offset),)


def _triangle_notation(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    offset, lower = op.parameters
    return called("tril" if lower else "triu", operands, {"k": offset} if offset else {})


TRIANGLE = _of_array(
    "triangle",
    doc="One triangle of matrices, zeros elsewhere.",
    perform=_triangle_perform,
    shapes=kept_shape,
    notation=_triangle_notation,
    facts=Facts(cheap=True, axes=axes.elementwise, calls=14),
)


def triangle(value: Any, offset: int, lower: bool) -> Variable:
    """Return the lower or upper triangle of the last two axes, up to a diagonal."""
    variable = as_variable(value)
    if tensor_type(variable).ndim < 2:
        raise ScanvizTypeError.here("a triangle needs a matrix", found=variable.type)
    return build_one(Op(TRIANGLE, DiagonalParameters(whole(offset, "the diagonal k"), lower)), variable)


def _diagonal_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    *rest, rows, columns = dims.shapes[0]
    offset = op.parameters.offset
    rows = rows if offset >= 0 else dims.maximum(dims.subtract(rows, -offset), 0)
    columns = columns if offset <= 0 else dims.maximum(dims.subtract(columns, offset), 0)
    return ((*rest, dims.minimum(rows, columns)),)


DIAGONAL = _of_array(
    "diagonal",
    doc="A diagonal of matrices.",
    perform=lambda op, values: (np.diagonal(values[0], op.parameters.offset, -2, -1),),
    shapes=_diagonal_shapes,
    views=0,
    facts=Facts(cheap=True, axes=axes.stacked),
)


def diagonal(value: Any, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Variable:
    """Return a diagonal of two axes, as the last axis of the result."""
    variable = as_variable(value)
    rank, what = tensor_type(variable).ndim, f"a diagonal of `{describe(variable)}`"
    if rank < 2:
        raise ScanvizTypeError.here(
            f"{what}, which is no matrix", expected="at least 2 dimensions", found=variable.type
        )
    pair = axes_of((axis1, axis2), rank, what)
    matrices = dimshuffle(variable, [*(axis for axis in range(rank) if axis not in pair), *pair])
    return build_one(Op(DIAGONAL, DiagonalParameters(whole(offset, "the offset of the diagonal"))), matrices)


def _from_diagonal_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    size = dims.add(dims.shapes[0][0], abs(op.parameters.offset))
    return ((size, size),)


FROM_DIAGONAL = _of_array(
    "from_diagonal",
    doc="Square matrix with a vector on a diagonal.",
    perform=lambda op, values: (np.diag(values[0], op.parameters.offset),),
    shapes=_from_diagonal_shapes,
    facts=_CHEAP,
)


def from_diagonal(value: Any, offset: int = 0) -> Variable:
    """Return the square matrix that has a vector on a diagonal."""
    variable = as_variable(value)
    if tensor_type(variable).ndim != 1:
        raise ScanvizTypeError.here("a diagonal matrix is made from a vector", found=variable.type)
    return build_one(Op(FROM_DIAGONAL, DiagonalParameters(whole(offset, "the diagonal k"))), variable)
