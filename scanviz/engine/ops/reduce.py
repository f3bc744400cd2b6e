"""Reductions and cumulative operations: one binary function folded along axes.

Dtypes are NumPy's: sums and products of booleans and small integers are 64-bit, the rest keep their dtype.  Axes are
parameters, always resolved to numbers from 0, so that equal reductions are equal ops.  Means, variances and the like
are compositions of these in :mod:`scanviz.tensor.reductions`.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine import cost
from scanviz.engine.errors import ScanvizValueError, ShapeError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Notation, Op, fitted
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.notation import WrittenTerm, called
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import SIGNED, UNSIGNED, TensorType, Type, canonical_dtype
from scanviz.engine.ops.shape import axes_of, dimension, normal_axis
from scanviz.engine.ops.sizes import product_of
from scanviz.engine.ops.support import (
    DtypeRule,
    as_variable,
    infer_by,
    kept_dtype,
    static_dims,
    truth,
    wanted_shape,
)
from scanviz.engine.sizes.dims import Dims


class ReduceParameters(NamedTuple):
    """Parameters of a reduction: the axes that go, whether they stay with size 1, the dtype to compute in."""

    axes: tuple[int, ...]
    keepdims: bool = False
    dtype: str | None = None


class PlaceParameters(NamedTuple):
    """Parameters of argmax and argmin: the axis, None for a place in the flattened array."""

    axis: int | None
    keepdims: bool = False


class CumulativeParameters(NamedTuple):
    """Parameters of cumsum and cumprod: the axis, None for along the flattened array."""

    axis: int | None
    dtype: str | None = None


_FOLDED = Facts(
    cost.of_input, weight="heavy", foldable=True, axes=axes.but("axes", stays="keepdims"), calls=3
)
_KEPT = replace(_FOLDED, sign="kept")
_CHOSEN = replace(_KEPT, selects=True, either_zero=True)


def _notation(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return a call as in NumPy, which names the axes where they are not all."""
    axes, keepdims = op.parameters.axes, op.parameters.keepdims
    rank = operands[0].rank
    options: dict[str, object] = {}
    if rank is None or axes != tuple(range(rank)):
        options["axis"] = axes[0] if len(axes) == 1 else axes
    return called(op.name, operands, {**options, "keepdims": True} if keepdims else options)


class ReductionDeclaration(Declaration):
    """A reduction; call it to apply it.

    Attributes
    ----------
    function : callable
        ``function(array, axis=, dtype=, out=, keepdims=)``: a ufunc's ``reduce``.
    identity : bool
        Whether it has a value for no elements.
    """

    __slots__ = ("function", "identity")

    def __init__(
        self,
        name: str,
        ufunc: np.ufunc,
        dtypes: Callable[..., Sequence[str]],
        doc: str,
        identity: bool = True,
        facts: Facts = _FOLDED,
    ):
        super().__init__(
            name,
            "reduce",
            arity=1,
            doc=doc,
            infer=infer_by(dtypes),
            perform=_perform,
            shapes=_shapes,
            notation=_notation,
            facts=facts,
        )
        self.function: Callable[..., Any] = ufunc.reduce
        self.identity = identity

    def of_nothing(
        self, value: Array, axes: Sequence[int], dtype: str | None, out: Array | None, keep: bool
    ) -> Array:
        """Return what it is of an array without elements, where it has no value for none, called as its function is."""
        found = _of_nothing(self.name, value, axes, dtype or str(value.dtype), keep)
        return found if out is None else out

    def __call__(
        self, value: Any, axis: Any = None, *, keepdims: bool = False, dtype: object = None
    ) -> Variable:
        """Apply the reduction along ``axis``: an int, several, or None for all."""
        variable = as_variable(value)
        axes = normal_axes(axis, tensor_type(variable).ndim, f"{self.name} of `{describe(variable)}`")
        if not self.identity:
            _refuse_empty(self.name, variable, axes)
        wanted = None if dtype is None else canonical_dtype(dtype)
        return build_one(Op(self, ReduceParameters(axes, truth(keepdims, "keepdims"), wanted)), variable)


