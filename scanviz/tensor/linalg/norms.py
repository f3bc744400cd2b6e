"""Norms of vectors and matrices, under NumPy's name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.decompose import svdvals
from scanviz.engine.ops.shape import dimshuffle, normal_axis
from scanviz.engine.ops.support import as_variable, real, truth
from scanviz.tensor.shapes import squeeze
from scanviz.tensor.statistics import root


def norm(
    x: Any, ord: float | str | None = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Variable:
    """Norm of vectors or matrices.

    Parameters
    ----------
    x : array_like
        Tensor; without ``axis`` a vector or a matrix, or any tensor where ``ord`` is None too.
    ord : number, inf, -inf, "fro", "nuc" or None
        For vectors any number, or infinities for the largest and smallest absolute value; for matrices None or
        ``"fro"`` for the root of the sum of squares, 1 and -1 for columns, inf and -inf for rows, 2 and -2 for the largest
        and smallest singular value, ``"nuc"`` for their sum.
    axis : int or pair of int, optional
        An axis of vectors, or two of matrices.
    keepdims : bool
        Whether the axes stay, with size 1.

    Returns
    -------
    Variable
        The norms, floating; their derivative at 0 is 0, but of singular values, where it is a matrix of length 1.

    Raises
    ------
    ScanvizValueError
        If ``ord`` has no meaning here, or an axis does not exist.
    ScanvizTypeError
        If singular values of float16 are asked for.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.norm(x).eval({x: [3.0, 4.0]})
    array(5.)
    """
    variable = as_variable(x)
    kind = tensor_type(variable)
    values = e.as_floating(variable)
    what = f"norm of `{describe(variable)}`"
    axes = r.normal_axes(axis, kind.ndim, what)
    if isinstance(axis, list | tuple):  # rows and columns in the order given
        axes = tuple(normal_axis(place, kind.ndim, what) for place in axis)
    if ord is not None and not isinstance(ord, str):
        ord = real(ord, "norm: ord")
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return root(r.sum(e.square(values), axes, keepdims=keepdims))
    if len(axes) == 1 and not isinstance(ord, str):
        return _vector_norm(e.absolute(values), ord, axes[0], keepdims)
    if len(axes) == 2 and ord in (1, -1, math.inf, -math.inf):
        return _matrix_norm(e.absolute(values), float(ord), axes, keepdims)
    if len(axes) == 2 and ord in (2, -2, "nuc"):
        return _spectral_norm(values, ord, axes, truth(keepdims, "norm: keepdims"))
    raise ScanvizValueError.here(
        f"norm of `{describe(variable)}`: ord={ord!r} has no meaning over {len(axes)} axes",
        expected="for vectors a number, inf or -inf; for matrices 'fro', 'nuc', 1, -1, 2, -2, inf or -inf",
        found=repr(ord),
    )


def _vector_norm(sizes: Variable, ord: float, axis: int, keepdims: bool) -> Variable:
    if math.isinf(ord):
        return (r.max if ord > 0 else r.min)(sizes, axis, keepdims=keepdims)
    if ord == 0:
        dtype = tensor_type(sizes).dtype
        return r.sum(e.cast(e.not_equal(sizes, 0), dtype), axis, keepdims=keepdims)
    if ord == 1:
        return r.sum(sizes, axis, keepdims=keepdims)
    total = r.sum(e.power(sizes, float(ord)), axis, keepdims=keepdims)
    return root(total, 1.0 / ord) if ord > 0 else e.power(total, 1.0 / ord)


def _matrix_norm(sizes: Variable, ord: float, axes: tuple[int, ...], keepdims: bool) -> Variable:
    ndim = tensor_type(sizes).ndim
    row, column = r.normal_axes(axes[0], ndim, "norm")[0], r.normal_axes(axes[1], ndim, "norm")[0]
    along, across = (column, row) if math.isinf(ord) else (row, column)
    sums = r.sum(sizes, along, keepdims=True)
    chosen = (r.max if ord > 0 else r.min)(sums, across, keepdims=True)
    return chosen if keepdims else squeeze(chosen, (row, column))


def _spectral_norm(values: Variable, ord: float | str, axes: tuple[int, ...], keepdims: bool) -> Variable:
    ndim = tensor_type(values).ndim
    rest = [axis for axis in range(ndim) if axis not in axes]
    singular = svdvals(dimshuffle(values, [*rest, *axes]))
    found = (r.sum if ord == "nuc" else r.max if ord == 2 else r.min)(singular, -1)
    if not keepdims:
        return found
    places = iter(range(len(rest)))
    return dimshuffle(found, ["x" if axis in axes else next(places) for axis in range(ndim)])
