"""New arrays under NumPy's names: filled with one value, triangles and diagonals."""

from __future__ import annotations

from typing import Any

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Constant, Variable, tensor_type
from scanviz.engine.graph.syntax import meaning
from scanviz.engine.graph.types import BOOLEAN, TensorType, canonical_dtype
from scanviz.engine.ops import creation as create
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.shape import ConstantOf, alloc, dimension
from scanviz.engine.ops.support import as_value, as_variable


def full(shape: Any, fill_value: Any, dtype: object = None) -> Variable:
    """Array of a shape filled with one value.

    Parameters
    ----------
    shape : int, scalar variable, list of these or vector variable of known length
        Sizes.
    fill_value : array_like
        Broadcast to the shape.
    dtype : dtype, optional
        By default that of ``fill_value``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.full((2,), 7).eval()
    array([7, 7])
    """
    value = as_value(fill_value)
    return alloc(value if dtype is None else cast(value, dtype), shape)


def zeros(shape: Any, dtype: object = None) -> Variable:
    """Array of zeros.

    Parameters
    ----------
    shape : int, scalar variable, list of these or vector variable of known length
        Sizes.
    dtype : dtype, optional
        ``config.floatX`` by default.

    Raises
    ------
    ScanvizTypeError
        If a size is no integer, or the length of a shape vector is not known.
    ShapeError
        If a size is negative: at once where it is known, else at run time.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.zeros((2, 2)).eval()
    array([[0., 0.],
           [0., 0.]])
    """
    return alloc(as_variable(0, canonical_dtype(config.floatX if dtype is None else dtype)), shape)


def ones(shape: Any, dtype: object = None) -> Variable:
    """Array of ones; parameters as for :func:`zeros`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.ones(3, dtype="int64").eval()
    array([1, 1, 1])
    """
    return alloc(as_variable(1, canonical_dtype(config.floatX if dtype is None else dtype)), shape)


@meaning("method:zeros_like")
def zeros_like(x: Any, dtype: object = None) -> Variable:
    """Zeros of the shape of ``x``, in its dtype or another.

    Parameters
    ----------
    x : array_like
        Its shape is taken; none of its values are computed.
    dtype : dtype, optional
        Dtype of the result, by default that of ``x``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.zeros_like([1.0, 2.0]).eval()
    array([0., 0.])
    """
    return filled_like(x, 0, dtype)


@meaning("method:ones_like")
def ones_like(x: Any, dtype: object = None) -> Variable:
    """Ones of the shape of ``x``, in its dtype or another.

    Parameters
    ----------
    x : array_like
        Its shape is taken; none of its values are computed.
    dtype : dtype, optional
        Dtype of the result, by default that of ``x``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.ones_like([1, 2]).eval()
    array([1, 1])
    """
    return filled_like(x, 1, dtype)


def full_like(x: Any, fill_value: Any, dtype: object = None) -> Variable:
    """One value in the shape of ``x``, in its dtype or another.

    Parameters
    ----------
    x : array_like
        Its shape is taken; none of its values are computed.
    fill_value : number or array_like
        Broadcast to the shape.
    dtype : dtype, optional
        Dtype of the result, by default that of ``x``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.full_like([1.0, 2.0], 5).eval()
    array([5., 5.])
    """
    return filled_like(x, fill_value, dtype)


def filled_like(value: Any, number: Any, dtype: object = None) -> Variable:
    """Return an array of the shape of ``value`` filled with a number, in its dtype unless another is given."""
    variable = as_variable(value)
    kind: TensorType = tensor_type(variable)
    wanted = kind.dtype if dtype is None else canonical_dtype(dtype)
    strong = wanted if not isinstance(number, Variable) else None
    fill = cast((as_value if wanted == BOOLEAN else as_variable)(number, strong), wanted)
    if kind.ndim == 0:
        return ConstantOf(fill.value, wanted, variable) if isinstance(fill, Constant) else fill
    return alloc(fill, [dimension(variable, axis) for axis in range(kind.ndim)])


def identity(n: Any, dtype: object = None) -> Variable:
    """Identity matrix of n rows, in ``config.floatX`` or another dtype.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.identity(1).eval()
    array([[1.]])
    """
    return create.eye(n, None, 0, dtype)


def tri(n: Any, m: Any = None, k: int = 0, dtype: object = None) -> Variable:
    """Matrix with ones at and below its k-th diagonal, zeros above; parameters as for :func:`eye`.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.tri(2).eval()
    array([[1., 0.],
           [1., 1.]])
    """
    return create.triangle(ones((n, n if m is None else m), dtype), k, True)


def tril(x: Any, k: int = 0) -> Variable:
    """Lower triangle of the last two axes, zeros above the k-th diagonal.

    Raises
    ------
    ScanvizTypeError
        If ``x`` has fewer than two dimensions.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.tril([[1, 2], [3, 4]]).eval()
    array([[1, 0],
           [3, 4]])
    """
    return create.triangle(x, k, True)


def triu(x: Any, k: int = 0) -> Variable:
    """Upper triangle of the last two axes, zeros below the k-th diagonal.

    Raises
    ------
    ScanvizTypeError
        If ``x`` has fewer than two dimensions.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.triu([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [0, 4]])
    """
    return create.triangle(x, k, False)


@meaning("method:diagonal")
def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """Diagonal of two axes, as the last axis of the result.

    Parameters
    ----------
    x : array_like
        Matrix, or more dimensions.
    offset : int, optional
        The diagonal: 0 for the main one, positive above it.
    axis1, axis2 : int, optional
        The axes of the matrices.

    Raises
    ------
    ScanvizTypeError
        If ``x`` has fewer than two dimensions.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.diagonal([[1, 2], [3, 4]]).eval()
    array([1, 4])
    """
    return create.diagonal(x, offset, axis1, axis2)


def diag(x: Any, k: int = 0) -> Variable:
    """Diagonal of a matrix, or the matrix that has a vector on its diagonal.

    Parameters
    ----------
    x : array_like
        Matrix or vector.
    k : int, optional
        The diagonal: 0 for the main one, positive above it.

    Raises
    ------
    ScanvizTypeError
        If ``x`` is neither.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.diag([1, 2]).eval()
    array([[1, 0],
           [0, 2]])
    """
    variable = as_variable(x)
    rank = tensor_type(variable).ndim
    if rank not in (1, 2):
        raise ScanvizTypeError.here(
            "diag needs a vector or a matrix",
            found=variable.type,
            fix="T.diagonal(x, axis1=-2, axis2=-1) for many matrices" if rank > 2 else None,
        )
    return create.from_diagonal(variable, k) if rank == 1 else create.diagonal(variable, k)