def normal_axes(axis: Any, ndim: int, what: str) -> tuple[int, ...]:
    """Return axes as sorted numbers from 0: of an int, several ints, or None for all.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError
        If an axis is no integer, does not exist or is named twice; ``what`` names the operation.
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    if ndim == 0 and builtins.all(isinstance(number, int) and number in (0, -1) for number in given):
        return ()  # NumPy lets a scalar be reduced along its first axis
    return tuple(sorted(axes_of(axis, ndim, what)))


def _refuse_empty(name: str, variable: Variable, axes: Sequence[int]) -> None:
    shape = tensor_type(variable).shape
    if builtins.any(shape[axis] == 0 for axis in axes):
        raise ShapeError.here(
            f"{name} of `{describe(variable)}`, which has no elements along the axes",
            expected="at least one element along the axes to reduce",
            found=f"`{describe(variable)}` {variable.type}, axes {tuple(axes)}",
        )


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return (_without(dims.shapes[0], op.parameters.axes, op.parameters.keepdims),)


def _without(shape: tuple[Any, ...], axes: Sequence[int], keep: bool) -> tuple[Any, ...]:
    if keep:
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    declaration, (axes, keep, dtype) = op.declaration, op.parameters
    assert isinstance(declaration, ReductionDeclaration)
    if not declaration.identity and not np.size(values[0]):
        return (declaration.of_nothing(values[0], axes, dtype, None, keep),)
    return (declaration.function(values[0], axes, dtype, None, keep),)


def _of_nothing(name: str, value: Array, axes: Sequence[int], dtype: str, keep: bool) -> Array:
    """Return what is chosen of elements along axes that have some, or in no rows.

    No rows are those of a loop of no steps, where all are done at once: there NumPy would ask for elements.

    Raises
    ------
    ShapeError
        If there are rows: a loop over them would fail in its first step.
    """
    shape = np.shape(value)
    if 0 in shape[: builtins.min(axes, default=0)] or 0 not in [shape[axis] for axis in axes]:
        return np.empty(_without(shape, axes, keep), dtype)
    raise ShapeError(
        f"{name} of an array without elements along the axes",
        expected="at least one element along the axes to reduce",
        found=f"shape {np.shape(value)}",
    )


def accumulator(dtype: str) -> str:
    """Return the dtype that NumPy sums and multiplies elements of ``dtype`` in."""
    if dtype in SIGNED or dtype == "bool":
        return "int64"
    return "uint64" if dtype in UNSIGNED else dtype


def _accumulated(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    return (op.parameters.dtype or accumulator(kinds[0].dtype),)


def _truth(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    return ("bool",)


sum = ReductionDeclaration("sum", np.add, _accumulated, "Sum along axes, 0 for no elements.", facts=_KEPT)
prod = ReductionDeclaration(
    "prod", np.multiply, _accumulated, "Product along axes, 1 for no elements.", facts=_KEPT
)
max = ReductionDeclaration(
    "max", np.maximum, kept_dtype, "Largest along axes; NaN if there is one.", identity=False, facts=_CHOSEN
)
min = ReductionDeclaration(
    "min", np.minimum, kept_dtype, "Smallest along axes; NaN if there is one.", identity=False, facts=_CHOSEN
)
all = ReductionDeclaration("all", np.logical_and, _truth, "Whether every element along axes is non-zero.")
any = ReductionDeclaration("any", np.logical_or, _truth, "Whether an element along axes is non-zero.")


def count(value: Any, axes: Sequence[int]) -> Variable:
    """Return the number of elements along axes: an int64 scalar, a constant if known."""
    return product_of(dimension(value, axis) for axis in axes)


def kept_or_flat(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    """Give a result the shape of its input, or that of all its elements in a line where no axis is named."""
    given = dims.shapes[0]
    return ((dims.product(given),) if op.parameters.axis is None else given,)


def along_axis(
    name: str,
    function: Callable[..., Array],
    doc: str,
    *,
    dtypes: DtypeRule,
    facts: Facts,
    family: str = "reduce",
    shapes: Callable[[Op, Dims], Sequence[tuple[Any, ...]]] = kept_or_flat,
    notation: Notation | None = None,
) -> Declaration:
    """Declare an operation of one input along an axis: ``function(array, *parameters)``, the axis first."""
    return Declaration(
        name,
        family,
        arity=1,
        doc=doc,
        infer=infer_by(dtypes),
        perform=lambda op, values: (function(np.asarray(values[0]), *op.parameters),),
        shapes=shapes,
        notation=notation,
        facts=facts,
    )


def _place_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    (given,), (axis, keep) = dims.shapes, op.parameters
    return (_without(given, range(len(given)) if axis is None else (axis,), keep),)


def _place_notation(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return a call as in NumPy, which names the axis where there is more than one."""
    axis, keepdims = op.parameters
    options: dict[str, object] = {} if axis is None or operands[0].rank == 1 else {"axis": axis}
    return called(op.name, operands, {**options, "keepdims": True} if keepdims else options)


def _placed(function: Callable[..., Array]) -> Callable[..., Array]:
    def place(value: Array, axis: int | None, keepdims: bool) -> Array:
        if not np.size(value):
            axes = range(np.ndim(value)) if axis is None else (axis,)
            return _of_nothing(function.__name__, value, axes, "int64", keepdims)
        return function(value, axis=axis, keepdims=keepdims)

    return place


_place = partial(
    along_axis,
    dtypes=lambda op, kinds: ("int64",),
    shapes=_place_shapes,
    notation=_place_notation,
    facts=replace(_FOLDED, axes=axes.but("axis", stays="keepdims"), calls=6),
)
ARGMAX = _place("argmax", _placed(np.argmax), "Index of the first largest element along an axis.")
ARGMIN = _place("argmin", _placed(np.argmin), "Index of the first smallest element along an axis.")


