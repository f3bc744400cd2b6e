"""Products of matrices and tensors of any rank, and helpers of all operations on matrices.

``dot`` and ``matmul`` are the hot operations of loops: their meaning is NumPy's function of that name and nothing
else.  What solves and factorises matrices is in :mod:`scanviz.engine.ops.factorise` and :mod:`scanviz.engine.ops.decompose`: there
leading axes are batches, as in NumPy, integers are computed as float64, and float16 is refused, since LAPACK has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from scanviz.engine import cost
from scanviz.engine.errors import NumericalError, ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.notation import WrittenTerm
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.shape import axes_of
from scanviz.engine.ops.support import as_variable, float_dtype, infer_by
from scanviz.engine.sizes.dims import Dim, Dims


class TensordotParameters(NamedTuple):
    """Parameters of ``tensordot``: the axes of either input that are summed over, in pairs."""

    first: tuple[int, ...]
    second: tuple[int, ...]


def contracted(dims: Dims, first: Dim, second: Dim, what: str) -> Dim:
    """Return the dimension that two arrays are summed over together, or raise for dimensions that differ."""
    try:
        return dims.same(first, second)
    except ShapeError as error:
        raise ShapeError(what, expected=f"size {error.expected}", found=f"size {error.found}") from None


def _promoted(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    return (np.result_type(*(kind.dtype for kind in kinds)).name,)


def _dot_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    first, second = dims.shapes
    if not first or not second:
        return (first or second,)
    row = -2 if len(second) > 1 else -1
    which = "second last" if len(second) > 1 else "only"
    message = f"the last dimension of the first must be as long as the {which} dimension of the second"
    contracted(dims, first[-1], second[row], message)
    return ((*first[:-1], *second[:-2], *second[-1:]) if len(second) > 1 else first[:-1],)


def dot_values(first: Array, second: Array, out: Array | None = None) -> Array:
    """Return ``np.dot``; a stack of rows times a matrix as one product of matrices, which NumPy leaves to slow loops."""
    if np.ndim(first) < 3 or np.ndim(second) != 2 or not np.size(first):
        return np.asarray(np.dot(first, second) if out is None else np.dot(first, second, out))
    rows = np.reshape(first, (-1, first.shape[-1]))
    shape = (*first.shape[:-1], second.shape[1])
    if out is None or not out.flags.c_contiguous:
        product = np.dot(rows, second).reshape(shape)
        if out is None:
            return np.asarray(product)
        out[...] = product
        return out
    np.dot(rows, second, out.reshape(-1, shape[-1]))
    return out


_PRODUCT = Facts(cost.product, weight="heavy", axes=axes.product, product=True, calls=2)
_product = partial(Declaration, family="linalg", arity=2, infer=infer_by(_promoted))
DOT = _product(
    "dot",
    doc="Product of matrices and vectors: the last axis of the first summed with the second last of the second.",
    perform=lambda op, values: (dot_values(values[0], values[1]),),
    shapes=_dot_shapes,
    facts=_PRODUCT,
)


@meaning("method:dot")
def dot(a: Any, b: Any) -> Variable:
    """Product of vectors, matrices and tensors.

    Parameters
    ----------
    a, b : array_like
        Vectors and matrices of fitting sizes.  With more dimensions, the last of ``a`` is summed with the second last
        of ``b``; with a scalar it is the elementwise product.

    Returns
    -------
    Variable
        Tensor of shape ``a.shape[:-1] + b.shape[:-2] + b.shape[-1:]``, of the common dtype.

    Raises
    ------
    ShapeError
        If sizes known when building do not fit.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x, W = T.vector("x"), T.matrix("W")
    >>> T.dot(x, W).eval({x: [1.0, 2.0], W: [[1.0, 0.0], [0.0, 3.0]]})
    array([1., 6.])
    """
    first, second = as_variable(a), as_variable(b)
    if tensor_type(first).ndim == 0 or tensor_type(second).ndim == 0:
        return e.multiply(first, second)
    return build_one(Op(DOT), first, second)


def _matmul_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    first, second = dims.shapes
    if not first or not second:
        raise ScanvizTypeError("a scalar is no matrix", expected="at least one dimension", fix="x * y")
    message = "the last dimension of the first must be as long as the rows of the second"
    contracted(dims, first[-1], second[-2] if len(second) > 1 else second[-1], message)
    batch = dims.broadcast(first[:-2], second[:-2])
    return ((*batch, *(first[-2:-1]), *(second[-1:] if len(second) > 1 else ())),)


MATMUL = _product(
    "matmul",
    doc="Product of matrices; leading axes are batches that broadcast.",
    perform=lambda op, values: (np.matmul(values[0], values[1]),),
    shapes=_matmul_shapes,
    symbol="@",
    facts=replace(_PRODUCT, axes=axes.stacked_product),
)


@meaning("matmul")
def matmul(a: Any, b: Any) -> Variable:
    """Product of matrices, ``a @ b``; leading dimensions are batches that broadcast.

    Parameters
    ----------
    a, b : array_like
        Tensors of at least one dimension.  A vector is a row on the left, a column on the right.

    Returns
    -------
    Variable
        Tensor of shape ``(*batch, rows of a, columns of b)``, without the dimensions that a vector does not have.

    Raises
    ------
    ScanvizTypeError
        If one is a scalar.
    ShapeError
        If sizes known when building do not fit.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> a, b = T.tensor3("a"), T.matrix("b")
    >>> T.matmul(a, b).eval({a: [[[1.0, 2.0]], [[3.0, 4.0]]], b: [[1.0], [1.0]]}).ravel()
    array([3., 7.])
    """
    return build_one(Op(MATMUL), as_variable(a), as_variable(b))


def _batched_dot_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    first, second = dims.shapes
    if len(first) < 2 or len(second) < 2:
        raise ScanvizTypeError(
            "a batch of scalars has no product of matrices", expected="at least two dimensions", fix="x * y"
        )
    batch = contracted(dims, first[0], second[0], "the batches must be equally long")
    row = second[-2] if len(second) > 2 else second[-1]
    contracted(
        dims, first[-1], row, "the last dimension of the first must be as long as the rows of the second"
    )
    return ((batch, *first[1:-1], *(second[1:-2] + second[-1:] if len(second) > 2 else ())),)


def batched_dot_values(xp: Any, first: Any, second: Any) -> Any:
    """Return the products of pairs of matrices, of an array library."""
    batch, inner = first.shape[0], first.shape[-1]
    if second.shape[0] != batch:
        raise ShapeError(
            "the batches must be equally long", expected=f"size {batch}", found=f"size {second.shape[0]}"
        )
    if first.ndim == second.ndim == 3:
        return xp.matmul(first, second)
    columns = second[:, :, None] if second.ndim == 2 else xp.moveaxis(second, -2, 1)
    left, right = first.shape[1:-1], columns.shape[2:]
    rows = first.reshape(batch, prod(left), inner)
    product = xp.matmul(rows, columns.reshape(batch, columns.shape[1], prod(right)))
    return product.reshape((batch, *left, *(() if second.ndim == 2 else right)))


BATCHED_DOT = _product(
    "batched_dot",
    doc="dot of each pair of elements along the first axis.",
    perform=lambda op, values: (batched_dot_values(np, *values),),
    shapes=_batched_dot_shapes,
    facts=replace(_PRODUCT, axes=axes.product_of_pairs),
)


def batched_dot(a: Any, b: Any) -> Variable:
    """Product of each pair of elements along the first axis.

    Parameters
    ----------
    a, b : array_like
        Tensors of at least two dimensions, with equal sizes of the first: it does not broadcast.

    Returns
    -------
    Variable
        Tensor whose element k is ``dot(a[k], b[k])``.

    Raises
    ------
    ScanvizTypeError
        If one has less than two dimensions.
    ShapeError
        If sizes do not fit, when building or at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> a, b = T.matrix("a"), T.matrix("b")
    >>> T.batched_dot(a, b).eval({a: [[1.0, 2.0], [3.0, 4.0]], b: [[1.0, 1.0], [0.0, 2.0]]})
    array([3., 8.])
    """
    return build_one(Op(BATCHED_DOT), as_variable(a), as_variable(b))


def _tensordot_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    first, second = dims.shapes
    for one, other in zip(*op.parameters, strict=True):
        message = f"axis {one} of the first must be as long as axis {other} of the second"
        contracted(dims, first[one], second[other], message)
    left = tuple(size for axis, size in enumerate(first) if axis not in op.parameters.first)
    right = tuple(size for axis, size in enumerate(second) if axis not in op.parameters.second)
    return (left + right,)


def _tensordot_notation(op: Op, operands: Sequence[WrittenTerm]) -> WrittenTerm:
    """Return a call that names the pairs of axes."""
    first, second = (axes[0] if len(axes) == 1 else axes for axes in op.parameters)
    return WrittenTerm(f"tensordot({operands[0].text}, {operands[1].text}, axes=({first}, {second}))")


TENSORDOT = _product(
    "tensordot",
    doc="Sum of products over pairs of axes.",
    perform=lambda op, values: (np.tensordot(values[0], values[1], axes=op.parameters),),
    shapes=_tensordot_shapes,
    notation=_tensordot_notation,
    facts=replace(_PRODUCT, flops=cost.tensor_product, axes=axes.tensor_product, calls=12),
)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Variable:
    """Sum of products over pairs of axes.

    Parameters
    ----------
    a, b : array_like
        Tensors.
    axes : int or pair of (sequences of) int
        Number of last axes of ``a`` that go with the first of ``b``; or the axes of ``a`` and those of ``b``.

    Returns
    -------
    Variable
        Tensor with the remaining axes of ``a``, then those of ``b``.

    Raises
    ------
    ScanvizTypeError, ScanvizValueError
        If ``axes`` is neither, or names an axis that does not exist or is named twice.
    ShapeError
        If sizes known when building do not fit.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> a, b = T.matrix("a"), T.matrix("b")
    >>> T.tensordot(a, b, axes=([0], [1])).eval({a: [[1.0, 2.0]], b: [[3.0], [4.0]]})
    array([[3., 4.],
           [6., 8.]])
    """
    first, second = as_variable(a), as_variable(b)
    return build_one(Op(TENSORDOT, _axis_pairs(axes, first, second)), first, second)


def _axis_pairs(axes: Any, a: Variable, b: Variable) -> TensordotParameters:
    ranks = tensor_type(a).ndim, tensor_type(b).ndim
    if isinstance(axes, int | np.integer) and not isinstance(axes, bool):
        if not 0 <= axes <= min(ranks):
            raise ScanvizValueError.here(
                f"tensordot cannot sum over {axes} axes of `{describe(a)}` and `{describe(b)}`",
                expected=f"a number from 0 to {min(ranks)}",
                found=axes,
            )
        return TensordotParameters(tuple(range(ranks[0] - int(axes), ranks[0])), tuple(range(int(axes))))
    if not isinstance(axes, list | tuple) or len(axes) != 2:
        raise ScanvizTypeError.here(
            "tensordot: axes must be a number or a pair", expected="2, or ([0, 1], [1, 0])", found=repr(axes)
        )
    both = [
        tuple(axes_of(wanted, rank, f"tensordot of `{describe(variable)}`"))
        for wanted, rank, variable in zip(axes, ranks, (a, b), strict=True)
    ]
    if len(both[0]) != len(both[1]):
        raise ScanvizValueError.here(
            "tensordot: axes come in pairs", expected="two lists of one length", found=axes
        )
    return TensordotParameters(*both)


ShapeRule = Callable[[Op, Dims], Sequence[tuple[Any, ...]]]
SINGULAR = "the matrix is singular"
NOT_POSITIVE = "the matrix is not positive definite"


def floating_dtypes(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    """Return the floating dtype that matrices are computed in, for each output; there is no float16."""
    if any(kind.dtype == "float16" for kind in kinds):
        raise ScanvizTypeError(
            "there is no linear algebra in float16", expected="float32 or float64", fix='T.cast(x, "float32")'
        )
    common = np.result_type(*(float_dtype(kind.dtype) for kind in kinds)).name
    return (common,) * op.declaration.outputs


def rectangular(dims: Dims) -> tuple[tuple[Dim, ...], Dim, Dim]:
    """Return the batch of the matrices that the first input holds, their rows and their columns."""
    shape = dims.shapes[0]
    if len(shape) < 2:
        raise ScanvizTypeError("a matrix is needed", expected="at least 2 dimensions", found=f"{len(shape)}")
    *batch, rows, columns = shape
    return tuple(batch), rows, columns


def square(dims: Dims) -> tuple[tuple[Dim, ...], Dim]:
    """Return the batch and the size of the square matrices that the first input holds."""
    batch, rows, columns = rectangular(dims)
    return batch, contracted(dims, rows, columns, "the matrix must be square")


def matrix_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    """Return the shape of the matrices, which are square."""
    batch, size = square(dims)
    return ((*batch, size, size),)


def check_square(matrices: Array, error: np.linalg.LinAlgError) -> None:
    """Raise the error of matrices that have to be square, if NumPy refused them for that."""
    if "square" in str(error):
        raise ShapeError("the matrix must be square", found=f"shape {matrices.shape}") from None


def which_fails(function: Callable[[Array], Any], matrices: Array) -> str:
    """Say which matrix of a batch a function fails on."""
    for place in np.ndindex(matrices.shape[:-2]) if matrices.ndim > 2 else ():
        try:
            function(matrices[place])
        except np.linalg.LinAlgError:
            return f" (matrix {', '.join(map(str, place))} of the batch)"
    return ""


def of_matrices(
    family: str,
    function: Callable[..., Any],
    doc: str,
    shapes: ShapeRule,
    share: Fraction,
    *,
    name: str = "",
    failure: str = "",
    outputs: int = 1,
) -> Declaration:
    """Declare an operation on each matrix of a batch.

    Parameters
    ----------
    function : callable
        ``function(matrices, *parameters)``, as NumPy has it.
    share : Fraction
        Floating-point operations, as a share of n³.
    failure : str
        The message where NumPy finds no result; the position in a batch is added.
    """

    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        given, parameters = np.asarray(values[0]), op.parameters or ()
        try:
            found = function(given, *parameters)
        except np.linalg.LinAlgError as error:
            check_square(given, error)
            why = which_fails(lambda one: function(one, *parameters), given)
            raise NumericalError(failure + why) from None
        return tuple(found) if outputs > 1 else (found,)

    return Declaration(
        name or function.__name__,
        family,
        arity=1,
        doc=doc,
        infer=infer_by(floating_dtypes),
        perform=perform,
        shapes=shapes,
        outputs=outputs,
        facts=Facts(cost.cube(share), weight="heavy", axes=axes.stacked, calls=14),
    )