@meaning("method:argmax")
def argmax(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """Index of the first largest element along an axis; NaN counts as largest.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int, optional
        The axis; by default the index is that into the flattened tensor.
    keepdims : bool
        Whether the axis stays, with size 1.

    Returns
    -------
    Variable
        int64 indices.

    Raises
    ------
    ShapeError
        If there are no elements along the axis, when building or at run time.
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.argmax(x).eval({x: [1.0, 7.0, 3.0]})
    array(1)
    """
    return _build_place(ARGMAX, x, axis, keepdims)


@meaning("method:argmin")
def argmin(x: Any, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """Index of the first smallest element along an axis; NaN counts as smallest.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, keepdims
        As in :func:`argmax`.

    Returns
    -------
    Variable
        int64 indices.

    Raises
    ------
    ShapeError
        If there are no elements along the axis, when building or at run time.
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.argmin(x).eval({x: [1.0, 7.0, 3.0]})
    array(0)
    """
    return _build_place(ARGMIN, x, axis, keepdims)


def _build_place(declaration: Declaration, value: Any, axis: int | None, keepdims: bool) -> Variable:
    variable = as_variable(value)
    place = single_axis(axis, variable, declaration.name)
    _refuse_empty(
        declaration.name, variable, range(tensor_type(variable).ndim) if place is None else (place,)
    )
    return build_one(Op(declaration, PlaceParameters(place, truth(keepdims, "keepdims"))), variable)


def single_axis(axis: int | None, variable: Variable, what: str) -> int | None:
    """Return one axis as a number from 0; None for the flattened array, unless that is the array itself."""
    ndim = tensor_type(variable).ndim
    if axis is None:
        return 0 if ndim == 1 else None
    if ndim == 0 and axis in (0, -1):
        return None
    return normal_axis(axis, ndim, f"{what} of `{describe(variable)}`")


_cumulative = partial(along_axis, dtypes=_accumulated, facts=replace(_FOLDED, axes=axes.but("axis"), calls=6))
CUMSUM = _cumulative("cumsum", np.cumsum, "Sums of the elements so far along an axis.")
CUMPROD = _cumulative("cumprod", np.cumprod, "Products of the elements so far along an axis.")


@meaning("method:cumsum")
def cumsum(x: Any, axis: int | None = None, dtype: object = None) -> Variable:
    """Sums of the elements so far along an axis.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis : int, optional
        The axis; by default that of the flattened tensor.
    dtype : dtype, optional
        As in :func:`sum`.

    Returns
    -------
    Variable
        Tensor of the shape of ``x``, or a vector where ``axis`` is None.

    Raises
    ------
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.cumsum(T.arange(5)).eval()
    array([ 0,  1,  3,  6, 10])
    """
    return _build_cumulative(CUMSUM, x, axis, dtype)


@meaning("method:cumprod")
def cumprod(x: Any, axis: int | None = None, dtype: object = None) -> Variable:
    """Products of the elements so far along an axis.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    axis, dtype
        As in :func:`cumsum`.

    Returns
    -------
    Variable
        Tensor of the shape of ``x``, or a vector where ``axis`` is None.

    Raises
    ------
    ScanvizValueError
        If the axis does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.cumprod(T.arange(1, 5)).eval()
    array([ 1,  2,  6, 24])
    """
    return _build_cumulative(CUMPROD, x, axis, dtype)


def _build_cumulative(declaration: Declaration, value: Any, axis: int | None, dtype: object) -> Variable:
    variable = as_variable(value)
    wanted = None if dtype is None else canonical_dtype(dtype)
    place = single_axis(axis, variable, declaration.name)
    return build_one(Op(declaration, CumulativeParameters(place, wanted)), variable)


def _to_shape_infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    kind = tensor_type(inputs[0])
    if kind.ndim != len(inputs) - 1:
        raise ScanvizValueError(
            "sum_to_shape takes one size per axis", expected=kind.ndim, found=len(inputs) - 1
        )
    return (kind.with_shape(wanted_shape(op, static_dims(inputs))[0]),)


def summed_axes(given: Sequence[int], sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return the axes along which an array is summed to a shape."""
    wanted = tuple(int(size) for size in sizes)
    axes = tuple(k for k, (a, b) in enumerate(zip(given, wanted, strict=True)) if a != b)
    if builtins.any(wanted[axis] != 1 for axis in axes):
        raise ShapeError(
            "cannot be summed to a shape", expected=f"shape {wanted}, or larger where it is 1", found=given
        )
    return axes


def _to_shape_perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    axes = summed_axes(np.shape(values[0]), values[1:])
    if not axes:
        return (values[0],)
    return (np.add.reduce(values[0], axes, dtype=values[0].dtype, keepdims=True),)


SUM_TO_SHAPE = Declaration(
    "sum_to_shape",
    "reduce",
    arity=(1, None),
    doc="Sum along the axes whose size is to be 1: what undoes broadcasting.",
    infer=_to_shape_infer,
    perform=_to_shape_perform,
    shapes=wanted_shape,
    notation=fitted,
    views=0,
    facts=replace(_FOLDED, counted=False, sign="kept", axes=axes.elementwise),
)
